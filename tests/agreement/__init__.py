"""Objectives beside scikit-learn's at its tightest: ``python -m tests.agreement --problems 200 --seed 0``.

A `Machine` is an estimator with one of its losses or kernels. Its problems are random, of few rows: some rows are there
twice with other labels, some weigh nothing, some are stored as float32 or CSR, C runs over six decades. Each is fitted
by ours and by scikit-learn's, and both answers are put into one objective in extended precision. What must hold: ours
is above theirs by no more than was certified. By how much theirs is above ours is reported too; it proves nothing
against either, since theirs may be cut off.
"""
