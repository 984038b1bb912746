"""The SVM with a given slack, problem (3) of the SIMBA paper, or a given norm; and the conversions of Lemma 2.1."""

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from hinge.access import Data
from hinge.problems.base import Answer, Certificate, Solution, rounded_gap, rounding
from hinge.problems.svm.examples import Examples
from hinge.problems.svm.linear import Bias, LinearProblem
from hinge.problems.svm.regularized import Regularized
from hinge.types import MatrixLike


class GivenSlack(Examples[Answer]):
    """Examples whose slacks may have the mean ν: the level that their margins reach, and how much slack is too much."""

    nu: float
    bias: Any = "none"

    def basins(self, answer: Answer, billed: bool = True) -> "Basins":
        """The margins of an answer at unit norm."""
        raise NotImplementedError

    def norm_of(self, answer: Answer) -> float:
        """‖w‖."""
        raise NotImplementedError

    def objective(self, answer: Answer) -> float:
        """The largest margin (water level) of any multiple of w in the unit ball, at the best bias if it is free."""
        return self.level(answer, billed=False)[0]

    def level(self, answer: Answer, billed: bool = True) -> tuple[float, float, float]:
        """The margin γ (water level), the bias at unit norm, and the norm s in [0, 1] at which w has this margin.

        At norm s the level is s Φ(ν/s), where Φ(ν) is the level at unit norm. It can be largest at some s < 1, if w
        misclassifies so much that a shorter w makes better use of the slack; w = 0 has level ν.
        """
        return self.level_in(self.basins(answer, billed), answer)

    def level_in(self, basins: "Basins", answer: Answer) -> tuple[float, float, float]:
        """The same, given the margins."""
        gamma, b, s = best_level(basins, self.nu)
        return gamma, b if self.bias == "free" else cast(Any, answer).b / (self.norm_of(answer) or 1.0), s

    def rounded_level(self, basins: "Basins", gamma: float, s: float, error: float) -> float:
        """A lower bound on the level γ at norm s, where each margin at unit norm is off by at most `error`."""
        gamma -= s * (error + basins.error(self.nu / s)) if s > 0 else rounding(0, gamma)
        return max(gamma, self.nu - rounding(0, self.nu))  # the margins of w = 0 are exact

    def final_answer(self, answer: Answer, certificate: Certificate) -> Answer:
        """The answer with the certificate's bias, which is for unit norm, times ‖w‖."""
        if certificate.is_unknown:
            return answer
        return cast(Answer, cast(Any, answer)._replace(b=certificate.b * (self.norm_of(answer) or 1.0)))

    def usable(self, answer: Answer) -> float:
        """The slack at which all rows of the smaller class use some; with more the bias diverges.

        Infinite without a free bias; reads are not billed.
        """
        return self.basins(answer, billed=False).usable

    def flooded(self, usable: float) -> str:
        """The error message for a slack that covers all of the smaller class."""
        m = min(int(((self.y == side) & (self.weight > 0)).sum()) for side in (1, -1))
        known = f" The largest usable slack is about {usable:.2g}." if np.isfinite(usable) else ""
        return (
            f"A slack of {self.nu:g} is too large: it covers all {m} rows of the smaller class, and "
            f"the bias diverges, so that all rows get the label of the other class.{known}"
        )


def checked_slack(nu: float) -> float:
    """ν as a number in [0, 1]."""
    if not 0 <= nu <= 1:
        raise ValueError(f"nu must lie in [0, 1], got {nu!r}: it is the mean slack at unit norm.")
    return float(nu)


class SlackConstrained(GivenSlack[Solution], LinearProblem):
    """Maximise the margin where the slacks of the rows may have the weighted mean ν.

    .. math:: \\max_{\\|w\\| \\le 1,\\, b}\\ \\max_{\\xi \\ge 0,\\ \\sum_i c_i\\xi_i \\le \\nu}\\
              \\min_i\\ y_i(\\langle w, x_i\\rangle + b) + \\xi_i

    At given w the inner maximum is the *water level* γ: the level that a volume ν of water reaches when poured onto the
    sorted margins. Every p of the simplex bounds the optimum from above,

    .. math:: D(p) = \\Big\\|\\sum_i p_i y_i x_i\\Big\\| + \\nu \\max_i p_i / c_i,

    with :math:`\\sum_i p_i y_i = 0` if the bias is free. The certificate is the relative gap
    :math:`(D - \\gamma)/\\gamma`. By Lemma 2.1, norm and loss of w/γ are then each within a factor 1/(1 - gap) of
    the Pareto front.

    Examples
    --------
    >>> from hinge import SlackConstrained, Stop, solve_slack
    >>> from hinge.datasets import make_known_optimum
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = SlackConstrained(made.X_train, made.y_train, nu=0.2)
    >>> result = solve_slack(problem, stop=Stop(tol=1e-2))
    >>> result.certificate.objective <= result.certificate.bound  # the margin, and a bound on it
    True
    """

    def __init__(
        self, X: MatrixLike | Data, y: ArrayLike, nu: float, *, weight: ArrayLike | None = None, bias: Bias = "none"
    ) -> None:
        LinearProblem.__init__(self, X, y, weight=weight, bias=bias)
        if bias == "penalized":
            raise ValueError("SlackConstrained takes bias='none' or 'free'; add a constant feature to X.")
        self.nu = checked_slack(nu)

    def regularized(self, lam: float) -> Regularized:
        """The same examples as a regularised problem."""
        weight = self.weight if len(self.weight) > 1 else None
        return Regularized(self.read_through, self.y, lam, weight=weight, bias=self.bias)

    def certificate(self, solution: Solution) -> Certificate:
        """The interval [γ, D(p)] with p proportional to the solution's cα; `b` is the bias at unit norm."""
        basins = self.basins(solution)
        gamma, b, s = self.level_in(basins, solution)
        # Error of the margins at unit norm, with the error of the norm.
        error = rounding(self.matrix.max_row_cells + self.d, self.largest_norm() + abs(b))
        gamma = self.rounded_level(basins, gamma, s, error)
        alpha = solution.alpha
        if alpha is None or alpha.max() <= 0:
            return Certificate(gamma, np.inf, np.inf, b)
        alpha = self.balanced(alpha) if self.bias == "free" else alpha
        mass = sum(self.class_mass(alpha))
        if mass <= 0:
            return Certificate(gamma, np.inf, np.inf, b)
        upper = (self.combination_norm(self.combination(alpha), mass) + self.nu * float(alpha.max())) / mass
        upper += rounding(self.terms, upper)
        return Certificate(gamma, upper, rounded_gap(upper, gamma, gamma), b)

    def norm_of(self, answer: Solution) -> float:
        """‖w‖."""
        return self.norm(answer.w)

    def basins(self, answer: Solution, billed: bool = True) -> "Basins":
        """The margins of an answer at unit norm."""
        r = self.responses(answer.w, billed) / (self.norm(answer.w) or 1.0)
        return Basins(r, self.y, self.row_shares(), free=self.bias == "free")


class Basins:
    """Water levels for any slack, from margins sorted once.

    Margins are the floor of a basin, into which the slack is poured. Without a bias there is one basin. A free bias
    makes one of each class, since it raises the margins of one class and lowers the margins of the other: with levels p
    and q in them, γ = (p + q)/2 and b = (q - p)/2, and at the optimum the total weights of the rows under water are
    equal. So the levels rise in steps: by Δ while the weight under water is μ, which takes the volume μΔ, in increasing
    order of μ.

    Parameters
    ----------
    r, y, c : ndarray of shape (n,)
        Responses, labels and weights, which sum to one.
    free : bool
        Whether there is a free bias.
    """

    def __init__(self, r: np.ndarray, y: np.ndarray, c: np.ndarray, *, free: bool) -> None:
        m = y * r
        sides = [y > 0, y < 0] if free else [np.ones(len(y), bool)]
        self.free = free and all(side.any() for side in sides)
        if not self.free:
            sides = [np.ones(len(y), bool)]
        self.floors: list[float] = []
        masses, rises, basins = [], [], []
        for k, side in enumerate(sides):
            order = np.argsort(m[side], kind="stable")
            margins = m[side][order]
            self.floors.append(float(margins[0]))
            masses.append(np.cumsum(c[side][order]))
            rises.append(np.append(np.diff(margins), np.inf))
            basins.append(np.full(len(margins), k))
        mass, rise, basin = np.concatenate(masses), np.concatenate(rises), np.concatenate(basins)
        order = np.argsort(mass, kind="stable")
        self.mass, rise, basin = mass[order], rise[order], basin[order]
        with np.errstate(invalid="ignore"):
            self.volume = np.concatenate([[0.0], np.nancumsum(self.mass * rise)])
        self.lifted = [np.concatenate([[0.0], np.cumsum(np.where(basin == k, rise, 0.0))]) for k in range(len(sides))]
        self.basin = basin

    @property
    def usable(self) -> float:
        """The slack at which one of two basins is filled above all its rows; infinite if there is one basin."""
        return float(self.volume[np.isfinite(self.volume)][-1]) if self.free else np.inf

    def level(self, nu: float) -> tuple[float, float]:
        """The level γ that a mean slack ν reaches, and the bias for it."""
        step = int(np.searchsorted(self.volume, nu, side="right")) - 1
        levels = [floor + lifted[step] for floor, lifted in zip(self.floors, self.lifted, strict=True)]
        levels[self.basin[step]] += (nu - self.volume[step]) / self.mass[step]
        if not self.free:
            return float(levels[0]), 0.0
        return float(sum(levels) / 2), float(levels[1] - levels[0]) / 2

    def error(self, nu: float) -> float:
        """Bound on the rounding error of the level at ν, apart from the errors of the margins."""
        step = int(np.searchsorted(self.volume, nu, side="right")) - 1
        size = sum(abs(floor) + lifted[step] for floor, lifted in zip(self.floors, self.lifted, strict=True))
        return rounding(4 * len(self.mass), float(size + nu / self.mass[step]))


def best_level(basins: Basins, nu: float) -> tuple[float, float, float]:
    """The largest level over all w/s with norm s ≤ 1: γ, the bias at unit norm, and s."""
    s = 1.0
    if nu > 0 and basins.level(nu)[0] < 0.999999 * basins.level(nu / 0.999999)[0]:
        s = float(
            minimize_scalar(
                lambda s: -s * basins.level(nu / s)[0], bounds=(1e-9, 1.0), method="bounded", options={"xatol": 1e-12}
            ).x
        )
    gamma, b = basins.level(nu / s)
    return (s * gamma, b, s) if s * gamma > nu else (nu, b, 0.0)


class NormConstrained(LinearProblem):
    """Minimise the mean hinge loss subject to a bound B on the norm of w.

    .. math:: \\min_{\\|w\\| \\le B,\\, b} \\hat L(w, b) \\;=\\;
              \\max_{0 \\le \\alpha_i \\le 1} \\sum_i c_i\\alpha_i
              - B\\Big\\|\\sum_i c_i\\alpha_i y_i x_i\\Big\\|

    With a free bias the dual also has the constraint :math:`\\sum_i c_i\\alpha_i y_i = 0`. The certificate is the
    absolute duality gap (the loss of w = 0 is 1). If ‖w‖ > B, objective and certificate are evaluated at the
    projection of w onto the ball.

    Examples
    --------
    >>> from hinge import NormConstrained, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import SGD
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = NormConstrained(made.X_train, made.y_train, 2.0)
    >>> result = solve(problem, SGD(average=True), stop=Stop(tol=0, max_iter=2000))
    >>> bool(problem.norm(result.solution.w) <= 2.0)
    True
    """

    def __init__(
        self, X: MatrixLike | Data, y: ArrayLike, B: float, *, weight: ArrayLike | None = None, bias: Bias = "none"
    ) -> None:
        super().__init__(X, y, weight=weight, bias=bias)
        if bias == "penalized":
            raise ValueError("NormConstrained takes bias='none' or 'free'; add a constant feature to X.")
        if not (np.isfinite(B) and B > 0):
            raise ValueError(f"B must be a positive number, got {B!r}.")
        self.B = float(B)

    def project(self, w: np.ndarray) -> np.ndarray:
        """The nearest point of the ball."""
        norm = self.norm(w)
        return w if norm <= self.B else w * (self.B / norm)

    def objective(self, solution: Solution) -> float:
        """Mean hinge loss of the projected w; reads not billed."""
        return self.mean_loss(self.project(solution.w), solution.b, billed=False)

    def certificate(self, solution: Solution) -> Certificate:
        """The absolute duality gap, at the best bias where it is free."""
        w, b = self.project(solution.w), solution.b
        r = self.responses(w)
        if self.bias == "free":
            b = self.best_bias(r)
        # ‖w‖ may exceed B by rounding: the projected point has responses that differ by as little.
        error = self.response_error(w, b) + rounding(self.d, self.B * self.largest_norm())
        loss = self.mean_loss_from(r, b, error)
        primal = loss + rounding(self.terms, loss)
        if solution.alpha is None:
            return Certificate(primal, -np.inf, np.inf, b)
        alpha = self.balanced(solution.alpha) if self.bias == "free" else solution.alpha
        mass = sum(self.class_mass(alpha))
        cost = self.B * self.combination_norm(self.combination(alpha), mass)
        value = mass - cost - rounding(self.terms, mass + cost)
        dual = value / float(alpha.max()) if value > 0 else 0.0  # the dual is linear in α: scale α up to its bound
        return Certificate(primal, dual, rounded_gap(primal, dual, 1.0), b)


class Scalarization(NamedTuple):
    """The parameters of the three problems for which a solution is optimal: a point of the Pareto front.

    Attributes
    ----------
    norm, loss : float
        The two criteria.
    lam : float
        λ of `Regularized`; nan where no dual is known.
    nu : float
        ν of `SlackConstrained`: loss/norm (Lemma 2.1).
    B : float
        B of `NormConstrained`: the norm.

    Examples
    --------
    >>> from hinge.problems import Scalarization
    >>> Scalarization(norm=2.0, loss=0.5, lam=0.1, nu=0.25, B=2.0).nu
    0.25
    """

    norm: float
    loss: float
    lam: float
    nu: float
    B: float


def scalarizations(problem: LinearProblem, solution: Solution) -> Scalarization:
    """λ, ν and B of the three problems that a solution is optimal for, if it is optimal for one of them.

    ν and B follow from the norm and the loss. λ follows from stationarity,
    :math:`\\lambda w = \\sum_i c_i\\alpha_i y_i x_i`, with the dual weights α of the hinge at margin 1; a
    `SlackConstrained` solution is first divided by its margin γ, as in the lemma.

    Notes
    -----
    Reads of the rows with a positive α are billed.

    Examples
    --------
    >>> from hinge import Regularized, Stop, scalarizations, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import SDCA
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=0.01)
    >>> found = scalarizations(problem, solve(problem, SDCA(), stop=Stop(tol=1e-8)).solution)
    >>> round(found.lam, 4), bool(abs(found.nu - found.loss / found.norm) < 1e-12)
    (0.01, True)
    """
    w, b = solution.w, solution.b
    if slack := isinstance(problem, SlackConstrained):
        gamma, b, s = problem.level(solution)
        scale = s / (gamma * (problem.norm(w) or 1.0))
        w, b = scale * w, b * s / gamma
    norm, loss = problem.criteria(w, b)
    lam = np.nan
    if solution.alpha is not None and norm > 0:
        alpha = solution.alpha if not slack else solution.alpha / solution.alpha.max()
        lam = float(np.linalg.norm(problem.combination(alpha))) / float(np.linalg.norm(w))
    return Scalarization(norm, loss, lam, loss / norm if norm > 0 else np.inf, norm)
