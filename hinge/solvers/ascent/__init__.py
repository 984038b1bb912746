"""Dual coordinate ascent: one inner loop, and the solvers built on it."""
