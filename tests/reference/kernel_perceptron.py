"""The Perceptron with kernels (Freund, Schapire 1999) and the batch Perceptron of the SBP paper, 3.1."""

import numpy as np


def kernel_perceptron(K, y, visits, *, average=True):
    """β of the mean of the hypotheses over the visits, or of the last one."""
    beta, total = np.zeros(len(y)), np.zeros(len(y))
    for i in visits:
        if y[i] * (K[i] @ beta) <= 0:
            beta[i] += y[i]
        total += beta
    return total / len(visits) if average else beta


def batch_perceptron(K, y, n_iter):
    """β after adding the worst point at most `n_iter` times, while it is not on its side."""
    beta = np.zeros(len(y))
    for _ in range(n_iter):
        c = y * (K @ beta)
        if c.min() > 0:
            break
        beta[np.argmin(c)] += y[np.argmin(c)]
    return beta
