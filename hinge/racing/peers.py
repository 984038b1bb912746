"""Other packages' solvers of the same problem, with settings that make it the same."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hinge.racing.course import Course, Measurement

HALVINGS = 2
"""Efforts tried between the last one that missed the target and the first that met it, by bisection."""


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
    module: str
    package: str
    fit: Callable[[Course, float, int], PeerFit]
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
        if self.kernel == (course.kernel is not None):
            return None
        return "It is for kernels: give --kernel rbf." if self.kernel else "It is linear: leave --kernel out."

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
        for _ in range(HALVINGS if missed else 0):
            between = float(np.sqrt(missed * effort))
            between = float(round(between)) if self.integer_effort else between
            if not missed < between < effort:
                return
            look, _ = self._run(course, between, seed)
            yield look
            missed, effort = (missed, between) if reached(look) else (between, effort)

    def _run(self, course: Course, effort: float, seed: int) -> tuple[Measurement, bool]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # runs are cut off on purpose, so warnings of that are no news
            began = time.perf_counter()
            fitted = self.fit(course, effort, seed)
            seconds = time.perf_counter() - began
        if fitted.w is not None:
            objective, error = course.judge_weights(fitted.w)
            return Measurement(seconds, None, None, objective, error), fitted.finished
        assert fitted.support is not None and fitted.coef is not None
        judged = course.judge_support(fitted.support, fitted.coef, fitted.b)
        return Measurement(seconds, None, None, *judged), fitted.finished


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
    Peer("liblinear", "scikit-learn LinearSVC (LIBLINEAR)", "sklearn", "scikit-learn", _liblinear),
    Peer("sklearn-sgd", "scikit-learn SGDClassifier", "sklearn", "scikit-learn", _sgd),
    Peer(
        "libsvm",
        "scikit-learn SVC (LIBSVM), with a bias",
        "sklearn",
        "scikit-learn",
        _libsvm,
        kernel=True,
        bias="free",
        first=64.0,
    ),
    Peer(
        "liblinear-official",
        "LIBLINEAR's own Python package",
        "liblinear",
        "liblinear-official",
        _liblinear_official,
        first=0.1,
        integer_effort=False,
    ),
)
"""Each with the objective of the course, C = 1/(λn): a bias is a feature of the course, and none of theirs."""
