"""The version number."""

__version__ = "0.3.0"
