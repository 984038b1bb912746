"""Data sets: a catalog of the papers' sets, readers for common formats, and generators with known answers."""

from .base import DataFormatError, Dataset, DatasetNotFoundError
from .catalog import catalog, load
from .entries import Entry
from .readers import read
from .subtle_text import make_subtle_text
from .synthetic import KnownOptimum, Separable, make_known_optimum, make_separable
from .text import make_text

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
