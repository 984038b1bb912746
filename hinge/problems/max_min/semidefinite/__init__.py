"""Semidefinite feasibility, and symmetric matrices as vectors."""
