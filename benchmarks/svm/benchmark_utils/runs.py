"""The three ways in which solvers of this benchmark run, as bases for the files in `solvers`."""

from __future__ import annotations

from typing import Any

import numpy as np
from benchopt import BaseSolver
from benchopt.stopping_criterion import NoCriterion, SufficientProgressCriterion

from benchmark_utils.peers import Worker, missing
from hinge.access.gram.device import import_torch
from hinge.problems import Regularized

LOOSEST = 1.0  # the first tolerance, and one pass; benchopt's own first asks for nothing


def until_flat(strategy: str) -> SufficientProgressCriterion:
    """End a curve where points no longer improve; benchopt's own patience ends bad beginnings too."""
    return SufficientProgressCriterion(strategy=strategy, eps=1e-7, patience=8)


def to_the_limits(strategy: str) -> NoCriterion:
    """End a curve by the limits of points and time alone, as stochastic gradients improve unevenly."""
    return NoCriterion(strategy=strategy)


class Stepwise(BaseSolver):
    """A solver of hinge, advanced from look to look; the clock holds its steps alone.

    Attributes
    ----------
    method : hinge.solvers.Solver
    looks : int
        Looks in as many iterations as read the data once, where the method would do more between looks.
    """

    stopping_criterion: Any = until_flat("callback")
    method: Any
    looks = 1

    def set_objective(self, X: Any, y: np.ndarray, lam: float) -> None:
        """Take the problem."""
        self.problem = Regularized(X, y, lam)
        self.state: Any = None

    def skip(self, X: Any, y: np.ndarray, lam: float) -> tuple[bool, str | None]:
        """Where the method cannot solve such a problem."""
        if hasattr(self.method, "device"):
            try:
                import_torch(self.method.device)
            except (ImportError, RuntimeError) as absent:
                return True, str(absent)
        reason = self.method.rejects(Regularized(X, y, lam))
        return reason is not None, reason

    def warm_up(self) -> None:
        """Compile, by a few steps that are thrown away."""
        state = self.method.init(self.problem, 0)
        for _ in range(3):
            state = self.method.advance(self.problem, state, self.method.pause(self.problem, state))

    def run(self, callback: Any) -> None:
        """Until benchopt has seen enough, or the method has finished."""
        method, problem = self.method, self.problem
        self.state = None
        at_most = max(1, method.cost(problem).a_pass // self.looks)
        while callback():
            if self.state is None:
                self.state = method.init(problem, self.get_seed(use_repetition=True))
            pause = min(method.pause(problem, self.state), at_most)
            if pause <= 0:
                break
            self.state = method.advance(problem, self.state, pause)

    def get_next(self, stop: int) -> int:
        """The look after this one."""
        return later(stop)

    def get_result(self) -> dict[str, Any]:
        """The weights so far."""
        if self.state is None:
            return {"w": np.zeros(self.problem.d)}
        return {"w": self.method.solution(self.problem, self.state).w}


class Estimator(BaseSolver):
    """A scikit-learn estimator, fitted anew for each point; all that `fit` does is on the clock."""

    def set_objective(self, X: Any, y: np.ndarray, lam: float) -> None:
        """Take the problem."""
        self.X, self.y, self.lam = X, y, lam

    def warm_up(self) -> None:
        """Compile, load libraries."""
        self.run(LOOSEST)

    def estimator(self, stop: float, seed: int) -> Any:
        """The estimator for a tolerance or a number of passes."""
        raise NotImplementedError

    def run(self, stop: float) -> None:
        """Fit, unless the tolerance asks for nothing or there are no passes."""
        self.model = None
        if asks_for_work(self, stop):
            self.model = self.estimator(stop, self.get_seed(use_repetition=True)).fit(self.X, self.y)

    def get_next(self, stop: float) -> float:
        """Tolerances fall by factors of three; passes grow by halves."""
        return next_stop(self, stop)

    def get_result(self) -> dict[str, Any]:
        """The weights, and the certified gap where there is one."""
        if self.model is None:
            return {"w": np.zeros(self.X.shape[1])}
        return {"w": np.ravel(self.model.coef_), "gap": getattr(self.model, "gap_", np.inf)}


class Peer(BaseSolver):
    """A package in an environment of its own: a process that holds the data trains anew for each point.

    benchopt's clock holds the training call and a message each way; the seconds of the call itself are
    measured in the process and kept beside it.
    """

    peer: str

    def task(self) -> dict[str, Any]:
        """Settings for the process."""
        return {}

    def skip(self, X: Any, y: np.ndarray, lam: float) -> tuple[bool, str | None]:
        """Where the package is not installed."""
        reason = missing(self.peer)
        return reason is not None, reason

    def set_objective(self, X: Any, y: np.ndarray, lam: float) -> None:
        """Start the process and give it the data, off the clock."""
        seed = self.get_seed(use_repetition=True) % 2**31
        self.d = X.shape[1]
        self.worker = Worker(self.peer, X, y, {"lam": lam, "seed": seed, **self.task()})

    def warm_up(self) -> None:
        """Train once for nothing: first touches of memory and libraries."""
        self.run(LOOSEST)

    def run(self, stop: float) -> None:
        """Train, unless the tolerance asks for nothing or there are no passes."""
        self.seconds = None
        if asks_for_work(self, stop):
            self.seconds = self.worker.train(stop)

    def get_next(self, stop: float) -> float:
        """Tolerances fall by factors of three; passes grow by halves."""
        return next_stop(self, stop)

    def get_result(self) -> dict[str, Any]:
        """The weights and the seconds that the process itself counted."""
        preparation = self.worker.preparation
        if self.seconds is None:
            return {"w": np.zeros(self.d), "inside": 0.0, "preparation": preparation}
        return {"w": self.worker.weights(), "inside": self.seconds, "preparation": preparation}


def asks_for_work(solver: BaseSolver, stop: float) -> bool:
    """Not benchopt's first points, an infinite tolerance or no passes, which stand for w = 0."""
    return stop > 0 if solver.stopping_criterion.strategy == "iteration" else stop <= LOOSEST


def next_stop(solver: BaseSolver, stop: float) -> float:
    """The tolerance or the number of passes after this one."""
    if solver.stopping_criterion.strategy == "iteration":
        return later(stop)
    return LOOSEST if stop > LOOSEST else stop / 3


def later(count: float) -> int:
    """A number of looks or passes half as large again, one more at least."""
    return max(int(count) + 1, int(1.5 * count))
