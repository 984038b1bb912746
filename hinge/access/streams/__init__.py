"""Streams: rows that may not fit into memory, read in stretches (ranges of consecutive rows)."""
