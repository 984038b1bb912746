"""Why a machine says what it says: its features and its training rows, as tables of plain columns."""

from hinge.explain.features import FeatureTable, feature_table
from hinge.explain.frames import frame
from hinge.explain.rows import RowTable, influential_rows, margin_rows, row_table, suspicious_rows

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
