"""The ν-SVMs of two classes, of regression and of one class."""

import math

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import BaseGram, Data, Matrix, as_matrix, frozen
from hinge.kernels import Kernel
from hinge.problems.base import EPS, Certificate, Cost, Solution, rounding
from hinge.problems.svm.examples import FAINT
from hinge.problems.svm.kernelized import Expansion, gram_of
from hinge.problems.svm.levels import CLASSES, ONE_CLASS, TARGETS, KernelLevels, checked_share, optimal_level
from hinge.problems.svm.losses import epsilon_insensitive
from hinge.problems.svm.penalized import FAR, checked_lam
from hinge.problems.svm.regularized import Regularized
from hinge.types import Items, MatrixLike

SOME = 512
"""Number of rows, or up to twice that, by which the default λ is estimated: their mean is accurate to about 4%."""


class OneClass(Regularized):
    """The one-class SVM: a hyperplane ⟨w, x⟩ = ρ that a fraction of at most ν of the rows lie below.

    .. math:: P(w, \\rho) = \\frac\\lambda2\\|w\\|^2 - \\nu\\rho + \\sum_i c_i\\max(0, \\rho - \\langle w, x_i\\rangle),
              \\qquad
              D(\\alpha) = -\\frac\\lambda2\\|w(\\alpha)\\|^2, \\quad
              w(\\alpha) = \\frac1\\lambda\\sum_i c_i\\alpha_ix_i, \\quad \\sum_i c_i\\alpha_i = \\nu

    with :math:`0 \\le \\alpha_i \\le 1`. It is the hinge loss with target 0, labels +1 and the free bias b = -ρ, plus
    the term νb of the objective (`pull`), by which the mean of the dual weights is ν instead of 0. λ only sets the
    scale: λw and λρ do not depend on it. Solvers work best where ρ is about 1, for which the default λ is chosen.
    Objectives and bounds are reported for LIBSVM's :math:`\\lambda = 1/\\sum_i s_i` and multiplied by
    :math:`\\sum_i s_i`, as in `KernelOneClass`.

    The certificate is, as for `KernelOneClass`, a bound on :math:`\\|w - w^*\\|/\\|w\\|` for the optimal w*. With α
    made feasible and w = w(α),

    .. math:: P - D = \\sum_i c_i\\big(\\alpha_i\\max(0, r_i - \\rho) + (1 - \\alpha_i)\\max(0, \\rho - r_i)\\big)
              \\ \\ge\\ \\lambda\\|w - w^*\\|^2, \\qquad r_i = \\langle w, x_i\\rangle

    at the ρ that is best for w, a quantile of r. It takes two passes: one over the rows with α > 0 for w(α), which
    `finished` returns, and one for r. If zero is in the convex hull of the rows w* may be zero; no bound is then below
    1.

    Parameters
    ----------
    X : array, CSR matrix, Matrix or Table
    nu : float in (0, 1]
    weight : array of shape (n,), optional
        Nonnegative weights :math:`s_i`; all one where not given.
    lam : float, optional
        By default ν times the squared norm of the mean row, estimated from some of the rows.

    References
    ----------
    B. Schölkopf and others, *Estimating the Support of a High-Dimensional Distribution*, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import Stop, solve
    >>> from hinge.problems import OneClass
    >>> from hinge.solvers import SDCA
    >>> X = 2.0 + np.random.default_rng(0).standard_normal((200, 2))
    >>> result = solve(OneClass(X, 0.1), SDCA(), stop=Stop(tol=1e-2))
    >>> below = X @ result.solution.w + result.solution.b < 0
    >>> bool(abs(below.mean() - 0.1) < 0.02)
    True
    """

    def __init__(
        self, X: MatrixLike | Data, nu: float, *, weight: ArrayLike | None = None, lam: float | None = None
    ) -> None:
        data = as_matrix(X)
        super().__init__(data, np.ones(data.shape[0], np.int8), 1.0, weight=weight, bias="free")
        self.target = frozen(np.zeros(1))
        self.nu = self.pull = checked_share(nu)
        self.lam = self._own_lam() if lam is None else checked_lam(lam)

    def _own_lam(self) -> float:
        """ν times the squared norm of the mean of some rows, but not below 1e-6 of a typical row's."""
        some = np.zeros(self.n)
        some[:: max(1, self.n // SOME)] = 1.0
        mean = self.combination(some) / (float(self.row_shares() @ some) or 1.0)
        sq = max(float(mean @ mean), 1e-6 * self.matrix.typical_sq_norm())
        return float(np.clip(self.nu * sq or 1.0, 1 / FAR, FAR))

    @property
    def scale(self) -> float:
        """Factor that turns w and ρ into LIBSVM's: λ Σ s."""
        return self.lam * self.total

    @property
    def objective_scale(self) -> float:
        """Factor that turns objectives into LIBSVM's."""
        return self.scale * self.total

    def objective(self, solution: Solution) -> float:
        """P at w and ρ = -b, exact; reads not billed."""
        return (super().objective(solution) + self.nu * solution.b) * self.objective_scale

    def best_bias(self, r: np.ndarray) -> float:
        """-ρ, for the best ρ given the responses."""
        return -optimal_level(r, np.zeros(self.n), self.row_shares(), self.nu)

    def relative(self, primal: float, dual: float) -> float:
        """The bound on the relative error of w = w(α), from P and D in any common unit."""
        return min(1.0, math.sqrt(max(primal - dual, 0.0) / (-2.0 * dual))) if dual < 0.0 else 1.0

    def vanishes(self, sq_norm: float) -> bool:
        """Whether w is zero up to rounding, and so is the optimal w, so that no relative error is defined."""
        longest = 1e-8 * self.nu * self.largest_norm() / self.lam  # relative to the largest possible norm
        return sq_norm <= longest * longest

    def dual(self, solution: Solution, primal: float | None = None) -> float:
        """D at the feasible point made from the solution's α; -inf if the solution has no α."""
        return -np.inf if solution.alpha is None else self.certificate(solution).bound

    def restored(self, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """α within its bounds and with the mean ν, and w(α).

        The difference to ν is spread over the rows between their bounds, in proportion to each row's distance to the
        bound; over all rows if that is not enough.
        """
        c = self.row_shares()
        counts = c > 0.0
        alpha = np.where(counts, np.clip(alpha, 0.0, 1.0), 0.0)
        for pool in ((alpha > 0.0) & (alpha < 1.0), counts):
            lack = self.nu - float(c @ alpha)
            room = np.where(pool, 1.0 - alpha if lack > 0.0 else alpha, 0.0)
            mass = float(c @ room)
            if abs(lack) > rounding(self.n, self.nu) and mass > 0.0:
                alpha = np.clip(alpha + np.clip(lack / mass, -1.0, 1.0) * room, 0.0, 1.0)
        return alpha, self.combination(alpha) / self.lam

    def certificate(self, solution: Solution) -> Certificate:
        """P and D at w(α), and the bound on the relative error of w, which includes all rounding."""
        if solution.alpha is None:
            return Certificate.unknown(solution.b)
        alpha, w = self.restored(solution.alpha)
        r, c, lam = self.responses(w), self.row_shares(), self.lam
        # Where several levels are optimal, it is chosen by the α that are not within 0.01 of a bound.
        level = optimal_level(r, np.where(np.abs(alpha - 0.5) > 0.5 - 1e-2, 0.0, alpha) * c, c, self.nu)
        r -= level
        e, norm = self.response_error(w, level), float(np.linalg.norm(w))
        # Each response has an error of at most e, taken with the worse sign.
        most = float(c @ np.maximum(alpha * (r + e), (1.0 - alpha) * (e - r)))
        slack = float(c @ np.maximum(alpha * r, (alpha - 1.0) * r))
        # The sum of α is not exactly ν: bound the change of α that would make it so, and the rounding of w(α).
        lack = abs(self.nu - float(c @ alpha)) + rounding(2 * self.n, self.nu)
        off = (self.combination_norm(w * lam, self.nu) - norm * lam + lack * self.largest_norm()) / lam
        most += rounding(self.n, most) + lack * float(np.abs(r).max() + e) + 0.5 * lam * off * off
        shortest, longest = max(norm - off, 0.0), norm + off
        gap = min((math.sqrt(most / lam) + off) * (1.0 + 4.0 * EPS), norm + 2.0 * off) / norm if norm > 0.0 else 1.0
        primal, dual, as_is = (-0.5 * lam * size * size for size in (shortest, longest, norm))
        unrounded = 0.0 if self.vanishes(norm * norm) else self.relative(slack + as_is, as_is)
        primal, dual = (most + primal) * self.objective_scale, dual * self.objective_scale * (1.0 + 4.0 * EPS)
        return Certificate(primal + 4.0 * EPS * abs(primal), dual, gap, -level, unrounded)

    def final_answer(self, answer: Solution, certificate: Certificate) -> Solution:
        """w(α), which is what the certificate is for, with its level."""
        if certificate.is_unknown or answer.alpha is None:
            return answer
        alpha, w = self.restored(answer.alpha)
        return Solution(w, certificate.b, alpha)

    def certificate_cells(self, cost: Cost) -> int:
        """Upper bound on the cells that a certificate (two passes) and `finished` (one pass) read."""
        return 3 * self.pass_cells


class KernelNuClassification(KernelLevels):
    """The ν-SVM of two classes: maximise the margin ρ, where a fraction of at most ν of the points lie within it.

    .. math:: P(w, b, \\rho) = \\tfrac12\\|w\\|^2 - \\nu S\\rho
              + \\sum_i s_i\\max(0, \\rho - y_i(\\langle w, \\phi(x_i)\\rangle + b)), \\qquad
              S = \\textstyle\\sum_i s_i

    Its levels are :math:`l_+ = \\rho - b` and :math:`l_- = \\rho + b`, and the weights of either class sum to νS/2.
    Divided by ρ, it is the answer of the regularised problem with :math:`\\lambda = \\rho/S`, or C = 1/ρ: see
    `in_margins`.

    The certificate is the relative duality gap :math:`(P - D)/|P|`. P, D and their common optimum are negative, or
    zero if w = 0 is optimal: the kernel then cannot separate the classes with so few points within the margin, the
    gap is infinite, and ν must be larger.

    Parameters
    ----------
    X : Gram, or points for `kernel`
    y : array of shape (n,)
        Labels, -1 and +1.
    nu : float in (0, 1]
        At most twice the fraction of the total weight that the lighter class has; a larger ν is infeasible.
    kernel : Kernel, optional
        Where `X` is not a `Gram` already.
    weight : array of shape (n,), optional
        The :math:`s_i`, all one where not given.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import Stop, solve
    >>> from hinge.kernels import Gaussian
    >>> from hinge.problems import KernelNuClassification
    >>> from hinge.solvers import LevelBlocks
    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> problem = KernelNuClassification(X, np.where(X[:, 0] > 0, 1, -1), 0.3, kernel=Gaussian(gamma=1.0))
    >>> bool(solve(problem, LevelBlocks(), stop=Stop(tol=1e-3)).certificate.gap <= 1e-3)
    True
    """

    form = CLASSES

    def __init__(
        self,
        X: Items | BaseGram,
        y: ArrayLike,
        nu: float,
        kernel: Kernel | None = None,
        *,
        weight: ArrayLike | None = None,
    ) -> None:
        super().__init__(gram_of(X, kernel), y, nu, np.asarray(y), weight=weight)
        check_feasible(self.nu, self.mass / self.shares)

    def in_margins(self, answer: Expansion) -> tuple[Expansion, float]:
        """The equivalent answer of the regularised problem, whose margin is 1, and its λ.

        If there is no positive margin the answer is returned unchanged, with λ = 0. If the responses of some points
        are missing, ρ is taken from the support vectors.
        """
        alpha, m = self.weights_of(answer.beta), self.margins(answer.responses)
        if answer.dual is not None:
            rho = float(self.best_levels(answer.responses).mean())
        elif answer.terms < np.inf:
            rho = float(self.levels(m, alpha).mean())
        else:
            share = alpha / np.maximum(self.boxes, 1e-300)  # compared with the largest: a subset has another scale of α
            inner = (share > 0) & (share < 0.999 * share.max())
            own = inner if inner.any() else share > 0
            rho = float((m + self.sign * answer.b)[own].mean()) if own.any() else 0.0
        if not rho > 0.0 or self.vanishes(self.checked(answer)):
            return answer, 0.0
        if not rho * 1e300 > float(np.abs(answer.beta).max()) + abs(answer.b):
            raise ValueError(
                f"The margin is {rho:.1g}, and the coefficients divided by it overflow: scale the features up, for "
                "instance with sklearn.preprocessing.MaxAbsScaler."
            )
        scaled = Expansion(answer.beta / rho, answer.b / rho, answer.responses / rho, None, answer.terms)
        return scaled, rho / self.total

    # --- by landmarks ---------------------------------------------------------------------

    @property
    def places(self) -> tuple[float, float]:
        """Limits of λ: beyond the last all points lie within the margin, and before the first w vanishes."""
        largest = float(self.gram.diag.max()) or 1.0
        return FAINT * largest, 4.0 * largest

    def place_of(self, r: np.ndarray) -> float:
        """The λ that these responses suggest; a rough guess where they are zero, or leave no margin."""
        rho = float(self.best_levels(r).mean())
        return rho / self.total if rho > 0.0 else 0.1 * self.nu * float(self.gram.diag.mean())

    def scale_at(self, lam: float) -> float:
        """ρ, the factor between the answer of the regularised problem and this one's."""
        return lam * self.total

    def best_multiple(self, sq_norm: float, r: np.ndarray) -> float:
        """The multiple of an answer whose objective is least, from its ‖w‖² and its responses: P(sw) = ½s²‖w‖² - sG.

        If that is zero there is no margin as yet, and the answer is left as it is.
        """
        gained = 0.5 * sq_norm - self.primal(sq_norm, r)
        return gained / sq_norm if min(gained, sq_norm) > 0.0 else 1.0

    def on_features(self, features: Matrix, lam: float) -> Regularized:
        """The regularised problem with rows in place of points, whose dual weights have the mean ν at the right λ."""
        return Regularized(features, self.y, lam, weight=self.weight if len(self.weight) > 1 else None, bias="free")


class KernelNuRegression(KernelLevels):
    """The ν-SVM of regression: ε is learned, such that a fraction of at most ν of the targets are off by more than ε.

    .. math:: P(w, b, \\varepsilon) = \\tfrac12\\|w\\|^2 + C\\Big(\\nu S\\varepsilon
              + \\sum_i s_i\\max(0, |t_i - \\langle w, \\phi(x_i)\\rangle - b| - \\varepsilon)\\Big), \\qquad
              S = \\textstyle\\sum_i s_i

    Every point occurs twice, with the dual weights :math:`\\alpha_i` (σ = +1, targets above the tube) and
    :math:`\\alpha_i^*` (σ = -1, targets below it), each of which sum to CνS/2; :math:`\\beta = \\alpha - \\alpha^*`.
    The levels are :math:`l_\\pm = \\mp b - \\varepsilon`.

    The certificate is the relative duality gap :math:`(P - D)/D`. The optimum may be zero: where D is below 1e-9 times
    the loss of w = 0, the gap is divided by the latter product instead.

    Parameters
    ----------
    X : Gram, or points for `kernel`
    y : array of shape (n,)
        Targets.
    nu : float in (0, 1]
    C : float
    kernel : Kernel, optional
        Where `X` is not a `Gram` already.
    weight : array of shape (n,), optional
        The :math:`s_i`, all one where not given.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import Stop, solve
    >>> from hinge.kernels import Gaussian
    >>> from hinge.problems import KernelNuRegression
    >>> from hinge.solvers import LevelBlocks
    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> problem = KernelNuRegression(X, X[:, 0] ** 2, 0.3, kernel=Gaussian(gamma=1.0))
    >>> bool(solve(problem, LevelBlocks(), stop=Stop(tol=1e-3)).certificate.gap <= 1e-3)
    True
    """

    form = TARGETS

    def __init__(
        self,
        X: Items | BaseGram,
        y: ArrayLike,
        nu: float,
        C: float = 1.0,
        kernel: Kernel | None = None,
        *,
        weight: ArrayLike | None = None,
    ) -> None:
        gram = gram_of(X, kernel)
        sign = np.repeat(np.array([[1], [-1]], np.int8), gram.n, axis=1)
        super().__init__(gram, y, nu, sign, C=C, weight=weight, loss=epsilon_insensitive(0.0))
        self.lam = 1.0 / (C * self.total)
        self.centre = float(np.median(self.target))
        self.linear = self.target - self.centre
        self.faint = FAINT * float(self.boxes @ np.abs(self.target))

    def vanishes(self, sq_norm: float) -> bool:
        """False: w = 0 may be optimal here, and the gap is defined there too."""
        return False

    # --- by landmarks ---------------------------------------------------------------------

    @property
    def places(self) -> tuple[float, float]:
        """Limits of 1/ε: before the first no target is outside the tube, and beyond the last ε vanishes."""
        largest = float(np.abs(self.linear).max()) or 1.0
        return 0.5 / largest, 1.0 / (FAINT * largest)

    def place_of(self, r: np.ndarray) -> float:
        """The 1/ε that these responses suggest."""
        epsilon = -float(self.best_levels(r).mean())
        return 1.0 / epsilon if epsilon > 0.0 else np.inf

    def scale_at(self, place: float) -> float:
        """The factor between the answer of the regularised problem and this one's."""
        return 1.0

    def best_multiple(self, sq_norm: float, r: np.ndarray) -> float:
        """1: the targets give the scale."""
        return 1.0

    def on_features(self, features: Matrix, place: float) -> Regularized:
        """The problem of a given ε = 1/`place`, with rows in place of points, and `centre` subtracted from targets."""
        weight, loss = self.weight if len(self.weight) > 1 else None, epsilon_insensitive(1.0 / place)
        return Regularized(features, self.linear, self.lam, weight=weight, bias="free", loss=loss)


def check_feasible(nu: float, masses: np.ndarray) -> None:
    """Raise if ν is more than twice the fraction of the lighter of two classes with these total weights."""
    largest = 2.0 * float(masses.min() / (masses.sum() or 1.0))
    if nu > largest * (1 + 1e-12):
        raise ValueError(
            f"specified nu is infeasible: nu={nu:g} is more than {largest:.6g}, twice the fraction of the total weight "
            "that the lighter class has; give a smaller nu."
        )


class KernelOneClass(KernelLevels):
    """The one-class SVM: a hyperplane ⟨w, φ(x)⟩ = ρ that a fraction of at most ν of the points lie below.

    .. math:: P(w, \\rho) = \\tfrac12\\|w\\|^2 - \\nu S\\rho
              + \\sum_i s_i\\max(0, \\rho - \\langle w, \\phi(x_i)\\rangle)

    with :math:`S = \\sum_i s_i`: one level, and all signs positive. Where :math:`K(x, x) = \\kappa` for all x,
    :math:`w/(\\nu S)` is the centre of the smallest enclosing ball that penalises points outside: see `radius`.

    The certificate is :math:`\\sqrt{P - D}/\\|w\\|`, a bound on the relative error of w, and so of the decision
    function. It is never above 1, since the optimal w is no farther from w than 0 is, and it stays there if the optimal
    w is zero. An answer is an `Expansion` with β = α and b = -ρ. One with a dual point of its own, which `Nystroem`
    gives, has :math:`\\sqrt{2(P - D)}/\\|w\\|`, and that may be larger.

    Parameters
    ----------
    X : Gram, or points for `kernel`
    nu : float in (0, 1]
    kernel : Kernel, optional
        Where `X` is not a `Gram` already.
    weight : array of shape (n,), optional
        The :math:`s_i`, all one where not given.
    """

    form = ONE_CLASS
    signs = (1,)

    def __init__(
        self, X: Items | BaseGram, nu: float, kernel: Kernel | None = None, *, weight: ArrayLike | None = None
    ) -> None:
        gram = gram_of(X, kernel)
        every = np.ones(gram.n, np.int8)
        super().__init__(gram, every, nu, every, weight=weight)

    def bias_of(self, levels: np.ndarray) -> float:
        """-ρ."""
        return -float(levels[0])

    def objective(self, answer: Expansion) -> float:
        """P at w and ρ."""
        short = np.maximum(-answer.b - answer.responses, 0.0)
        return 0.5 * self.checked(answer) + self.mass * answer.b + float(self.boxes @ short)

    # --- by landmarks ---------------------------------------------------------------------

    def on_features(self, features: Matrix) -> OneClass:
        """The same problem with rows in place of points; its w and b are to be multiplied by its `scale`."""
        return OneClass(features, self.nu, weight=self.weight if len(self.weight) > 1 else None)

    def lost(self, beta: np.ndarray, rest: np.ndarray, bound: float) -> float:
        """What features leave of K(x, x), as it lowers the dual objective at β: in units of the gap."""
        return float(np.sqrt(rest @ beta**2 / (-2.0 * bound))) if bound < 0.0 else np.inf

    def gap_apart(self, slack: float, dual: float, sq_norm: float) -> float:
        """As of all ν-SVMs.

        P is strongly convex: :math:`P(w) - D(\\alpha) \\ge \\tfrac12\\|w - w^*\\|^2` for any w and any feasible α.
        """
        return np.inf if self.vanishes(sq_norm) else math.sqrt(2.0 * max(slack, 0.0) / sq_norm)

    def radius(self, answer: Expansion) -> float:
        """The radius of the ball about :math:`w/(\\nu S)`, where K(x, x) is the same for all x.

        .. math:: R^2 = \\kappa - 2\\rho/(\\nu S) + \\|w\\|^2/(\\nu S)^2

        Points outside the ball are those with :math:`\\langle w, \\phi(x)\\rangle < \\rho`. Returns nan if K(x, x)
        differs between points.
        """
        return enclosing_radius(self.gram.diag, self.checked(answer), answer.b, self.mass)


def enclosing_radius(diag: np.ndarray, sq_norm: float, b: float, mass: float) -> float:
    """`KernelOneClass.radius` from the K(x, x), ‖w‖², -ρ and νS."""
    if np.ptp(diag) > 1e-6 * diag.max():
        return np.nan
    return float(np.sqrt(max(diag.mean() + 2.0 * b / mass + sq_norm / mass / mass, 0.0)))
