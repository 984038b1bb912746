"""Solvers of problems with an ℓ₁ penalty."""
