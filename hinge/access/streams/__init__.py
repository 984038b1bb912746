"""Rows that may be more than memory holds, read in stretches."""
