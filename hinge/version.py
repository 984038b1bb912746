"""The version, where every part may read it."""

__version__ = "0.3.0"
