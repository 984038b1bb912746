"""`OneClassSVM` with the linear kernel: `fit` by the linear solvers, and `partial_fit`."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from hinge.access import as_matrix
from hinge.access.gram.inner_points import sparse_sq_norms, sq_norms
from hinge.estimators.data import kernel_input
from hinge.estimators.data import validation as checks
from hinge.estimators.fitting.linear_runs import Plan, run_one
from hinge.estimators.fitting.reports import reports_of
from hinge.estimators.linear.linear_machine import OF_A_FIT
from hinge.kernels import Linear
from hinge.monitoring import Stop
from hinge.monitoring.clock import left_of
from hinge.problems import OneClass, Solution
from hinge.problems.svm.linear_one_class import SOME
from hinge.solvers import Result
from hinge.solvers.ascent import online_dual
from hinge.types import Stored

PASSES = 1000
"""Default limit of the passes."""


def fit(model: BaseEstimator, X: Stored, weight: np.ndarray | None, began: float) -> Result:
    """Solve the problem over rows, and set the fitted attributes for predictions, in LIBSVM's unit; n_iter in passes.

    By Newton's method or dual coordinate ascent, whichever is estimated to be faster: both read rows, O(nnz) a pass,
    and compute no kernel value.
    """
    matrix, limit = as_matrix(X, checked=True), model.max_reads
    unread = limit is not None and limit < 4 * SOME * matrix.max_row_cells  # too little to estimate the default λ
    problem = OneClass(matrix, model.nu, weight=weight, lam=1.0 if unread else None)
    plan = Plan(
        None,
        Stop(model.tol, None, left_of(model.max_time, began), limit and max(0, int(limit) - matrix.reads)),
        PASSES if model.max_iter == -1 else int(model.max_iter),
        checks.seed_of(model.random_state),
        model.on_interrupt,
        None,
        reports_of(model, X, None, (), lambda answer: attributes(answer, X, problem)),
    )
    result = run_one(problem, 0, plan)
    for name, value in attributes(result.solution, X, problem).items():
        setattr(model, name, value)
    model.radius_ = _radius(result.solution, X, problem)
    model.n_kernel_evals_ = model.n_kernel_asked_ = 0
    model.n_feature_reads_ = matrix.reads
    model._mass = problem.total
    return replace(result, n_iter=-(-result.n_iter // result.per_pass))


def learn(model: BaseEstimator, X: Stored, weight: np.ndarray | None) -> None:
    """One pass of `partial_fit` over new rows; continues from the last call, or from `fit`."""
    matrix = as_matrix(X, checked=True)
    piece = OneClass(matrix, model.nu, weight=weight, lam=1.0)
    stream, rng = getattr(model, "_stream", None), getattr(model, "_rng", None)
    rng = checks.generator_of(model.random_state) if rng is None else rng
    first = stream is None and model._weights is None
    if stream is None and first:
        stream = online_dual.begin(matrix.shape[1])
    elif stream is None:
        w = model._weights.toarray() if sp.issparse(model._weights) else model._weights
        mass = model._mass
        stream = online_dual.resume(w[0] / mass, float(model.intercept_[0]) / mass, piece, None, mass)
    stream = online_dual.learn(stream, piece, None, int(rng.randint(np.iinfo(np.int32).max)))
    model._stream, model._rng, model._mass = stream, rng, stream.seen
    model.n_feature_reads_ = (0 if first else model.n_feature_reads_) + matrix.reads
    none = Solution(stream.w * stream.seen, stream.b * stream.seen, np.zeros(0))
    for name, value in attributes(none, X[:0], None).items():  # without support vectors
        setattr(model, name, value)
    for name in OF_A_FIT:  # they describe the answer of the last `fit`, which has changed
        if name not in ("dual_coef_", "support_"):
            model.__dict__.pop(name, None)
    model.__dict__.pop("radius_", None)
    model.shape_fit_, model.n_iter_, model.fit_status_ = X.shape, 1, 0


def attributes(answer: Solution, X: Stored, problem: OneClass | None) -> dict[str, Any]:
    """The fitted attributes for predictions; without a problem the answer is in LIBSVM's unit already."""
    scale = 1.0 if problem is None else problem.scale
    assert answer.alpha is not None
    support = np.flatnonzero(answer.alpha)
    dual = answer.alpha[support]
    if problem is not None:
        dual = dual * (problem.weight[support] if len(problem.weight) > 1 else problem.weight[0])
    coef: Any = (answer.w * scale)[None]
    coef = sp.csr_matrix(coef) if sp.issparse(X) else coef
    (coef.data if sp.issparse(coef) else coef).flags.writeable = False
    level = -answer.b * scale
    return {
        "_weights": coef,
        "support_": support.astype(np.int32),
        "n_support_": np.array([len(support)], np.int32),
        "support_vectors_": kernel_input.part_of(X, support, Linear()),
        "dual_coef_": sp.csr_matrix(dual[None]) if sp.issparse(X) else dual[None],
        "intercept_": np.array([-level]),
        "offset_": np.array([level]),
        "kernel_": Linear(),
        "shape_fit_": X.shape,
    }


def _radius(answer: Solution, X: Stored, problem: OneClass) -> float:
    """R of the ball about :math:`\\lambda w/\\nu`, see `KernelOneClass.radius`; nan if the rows' norms differ."""
    sq = sparse_sq_norms(sp.csr_array(X)) if sp.issparse(X) else sq_norms(X)
    sq = sq[problem.weight > 0] if len(problem.weight) > 1 else sq
    if np.ptp(sq) > 1e-6 * sq.max():
        return np.nan
    ratio = problem.lam / problem.nu
    return float(np.sqrt(max(sq.mean() + 2.0 * answer.b * ratio + ratio * ratio * float(answer.w @ answer.w), 0.0)))
