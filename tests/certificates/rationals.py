"""Fitted estimators in exact rationals: kernel values, objectives of what is predicted with, and optima.

Numbers of float64 are rationals, and so are sums and products of them. Only exponentials are not: these are rounded at
`DIGITS` digits, far below any claim.
"""

from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hinge.kernels import Gaussian, Kernel, Laplacian, Polynomial

DIGITS = 80
STEPS = 300
"""Most steps of `minimiser`; where they do not suffice, its point is feasible, but not optimal."""


def exact(a: Any) -> np.ndarray:
    """The same numbers as rationals."""
    a = np.asarray(a.toarray() if sp.issparse(a) else a, np.float64)
    return np.array([Fraction(x) for x in a.ravel().tolist()], object).reshape(a.shape)


def gram(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """K(x, z) of all pairs of rows."""
    if isinstance(kernel, Gaussian | Laplacian):
        power = 2 if isinstance(kernel, Gaussian) else 1
        apart = (abs(X[:, None] - X[None]) ** power).sum(axis=2)
        return np.vectorize(_exponential, [object])(-Fraction(kernel.gamma) * apart)
    dots = X.dot(X.T)
    if isinstance(kernel, Polynomial):
        return (Fraction(kernel.gamma) * dots + Fraction(kernel.coef0)) ** kernel.degree
    return dots


def _exponential(x: Fraction) -> Fraction:
    if x < -2 * DIGITS:
        return Fraction(0)
    context = Context(prec=DIGITS)
    power = context.exp(context.divide(Decimal(x.numerator), Decimal(x.denominator)))
    return Fraction(int(power.scaleb(DIGITS, context)), 10**DIGITS)


class Quadratic(NamedTuple):
    """The program min ½zᵀQz - qᵀz, lo ≤ z ≤ hi (None: unbounded), where the z of each group have a given sum.

    `group` is the number of each variable's group, -1 for those without one.
    """

    Q: np.ndarray
    q: np.ndarray
    lo: np.ndarray
    hi: np.ndarray | None
    group: np.ndarray

    def inside(self, z: np.ndarray) -> np.ndarray:
        """Which variables are between their bounds."""
        return np.array([self.can_fall(z, i) and self.can_rise(z, i) for i in range(len(z))], bool)

    def can_fall(self, z: np.ndarray, i: int) -> bool:
        return bool(z[i] > self.lo[i])

    def can_rise(self, z: np.ndarray, i: int) -> bool:
        return self.hi is None or bool(z[i] < self.hi[i])


def minimiser(program: Quadratic, z: np.ndarray) -> tuple[np.ndarray, bool]:
    """The optimum by an active-set method from a feasible z, without rounding; and whether it was reached."""
    z = z.copy()
    free = program.inside(z)
    for _ in range(STEPS):
        slope = program.Q.dot(z) - program.q
        step, bounded = _newton_step(program, slope, np.flatnonzero(free))
        if not any(step):
            entering = _entering(program, z, slope, free)
            if not entering:
                return z, True
            free[entering] = True
            continue
        length, stopped = (Fraction(1) if bounded else None), None
        for i in np.flatnonzero(free):
            end = program.lo[i] if step[i] < 0 else program.hi[i] if step[i] > 0 and program.hi is not None else None
            if end is not None and (length is None or (end - z[i]) / step[i] < length):
                length, stopped = (end - z[i]) / step[i], i
        if length is None:
            return z, False
        z = z + length * step
        if stopped is not None:
            free[stopped] = False
    return z, False


def _newton_step(program: Quadratic, slope: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, bool]:
    """The step to the minimum over the free variables; or a direction of descent without curvature, and False."""
    groups = sorted({int(g) for g in program.group[free]} - {-1})
    size, step = len(free) + len(groups), np.full(len(slope), Fraction(0), object)
    M = np.full((size, size), Fraction(0), object)
    M[: len(free), : len(free)] = program.Q[np.ix_(free, free)]
    for row, g in enumerate(groups, len(free)):
        M[row, : len(free)] = M[: len(free), row] = [Fraction(int(program.group[i] == g)) for i in free]
    found, solvable = solve(M, np.concatenate([-slope[free], np.full(len(groups), Fraction(0), object)]))
    step[free] = found[: len(free)]
    return (step, True) if solvable else (step * (-1 if step.dot(slope) > 0 else 1), False)


def _entering(program: Quadratic, z: np.ndarray, slope: np.ndarray, free: np.ndarray) -> list[int]:
    """Variables at their bounds that would decrease the objective: the first one, or a pair of a group."""
    for g in sorted({int(g) for g in program.group}):
        members = [int(i) for i in np.flatnonzero(program.group == g)]
        at = [slope[i] for i in members if free[i]]
        level = Fraction(0) if g == -1 else at[0] if at else None
        rising = [i for i in members if not free[i] and program.can_rise(z, i)]
        falling = [i for i in members if not free[i] and program.can_fall(z, i)]
        if level is not None:
            moved = [i for i in members if (i in rising and slope[i] < level) or (i in falling and slope[i] > level)]
            if moved:
                return moved[:1]
        elif rising and falling:
            low, high = min(rising, key=lambda i: slope[i]), max(falling, key=lambda i: slope[i])
            if slope[low] < slope[high]:
                return [low, high]
    return []


def solve(M: np.ndarray, rhs: np.ndarray) -> tuple[np.ndarray, bool]:
    """A solution of Mx = rhs, by Gauss and Jordan; or, of a symmetric M, an x with Mx = 0 and ⟨x, rhs⟩ ≠ 0."""
    n = len(M)
    rows = [[*M[i], rhs[i], *(Fraction(int(i == j)) for j in range(n))] for i in range(n)]
    pivots: list[int] = []
    for column in range(n):
        at = next((i for i in range(len(pivots), n) if rows[i][column]), None)
        if at is None:
            continue
        top = len(pivots)
        rows[top], rows[at] = rows[at], rows[top]
        head = rows[top][column]
        rows[top] = [value / head if value else value for value in rows[top]]
        for i in range(n):
            if i != top and rows[i][column]:
                factor = rows[i][column]
                rows[i] = [a - factor * b if b else a for a, b in zip(rows[i], rows[top], strict=True)]
        pivots.append(column)
    for row in rows[len(pivots) :]:
        if row[n]:
            return np.array(row[n + 1 :], object), False
    x = np.full(n, Fraction(0), object)
    for i, column in enumerate(pivots):
        x[column] = rows[i][n]
    return x, True


def summing_to(z: np.ndarray, hi: np.ndarray, total: Fraction) -> np.ndarray:
    """z within 0 and `hi`, moved until it sums to the total."""
    z = np.array([min(max(a, Fraction(0)), top) for a, top in zip(z, hi, strict=True)], object)
    lack = total - z.sum()
    room = hi - z if lack > 0 else z
    return z + lack * room / room.sum() if lack else z


def above(values: np.ndarray) -> np.ndarray:
    """max(0, ·) of each."""
    return np.array([max(value, Fraction(0)) for value in values], object)


def best(values: Sequence[Fraction], at: Sequence[Any]) -> Any:
    """Where the least value is."""
    return at[min(range(len(values)), key=lambda i: values[i])]


def root(x: Fraction) -> Fraction:
    """√x to 100 bits, relative to x; rounded down."""
    if not x:
        return x
    shift = 2 * max(0, 200 + x.denominator.bit_length() - x.numerator.bit_length())
    return Fraction(isqrt((x.numerator << shift) // x.denominator), 1 << (shift // 2))
