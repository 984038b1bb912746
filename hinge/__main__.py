"""``python -m hinge`` is the command line."""

from hinge.cli import main

main()
