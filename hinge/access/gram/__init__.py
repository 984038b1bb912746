"""Kernel rows: counted, cached under a budget, kept on disk, computed here or on a GPU."""
