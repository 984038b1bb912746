"""Tables that explain a fitted model: its features, and its training rows."""

from hinge.explain.features import FeatureTable, feature_table
from hinge.explain.rows import RowTable, frame, influential_rows, margin_rows, row_table, suspicious_rows

__all__ = [
    "FeatureTable",
    "RowTable",
    "feature_table",
    "frame",
    "influential_rows",
    "margin_rows",
    "row_table",
    "suspicious_rows",
]
