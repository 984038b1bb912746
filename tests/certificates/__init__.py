"""Certificates against independent references: ``python -m tests.certificates --cases 20000 --seed 0``.

A family is a module of `families` with a sentence `REFERENCE` and a function ``case(rng)``, which draws a
random problem, solves it in some way, and returns the `Claim`s that its certificate makes. A claim is an
inequality: what the reference proves to be wrong with an answer is at most what was certified. References are
feasible points, wherever they come from, evaluated in extended precision, or in exact rationals where a family takes
few rows (`exact_svm`, `exact_levels`, `exact_linear`, of fitted estimators): they can be weak, but never accuse
wrongly.
"""
