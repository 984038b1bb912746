"""Cotter, Shalev-Shwartz, Srebro: The Kernelized Stochastic Batch Perceptron (2012)."""
