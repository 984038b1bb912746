"""Who can be in a race: every solver of this library by its name, and the peers."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from hinge.experiments import nearest
from hinge.monitoring import interrupts
from hinge.racing.course import Course, Measurement
from hinge.solvers import SBP, Solver, Switch, choose, registry, trace

FORMER = {"hingesgd": "sgd"}
"""What solvers of ours were once called in races."""


@dataclass(frozen=True)
class Ours:
    """A solver of this library.

    Times and reads are of the solver's own work. A certificate is included only where the solver needs it
    to go on, since it works on a part of the rows until a certificate fails. Slack-constrained solvers are given
    the slack of the optimum, which is found beforehand.
    """

    solver: Solver
    name: str
    bias: str = "none"
    restarts: bool = False

    @property
    def label(self) -> str:
        """The class."""
        return f"hinge {type(self.solver).__name__}"

    @property
    def kernel(self) -> bool:
        """Whether it solves kernel problems, and not linear ones."""
        return registry.solves(self.solver) == "kernel"

    def missing(self) -> str | None:
        """It is always there."""
        return None

    def rejects(self, course: Course) -> str | None:
        """Why it cannot: it is for kernels and the course is linear, or the reverse, or what the solver says."""
        if (reason := wrong_space(self.kernel, course)) is not None:
            return reason
        reason = self.solver.rejects(course.regularized())
        return None if self.solver.rejects(course.slack_constrained()) is None else reason

    def problem(self, course: Course) -> Any:
        """The form of the problem that it solves."""
        problem = course.regularized()
        return problem if self.solver.rejects(problem) is None else course.slack_constrained()

    def looks(
        self, course: Course, seed: int, max_time: float, reached: Callable[[Measurement], bool], tol: float
    ) -> Iterator[Measurement]:
        """One run; measurements are about 15% of the time apart."""
        problem = self.problem(course)
        # The batch of SBP that suits n, as where the slack is given to an estimator.
        solver = choose(problem).solver if self.solver == SBP() else self.solver
        ends, took = interrupts.now() + 2.0 * max_time, 0.0  # on few rows evaluations take longer than steps

        def due(seconds: float) -> float:
            # Times are known to about 15%; the solver works for at least half of the time that an evaluation took.
            later = seconds + max(0.15 * seconds, 0.5 * took)
            # Even if setting up used all the time, there is one measurement.
            return later if seconds >= max_time else min(later, max_time)

        for now in trace(problem, solver, due, unit="seconds", seed=seed, tol=tol):
            began = time.perf_counter()
            judged = course.judge(problem, now.solution)
            look = Measurement(now.seconds, now.feature_reads, now.kernel_evals, *judged)
            yield look
            if now.seconds >= max_time or interrupts.now() >= ends or reached(look):
                return
            took = time.perf_counter() - began


def ours() -> dict[str, Ours]:
    """Every solver of this library that solves an SVM, by its name."""
    return {name: Ours(entry.load()(), name) for name, entry in registry.entries("linear", "cells", "kernel").items()}


def wrong_space(kernel: bool, course: Course) -> str | None:
    """Why a solver of kernel problems, or of linear ones, cannot be on this course; None if it can."""
    if kernel == (course.kernel is not None):
        return None
    return "It is for kernels: give --kernel rbf." if kernel else "It is for linear problems: leave --kernel out."


def all_contestants() -> dict[str, Contestant]:
    """All names that a race understands."""
    return {**ours(), **{peer.name: peer for peer in PEERS}}


def find(names: Sequence[str]) -> list[Contestant]:
    """Contestants by name, each once, however it is spelled: "block-dual", "BlockDual", "block_dual"."""
    everyone = all_contestants()
    plain = {re.sub("[-_ ]", "", name): name for name in everyone}
    found: dict[str, Contestant] = {}
    for asked in names:
        bare = re.sub("[-_ ]", "", asked.lower())
        name = plain.get(FORMER.get(bare, bare)) or nearest(asked.lower(), tuple(everyone), "solver")
        found[name] = everyone[name]
    return list(found.values())


def default_names(course: Course) -> list[str]:
    """A sensible field for a course: ours of each kind, and what most people use."""
    if course.kernel is not None:
        return ["blockdual", "sbp", "kernelpegasos", "libsvm"]
    newton = ["newton"] if isinstance(choose(course.regularized()).solver, Switch) else []
    return ["sdca", *newton, "pegasos", "liblinear", "sklearn-sgd"]


class PeerFit(NamedTuple):
    """A peer's answer: w, or the coefficients of support vectors; and whether more effort changes nothing."""

    w: np.ndarray | None = None
    support: np.ndarray | None = None
    coef: np.ndarray | None = None
    b: float = 0.0
    finished: bool = False


@dataclass(frozen=True)
class Peer:
    """A solver of another package.

    Peers give no answers on the way, so each is run from zero again and again, with an effort that doubles
    (an iteration limit, or the inverse of a tolerance), and every run is charged its own time alone, as
    benchopt does. When the target is first met, the efforts between are tried too, so that the doubling does
    not count against the peer.

    Parameters
    ----------
    name, label : str
    module, package : str
        What is imported, and what ``pip install`` calls it.
    fit : callable
        (course, effort, seed) to `PeerFit`.
    kernel : bool
        Whether it solves kernel problems only; if not, linear ones only.
    bias : {"none", "free"}
        "free" where its bias cannot be switched off.
    first : float
        The smallest effort; an integer where `integer_effort`.
    integer_effort, restarts : bool
    """

    name: str
    label: str
    fit: Callable[[Course, float, int], PeerFit]
    module: str = "sklearn"
    package: str = "scikit-learn"
    kernel: bool = False
    bias: str = "none"
    first: float = 1.0
    integer_effort: bool = True
    restarts: bool = True

    def missing(self) -> str | None:
        """How to install it, if it is not."""
        if importlib.util.find_spec(self.module) is not None:
            return None
        return f"{self.name} is not installed: pip install {self.package}"

    def rejects(self, course: Course) -> str | None:
        """Why it cannot: it is for kernels and the course is linear, or the reverse."""
        return wrong_space(self.kernel, course)

    def version(self) -> str:
        """Of the installed package; empty if it says none."""
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return ""

    def looks(
        self, course: Course, seed: int, max_time: float, reached: Callable[[Measurement], bool], tol: float
    ) -> Iterator[Measurement]:
        """Runs of growing effort, until one meets the target or the next would take too long."""
        effort, missed = self.first, 0.0
        while True:
            look, finished = self._run(course, effort, seed)
            yield look
            if reached(look):
                break
            if finished or 2.0 * look.seconds > max_time:
                return
            effort, missed = 2.0 * effort, effort
        for _ in range(2 if missed else 0):  # bisection between the last effort that missed and the first that met it
            between = float(np.sqrt(missed * effort))
            between = float(round(between)) if self.integer_effort else between
            if not missed < between < effort:
                return
            look, _ = self._run(course, between, seed)
            yield look
            missed, effort = (missed, between) if reached(look) else (between, effort)

    def _run(self, course: Course, effort: float, seed: int) -> tuple[Measurement, bool]:
        with warnings.catch_warnings(action="ignore"):  # runs are cut off on purpose, so warnings of that are no news
            began = time.perf_counter()
            fitted = self.fit(course, effort, seed)
            seconds = time.perf_counter() - began
        if fitted.w is not None:
            objective, error = course.judge_weights(fitted.w)
            return Measurement(seconds, None, None, objective, error), fitted.finished
        assert fitted.support is not None and fitted.coef is not None
        judged = course.judge_support(fitted.support, fitted.coef, fitted.b)
        return Measurement(seconds, None, None, *judged), fitted.finished


Contestant: TypeAlias = Ours | Peer
"""Both have a `name` to type, a `label` that says what it is, `bias` ("free" for one that cannot do without a bias, and
is judged by the problem with one), and `restarts`, whether every measurement is a run of its own, from zero."""


def _liblinear(course: Course, effort: float, seed: int) -> PeerFit:
    from sklearn.svm import LinearSVC

    model = LinearSVC(
        C=course.C, loss="hinge", dual=True, fit_intercept=False, tol=1e-6, max_iter=int(effort), random_state=seed
    ).fit(course.X, course.y)
    return PeerFit(model.coef_[0], finished=int(np.max(model.n_iter_)) < effort)


def _sgd(course: Course, effort: float, seed: int) -> PeerFit:
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(
        loss="hinge", alpha=course.lam, fit_intercept=False, max_iter=int(effort), tol=None, random_state=seed
    ).fit(course.X, course.y)
    return PeerFit(model.coef_[0])


def _libsvm(course: Course, effort: float, seed: int) -> PeerFit:
    from sklearn.svm import SVC

    model = SVC(C=course.C, gamma=course.gamma, tol=1e-4, max_iter=int(effort)).fit(course.X, course.y)
    coef = model.dual_coef_
    coef = (coef.toarray() if sp.issparse(coef) else coef)[0]
    finished = int(np.max(model.n_iter_)) < effort
    return PeerFit(None, model.support_, coef, float(model.intercept_[0]), finished)


def _liblinear_official(course: Course, effort: float, seed: int) -> PeerFit:
    from liblinear.liblinearutil import train

    X = sp.csr_matrix(course.X, dtype=np.float64)
    options = f"-s 3 -c {course.C:.17g} -e {1.0 / effort:.17g} -B -1 -q"
    model: Any = train(course.y.astype(np.float64), X, options)
    w = np.array(model.w[: model.nr_feature]) * model.label[0]
    return PeerFit(w, finished=effort > 1e8)


PEERS = (
    Peer("liblinear", "scikit-learn LinearSVC (LIBLINEAR)", _liblinear),
    Peer("sklearn-sgd", "scikit-learn SGDClassifier", _sgd),
    Peer("libsvm", "scikit-learn SVC (LIBSVM), with a bias", _libsvm, kernel=True, bias="free", first=64.0),
    Peer(
        "liblinear-official",
        "LIBLINEAR's own Python package",
        _liblinear_official,
        "liblinear",
        "liblinear-official",
        first=0.1,
        integer_effort=False,
    ),
)
"""Each with the objective of the course, C = 1/(λn): a bias is a feature of the course, and none of theirs."""
