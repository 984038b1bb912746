"""Bounds on the error of every C against brute force: ``python -m tests.certified_choice [problems] [values of C]``.

Small random problems, of which each machine in turn is certified; each value of C on a fine grid is then solved by
other means: Newton's method in float64 for the squared hinge, LIBLINEAR and LIBSVM at tight tolerances for the hinge.
"""

import sys
import warnings
from typing import NamedTuple

import numpy as np
import sklearn.svm
from sklearn.model_selection import StratifiedKFold

from hinge import SVCCV, LinearSVCCV

MACHINES = ("squared", "squared, weighted", "hinge", "free", "rbf")
DOUBTFUL = 1e-4
"""Decision values of the reference that are nearer to zero than this count as either class."""


class Checked(NamedTuple):
    """One problem: what was proven, and how many values of C contradict it."""

    machine: str
    gap: float
    asked: float
    false: int


def random_problem(seed: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Rows of two overlapping classes, some of them with noisy labels."""
    draws = np.random.default_rng(seed)
    n, d = int(draws.integers(20, 50)), int(draws.integers(1, 6))
    X = draws.normal(size=(n, d)) * 10.0 ** draws.uniform(-1.0, 0.3)
    y = (X @ draws.normal(size=d) + draws.normal(size=n) * X.std() > 0).astype(int)
    y[:6] = [0, 1, 0, 1, 0, 1]
    return X, y, draws


def newton_values(X: np.ndarray, t: np.ndarray, s: np.ndarray, C: float, w: np.ndarray) -> np.ndarray:
    """The w that minimises ½‖w‖² + C Σ s max(0, 1 - t⟨w, x⟩)², by damped Newton steps."""

    def objective(w: np.ndarray) -> float:
        return 0.5 * float(w @ w) + C * float(s @ np.maximum(1.0 - t * (X @ w), 0.0) ** 2)

    for _ in range(100):
        g = np.maximum(1.0 - t * (X @ w), 0.0)
        slope = w - 2.0 * C * (X.T @ (s * g * t))
        if np.linalg.norm(slope) <= 1e-11 * (1.0 + C * float(s.sum()) * np.abs(X).max()):
            break
        rows = X[g > 0]
        step = np.linalg.solve(np.eye(len(w)) + 2.0 * C * (rows.T * s[g > 0]) @ rows, slope)
        size, before = 1.0, objective(w)
        while size > 1e-8 and objective(w - size * step) > before:
            size *= 0.5
        w = w - size * step
    return w


def reference_values(
    machine: str, X: np.ndarray, y: np.ndarray, s: np.ndarray, test: np.ndarray, Cs: np.ndarray, gamma: float
):
    """Decision values of the held-out rows for each C."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if machine.startswith("squared"):
            w, ones = np.zeros(X.shape[1] + 1), np.ones((len(X), 1))
            for C in Cs:
                w = newton_values(np.hstack([X, ones]), 2.0 * y - 1.0, s, C, w)
                yield test @ w[:-1] + w[-1]
            return
        for C in Cs:
            if machine == "hinge":
                one = sklearn.svm.LinearSVC(loss="hinge", C=C, tol=1e-7, max_iter=200_000, random_state=0)
            else:
                one = sklearn.svm.SVC(C=C, kernel="linear" if machine == "free" else "rbf", gamma=gamma, tol=1e-7)
            yield one.fit(X, y, s).decision_function(test)


def check(seed: int, n_Cs: int, low: float = 1e-2, high: float = 1e2) -> Checked:
    """Certify one problem, and compare its bounds with the error at each C."""
    X, y, draws = random_problem(seed)
    machine, asked = MACHINES[seed % len(MACHINES)], float(draws.choice([0.02, 0.05, 0.1]))
    folds = list(StratifiedKFold(2, shuffle=True, random_state=seed).split(X, y))
    weight = draws.uniform(0.5, 2.0, len(y)) if "weighted" in machine else np.ones(len(y))
    Cs, gamma = np.geomspace(low, high, 4), 1.0 / X.var() / X.shape[1]
    common: dict = {"Cs": Cs, "cv": folds, "certify": asked, "refit": False, "random_state": 0, "max_time": 2.0}
    if machine == "rbf":
        model = SVCCV(gammas=[gamma], **common)
    else:
        loss = "squared_hinge" if machine.startswith("squared") else "hinge"
        model = LinearSVCCV(loss=loss, intercept="free" if machine == "free" else "penalized", **common)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what could not be proven in the time
        model.fit(X, y, weight)
    found = model.error_bounds_[0] if machine == "rbf" else model.error_bounds_
    every = np.append(np.geomspace(low, high, n_Cs), model.C_)
    least, most = np.zeros(len(every)), np.zeros(len(every))
    for train, test in folds:
        values = np.array(list(reference_values(machine, X[train], y[train], weight[train], X[test], every, gamma)))
        share = weight[test] / weight[test].sum() / len(folds)
        sign = 2.0 * y[test] - 1.0
        least += (sign * values < -DOUBTFUL) @ share
        most += (sign * values < DOUBTFUL) @ share
    cell = np.clip(np.searchsorted(found.C, every, side="right") - 1, 0, len(found.lower) - 1)
    false = (found.lower[cell] > most + 1e-9) | (found.upper[cell] < least - 1e-9)
    false |= least[-1] - most > model.choice_gap_ + 1e-9
    return Checked(machine, model.choice_gap_, asked, int(false.sum()))


def main(problems: int = 200, n_Cs: int = 2000, first: int = 0) -> int:
    """Check random problems from the one of this number on; returns the number of those with a false proof."""
    found = []
    for seed in range(first, first + problems):
        found.append(check(seed, n_Cs))
        if found[-1].false:
            print(f"problem {seed}: {found[-1]}", flush=True)
    for machine in MACHINES:
        own = [one for one in found if one.machine == machine]
        proven, wrong = sum(one.gap <= one.asked for one in own), sum(one.false > 0 for one in own)
        print(f"{machine}: {len(own)} problems, {proven} proven as asked for, {wrong} with a false proof", flush=True)
    return sum(one.false > 0 for one in found)


if __name__ == "__main__":
    sys.exit(1 if main(*map(int, sys.argv[1:])) else 0)
