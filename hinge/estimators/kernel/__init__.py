"""Kernel estimators and their bases."""
