"""Solvers of max-min problems."""
