"""Predictions that read cells one after another, for a price, and stop when the class is certain or probable enough."""

from hinge.prediction.reading_order import Looks, Purchase, ReadingOrder

__all__ = ["Looks", "Purchase", "ReadingOrder"]
