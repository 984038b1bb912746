"""Figure 1 and section 4 of Shalev-Shwartz, Singer, Srebro, *Pegasos*, ICML 2007."""

import numpy as np


def pegasos(X, y, lam, draws, *, projection=True, output="last", bias="none", weight=None):
    """(w, b) after the iterations whose sets A_t are the rows of `draws`.

    `output`: "last" is w_{T+1}; "uniform" and "weighted" average w_2 … w_{T+1}, with weights 1 and t.
    `bias`: "subgradient" is Eq. (11) with steps 1/√t, "eta" with those of w, "exact" is Eq. (12). A row's
    loss counts `weight` times; the mean weight is one.
    """
    s = np.ones(len(y)) if weight is None else weight
    w, b = np.zeros(X.shape[1]), 0.0
    w_sum, b_sum, total = np.zeros(X.shape[1]), 0.0, 0.0
    for t, A in enumerate(draws, start=1):
        k = len(A)
        if bias == "exact":
            b = best_bias(X[A] @ w, y[A])
        plus = [i for i in A if y[i] * (w @ X[i] + b) < 1]
        eta = 1 / (lam * t)
        w = (1 - eta * lam) * w + eta / k * sum((s[i] * y[i] * X[i] for i in plus), np.zeros(X.shape[1]))
        if projection:
            w = min(1, 1 / (np.sqrt(lam) * max(np.linalg.norm(w), 1e-300))) * w
        if bias in ("subgradient", "eta"):
            b = b + sum(s[i] * y[i] for i in plus) / k * (eta if bias == "eta" else 1 / np.sqrt(t))
        rho = {"last": 0, "uniform": 1, "weighted": t}[output]
        w_sum, b_sum, total = w_sum + rho * w, b_sum + rho * b, total + rho
    return (w, b) if output == "last" else (w_sum / total, b_sum / total)


def best_bias(r, y):
    """The middle of the minimisers of Eq. (12), which lie between two kinks of a convex function."""
    kinks = np.sort(y - r)
    losses = [np.maximum(0, 1 - y * (r + b)).mean() for b in kinks]
    best = kinks[np.isclose(losses, min(losses), rtol=0, atol=1e-12)]
    if (y > 0).all():
        return best[0]  # without loss from here on
    if (y < 0).all():
        return best[-1]
    return (best[0] + best[-1]) / 2
