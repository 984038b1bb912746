"""Solvers that see the points only through a kernel."""
