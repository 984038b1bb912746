"""Monitoring of a run: its history, and its stopping rule."""

from hinge.monitoring.history import History, Record
from hinge.monitoring.stopping import Status, Stop

__all__ = ["History", "Record", "Status", "Stop"]
