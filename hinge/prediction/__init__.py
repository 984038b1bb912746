"""Predictions that pay for the cells they read, and stop as soon as the rest does not matter."""

from hinge.prediction.buying import Purchase as Purchase
from hinge.prediction.reading_order import ReadingOrder as ReadingOrder
