"""Small random data for estimators, and what their attributes claim beside exact objectives."""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hinge.kernels import Linear
from tests.certificates.engine import Claim
from tests.certificates.rationals import exact, gram

EPS = 2.0**-52
KERNELS = ("linear", "linear", "linear", "poly", "rbf", "laplacian")


class Rows(NamedTuple):
    """Rows as an estimator gets them, the same as rationals, weights (None: all one) and these as rationals."""

    X: Any
    exact: np.ndarray
    weight: np.ndarray | None
    s: np.ndarray


def rows(rng: np.random.Generator) -> Rows:
    """Up to 12 rows with features of any scale from 1e-8 to 1e9."""
    n, d = int(rng.integers(2, 13)), int(rng.integers(1, 5))
    X = rng.standard_normal((n, d))
    if rng.random() < 0.15:
        X = np.round(X)
    if rng.random() < 0.15:
        X[rng.integers(0, n, n // 2)] = X[0]
    if rng.random() < 0.2:  # far from zero
        X += 10.0 ** rng.uniform(0, 6)
    if rng.random() < 0.15:
        X *= 10.0 ** rng.uniform(-4, 4, d)
    X = X * 10.0 ** rng.uniform(-8, 9)
    if rng.random() < 0.3:
        X = np.round(X) if np.abs(X).max() > 10 else X
    if rng.random() < 0.15:
        X = X.astype(np.float32)
    weight = None
    if rng.random() < 0.25:
        weight = 10.0 ** rng.uniform(-2, 2, n)
    s = exact(np.ones(n) if weight is None else weight)
    return Rows(sp.csr_array(X) if rng.random() < 0.2 else X, exact(X), weight, s)


def kernel_of(rng: np.random.Generator, X: np.ndarray, names: tuple[str, ...] = KERNELS) -> dict[str, Any]:
    """Parameters of a kernel, often one that suits the scale of the rows."""
    size = float(max(abs(X).ravel())) or 1.0
    kernel = str(rng.choice(names))
    degree, coef0 = int(rng.integers(1, 4)), float(rng.choice([0.0, 1.0]))
    gamma: Any = "scale" if rng.random() < 0.5 else float(10.0 ** rng.uniform(-2, 2) / size**2)
    if rng.random() < 0.2:
        gamma = float(10.0 ** rng.uniform(-3, 1))  # whatever the scale
    return dict(kernel=kernel, degree=degree, coef0=coef0, gamma=gamma)


class Predictor(NamedTuple):
    """A w and a bias: decision values of all rows, and ‖w‖²."""

    f: np.ndarray
    sq: Fraction


def expansion(K: np.ndarray, beta: np.ndarray, b: Fraction) -> Predictor:
    """w = Σ βφ."""
    r = K.dot(beta)
    return Predictor(r + b, beta.dot(r))


def predictors(model: Any, data: Rows, K: np.ndarray, scale: Fraction = Fraction(1)) -> dict[str, Predictor]:
    """What a fitted kernel machine with one decision function is, by each of its attributes, times `scale`."""
    beta = np.full(len(K), Fraction(0), object)
    beta[model.support_] = scale * exact(model.dual_coef_)[0]
    b = scale * exact(model.intercept_)[0]
    found = {"dual_coef_": expansion(K, beta, b)}
    if isinstance(model.kernel_, Linear):
        w = scale * exact(model.coef_).ravel()
        found["coef_"] = Predictor(data.exact.dot(w) + b, w.dot(w))
    values = getattr(model, "decision_function", None) or model.predict
    found["decision_function"] = Predictor(scale * exact(values(data.X)), found["dual_coef_"].sq)
    return found


def rounding(model: Any, data: Rows, K: np.ndarray, *, by_values: bool = False) -> np.ndarray:
    """What the decision values of rows may be off by, computed in floating point as they are.

    Those of a linear kernel are computed by `coef_`; during a fit by kernel values, `by_values`.
    """
    single = data.X.dtype == np.float32 and not isinstance(model.kernel_, Linear)
    eps = Fraction(float(np.finfo(np.float32).eps) if single else EPS)
    n, d = data.exact.shape
    b = abs(exact(model.intercept_)[0])
    if isinstance(model.kernel_, Linear) and not by_values:
        return 2 * (d + 2) * Fraction(EPS) * (abs(data.exact).dot(abs(exact(model.coef_).ravel())) + b)
    beta = np.full(n, Fraction(0), object)
    beta[model.support_] = abs(exact(model.dual_coef_)[0])
    size = abs(K)
    if hasattr(model.kernel_, "gamma"):  # an error of the exponent, or of the base of a power
        norms = (data.exact**2).sum(axis=1)
        size = size * (1 + Fraction(model.kernel_.gamma) * (norms[:, None] + norms[None]))
        if hasattr(model.kernel_, "degree"):
            size = (
                Fraction(model.kernel_.gamma) * np.array([[_root(a * c) for a in norms] for c in norms], object)
                + abs(Fraction(model.kernel_.coef0))
            ) ** model.kernel_.degree
    return 4 * (n + d + 8) * eps * (size.dot(beta) + b)


def _root(x: Fraction) -> Fraction:
    """No less than the root."""
    return Fraction(float(x) ** 0.5) * Fraction(1 + 4 * EPS) if x else x


def claims(
    what: str,
    model: Any,
    values: dict[str, Fraction],
    least: Fraction,
    unit: Fraction,
    off: Fraction,
    scale: Fraction,
    reported_off: Fraction | None = None,
) -> list[Claim]:
    """That each value is within the gap of the least, and that the objective reported is no higher than that allows.

    Parameters
    ----------
    values : dict
        The objective of what is predicted with, by the attribute that it is computed from.
    least, unit : Fraction
        The least value that is known to be attained, and what gaps are divided by.
    off : Fraction
        What the rounding of decision values may add to the objective.
    reported_off : Fraction, optional
        The same for the objective that the fit reports, if it is another.
    scale : Fraction
        The objective of the estimator times this is that of `values`.
    """
    gap = float(model.gap_)
    if not np.isfinite(gap):
        return []
    found = [
        Claim(
            f"{name} of {what}", (value - least) / unit, gap, off / unit if name == "decision_function" else 0.0, True
        )
        for name, value in values.items()
    ]
    reported = Fraction(float(model.objective_)) * scale
    allowed = (off if reported_off is None else reported_off) / unit
    return [*found, Claim(f"objective_ of {what}", (reported - least) / unit, gap, allowed)]


def gram_of(model: Any, data: Rows) -> np.ndarray:
    """The kernel values of all rows."""
    return gram(model.kernel_, data.exact)
