"""`compress`: kernel machines with fewer support vectors, and by how much their decision values differ."""

import copy
import math
from typing import NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hinge.constraints import Constraints, count, scale
from hinge.estimators.data.kernel_input import is_precomputed, new_data
from hinge.estimators.fitting.parameters import KernelData
from hinge.estimators.fitting.tasks import class_pairs, coefficients_of_pairs
from hinge.estimators.kernel.expansions import kernel_values
from hinge.kernels import Linear
from hinge.problems.base import rounding
from hinge.solvers.kernel.low_rank import pivoted_cholesky
from hinge.solvers.newton.systems import solved
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
    f = machine._scores_of(X)
    equations = _equations_of(machine, X, f)
    K, squares, sums, _ = equations
    least = len(K) * float(np.finfo(np.float64).eps * squares.diagonal().max(initial=0.0))
    most = len(K) if n_support is None else n_support
    order = pivoted_cholesky(squares.__getitem__, squares.diagonal(), most, least, sums)[1]
    m = len(order) if tol is None else min(16, len(order))
    while True:
        small = _with_vectors(machine, equations, np.sort(order[:m]))
        change = float(np.abs(small._scores_of(X) - f).max(initial=0.0))
        if tol is None or change <= tol or m == len(order):
            break
        m = min(2 * m, len(order))
    small.compression_["largest_change"] = change
    if not machine._loss.two_sided:
        other = small.predict(given) != machine.predict(given)
        small.compression_["changed"] = float(np.mean(other))
    return small


class Equations(NamedTuple):
    """What the coefficients γ of all support vectors would solve: ``squares @ γ = sums``, a column a decision function.

    ========== ================================================================================
    `K`        kernel values of the support vectors
    `squares`  :math:`\\sum_x k(x)k(x)^T + K`, where k(x) has the kernel values of x with them
    `sums`     :math:`\\sum_x k(x)(f(x) - b) + Ka`; zero for classes that take no part in a function
    `a`        their coefficients
    ========== ================================================================================
    """

    K: np.ndarray
    squares: np.ndarray
    sums: np.ndarray
    a: np.ndarray


def _equations_of(machine: BaseEstimator, X: KernelData, f: np.ndarray) -> Equations:
    """The equations, summed over blocks of rows."""
    kernel, vectors, dual = machine.kernel_, machine.support_vectors_, machine._dense_dual
    a, takes_part = np.zeros((dual.shape[1], f.shape[1])), np.zeros((dual.shape[1], f.shape[1]), bool)
    every = np.arange(len(a))
    groups = coefficients_of_pairs(dual, machine.n_support_) if machine._one_vs_one else [(every, row) for row in dual]
    for k, (used, coef) in enumerate(groups):
        a[used, k], takes_part[used, k] = coef, True
    K = np.concatenate(list(kernel_values(kernel, vectors, vectors)))
    squares, sums, at = K.copy(), K @ a, 0
    for block in kernel_values(kernel, X, vectors):
        squares += block.T @ block
        sums += block.T @ (f[at : at + len(block)] - machine.intercept_)
        at += len(block)
    return Equations(K, squares, sums * takes_part, a)


def _with_vectors(machine: M, equations: Equations, kept: np.ndarray) -> M:
    """The model with these support vectors only, and the best coefficients for them."""
    K, squares, sums, a = equations
    vectors, classes = machine.support_vectors_, len(machine.n_support_)
    of_class = np.repeat(np.arange(classes), machine.n_support_)
    new, far = np.zeros((len(machine._dense_dual), len(kept))), 0.0
    for k in range(a.shape[1]):
        i, j = class_pairs(classes)[k] if machine._one_vs_one else (0, 0)
        mine = np.flatnonzero(np.isin(of_class[kept], (i, j))) if machine._one_vs_one else np.arange(len(kept))
        used, gamma = kept[mine], np.zeros(len(a))
        if len(used):
            gamma[used] = solved(squares[np.ix_(used, used)], sums[used, k])
        new[np.where(of_class[used] == i, j - 1, i) if machine._one_vs_one else k, mine] = gamma[used]
        change = a[:, k] - gamma
        size = float(np.abs(change) @ np.abs(K) @ np.abs(change))
        far = max(far, math.sqrt(max(float(change @ K @ change), 0.0) + rounding(2 * len(a), size)))
    small = copy.copy(machine)
    small.__dict__.update(
        support_=machine.support_[kept],
        support_vectors_=[vectors[i] for i in kept] if isinstance(vectors, list) else vectors[kept],
        n_support_=np.bincount(of_class[kept], minlength=classes).astype(machine.n_support_.dtype),
        dual_coef_=sp.csr_matrix(new) if sp.issparse(machine.dual_coef_) else new,
        compression_={"n_support": len(kept), "norm_change": far},
        gap_=np.inf,
        objective_=np.nan,
        _answers=None,
    )
    return small
