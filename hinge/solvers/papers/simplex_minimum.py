"""A small quadratic program over the simplex, solved to rounding: the lower model of a cutting-plane method.

.. math:: \\min_\\beta\\ \\tfrac12\\beta^\\top K\\beta - b^\\top\\beta, \\qquad
          \\beta \\ge 0, \\quad \\textstyle\\sum_i\\beta_i = 1
"""

import numpy as np

from hinge.compiled import compiled

ROUNDING = 1e-15  # what is not to be told from zero, as a share of the largest entries
RIDGE = 1e-13  # what holds the steps where K is singular, as such a share


@compiled
def simplex_minimum(K, b, beta, e):
    """Minimise ½βᵀKβ - bᵀβ over the simplex, in place and from the given β on; e is the gradient there.

    An active-set method: Newton's step over the weights that are positive, as far as they stay so; where
    the gradient is the same for all of them, the coordinate of least gradient joins.
    """
    scale = np.diag(K).max() + np.abs(b).max()
    tol, settled = ROUNDING * scale, False
    for _ in range(100 + 4 * len(b)):
        on = np.flatnonzero(beta)
        for j in range(len(b)):
            e[j] = -b[j]
        for k in on:
            e += beta[k] * K[k]
        k, least, most = np.argmin(e), e[on].min(), e[on].max()
        joins = settled or most - least <= tol
        if joins:
            if least - e[k] <= tol:
                return
            on = np.append(on, k)
        p = _newton_step(K, e, on, np.argmax(beta[on]), RIDGE * scale)
        if joins and p[-1] <= 0.0:
            return  # rounding: what joins would leave at once
        reach, first = 1.0, -1
        for i in range(len(on)):
            if beta[on[i]] + reach * p[i] <= 0.0 and p[i] < 0.0:
                reach, first = -beta[on[i]] / p[i], i
        settled = first < 0
        for i in range(len(on)):
            beta[on[i]] = 0.0 if i == first else max(0.0, beta[on[i]] + reach * p[i])
        beta /= beta.sum()


@compiled(fastmath={"reassoc", "contract", "nsz"})
def _newton_step(K, e, on, pivot, ridge):
    """The step to the minimum over some coordinates that keeps their sum: the pivot pays for the others."""
    m, r = len(on), on[pivot]
    L, p = np.zeros((m, m)), np.zeros(m)
    for i in range(m):  # a Cholesky factor, and the solution forwards
        if i == pivot:
            continue
        for j in range(i + 1):
            if j != pivot:
                s = K[on[i], on[j]] - K[on[i], r] - K[r, on[j]] + K[r, r]
                for q in range(j):
                    s -= L[i, q] * L[j, q]
                L[i, j] = s / L[j, j] if j < i else np.sqrt(max(s + ridge, ridge))
        s = e[r] - e[on[i]]
        for q in range(i):
            s -= L[i, q] * p[q]
        p[i] = s / L[i, i]
    for i in range(m - 1, -1, -1):  # and backwards
        if i != pivot:
            p[i] /= L[i, i]
            for q in range(i):
                p[q] -= p[i] * L[i, q]
    p[pivot] = 0.0
    p[pivot] = -p.sum()
    return p
