"""`compress`: kernel machines with fewer support vectors, and by how much their decision values differ."""

import copy
import math
from collections.abc import Callable
from typing import Any, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from hinge.constraints import Constraints, count, scale
from hinge.estimators.data.kernel_input import is_precomputed, new_data
from hinge.estimators.fitting.parameters import KernelData
from hinge.estimators.fitting.tasks import class_pairs, coefficients_of_pairs
from hinge.estimators.kernel.expansions import blocks_of, kernel_values
from hinge.kernels import Kernel, Linear
from hinge.problems.base import rounding
from hinge.problems.svm.losses import Loss
from hinge.solvers.kernel.low_rank import pivoted_cholesky
from hinge.solvers.newton.systems import solved
from hinge.types import Items

CONSTRAINTS = Constraints(n_support=count() | None, tol=scale(or_zero=True) | None)


class Compressible:
    """A kernel machine that can be given fewer support vectors."""

    support_: np.ndarray
    support_vectors_: KernelData
    n_support_: np.ndarray
    dual_coef_: Any
    intercept_: np.ndarray
    kernel_: Kernel
    compression_: dict[str, float]
    _loss: Loss
    _scores: Callable[[Items], np.ndarray]
    predict: Callable[[Items], np.ndarray]

    @property
    def _one_vs_one(self) -> bool:
        """Whether class pairs were solved."""
        raise NotImplementedError

    @property
    def _dense_dual(self) -> np.ndarray:
        """The coefficients."""
        raise NotImplementedError

    def compress(self, X: Items, *, n_support: int | None = None, tol: float | None = None) -> Self:
        """A copy of the model with fewer support vectors, whose decision values differ as little as possible.

        Support vectors are chosen by a Cholesky factorisation with pivots, of the kernel matrix scaled by their
        coefficients. The new coefficients γ minimise the squared changes on the rows that are given, and that of w:

        .. math:: \\sum_x (f(x) - g(x))^2 + \\|f - g\\|^2, \\qquad g = \\sum_j \\gamma_j K(\\cdot, x_j) + b.

        It costs a kernel value for each pair of a row, or of a former support vector, and a new one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence
            Rows on which predictions are to stay as they are, such as those of the fit or of its future use.
        n_support : int, optional
            The number of support vectors.
        tol : float, optional
            In its place the largest change of a decision value on these rows: the number is doubled until it is so.

        Returns
        -------
        The new model. Its `gap_` is infinite: how far it is from the optimum is not known. Its `compression_` is a
        dict: "n_support"; "largest_change", the largest change of a decision value, of any decision function, on these
        rows; "changed", the share of them whose prediction is another (not in regression); and "norm_change": for all
        x, decision values change by at most this times √K(x, x), rounding of kernel values aside, if the kernel is
        positive semidefinite.

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from hinge import SVC
        >>> X, y = make_moons(500, noise=0.3, random_state=0)
        >>> model = SVC().fit(X, y)
        >>> small = model.compress(X, n_support=20)
        >>> len(small.support_), small.compression_["changed"] <= 0.02
        (20, True)
        """
        check_is_fitted(self, "support_")
        for name, value in (("n_support", n_support), ("tol", tol)):
            CONSTRAINTS.by_name[name].check(name, value)
        if (n_support is None) == (tol is None):
            raise ValueError("Give n_support or tol: the number of support vectors, or the largest change.")
        if isinstance(self.kernel_, Linear):
            raise ValueError("A linear model is one weight vector, coef_: there is nothing to compress.")
        if is_precomputed(self.kernel_):
            raise ValueError("compress needs points, and a precomputed kernel has none: give the kernel itself.")
        X = new_data(self, X)
        f, order = self._scores(X), _pivots(self, n_support)
        m = len(order) if tol is None else min(16, len(order))
        while True:
            small = _with_vectors(self, X, f, np.sort(order[:m]))
            change = float(np.abs(small._scores(X) - f).max(initial=0.0))
            if tol is None or change <= tol or m == len(order):
                break
            m = min(2 * m, len(order))
        small.compression_["largest_change"] = change
        if not self._loss.two_sided:
            other = small.predict(X) != self.predict(X)
            small.compression_["changed"] = float(np.mean(other))
        return small


M = TypeVar("M", bound=Compressible)


def _pivots(machine: Compressible, most: int | None) -> np.ndarray:
    """The support vectors in the order in which they are chosen."""
    size = np.linalg.norm(machine._dense_dual, axis=0)
    n, block = len(size), blocks_of(machine.kernel_, machine.support_vectors_, machine.support_vectors_, True)
    parts = [slice(lo, min(lo + 64, n)) for lo in range(0, n, 64)]
    weighted = np.concatenate([np.diagonal(block(some, some)) for some in parts]) * size**2

    def row(i: int) -> np.ndarray:
        return np.asarray(block(slice(i, i + 1), slice(0, n)), np.float64)[0] * size * size[i]

    least = n * float(np.finfo(np.float64).eps) * float(weighted.max(initial=0.0))
    return pivoted_cholesky(row, weighted, n if most is None else most, least)[1]


def _with_vectors(machine: M, X: KernelData, f: np.ndarray, kept: np.ndarray) -> M:
    """The model with these support vectors only, and the best coefficients for them."""
    kernel, vectors, dual = machine.kernel_, machine.support_vectors_, machine._dense_dual
    own: Any = [vectors[i] for i in kept] if isinstance(vectors, list) else vectors[kept]
    K = np.concatenate(list(kernel_values(kernel, vectors, own)))  # of the former support vectors
    squares, sums, at = np.zeros((len(kept), len(kept))), np.zeros((len(kept), f.shape[1])), 0
    for block in kernel_values(kernel, X, own):
        squares += block.T @ block
        sums += block.T @ (f[at : at + len(block)] - machine.intercept_)
        at += len(block)
    new, far = np.zeros((len(dual), len(kept))), 0.0
    pairs = machine._one_vs_one
    every = np.arange(dual.shape[1])
    groups = coefficients_of_pairs(dual, machine.n_support_) if pairs else [(every, row) for row in dual]
    of_class = np.repeat(np.arange(len(machine.n_support_)), machine.n_support_)
    for k, (used, coef) in enumerate(groups):
        mine = np.flatnonzero(np.isin(kept, used))
        inside = K[np.ix_(kept[mine], mine)]
        target = coef @ K[np.ix_(used, mine)]
        gamma = solved(squares[np.ix_(mine, mine)] + inside, sums[mine, k] + target) if len(mine) else np.zeros(0)
        far = max(far, _norm(kernel, vectors, used, coef, gamma, target, inside))
        if pairs:
            i, j = class_pairs(len(machine.n_support_))[k]
            new[np.where(of_class[kept[mine]] == i, j - 1, i), mine] = gamma
        else:
            new[k] = gamma
    small = copy.copy(machine)
    small.__dict__.update(
        support_=machine.support_[kept],
        support_vectors_=own,
        n_support_=np.bincount(of_class[kept], minlength=len(machine.n_support_)).astype(machine.n_support_.dtype),
        dual_coef_=sp.csr_matrix(new) if sp.issparse(machine.dual_coef_) else new,
        compression_={"n_support": len(kept), "norm_change": far},
        gap_=np.inf,
        objective_=np.nan,
        _answers=None,
    )
    return small


def _norm(
    kernel: Kernel,
    vectors: KernelData,
    used: np.ndarray,
    coef: np.ndarray,
    gamma: np.ndarray,
    target: np.ndarray,
    inside: np.ndarray,
) -> float:
    """A bound on ‖f - g‖, from the squares of both and their inner product."""
    own = [vectors[i] for i in used] if isinstance(vectors, list) else vectors[used]
    blocks = kernel_values(kernel, own, own)
    responses = np.concatenate([block @ np.stack([coef, np.abs(coef)], 1) for block in blocks])
    square = float(coef @ responses[:, 0] - 2.0 * gamma @ target + gamma @ inside @ gamma)
    size = float(np.abs(coef) @ responses[:, 1] + 2.0 * np.abs(gamma) @ np.abs(target))
    size += float(np.abs(gamma) @ np.abs(inside) @ np.abs(gamma))
    return math.sqrt(max(square, 0.0) + rounding(len(coef) + len(gamma), size))
