"""Data sets: a catalog of the papers' sets, readers for common formats, and generators with known answers."""

from hinge.datasets.base import DataFormatError, Dataset, DatasetNotFoundError, Entry
from hinge.datasets.catalog import catalog, load
from hinge.datasets.readers import read
from hinge.datasets.synthetic import (
    KnownOptimum,
    Separable,
    make_known_optimum,
    make_separable,
    make_subtle_text,
    make_text,
)

__all__ = [
    "DataFormatError",
    "Dataset",
    "DatasetNotFoundError",
    "Entry",
    "KnownOptimum",
    "Separable",
    "catalog",
    "load",
    "make_known_optimum",
    "make_separable",
    "make_subtle_text",
    "make_text",
    "read",
]
