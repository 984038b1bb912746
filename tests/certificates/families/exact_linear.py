"""`LinearSVC` and `LinearSVR` as they are fitted, of few rows of any scale: relative duality gaps of `coef_`."""

from fractions import Fraction
from itertools import pairwise

import numpy as np

from hinge import LinearSVC, LinearSVR
from hinge.problems.svm.examples import FAINT
from tests.certificates import fitted
from tests.certificates.engine import Claim
from tests.certificates.rationals import Quadratic, above, best, exact, minimiser

REFERENCE = "an active-set method in exact rationals"
ZERO = Fraction(0)


def case(rng):
    """One fit, of classes or of targets, with any loss and any intercept."""
    data = fitted.rows(rng)
    n, X = len(data.s), data.exact
    bias = str(rng.choice(["none", "free", "penalized"]))
    options = dict(
        C=float(10.0 ** rng.uniform(-3, 4)),
        tol=float(rng.choice([1e-1, 1e-3, 1e-4, 1e-6, 1e-9])),
        fit_intercept=bias != "none",
        intercept=bias if bias != "none" else "free",
        intercept_scaling=float(rng.choice([1.0, 10.0, 0.3])) if bias == "penalized" else 1.0,
        max_time=3.0,
        random_state=0,
    )
    if rng.random() < 0.3:
        options["C"] = min(options["C"] / (float(max((X**2).sum(axis=1))) or 1.0), 1e9)
    if rng.random() < 0.3:
        options["solver"] = str(rng.choice(["sdca", "newton"]))
    squared, C = bool(rng.random() < 0.5), Fraction(options["C"])
    box = C * data.s
    if rng.random() < 0.6:
        y = rng.permutation(np.arange(n) % 2 * 2 - 1)
        if rng.random() < 0.5:
            y = np.where(X[:, 0] > sorted(X[:, 0])[n // 2 - 1], 1, -1)
        if len(set(y.tolist())) < 2:
            return []
        t, epsilon, loss = None, ZERO, "squared_hinge" if squared else "hinge"
        model = LinearSVC(loss=loss, **options).fit(data.X, y, data.weight)
    else:
        size = 10.0 ** rng.uniform(-3, 6)
        y = size * (rng.standard_normal(n) + rng.integers(0, 2))
        options["epsilon"] = float(size * rng.choice([0.0, 0.1, 1.0]))
        loss = "squared_epsilon_insensitive" if squared else "epsilon_insensitive"
        t, epsilon = exact(y), Fraction(options["epsilon"])
        model = LinearSVR(loss=loss, **options).fit(data.X, y, data.weight)
    scaling = Fraction(options["intercept_scaling"])

    def losses(f):
        beyond = above(1 - y * f) if t is None else above(abs(t - f) - epsilon)
        return box.dot(beyond * beyond if squared else beyond)

    def primal(w, b):
        paid = w.dot(w) + ((b / scaling) ** 2 if bias == "penalized" else 0)
        return paid / 2 + losses(X.dot(w) + b)

    def best_bias(r):
        kinks = list(y - r if t is None else np.concatenate([t - r - epsilon, t - r + epsilon]))
        if not squared:
            return best([losses(r + b) for b in kinks], kinks)
        return _best_of_squares(r, y * Fraction(1) if t is None else t, t is None, epsilon, box, kinks, losses)

    K = X.dot(X.T) + (scaling**2 if bias == "penalized" else 0)
    beta = _optimum(K, y, t, epsilon, box, bias == "free", squared)
    w, b = exact(model.coef_).ravel(), exact(model.intercept_).ravel()[0]
    value = primal(w, b)
    attained = [value]
    for one in (beta, 0 * beta):
        v = X.T.dot(one)
        attained.append(
            primal(
                v,
                {"none": ZERO, "penalized": scaling**2 * one.sum()}.get(bias)
                if bias != "free"
                else best_bias(X.dot(v)),
            )
        )
    least = min(attained)
    unit = least if t is None else max(least, Fraction(FAINT) * box.dot(t * t if squared else abs(t)))
    if unit == 0 or not np.isfinite(model.gap_):
        return []
    what = f"{loss} {options}, shape={data.X.shape}, {data.X.dtype}, {model.solver_}"
    reported = Fraction(float(model.objective_)) * C * data.s.sum()
    return [
        Claim(f"coef_ of {what}", (value - least) / unit, model.gap_, 0.0, True),
        Claim(f"objective_ of {what}", value, reported, 0.0),
    ]


def _optimum(K, y, t, epsilon, box, free, squared):
    """The β of the optimal w = Σ βx."""
    n = len(K)
    extra = np.diag(1 / (2 * box)) if squared else 0 * K
    group = 0 if free else -1
    none = 0 * box
    if t is None:
        top = None if squared else box
        sign = y * Fraction(1)
        program = Quadratic(np.outer(sign, sign) * K + extra, none + 1, none, top, np.full(n, -1))
        if not free:
            return sign * minimiser(program, none)[0]
        far = np.full(n, 10**60 * Fraction(1), object) if squared else box
        lo, hi = np.where(y > 0, none, -far), np.where(y > 0, far, none)
        return minimiser(Quadratic(K + extra, sign, lo, hi, np.full(n, group)), none)[0]
    far = np.full(n, 10**60 * Fraction(1), object) if squared else box
    twice = np.block([[extra, 0 * extra], [0 * extra, extra]]) if squared else 0
    Q = np.block([[K, K], [K, K]]) + twice
    lo, hi = np.concatenate([none, -far]), np.concatenate([far, none])
    z = minimiser(Quadratic(Q, np.concatenate([t - epsilon, t + epsilon]), lo, hi, np.full(2 * n, group)), 0 * lo)[0]
    return z[:n] + z[n:]


def _best_of_squares(r, t, classes, epsilon, box, kinks, losses):
    """The b of the least squared loss: between two kinks the loss is a parabola."""
    kinks, found = sorted(kinks), list(kinks)
    for lo, hi in pairwise(kinks):
        middle = (lo + hi) / 2
        f = r + middle
        active = t * f < 1 if classes else abs(t - f) > epsilon
        aims = t - r - (0 if classes else np.where(t > f, epsilon, -epsilon))
        weight = box * np.where(active, Fraction(1), ZERO)
        if weight.sum():
            found.append(min(max(weight.dot(aims) / weight.sum(), lo), hi))
    return best([losses(r + b) for b in found], found)
