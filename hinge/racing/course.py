"""What all contestants of a race run on: the rows, the objective, and how answers are judged."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hinge.access import Gram, as_points
from hinge.estimators.kernel.expansions import kernel_sums
from hinge.kernels import Kernel
from hinge.monitoring import Stop
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
from hinge.solvers import choose, solve
from hinge.types import Stored

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
        test, known = (self.X_test[:rows], self.y_test[:rows]), dict(self.references)
        return replace(self, X=self.X[kept], y=self.y[kept], X_test=test[0], y_test=test[1], references=known)

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
            objective, error = self.judge_weights(scale * answer.w)
            return objective, error, -np.inf
        assert isinstance(problem, Regularized)
        objective, error = self.judge_weights(answer.w)
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

    def judge_weights(self, w: np.ndarray) -> tuple[float, float]:
        """Objective and test error of a linear answer."""
        w = np.ascontiguousarray(w, np.float64).ravel()
        objective = Regularized(self.X, self.y, self.lam).objective(Solution(w))
        return float(objective), _wrong(np.asarray(self.X_test @ w), self.y_test)

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
