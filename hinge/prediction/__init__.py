"""Predictions that pay for the cells they read, and stop as soon as the rest does not matter."""

from hinge.prediction.buying import Purchase
from hinge.prediction.reading_order import Looks, ReadingOrder

__all__ = ["Looks", "Purchase", "ReadingOrder"]
