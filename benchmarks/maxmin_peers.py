"""The same max-min problems for other people's solvers; each answer is to be certified by ours."""

import time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hinge.problems.max_min.symmetric import Semidefinite, svec


class PeerAnswer(NamedTuple):
    """What a peer returns: both strategies, in the form of our problem, and its own word on them."""

    x: np.ndarray
    p: np.ndarray
    status: str
    seconds: float


def scs_semidefinite(A: Any, eps: float = 1e-2, **settings: Any) -> PeerAnswer:
    """SCS on max t with :math:`A_i \\circ X \\ge t`, tr X ≤ 1, X ⪰ 0, by its direct interface.

    Parameters
    ----------
    A : Semidefinite, or what it takes
    eps : float
        SCS's eps_abs and eps_rel; that is no bound on the gap.
    **settings
        Further settings of SCS.

    Returns
    -------
    PeerAnswer
        x is svec(X), for ``problem.certificate(Strategies(x, p))``; seconds are SCS's own, setup and solve.
    """
    import scs

    problem = A if isinstance(A, Semidefinite) else Semidefinite(A)
    n, d = problem.order, problem.d
    rows = _rows_of(problem)
    # SCS packs the lower triangle by columns: entry (i, j), i ≥ j, which is ours (j, i) in the same order.
    trace = svec(np.eye(n))
    constraints = sp.hstack([-rows, np.ones((problem.n, 1))])
    bound = sp.hstack([sp.csr_array(trace[None, :]), sp.csr_array((1, 1))])
    cone = sp.hstack([-sp.eye_array(d), sp.csr_array((d, 1))])
    G = sp.csc_array(sp.vstack([constraints, bound, cone]), dtype=np.float64)
    h = np.concatenate([np.zeros(problem.n), [1.0], np.zeros(d)])
    c = np.zeros(d + 1)
    c[-1] = -1.0
    data = {"A": sp.csc_matrix(G), "b": h, "c": c}
    solver = scs.SCS(data, {"l": problem.n + 1, "s": [n]}, eps_abs=eps, eps_rel=eps, verbose=False, **settings)
    found = solver.solve()
    p = np.maximum(found["y"][: problem.n], 0.0)
    p = p / p.sum() if p.sum() > 0 else np.full(problem.n, 1.0 / problem.n)
    info = found["info"]
    seconds = (info["setup_time"] + info["solve_time"]) / 1e3
    return PeerAnswer(np.array(found["x"][:d]), p, info["status"], seconds)


def _rows_of(problem: Semidefinite) -> sp.csr_array:
    """The packed rows, as sparse as they are."""
    matrix = problem.matrix
    if not matrix.is_sparse:
        return sp.csr_array(np.stack([problem.grad_at(i) for i in range(problem.n)]), dtype=np.float64)
    rows = matrix.unbilled
    signed = [a.view(f"i{a.dtype.itemsize}") for a in (rows.indices, rows.indptr)]
    return sp.csr_array((rows.data.astype(np.float64), *signed), shape=matrix.shape)


def exact_semidefinite(A: Any) -> float:
    """The value of a small problem to many digits, by Clarabel."""
    import clarabel

    problem = A if isinstance(A, Semidefinite) else Semidefinite(A)
    n, d = problem.order, problem.d
    # Clarabel packs the upper triangle by columns; ours is by rows, so entries change places.
    places = np.zeros((n, n), int)
    places[np.triu_indices(n)] = np.arange(d)
    order = np.array([places[i, j] for j in range(n) for i in range(j + 1)])
    rows = _rows_of(problem).toarray()
    G = np.vstack(
        [
            np.hstack([-rows, np.ones((problem.n, 1))]),
            np.append(svec(np.eye(n)), 0.0)[None],
            np.hstack([-np.eye(d)[order], np.zeros((d, 1))]),
        ]
    )
    h = np.concatenate([np.zeros(problem.n), [1.0], np.zeros(d)])
    cones = [clarabel.NonnegativeConeT(problem.n + 1), clarabel.PSDTriangleConeT(n)]
    return -_clarabel(np.append(np.zeros(d), -1.0), np.zeros((d + 1, d + 1)), G, h, cones).obj_val


def clarabel_margin(A: np.ndarray) -> float:
    """The widest margin to many digits: the least norm of a mixture of rows, by Clarabel."""
    import clarabel

    n, d = A.shape
    # min ½‖z‖² with z = Aᵀp, p on the simplex.
    P = np.zeros((n + d, n + d))
    P[n:, n:] = np.eye(d)
    G = np.vstack(
        [
            np.hstack([A.T, -np.eye(d)]),
            np.append(np.ones(n), np.zeros(d))[None],
            np.hstack([-np.eye(n), np.zeros((n, d))]),
        ]
    )
    h = np.concatenate([np.zeros(d), [1.0], np.zeros(n)])
    cones = [clarabel.ZeroConeT(d + 1), clarabel.NonnegativeConeT(n)]
    return float(np.sqrt(max(0.0, 2.0 * _clarabel(np.zeros(n + d), P, G, h, cones).obj_val)))


def _clarabel(q: np.ndarray, P: np.ndarray, G: np.ndarray, h: np.ndarray, cones: list) -> Any:
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    return clarabel.DefaultSolver(sp.csc_matrix(P), q, sp.csc_matrix(G), h, cones, settings).solve()


def highs_game(A: np.ndarray, method: str) -> tuple[float, str]:
    """HiGHS on max v with Ax ≥ v, x on the simplex."""
    from scipy.optimize import linprog

    n, d = A.shape
    left = np.c_[-A.astype(float), np.ones(n)]
    began = time.perf_counter()
    found = linprog(
        np.r_[np.zeros(d), -1.0],
        A_ub=left,
        b_ub=np.zeros(n),
        A_eq=np.r_[np.ones(d), 0.0][None],
        b_eq=[1.0],
        bounds=[(0, None)] * d + [(None, None)],
        method=method,
    )
    return time.perf_counter() - began, f"value {-found.fun:.5f}"


def linear_svc_margin(A: np.ndarray) -> tuple[float, str]:
    """LinearSVC with the hinge loss and a large C: rows and their negatives as two classes would double the
    work, so half of the rows change sign and label."""
    from sklearn.svm import LinearSVC

    y = np.where(np.arange(len(A)) % 2, 1, -1)
    X = A * y[:, None].astype(A.dtype)
    began = time.perf_counter()
    machine = LinearSVC(loss="hinge", C=100.0, fit_intercept=False, max_iter=1000).fit(X, y)
    seconds = time.perf_counter() - began
    w = machine.coef_[0]
    return seconds, f"margin {(A @ w).min() / np.linalg.norm(w):.5f}"


def one_class_margin(A: np.ndarray) -> tuple[float, str]:
    """LIBSVM's one-class machine, whose dual is the least norm of a mixture of rows."""
    from sklearn.svm import OneClassSVM

    began = time.perf_counter()
    machine = OneClassSVM(kernel="linear", nu=0.9 / len(A)).fit(A)
    seconds = time.perf_counter() - began
    w = machine.dual_coef_[0] @ machine.support_vectors_
    return seconds, f"margin {(A @ w).min() / np.linalg.norm(w):.5f}"
