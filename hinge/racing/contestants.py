"""Who can be in a race: every solver of this library by its name, and the peers; and on what they run.

All have the same rows and objective, and their answers are judged in one place.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from hinge.access import Gram, as_points
from hinge.estimators.kernel.expansions import kernel_sums
from hinge.experiments import nearest
from hinge.kernels import Kernel
from hinge.monitoring import Stop, interrupts
from hinge.problems import (
    Expansion,
    KernelProblem,
    KernelRegularized,
    KernelSlackConstrained,
    Problem,
    Regularized,
    SlackConstrained,
    Solution,
)
from hinge.solvers import SBP, Solver, Switch, choose, registry, solve, trace
from hinge.types import Stored

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

    coef: np.ndarray
    support: np.ndarray | None = None
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
        if fitted.support is None:
            judged = course.judge_weights(fitted.coef)
        else:
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
    return PeerFit(coef, model.support_, float(model.intercept_[0]), finished)


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


KERNEL_TEST_ROWS = 2000
"""Test rows on which kernel machines are judged: every measurement costs a kernel value for each support vector."""


class Measurement(NamedTuple):
    """A contestant's answer at some time, measured.

    Attributes
    ----------
    seconds : float
        The contestant's own time, without the measurement.
    reads, evals : int or None
        Cells of the data and kernel values it has used; None where nobody counts them.
    objective : float
        Exact, on the training rows.
    error : float
        Share of the test rows on the wrong side.
    bound : float
        A lower bound on the minimum that the answer proves at no cost; -inf where it proves none.
    """

    seconds: float
    reads: int | None
    evals: int | None
    objective: float
    error: float
    bound: float = -np.inf


class Reference(NamedTuple):
    """What is known before the race: a lower bound on the minimum, the gap left, the optimum's slack ν."""

    bound: float
    gap: float
    nu: float


@dataclass
class Course:
    """Rows and an objective: ½λ‖w‖² + the mean hinge loss.

    A bias is a last feature that is 1 in every row, whose weight is penalised like the others': what `LinearSVC` and
    LIBLINEAR have, and every solver can.

    Parameters
    ----------
    X, y : training rows, and labels -1 and +1
    X_test, y_test : test rows and labels
    lam : float
    kernel : Kernel, optional
        For kernel machines; None for linear ones.
    name : str
        Of the data, for captions.
    biased : bool
        Whether the last feature is the bias, see `with_bias`.
    """

    X: Stored
    y: np.ndarray
    X_test: Stored
    y_test: np.ndarray
    lam: float
    kernel: Kernel | None = None
    name: str = "data"
    biased: bool = False
    references: dict[str, Reference] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kernel is not None and len(self.y_test) > KERNEL_TEST_ROWS:
            some = np.sort(np.random.default_rng(0).permutation(len(self.y_test))[:KERNEL_TEST_ROWS])
            self.X_test, self.y_test = self.X_test[some], self.y_test[some]

    @property
    def C(self) -> float:
        """The C of LIBLINEAR and LIBSVM, 1/(λn)."""
        return 1.0 / (self.lam * len(self.y))

    @property
    def gamma(self) -> float:
        """Of the Gaussian kernel."""
        return float(getattr(self.kernel, "gamma", np.nan))

    def part(self, rows: int) -> Course:
        """A small course of the same kind, to compile for: both classes, and the reference as it is."""
        sides = [np.flatnonzero(self.y == side)[: -(-rows // 2)] for side in (-1, 1)]
        kept = np.sort(np.concatenate(sides))
        few = replace(self, X=self.X[kept], y=self.y[kept], X_test=self.X_test[:rows], y_test=self.y_test[:rows])
        few.references = dict(self.references)
        return few

    # --- problems -------------------------------------------------------------------------

    def regularized(self, bias: str = "none") -> Any:
        """The problem itself, with counters at zero and nothing in any cache."""
        if self.kernel is None:
            return Regularized(self.X, self.y, self.lam)
        free: Any = "free" if bias == "free" else "none"
        return KernelRegularized(self._gram(), self.y, self.lam, bias=free)

    def slack_constrained(self) -> Any:
        """The same trade-off by the slack of the optimum (Lemma 2.1 of the SIMBA and SBP papers)."""
        reference = self.references.get("none")  # not known while compiling: then any slack will do
        nu = 1.0 if reference is None else float(np.clip(reference.nu, 1e-12, 1.0))
        if self.kernel is None:
            return SlackConstrained(self.X, self.y, nu)
        return KernelSlackConstrained(self._gram(), self.y, nu)

    def _gram(self) -> Gram:
        assert self.kernel is not None
        return Gram(as_points(self.X, self.kernel), 200_000_000)  # scikit-learn's default for LIBSVM

    # --- what is known of the minimum -----------------------------------------------------

    def find_reference(self, tol: float, max_time: float, bias: str = "none") -> Reference:
        """Solve the problem before the race, and keep the lower bound that this proves."""
        problem = self.regularized(bias)
        result = solve(problem, choose(problem).solver, stop=Stop(tol=tol, max_time=max_time))
        norm, loss = problem.criteria_of(result.solution)
        bound, gap = float(result.certificate.bound), float(result.certificate.gap)
        self.references[bias] = Reference(max(bound, 0.0), gap, loss / norm if norm > 0 else 1.0)
        return self.references[bias]

    # --- judging --------------------------------------------------------------------------

    def judge(self, problem: Problem, answer: Solution | Expansion) -> tuple[float, float, float]:
        """Objective, test error and proven lower bound of an answer to one of the problems above.

        The answer to a slack-constrained problem is first scaled by 1/γ, as in Lemma 2.1.
        """
        if isinstance(answer, Expansion):
            assert isinstance(problem, KernelProblem)
            return self._judge_expansion(problem, answer)
        if isinstance(problem, SlackConstrained):
            gamma, _, s = problem.level(answer, billed=False)
            scale = s / (gamma * (problem.norm(answer.w) or 1.0))
            return self.judge_weights(scale * answer.w)
        assert isinstance(problem, Regularized)
        objective, error, _ = self.judge_weights(answer.w)
        return objective, error, problem.dual(answer)

    def _judge_expansion(self, problem: KernelProblem, answer: Expansion) -> tuple[float, float, float]:
        if isinstance(problem, KernelSlackConstrained):
            gamma, _, s = problem.level(answer)
            scale = s / (gamma * (np.sqrt(problem.checked(answer)) or 1.0))
            scaled = Expansion(scale * answer.beta, 0.0, scale * answer.responses)
            own = KernelRegularized(problem.gram, self.y, self.lam)
            return own.objective(scaled), self._kernel_error(scaled), -np.inf
        certificate = problem.certificate(answer)
        answer = answer._replace(b=certificate.b)
        return certificate.objective, self._kernel_error(answer), certificate.bound

    def judge_weights(self, w: np.ndarray) -> tuple[float, float, float]:
        """Objective and test error of weights, which prove no lower bound: it is -inf."""
        w = np.ascontiguousarray(w, np.float64).ravel()
        objective = Regularized(self.X, self.y, self.lam).objective(Solution(w))
        return float(objective), _wrong(np.asarray(self.X_test @ w), self.y_test), -np.inf

    def judge_support(self, support: np.ndarray, coef: np.ndarray, b: float) -> tuple[float, float, float]:
        """Objective with a bias, test error and proven lower bound of a peer's kernel machine."""
        assert self.kernel is not None
        beta = np.zeros(len(self.y))
        beta[support] = coef
        responses = self._sums(self.X, beta)
        problem = KernelRegularized(self._gram(), self.y, self.lam, bias="free")
        answer = Expansion(beta, b, responses)
        return problem.objective(answer), self._kernel_error(answer), problem.certificate(answer).bound

    def _kernel_error(self, answer: Expansion) -> float:
        return _wrong(self._sums(self.X_test, answer.beta) + answer.b, self.y_test)

    def _sums(self, rows: Stored, beta: np.ndarray) -> np.ndarray:
        assert self.kernel is not None
        used = np.flatnonzero(beta)
        if len(used) == 0:
            return np.zeros(rows.shape[0])
        cuts = np.array([0, len(used)])
        return kernel_sums(self.kernel, rows, self.X[used], beta[used][None], cuts)[:, 0, 0]


def with_bias(X: Stored) -> Stored:
    """The rows with a last feature that is 1 in all of them."""
    ones = np.ones((X.shape[0], 1), X.dtype)
    return np.hstack([X, ones]) if isinstance(X, np.ndarray) else sp.hstack([X, ones], format="csr")


def _wrong(scores: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean((scores > 0) != (y > 0))) if len(y) else np.nan
