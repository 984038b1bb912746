"""Solvers that read rows of a matrix in memory."""
