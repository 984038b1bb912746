"""Figure 1 of the Pegasos paper with w as a combination of points, as its section 4 says."""

import numpy as np


def kernel_pegasos(K, y, lam, draws, *, projection=False, average=True, budget=None):
    """β after the iterations whose sets A_t are the rows of `draws`.

    `average`: the mean of w_2 … w_{T+1} with weights t; else w_{T+1}.
    `budget`: of more support vectors, the one goes without which the projection of w on the others is nearest to w.
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
            without = {j: projected(K, j, [i for i in there if i != j]) for j in there}
            gone = min(there, key=lambda j: beta[j] ** 2 * (without[j] @ K @ without[j]))
            beta, total = beta + beta[gone] * without[gone], total + total[gone] * without[gone]
            beta[gone] = total[gone] = 0.0
        if projection:
            norm = np.sqrt(beta @ K @ beta)
            beta = min(1, 1 / (np.sqrt(lam) * max(norm, 1e-300))) * beta
        total += t * beta
    T = len(draws)
    return total / (T * (T + 1) / 2) if average else beta


def projected(K, j, others):
    """The coefficients of the projection of point j on the span of others, less the point."""
    change = np.zeros(len(K))
    change[others] = np.linalg.solve(K[np.ix_(others, others)], K[others, j])
    change[j] = -1.0
    return change
