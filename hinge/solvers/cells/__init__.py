"""Solvers that read columns and single cells, and few of them."""
