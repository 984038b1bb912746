"""`compress`: kernel machines with fewer support vectors, and by how much their decision values differ."""

import copy
import math
from typing import NamedTuple, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hinge.constraints import Constraints, count, scale
from hinge.estimators.data.kernel_input import is_precomputed, new_data, part_of
from hinge.estimators.fitting.parameters import KernelData
from hinge.estimators.fitting.tasks import class_pairs
from hinge.estimators.kernel.expansions import kernel_values
from hinge.estimators.mixins.reduced_set import best_coefficients, moved
from hinge.kernels import Gaussian, Linear
from hinge.problems.base import rounding
from hinge.solvers.kernel.low_rank import pivoted_cholesky
from hinge.types import Items

CONSTRAINTS = Constraints(n_support=count() | None, tol=scale(or_zero=True) | None)


M = TypeVar("M", bound=BaseEstimator)


def compress_machine(machine: M, X: Items, n_support: int | None, tol: float | None) -> M:
    """See `KernelMachine.compress`."""
    check_is_fitted(machine, "support_")
    for name, value in (("n_support", n_support), ("tol", tol)):
        CONSTRAINTS.by_name[name].check(name, value)
    if (n_support is None) == (tol is None):
        raise ValueError("Give n_support or tol: the number of support vectors, or the largest change.")
    if isinstance(machine.kernel_, Linear):
        raise ValueError("A linear model is one weight vector, coef_: there is nothing to compress.")
    if is_precomputed(machine.kernel_):
        raise ValueError("compress needs points, and a precomputed kernel has none: give the kernel itself.")
    given, X = X, new_data(machine, X)
    gamma = getattr(machine.kernel_, "gamma", 0.0)
    f = machine._scores_of(X)
    a, takes_part = _coefficients_of(machine, f.shape[1])
    every = _equations_of(machine, X, f, machine.support_vectors_, a)
    least = len(every.K) * float(np.finfo(np.float64).eps * every.squares.diagonal().max(initial=0.0))
    most = len(every.K) if n_support is None else n_support
    pivots = every.squares.__getitem__, every.squares.diagonal()
    order = pivoted_cholesky(*pivots, most, least, every.sums * takes_part)[1]
    m = len(order) if tol is None else min(16, len(order))
    while True:
        kept = np.sort(order[:m])
        vectors, equations = part_of(machine.support_vectors_, kept, machine.kernel_), _of_some(every, kept)
        if _moves(machine, X) and m < len(every.K):
            former, rows = cast(np.ndarray, machine.support_vectors_), cast(np.ndarray, X)
            vectors = moved(rows, f - machine.intercept_, former, a, cast(np.ndarray, vectors), takes_part[kept], gamma)
            equations = _equations_of(machine, X, f, vectors, a)
        coef = best_coefficients(equations.squares, equations.sums, takes_part[kept])
        small = _with_vectors(machine, kept, vectors, coef, _distance(every.K, equations, a, coef))
        change = float(np.abs(small._scores_of(X) - f).max(initial=0.0))
        if tol is None or change <= tol or m == len(order):
            break
        m = min(2 * m, len(order))
    small.compression_["largest_change"] = change
    if not machine._loss.two_sided:
        other = small.predict(given) != machine.predict(given)
        small.compression_["changed"] = float(np.mean(other))
    return small


def _moves(machine: BaseEstimator, X: KernelData) -> bool:
    """Whether vectors can be moved: those of a Gaussian kernel, where they are dense."""
    dense = isinstance(X, np.ndarray) and isinstance(machine.support_vectors_, np.ndarray)
    return dense and isinstance(machine.kernel_, Gaussian)


class Equations(NamedTuple):
    """What the coefficients γ of some vectors would solve: ``squares @ γ = sums``, a column a decision function.

    ============ ================================================================================
    `K`          kernel values of the vectors
    `across`     kernel values of the former support vectors with them
    `squares`    :math:`\\sum_x k(x)k(x)^T + K`, where k(x) has the kernel values of x with them
    `sums`       :math:`\\sum_x k(x)(f(x) - b) + K_{across}^Ta`
    ============ ================================================================================
    """

    K: np.ndarray
    across: np.ndarray
    squares: np.ndarray
    sums: np.ndarray


def _of_some(equations: Equations, kept: np.ndarray) -> Equations:
    """The equations of some of the vectors."""
    some = np.ix_(kept, kept)
    K, across, squares, sums = equations
    return Equations(K[some], across[:, kept], squares[some], sums[kept])


def _coefficients_of(machine: BaseEstimator, functions: int) -> tuple[np.ndarray, np.ndarray]:
    """The coefficients of all support vectors, a column a decision function, and whether they take part in it."""
    shape = len(machine.support_), functions
    a, takes_part = np.zeros(shape), np.zeros(shape, bool)
    for k, (used, coef) in enumerate(machine._expansions):
        a[used, k], takes_part[used, k] = coef, True
    return a, takes_part


def _equations_of(
    machine: BaseEstimator, X: KernelData, f: np.ndarray, vectors: KernelData, a: np.ndarray
) -> Equations:
    """The equations, summed over blocks of rows."""
    kernel, own = machine.kernel_, vectors is machine.support_vectors_
    K = np.concatenate(list(kernel_values(kernel, vectors, vectors)))
    across = K if own else np.concatenate(list(kernel_values(kernel, machine.support_vectors_, vectors)))
    squares, sums, at = K.copy(), across.T @ a, 0
    for block in kernel_values(kernel, X, vectors):
        squares += block.T @ block
        sums += block.T @ (f[at : at + len(block)] - machine.intercept_)
        at += len(block)
    return Equations(K, across, squares, sums)


def _with_vectors(machine: M, kept: np.ndarray, vectors: KernelData, coef: np.ndarray, norm_change: float) -> M:
    """The model with these vectors and coefficients in place of the support vectors of these numbers."""
    classes = len(machine.n_support_)
    of_class = np.repeat(np.arange(classes), machine.n_support_)[kept]
    new = np.zeros((len(machine._dense_dual), len(kept)))
    for k, column in enumerate(coef.T):
        i, j = class_pairs(classes)[k] if machine._one_vs_one else (0, 0)
        used = np.flatnonzero(column)
        new[np.where(of_class[used] == i, j - 1, i) if machine._one_vs_one else k, used] = column[used]
    small = copy.copy(machine)
    small.__dict__.update(
        support_=machine.support_[kept],
        support_vectors_=vectors,
        n_support_=np.bincount(of_class, minlength=classes).astype(machine.n_support_.dtype),
        dual_coef_=sp.csr_matrix(new) if sp.issparse(machine.dual_coef_) else new,
        compression_={"n_support": len(kept), "norm_change": norm_change},
        gap_=np.inf,
        objective_=np.nan,
        _answers=None,
    )
    return small


def _distance(of_all: np.ndarray, equations: Equations, a: np.ndarray, coef: np.ndarray) -> float:
    """An upper bound on the norm of the difference of two expansions, the largest of all functions."""
    K, across, terms = equations.K, equations.across, 2 * (len(a) + len(coef))
    sq = (a * (of_all @ a - 2.0 * (across @ coef))).sum(axis=0) + (coef * (K @ coef)).sum(axis=0)
    of_all, across, K, a, coef = map(np.abs, (of_all, across, K, a, coef))
    size = (a * (of_all @ a + 2.0 * (across @ coef))).sum(axis=0) + (coef * (K @ coef)).sum(axis=0)
    return max(math.sqrt(max(s, 0.0) + rounding(terms, t)) for s, t in zip(sq.tolist(), size.tolist(), strict=True))
