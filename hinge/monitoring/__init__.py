"""Watching a run: records, and when to stop."""

from hinge.monitoring.history import History, Record
from hinge.monitoring.stopping import Status, Stop

__all__ = ["History", "Record", "Status", "Stop"]
