"""Shalev-Shwartz, Srebro: SVM Optimization, a talk (2008)."""
