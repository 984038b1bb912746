"""`SVC` and `SVR` as they are fitted, of few rows of any scale: relative duality gaps of all they predict with."""

from fractions import Fraction

import numpy as np

from hinge import SVC, SVR
from hinge.problems.svm.examples import FAINT
from tests.certificates import fitted
from tests.certificates.rationals import Quadratic, above, best, exact, minimiser

REFERENCE = "an active-set method in exact rationals"
ZERO = Fraction(0)


def case(rng):
    """One fit, of classes or of targets."""
    data = fitted.rows(rng)
    n = len(data.s)
    options = fitted.kernel_of(rng, data.exact)
    options.update(tol=float(rng.choice([1e-1, 1e-3, 1e-3, 1e-6, 1e-9])), fit_intercept=bool(rng.random() < 0.8))
    options.update(C=float(10.0 ** rng.uniform(-3, 4)), max_time=3.0)
    if rng.random() < 0.3:
        options["C"] = min(
            options["C"] / (float(max((data.exact**2).sum(axis=1))) or 1.0), 1e9
        )  # from 1e10 on it is hard
    if rng.random() < 0.2:
        options["solver"] = "blockdual"
    free, what = options["fit_intercept"], f"{options}, shape={data.X.shape}, {data.X.dtype}"
    if rng.random() < 0.65:
        y = rng.permutation(np.arange(n) % 2 * 2 - 1)
        if rng.random() < 0.5:
            y = np.where(data.exact[:, 0] > sorted(data.exact[:, 0])[n // 2 - 1], 1, -1)
        if len(set(y.tolist())) < 2:
            return []
        model, t, epsilon = SVC(**options).fit(data.X, y, data.weight), None, ZERO
    else:
        size = 10.0 ** rng.uniform(-3, 6)
        y = size * (rng.standard_normal(n) + rng.integers(0, 2))
        options["epsilon"] = float(size * rng.choice([0.0, 0.1, 1.0]))
        model, t, epsilon = SVR(**options).fit(data.X, y, data.weight), exact(y), Fraction(options["epsilon"])
        what += f", epsilon={options['epsilon']!r}"
    K, box = fitted.gram_of(model, data), Fraction(options["C"]) * data.s

    def loss(f):
        return above(1 - y * f) if t is None else above(abs(t - f) - epsilon)

    def primal(found):
        return found.sq / 2 + box.dot(loss(found.f))

    def best_bias(r):
        kinks = y - r if t is None else np.concatenate([t - r - epsilon, t - r + epsilon])
        return best([box.dot(loss(r + b)) for b in kinks], list(kinks)) if free else ZERO

    def attained(beta):
        return primal(fitted.expansion(K, beta, best_bias(K.dot(beta))))

    found = fitted.predictors(model, data, K)
    beta = np.full(n, ZERO, object)
    beta[model.support_] = exact(model.dual_coef_)[0]
    values = {name: primal(one) for name, one in found.items()}
    least = min(attained(_optimum(K, y, t, epsilon, box, beta, free)), attained(beta), attained(0 * beta))
    least = min(least, *(values[name] for name in values if name != "decision_function"))
    unit = least if t is None else max(least, Fraction(FAINT) * box.dot(abs(t)))
    if unit == 0:
        return []
    summing = 16 * n * Fraction(fitted.EPS) * least
    off, reported = (box.dot(fitted.rounding(model, data, K, by_values=one)) + summing for one in (False, True))
    return fitted.claims(what, model, values, least, unit, off, Fraction(options["C"]) * data.s.sum(), reported)


def _optimum(K, y, t, epsilon, box, beta, free):
    """The optimal β, from the one that was found."""
    n = len(K)
    lo, hi = (-box, box) if t is not None else (np.where(y > 0, 0 * box, -box), np.where(y > 0, box, 0 * box))
    start = np.array([min(max(a, low), high) for a, low, high in zip(beta, lo, hi, strict=True)], object)
    start = _balanced(start) if free else start
    if t is None:
        return minimiser(Quadratic(K, y * Fraction(1), lo, hi, np.full(n, 0 if free else -1)), start)[0]
    z = np.concatenate([above(start), -above(-start)])  # β = z + z' with signs that are known
    lo, hi = np.concatenate([0 * box, -box]), np.concatenate([box, 0 * box])
    Q, q = np.block([[K, K], [K, K]]), np.concatenate([t - epsilon, t + epsilon])
    z = minimiser(Quadratic(Q, q, lo, hi, np.full(2 * n, 0 if free else -1)), z)[0]
    return z[:n] + z[n:]


def _balanced(beta):
    """β with the larger side scaled down, so that it sums to zero."""
    up, down = above(beta).sum(), above(-beta).sum()
    small = min(up, down)
    return np.array([a * small / (up if a > 0 else down) if a else a for a in beta], object)
