"""Kernel estimators, one file a class, and their bases."""
