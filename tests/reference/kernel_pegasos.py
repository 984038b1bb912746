"""Figure 1 of the Pegasos paper with w as a combination of points, as its section 4 says."""

import numpy as np


def kernel_pegasos(K, y, lam, draws, *, projection=False, average=True, budget=None):
    """β after the iterations whose sets A_t are the rows of `draws`.

    `average`: the mean of w_2 … w_{T+1} with weights t; else w_{T+1}.
    `budget`: of more support vectors, those go that have the largest margin without themselves, new ones last.
    """
    beta, total = np.zeros(len(y)), np.zeros(len(y))
    for t, A in enumerate(draws, start=1):
        plus = [i for i in A if y[i] * (K[i] @ beta) < 1]
        eta = 1 / (lam * t)
        beta = (1 - eta * lam) * beta
        for i in plus:
            beta[i] += eta / len(A) * y[i]
        while budget is not None and np.count_nonzero(beta) > budget:
            there = np.flatnonzero(beta)
            there = [j for j in there if j not in plus] or there
            gone = max(there, key=lambda j: y[j] * (K[j] @ beta - beta[j] * K[j, j]))
            beta[gone] = total[gone] = 0.0
        if projection:
            norm = np.sqrt(beta @ K @ beta)
            beta = min(1, 1 / (np.sqrt(lam) * max(norm, 1e-300))) * beta
        total += t * beta
    T = len(draws)
    return total / (T * (T + 1) / 2) if average else beta
