"""The estimators that are compared, each with one of its losses or kernels, and one comparison."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn import svm

import hinge
from hinge.kernels import Kernel
from hinge.problems.svm.examples import FAINT
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, Loss, epsilon_insensitive, squared_epsilon_insensitive
from tests.certificates import kernels
from tests.certificates.exact import EPS, LONG, long, of_loss, shares

TOL = 1e-6  # of ours
PASSES, STEPS = 20_000, 200_000  # of LIBLINEAR and of LIBSVM, which come to no end at their tightest tolerance
KERNELS: dict[str, dict[str, Any]] = {
    "linear": {"kernel": "linear"},
    "rbf": {"kernel": "rbf"},
    "rbf, narrow": {"kernel": "rbf", "gamma": 2.0},
    "poly": {"kernel": "poly", "degree": 3, "gamma": 0.3, "coef0": 1.0},
}
LOSSES: dict[str, Callable[[float], Loss]] = {
    "hinge": lambda epsilon: HINGE,
    "squared_hinge": lambda epsilon: SQUARED_HINGE,
    "epsilon_insensitive": epsilon_insensitive,
    "squared_epsilon_insensitive": squared_epsilon_insensitive,
}


class Machine(NamedTuple):
    """An estimator by name, with a loss, and a kernel where it has one."""

    estimator: str
    loss: str
    kernel: str | None = None

    def __str__(self) -> str:
        return f"{self.estimator} {self.kernel or self.loss}"


class Comparison(NamedTuple):
    """Both objectives of one problem, what was certified of ours, and what the objectives may be off by."""

    ours: Any
    theirs: Any
    certified: Any
    off: Any

    @property
    def violated(self) -> bool:
        """Whether ours is above theirs by more than was certified."""
        return bool(self.ours > self.theirs + self.certified + self.off)

    @property
    def above(self) -> float:
        """By how much ours is above theirs, in units of what was certified."""
        excess = self.ours - self.theirs - self.off
        return float(excess / self.certified) if excess > 0 else 0.0

    @property
    def below(self) -> float:
        """By how much theirs is above ours, relative to ours."""
        return float(max(self.theirs - self.ours, 0) / self.ours) if self.ours > 0 else 0.0


class Drawn(NamedTuple):
    """A random problem: rows as they are handed over, and as they are; targets or labels; weights; parameters."""

    X: Any
    exact: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    C: float
    epsilon: float
    rng: np.random.Generator


MACHINES = (
    *(Machine("SVC", "hinge", kernel) for kernel in KERNELS),
    *(Machine("SVR", "epsilon_insensitive", kernel) for kernel in KERNELS),
    *(Machine("LinearSVC", loss) for loss in ("hinge", "squared_hinge")),
    *(Machine("LinearSVR", loss) for loss in ("epsilon_insensitive", "squared_epsilon_insensitive")),
)


def compared(machine: Machine, seed: int, number: int) -> Comparison:
    """Problem `number` of a machine, which is a function of these three alone, fitted by both."""
    rng = np.random.default_rng([seed, number, *str(machine).encode()])
    drawn = _drawn(rng, machine.estimator.endswith("R"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what does not converge shows in the comparison
        return _by_kernel(machine, drawn) if machine.kernel else _by_rows(machine, drawn)


def _drawn(rng: np.random.Generator, regression: bool) -> Drawn:
    n, d = int(rng.choice([6, 20, 60, 150])), int(rng.choice([1, 2, 3, 5, 30]))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-0.5, 0.5, d) + rng.choice([0.0, 1.0])
    t = X[:, 0] + 0.5 * X[:, -1] ** 2 + rng.choice([0.0, 0.5, 3.0]) * rng.standard_normal(n)
    if rng.random() < 0.25:
        X = X[rng.integers(0, n, n)]  # rows that are there twice, with other labels
    if rng.random() < 0.2:
        X[rng.random(X.shape) < 0.6] = 0.0
    if rng.random() < 0.3:
        X = X.astype(np.float32)
    y = t if regression else np.where(t > np.quantile(t, rng.choice([0.2, 0.5])), 1, -1)
    kind = rng.integers(3)
    weight = None if kind == 0 else 10.0 ** rng.uniform(-1, 1, n) if kind == 1 else rng.integers(0, 3, n) / 2.0
    if weight is not None:  # of both labels
        weight[[int(np.argmin(t)), int(np.argmax(t))]] = 1.0
    exact = X.astype(LONG)
    stored = sp.csr_matrix(X) if rng.random() < 0.2 else X
    return Drawn(stored, exact, y, weight, 10.0 ** rng.uniform(-3, 3), float(rng.choice([0.0, 0.1, 1.0])), rng)


def _certified(machine: Machine, gap: float, value: Any, y: np.ndarray, c: np.ndarray) -> Any:
    """P - D, from the relative gap: of regression it is not relative to less than a share of what w = 0 costs."""
    unit = LONG(0.0)
    if machine.estimator.endswith("R"):
        unit = LONG(FAINT) * (c @ (long(y) ** 2 if machine.loss.startswith("squared") else np.abs(long(y))))
    return LONG(gap) * max(value / (1 + LONG(gap)), unit)


def _by_rows(machine: Machine, drawn: Drawn) -> Comparison:
    """A linear machine, with a penalised bias or none."""
    X, exact, y, weight, C, epsilon, rng = drawn
    scale = float(rng.choice([1.0, 3.0]))
    options = {"C": C, "loss": machine.loss, "fit_intercept": bool(rng.random() < 0.8), "intercept_scaling": scale}
    if machine.estimator == "LinearSVR":
        options["epsilon"] = epsilon
    squared = machine.loss.startswith("squared")  # then their primal solver converges to the last digits
    ours = getattr(hinge, machine.estimator)(**options, tol=TOL, random_state=0).fit(X, y, weight)
    peer = getattr(svm, machine.estimator)(**options, tol=1e-12, max_iter=PASSES, dual=not squared, random_state=0)
    theirs = peer.fit(X, y, weight)
    c, loss = shares(weight, len(y)), LOSSES[machine.loss](epsilon)
    total = LONG(len(y)) if weight is None else long(weight).sum()
    values = [
        of_loss(
            exact, y, c, 1 / (LONG(C) * total), np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]), scale, loss
        )
        for model in (ours, theirs)
    ]
    (own, off), (other, their_off) = values
    return Comparison(own, other, _certified(machine, ours.gap_, own, y, c), off + their_off)


def _by_kernel(machine: Machine, drawn: Drawn) -> Comparison:
    """A kernel machine, with a free bias."""
    X, exact, y, weight, C, epsilon, _ = drawn
    assert machine.kernel is not None
    options = {**KERNELS[machine.kernel], "C": C}
    if machine.estimator == "SVR":
        options["epsilon"] = epsilon
    ours = getattr(hinge, machine.estimator)(**options, tol=TOL).fit(X, y, weight)
    if hasattr(ours.kernel_, "gamma"):
        options["gamma"] = ours.kernel_.gamma  # the same digits for both
    theirs = getattr(svm, machine.estimator)(**options, tol=1e-12, max_iter=STEPS).fit(X, y, weight)
    c = shares(weight, len(y))
    lam = 1 / (LONG(C) * (LONG(len(y)) if weight is None else long(weight).sum()))
    own, other = (_objective(model, ours.kernel_, exact, y, c, lam, epsilon) for model in (ours, theirs))
    return Comparison(own[0], other[0], _certified(machine, ours.gap_, own[0], y, c), own[1] + other[1])


def _objective(
    model: Any, kernel: Kernel, X: np.ndarray, y: np.ndarray, c: np.ndarray, lam: Any, epsilon: float
) -> tuple[Any, Any]:
    """λ/2 ‖w‖² + mean loss, and what it may be off by.

    w is made of the support vectors themselves: scikit-learn's `support_` counts only the rows that have a weight.
    """
    vectors, dual = (
        part.toarray() if sp.issparse(part) else part for part in (model.support_vectors_, model.dual_coef_)
    )
    beta, n = long(dual.ravel()), len(y)
    K = kernels.values(kernel, np.concatenate([X, long(vectors)]))
    r, own = K[:n, n:] @ beta, K[n:, n:]
    f, size = r + LONG(float(model.intercept_[0])), np.abs(K[:n, n:]) @ np.abs(beta)
    g = 1 - y * f if hasattr(model, "classes_") else np.abs(long(y) - f) - LONG(epsilon)
    value = lam / 2 * (beta @ own @ beta) + c @ np.maximum(g, 0)
    whole = lam * (np.abs(beta) @ np.abs(own) @ np.abs(beta)) + c @ (size + np.abs(long(y)) + 1 + np.abs(f))
    return value, 16 * (n + len(beta)) * EPS * whole
