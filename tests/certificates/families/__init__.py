"""Kinds of problems, one a file."""
