"""Literal pseudo-code of the papers: dense NumPy, given draws, no cleverness."""
