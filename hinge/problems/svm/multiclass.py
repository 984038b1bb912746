"""The SVM of all classes jointly (Crammer and Singer), with a given λ or a given slack: primal, dual, duality gap."""

import math

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import Data, add_row, as_matrix, dots, frozen, read_row
from hinge.compiled import compiled
from hinge.problems.base import Certificate, OnData, Solution, rounded_gap, rounding
from hinge.problems.svm.examples import Examples
from hinge.problems.svm.penalized import GivenLambda, checked_lam
from hinge.problems.svm.slack_constrained import Basins, GivenSlack, checked_slack
from hinge.types import MatrixLike


class MulticlassProblem(OnData[Solution], Examples[Solution]):
    """Rows of several classes: their margins at W, and combinations of rows by dual weights.

    Parameters
    ----------
    X : array, CSR matrix or Matrix
    labels : array of shape (n,)
        Class numbers, 0 to k - 1.
    n_classes : int, optional
        k, if not all classes occur.
    weight : array of shape (n,), optional
    bias_scale : float
        Value of a constant feature; 0 for none.
    """

    def __init__(
        self,
        X: MatrixLike | Data,
        labels: ArrayLike,
        n_classes: int | None = None,
        weight: ArrayLike | None = None,
        bias_scale: float = 0.0,
    ) -> None:
        OnData.__init__(self, as_matrix(X))
        # `Examples` is used with all labels +1 and with margins for responses: the hinge loss is then the right one.
        Examples.__init__(self, self.matrix.shape[0], np.ones(np.shape(labels), np.int8), weight)
        self.d = self.matrix.shape[1]
        self.labels, self.k = _checked_labels(labels, n_classes)
        self.bias_scale = float(bias_scale)
        if not 0.0 <= self.bias_scale < np.inf:
            raise ValueError(f"bias_scale must be a number of at least 0, got {bias_scale!r}.")

    def margins(self, W: np.ndarray, rows: np.ndarray, billed: bool = True) -> np.ndarray:
        """The margins of some rows: positive where the right class has the highest response."""
        out = np.empty(len(rows))
        A = self.matrix.rows if billed else self.matrix.unbilled
        _margins(A, rows, self.labels, np.ascontiguousarray(W), self.bias_scale, out)
        return out

    def largest_norm(self) -> float:
        """The largest norm of a row with its constant feature; not billed."""
        return float(np.hypot(self.matrix.largest_norm(), self.bias_scale))

    def combination(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """:math:`\\lambda W(p)`, and each row's sum of p over the wrong classes; rows where it is 0 are not read."""
        Z, mass = np.zeros((self.d + 1, self.k)), np.zeros(self.n)
        for lo, hi in self.matrix.row_blocks():
            share = np.full(hi - lo, self.share(lo, hi))
            _combine(self.matrix.rows, self.labels, p, share, self.bias_scale, lo, hi, Z, mass)
        return Z, mass

    def combination_norm(self, Z: np.ndarray, linear: float) -> float:
        """An upper bound on ‖λW(p)‖, of which Z is the computed value and `linear` the sum of all cᵢpᵢₖ."""
        norm = float(np.linalg.norm(Z))
        # The sum of p[i, k] over wrong classes enters Z twice: with the right class, and spread over the wrong ones.
        return norm + rounding(Z.size, norm) + rounding(self.n + self.k, 2.0 * linear * self.largest_norm())

    def linear_term(self, mass: np.ndarray) -> float:
        """:math:`\\sum_i c_i` times the sum of p over the wrong classes of row i."""
        return sum(float((mass[lo:hi] * self.share(lo, hi)).sum()) for lo, hi in self.blocks())


class Multiclass(GivenLambda[Solution], MulticlassProblem):
    """One weight vector for each class, all found by one problem.

    .. math::
        P(W) = \\frac\\lambda2\\sum_k\\|w_k\\|^2
             + \\sum_i c_i\\max_k\\big([k \\ne y_i] + \\langle w_k - w_{y_i}, x_i\\rangle\\big), \\qquad
        c_i = s_i / \\textstyle\\sum_j s_j .

    The loss of a row is the hinge of its margin :math:`m_i = \\min_{k \\ne y_i}\\langle w_{y_i} - w_k, x_i\\rangle`.
    The dual weights of a row are a point :math:`p_i` of the simplex over the classes:

    .. math::
        D(p) = \\sum_i c_i\\sum_{k \\ne y_i}p_{ik} - \\frac\\lambda2\\sum_k\\|w_k(p)\\|^2, \\qquad
        w_k(p) = \\frac1\\lambda\\sum_i c_i([k = y_i] - p_{ik})\\,x_i .

    :math:`\\lambda = 1/(C\\sum_i s_i)` gives the objective of LIBLINEAR and of scikit-learn's
    ``LinearSVC(multi_class="crammer_singer")``, times λ; what they call :math:`\\alpha_i^k` is
    :math:`Cs_i([k = y_i] - p_{ik})`.

    The certificate is the relative duality gap :math:`(P - D)/D`, an upper bound on :math:`(P - P^*)/P^*`.
    An answer's `w` has the shape (d + 1, k): a row for each feature, a column for each class. Its last row belongs to
    the constant feature, and is zero without one. Its `alpha` is p, of shape (n, k).

    Parameters
    ----------
    X : array, CSR matrix or Matrix
    labels : array of shape (n,)
        Class numbers, 0 to k - 1.
    lam : float
    n_classes : int, optional
        k, if not all classes occur.
    weight : array of shape (n,), optional
        Nonnegative weights :math:`s_i`; all one where not given.
    bias_scale : float
        Value of a constant feature, whose weights are the biases of the classes and count in the norm; 0 for none.

    References
    ----------
    K. Crammer, Y. Singer, *On the Algorithmic Implementation of Multiclass Kernel-based Vector Machines*,
    JMLR 2, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hinge import Stop, solve
    >>> from hinge.problems import Multiclass
    >>> from hinge.solvers import MulticlassSDCA
    >>> X, y = load_iris(return_X_y=True)
    >>> problem = Multiclass(X, y, lam=0.01, bias_scale=1.0)
    >>> result = solve(problem, MulticlassSDCA(), stop=Stop(tol=1e-2, max_iter=10**6))
    >>> result.certificate.gap <= 1e-2
    True
    """

    def __init__(
        self,
        X: MatrixLike | Data,
        labels: ArrayLike,
        lam: float,
        *,
        n_classes: int | None = None,
        weight: ArrayLike | None = None,
        bias_scale: float = 0.0,
    ) -> None:
        MulticlassProblem.__init__(self, X, labels, n_classes, weight, bias_scale)
        self.lam = checked_lam(lam)

    def mean_loss(self, W: np.ndarray, error: float = 0.0, billed: bool = True) -> float:
        """The mean loss in one pass; an upper bound on it if margins have errors of up to `error`."""
        return sum(
            self.loss_of(self.margins(W, np.arange(lo, hi), billed), 0.0, lo, hi, error)
            for lo, hi in self.matrix.row_blocks()
        )

    def objective(self, solution: Solution) -> float:
        """P(W), exact; reads not billed."""
        return 0.5 * self.lam * float(np.vdot(solution.w, solution.w)) + self.mean_loss(solution.w, billed=False)

    def certificate(self, solution: Solution) -> Certificate:
        """The relative duality gap, in two passes; all rounding included."""
        primal, dual = self.primal(solution.w, self.margin_error(solution.w)), self.dual(solution)
        return Certificate(primal, dual, self.relative(primal, dual))

    def primal(self, W: np.ndarray, error: float) -> float:
        """An upper bound on P(W), if margins have errors of up to `error`."""
        loss, sq = self.mean_loss(W, error), float(np.vdot(W, W))
        return 0.5 * self.lam * (sq + rounding(W.size, sq)) + loss + rounding(self.terms, loss)

    def sharpened(self, answer: Solution, found: Certificate, wanted: float) -> Certificate:
        """The certificate with margins bounded by the terms of their sums, in two more passes.

        Columns of large numbers have small weights: the terms may be far below the product of the norms.
        """
        if not 0.0 < wanted < found.gap < np.inf:
            return found
        largest, X = np.abs(answer.w).max(axis=1), self.matrix.whole()
        size = max(float((abs(X[lo:hi]) @ largest[:-1]).max()) for lo, hi in self.matrix.row_blocks())
        size += self.bias_scale * float(largest[-1])
        primal = self.primal(answer.w, rounding(self.matrix.max_row_cells + 1, 2.0 * size + 1.0))
        return Certificate(primal, found.bound, self.relative(primal, found.bound))

    def margin_error(self, W: np.ndarray) -> float:
        """Bound on the error of any 1 - mᵢ; a margin is the difference of two responses, each with an error."""
        size = self.largest_norm() * float(np.linalg.norm(W, axis=0).max())
        return rounding(self.matrix.max_row_cells + 1, 2.0 * size + 1.0)

    def dual(self, solution: Solution) -> float:
        """D at a feasible point made from the solution's p; -inf where the solution has no p.

        Only the entries p[i, k] of wrong classes k are used; the entry of the right class is one minus their sum. They
        are multiplied by the common factor that maximises D while every sum is at most one. The sum over the rows is
        made anew: the solver's own has gathered the roundings of all its updates.
        """
        if solution.alpha is None:
            return -np.inf
        Z, mass = self.combination(solution.alpha)
        linear = self.linear_term(mass)
        if not linear > 0.0:
            return 0.0
        quadratic = self.combination_norm(Z, linear) ** 2 / self.lam
        scale = min(1.0 / float(mass.max()), linear / quadratic if quadratic > 0 else np.inf)
        return scale * (linear - rounding(self.terms + 2 * self.k, linear)) - 0.5 * scale**2 * quadratic

    def feasible(self, p: np.ndarray) -> np.ndarray:
        """p as points of the simplex; it is changed in place, and returned.

        Entries of wrong classes are made nonnegative, and scaled down where their sum exceeds one; the right class
        has one minus that sum.
        """
        right = np.arange(self.n), self.labels
        np.maximum(p, 0.0, out=p)
        p[right] = 0.0
        p /= np.maximum(p.sum(axis=1, keepdims=True), 1.0)
        p[right] = np.maximum(1.0 - p.sum(axis=1), 0.0)
        return p


class MulticlassSlackConstrained(GivenSlack[Solution], MulticlassProblem):
    """Maximise the margin between all classes where the slacks of the rows may have the mean ν.

    .. math:: \\max_{\\sum_k\\|w_k\\|^2 \\le 1}\\ \\max_{\\xi \\ge 0,\\ \\frac1n\\sum_i\\xi_i \\le \\nu}\\
              \\min_i\\min_{k \\ne y_i}\\ \\tfrac1{\\sqrt2}\\langle w_{y_i} - w_k, x_i\\rangle + \\xi_i

    For two classes it is `SlackConstrained` without a bias, with w₁ = -w₀ = w/√2. At given W the inner maximum is the
    water level γ of the margins. Every p of the simplex over rows and wrong classes bounds the optimum from above:

    .. math:: D(p) = \\tfrac1{\\sqrt2}\\Big(\\sum_k\\Big\\|
              \\sum_i\\Big([k = y_i]\\sum_l p_{il} - p_{ik}\\Big)x_i\\Big\\|^2\\Big)^{\\!1/2}
              + \\nu n\\max_i\\sum_k p_{ik} .

    The certificate is the relative gap :math:`(D - \\gamma)/\\gamma`. An answer's `w` has the shape (d + 1, k), as of
    `Multiclass`, with zeros in the last row; its `alpha`, of shape (n, k), is p, of any sum.

    Parameters
    ----------
    X : array, CSR matrix, Matrix or Table
    labels : array of shape (n,)
        Class numbers, 0 to k - 1.
    nu : float
        The mean slack at unit norm.
    n_classes : int, optional
        k, if not all classes occur.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hinge import Stop, solve
    >>> from hinge.problems import MulticlassSlackConstrained
    >>> from hinge.solvers import MulticlassSimba
    >>> X, y = load_iris(return_X_y=True)
    >>> problem = MulticlassSlackConstrained(X, y, nu=0.1)
    >>> result = solve(problem, MulticlassSimba(), stop=Stop(tol=0, max_iter=2000))
    >>> result.certificate.objective <= result.certificate.bound  # the margin, and a bound on it
    True
    """

    def __init__(self, X: MatrixLike | Data, labels: ArrayLike, nu: float, *, n_classes: int | None = None) -> None:
        MulticlassProblem.__init__(self, X, labels, n_classes)
        self.nu = checked_slack(nu)

    def certificate(self, solution: Solution) -> Certificate:
        """The interval [γ, D(p)], in two passes; all rounding included."""
        basins = self.basins(solution)
        gamma, _, s = self.level_in(basins, solution)
        error = rounding(self.matrix.max_row_cells + solution.w.size, 2.0 * self.largest_norm())
        gamma = self.rounded_level(basins, gamma, s, error)
        if solution.alpha is None:
            return Certificate(gamma, np.inf, np.inf)
        Z, mass = self.combination(solution.alpha)
        linear = self.linear_term(mass)
        if not linear > 0.0:
            return Certificate(gamma, np.inf, np.inf)
        upper = (self.combination_norm(Z, linear) / math.sqrt(2.0) + self.nu * float(mass.max())) / linear
        upper += rounding(self.terms + 2 * self.k, upper)
        return Certificate(gamma, upper, rounded_gap(upper, gamma, gamma))

    def norm_of(self, answer: Solution) -> float:
        """‖W‖."""
        return float(np.linalg.norm(answer.w))

    def basins(self, answer: Solution, billed: bool = True) -> Basins:
        """The margins of an answer at unit norm."""
        m = np.concatenate([self.margins(answer.w, np.arange(lo, hi), billed) for lo, hi in self.matrix.row_blocks()])
        m /= np.sqrt(2.0) * (self.norm_of(answer) or 1.0)
        return Basins(m, np.ones(self.n), self.row_shares(), free=False)


def _checked_labels(labels: ArrayLike, n_classes: int | None) -> tuple[np.ndarray, int]:
    """Class numbers as unsigned integers, and how many classes there are."""
    labels = np.asarray(labels)
    if labels.dtype.kind not in "iu" or labels.min() < 0:
        raise ValueError("Labels of a multiclass problem are integers, 0 to k - 1; the estimators accept other labels.")
    k = int(labels.max()) + 1 if n_classes is None else n_classes
    if k < 2 or int(labels.max()) >= k:
        raise ValueError(
            f"The largest label is {int(labels.max())} of {k} classes: two or more, from 0 on, are needed."
        )
    return frozen(labels.astype(np.uint32)), k


@compiled
def _margins(A, rows, labels, W, constant, out):
    d, r = W.shape[0] - 1, np.empty(W.shape[1])
    for j in range(len(rows)):
        dots(A, read_row(A, rows[j]), W, r)
        y = labels[rows[j]]
        rival = -np.inf
        for k in range(len(r)):
            r[k] += constant * W[d, k]
            if k != y:
                rival = max(rival, r[k])
        out[j] = r[y] - rival


@compiled
def _combine(A, labels, p, share, constant, lo, hi, Z, mass):
    d = Z.shape[0] - 1
    for i in range(lo, hi):
        y, c, total = labels[i], share[i - lo], 0.0
        for k in range(Z.shape[1]):
            if k != y:
                total += max(0.0, p[i, k])
        if not (total > 0.0 and c > 0.0):
            continue
        mass[i] = total
        row = read_row(A, i)
        for k in range(Z.shape[1]):
            part = c * total if k == y else -c * max(0.0, p[i, k])
            if part != 0.0:
                add_row(A, row, part, Z[:, k])
                Z[d, k] += part * constant
