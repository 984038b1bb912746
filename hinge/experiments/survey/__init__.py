"""Irpan, Kwan: Sublinear Algorithms for Optimization and Machine Learning, a survey (2015)."""
