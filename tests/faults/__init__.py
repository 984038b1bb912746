"""What becomes of files, fits and memory when the world fails.

``python -m tests.faults --kills 500 --seed 0`` kills every writer at chosen and at random moments and looks
at what is left. ``python -m tests.faults --ctrl-c`` presses Ctrl-C at random moments of every command and
every estimator, and says how long each took to end. Both end with 1 where they found fault.
"""
