"""The Perceptron (Rosenblatt 1958) with averaging (Cesa-Bianchi, Conconi, Gentile 2004)."""

import numpy as np


def perceptron(X, y, visits, *, average=True):
    """The mean of the hypotheses over the visits, or the last one."""
    w, total = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for i in visits:
        if y[i] * (w @ X[i]) <= 0:
            w = w + y[i] * X[i]
        total += w
    return total / len(visits) if average else w
