"""Monitoring of a run: its history, and its stopping rule."""

from hinge.monitoring.history import History, Record, Status, Stop

__all__ = ["History", "Record", "Status", "Stop"]
