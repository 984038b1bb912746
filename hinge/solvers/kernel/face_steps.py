"""Newton steps of a small dual problem, on the face of the points between their bounds.

.. math:: K_{FF}\\Delta = -e_F + \\mu\\mathbf 1, \\qquad \\textstyle\\sum\\Delta = 0 \\text{ with a free bias}

The points before the `cut` and from it on have a sum, and a μ, of their own; it is n where there is one sum.
"""

import numpy as np

from hinge.compiled import compiled
from hinge.solvers.kernel.conjugate_steps import LEAST

MOST_FREE = 512
"""Points between their bounds up to which a Newton step is worth its system of equations."""
RIDGE = 1e-11
"""Share of the largest value that is added to the diagonal of such a system: it may be singular."""
SOUND = 1e-6
"""Share of a step by which it may change a sum; the change is given back."""


@compiled
def face_steps(K, beta, e, lo, hi, free, cut):
    """Whole steps on the face of the points between their bounds, which shrinks until one fits in the box."""
    n = len(beta)
    F = np.empty(n, np.int64)
    m = 0
    largest = 0.0
    for i in range(n):
        largest = max(largest, K[i, i])
        if lo[i] < beta[i] < hi[i]:
            F[m] = i
            m += 1
    before, after = _sum(beta, 0, cut), _sum(beta, cut, n)
    work, allowed = 0.0, 100.0 * n
    if m > MOST_FREE:
        return work
    while m > free and work < allowed:
        work += m * m * m / 6.0 / n + 2.0 * m
        p = np.empty(m)
        if not _newton_step(K, e, F[:m], largest, free, p, cut):
            return work
        slope = 0.0
        t, blocked = 1.0, -1
        for i in range(m):
            k = F[i]
            slope += e[k] * p[i]
            bound = hi[k] - beta[k] if p[i] > 0.0 else beta[k] - lo[k]
            if abs(p[i]) * t > bound:
                t, blocked = bound / abs(p[i]), i
        if not slope < 0.0:
            return work
        for i in range(m):
            k = F[i]
            d = t * p[i]
            new = beta[k] + d
            if i == blocked:
                new = hi[k] if p[i] > 0.0 else lo[k]
            new = min(max(new, lo[k]), hi[k])
            d = new - beta[k]
            beta[k] = new
            row = K[k]
            for j in range(n):
                e[j] += d * row[j]
        if free:
            _balance(K, beta, e, lo, hi, F[:m], 0, cut, before)
            _balance(K, beta, e, lo, hi, F[:m], cut, n, after)
        if blocked < 0:
            return work
        kept = 0
        for i in range(m):
            if lo[F[i]] < beta[F[i]] < hi[F[i]]:
                F[kept] = F[i]
                kept += 1
        m = kept
    return work


@compiled
def _newton_step(K, e, F, largest, free, p, cut):
    """Fill p with the step Δ of the points F; False where their equations cannot be solved, or not well enough."""
    m = len(F)
    L = np.empty((m, m))
    for i in range(m):
        p[i] = -e[F[i]]
        for j in range(i + 1):
            L[i, j] = K[F[i], F[j]]
        L[i, i] += RIDGE * max(abs(L[i, i]), LEAST * largest)
    if not _factor(L):
        return False
    _solve(L, p)
    if not free:
        return True
    _project(L, F, p, cut)
    _project(L, F, p, cut)  # again, as K may be so near to singular that much is left
    size, total, apart = 0.0, 0.0, 0.0
    for i in range(m):
        size += abs(p[i])
        total += p[i]
        apart += p[i] if F[i] < cut else -p[i]
    return abs(total) + abs(apart) <= SOUND * size


@compiled
def _project(L, F, p, cut):
    """Take from p what changes the sum on either side of the cut.

    By the sum of both sides and their difference, which stay apart where K has the same point on both sides.
    """
    u, v, apart_too = np.ones(len(F)), np.ones(len(F)), False
    for i in range(len(F)):
        v[i] = 1.0 if F[i] < cut else -1.0
        apart_too |= v[i] != v[0]
    _solve(L, u)
    if not apart_too:  # all are on one side
        p -= p.sum() / u.sum() * u
        return
    _solve(L, v)
    total, apart, uu, uv, vv = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(F)):
        side = 1.0 if F[i] < cut else -1.0
        total += p[i]
        apart += side * p[i]
        uu += u[i]
        uv += v[i]
        vv += side * v[i]
    det = uu * vv - uv * uv
    if not det > 1e-12 * uu * vv:  # the sum says the same as the difference
        p -= total / uu * u
    else:
        p -= (total * vv - apart * uv) / det * u + (apart * uu - total * uv) / det * v


@compiled
def _sum(beta, first, last):
    total = 0.0
    for k in range(first, last):
        total += beta[k]
    return total


@compiled
def _balance(K, beta, e, lo, hi, F, first, last, wanted):
    """Give back to one point what rounding took from a sum: a long step loses digits of it."""
    total, room, at = _sum(beta, first, last) - wanted, 0.0, -1
    for k in F:
        if first <= k < last and min(hi[k] - beta[k], beta[k] - lo[k]) > room:
            room, at = min(hi[k] - beta[k], beta[k] - lo[k]), k
    if at >= 0 and abs(total) < room:
        beta[at] -= total
        row = K[at]
        for j in range(len(e)):
            e[j] -= total * row[j]


@compiled(fastmath={"contract", "reassoc"})
def _factor(L):
    """Cholesky in place, by rows of the lower triangle; False where a pivot is not positive."""
    for i in range(len(L)):
        for j in range(i + 1):
            s = L[i, j]
            a, b = L[i, :j], L[j, :j]
            for k in range(j):
                s -= a[k] * b[k]
            if i > j:
                L[i, j] = s / L[j, j]
            elif s > 1e-3 * RIDGE * L[i, i]:
                L[i, i] = np.sqrt(s)
            else:
                return False
    return True


@compiled
def _solve(L, x):
    m = len(x)
    for i in range(m):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]
    for i in range(m - 1, -1, -1):
        x[i] /= L[i, i]
        for k in range(i):
            x[k] -= L[i, k] * x[i]
