"""The stochastic DCA of Shalev-Shwartz's talk *SVM Optimization: a Machine Learning Perspective*, 2008."""

import numpy as np


def sdca(X, y, lam, epochs, *, first_pass="plain", weight=None, kappa=0.0, keep=0.0):
    """(w, b, alpha) after visiting the rows of each epoch in the order given.

    The talk's step with λm = Λ. `first_pass` "sgd": during the first epoch Λ is λ times the weight of the
    rows seen so far, the dual problem of which is a feasible point of the whole one. `kappa` is the square
    of a constant feature. With `keep` = 1 its weight is the multiplier of Σ sαy = 0 and moves on after each epoch at
    full Λ; below, a proximal point of it.
    """
    m = len(y)
    s = np.ones(m) if weight is None else weight
    full = lam * s.sum()
    alpha, v, u, beta = np.zeros(m), np.zeros(X.shape[1]), 0.0, 0.0
    Lam = full if first_pass == "plain" else 0.0
    for epoch, order in enumerate(epochs):
        growing = epoch == 0 and first_pass == "sgd"
        for i in order:
            if growing:
                Lam += lam * s[i]
            w, b = v / Lam, beta + kappa * u / Lam
            step = Lam * (1 - y[i] * (w @ X[i] + b)) / (s[i] * (X[i] @ X[i] + kappa))
            tau = max(-alpha[i], min(1 - alpha[i], step))
            alpha[i] += tau
            v = v + s[i] * tau * y[i] * X[i]
            u = u + s[i] * tau * y[i]
        Lam = full
        if not growing:
            beta = keep * (beta + kappa * u / Lam)
    return v / Lam, beta + kappa * u / Lam, alpha
