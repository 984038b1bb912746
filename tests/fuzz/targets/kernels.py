"""Kernels: names and settings, functions that lie, matrices that are no kernels, items of any kind."""

import numpy as np
import scipy.sparse as sp

from hinge import SVC, NuSVC, OneClassSVM
from hinge.kernels import Function, Gaussian, Laplacian, Polynomial, Precomputed, Sigmoid

from ..judging import check_fitted
from ..odd import NUMBERS, ODD, one_of, table

SOLVERS = ("auto", "auto", "auto", "blockdual", "sbp", "smo", "kernelpegasos", "kernelsdca", "kernelperceptron")


def case(rng):
    """A kernel of some kind, in some machine."""
    X, y = table(rng)
    kind = int(rng.integers(4))
    if kind == 0:
        kernel, X = _given(X, rng)
    elif kind == 1:
        kernel = one_of(rng, BLOCKS)
        kernel = Function(kernel, on="blocks") if rng.random() < 0.3 else kernel
    elif kind == 2:
        kernel, X = one_of(rng, PAIRS), one_of(rng, ITEMS)(len(y), rng)
        kernel = (
            Function(kernel, on=one_of(rng, ("pairs", "pairs", "indices", "blocks", "x")))
            if rng.random() < 0.4
            else kernel
        )
    else:
        kernel = one_of(rng, SETTINGS)(one_of(rng, (*NUMBERS, *ODD)))
    if rng.random() < 0.3:
        model = OneClassSVM(kernel=kernel, max_time=0.3, nu=float(rng.choice([0.01, 0.5, 1.0]))).fit(X)
    elif rng.random() < 0.3:
        model = NuSVC(kernel=kernel, max_time=0.3, nu=float(rng.choice([0.01, 0.2]))).fit(X, y)
    else:
        slack = one_of(rng, (None, None, None, 0.0, 0.05))
        solver = one_of(rng, SOLVERS)
        y = np.arange(len(y)) % 3 if rng.random() < 0.2 else y
        weight = rng.random(len(y)) if rng.random() < 0.2 else None
        model = SVC(
            kernel=kernel,
            max_time=0.3,
            slack=slack,
            solver=solver,
            fit_intercept=bool(rng.random() < 0.6),
            tol=float(rng.choice([1e-3, 1e-7])),
        ).fit(X, y, weight)
    check_fitted(model, X)


def _given(X, rng):
    """A matrix of kernel values, or of something like them."""
    X = X.toarray() if sp.issparse(X) else X
    K = (X @ X.T).astype(float)
    n = len(K)
    K = one_of(
        rng,
        (
            lambda: K,
            lambda: np.zeros((n, n)),
            lambda: np.ones((n, n)),
            lambda: np.eye(n),
            lambda: -K,
            lambda: K - np.diag(np.diag(K)),
            lambda: K + rng.normal(size=K.shape),
            lambda: np.tanh(K),
            lambda: K * 1e200,
            lambda: K * 1e-200,
            lambda: K.astype(np.float32),
            lambda: K.astype(int),
            lambda: K > 0,
            lambda: K[:, :-1],
            lambda: K[0],
            lambda: K[None],
            lambda: K.tolist(),
            lambda: sp.csr_array(K),
            lambda: K.astype(object),
            lambda: K.astype(str),
            lambda: K * 1j,
            lambda: np.where(rng.random(K.shape) < 0.05, np.nan, K),
            lambda: np.where(np.eye(n) > 0, np.inf, K),
            lambda: np.diag(np.r_[0.0, np.ones(n - 1)]),
            lambda: (A := rng.normal(size=(n, n))) + A.T,
            lambda: np.diag(np.where(np.arange(n) % 2, 1e200, 1e-200)),
            lambda: np.asfortranarray(K),
            lambda: K[::-1, ::-1],
        ),
    )()
    return one_of(rng, ("precomputed", Precomputed())), K


def _dense(part):
    return part.toarray() if sp.issparse(part) else np.asarray(part)


BLOCKS = (
    lambda a, b: _dense(a) @ _dense(b).T,
    lambda a, b: sp.csr_array(_dense(a) @ _dense(b).T),
    lambda a, b: np.zeros((a.shape[0], b.shape[0])),
    lambda a, b: sp.coo_matrix(_dense(a) @ _dense(b).T),
    lambda a, b: (_dense(a) @ _dense(b).T).tolist(),
    lambda a, b: 1.0,
    lambda a, b: None,
    lambda a, b: np.full((a.shape[0], b.shape[0]), np.nan),
    lambda a, b: np.full((a.shape[0], b.shape[0]), 1e300),
    lambda a, b: "x",
    lambda a, b: np.ones((b.shape[0] + 1, a.shape[0])),
    lambda a, b: np.ones(a.shape[0]),
    lambda a, b: _dense(a) @ _dense(b).T * 1j,
    lambda a, b: np.random.default_rng().normal(size=(a.shape[0], b.shape[0])),
    lambda a, b: -(_dense(a) @ _dense(b).T),
    lambda a, b: np.subtract.outer(_dense(a)[:, 0], _dense(b)[:, 0]),
    lambda a, b: np.tanh(_dense(a) @ _dense(b).T),
    lambda a, b: [[]],
    lambda a, b: (_dense(a) @ _dense(b).T).astype(np.float32),
    lambda a, b: (_dense(a) @ _dense(b).T).astype(object),
    lambda a, b: np.ma.masked_array(_dense(a) @ _dense(b).T),
    lambda a, b: [[1, 2], [3]],
    lambda a, b: (x for x in a),
    lambda a, b: {},
    lambda a, b: np.where(_dense(a) @ _dense(b).T > 1, np.inf, 1.0),
    lambda a, b: (_dense(a) @ _dense(b).T).astype("U9"),
)
PAIRS = (
    lambda a, b: float(str(a) == str(b)),
    lambda a, b: float(len(str(a)) * len(str(b))),
    lambda a, b: 0.0,
    lambda a, b: 1,
    lambda a, b: None,
    lambda a, b: np.nan,
    lambda a, b: "1",
    lambda a, b: "x",
    lambda a, b: np.float32(2.0),
    lambda a, b: [1.0],
    lambda a, b: -1.0,
    lambda a, b: 1j,
    lambda a, b: len(str(a)) - len(str(b)),
    lambda a, b: np.random.default_rng().normal(),
    lambda a, b: 1e300,
    lambda a, b: len(set(str(a)) & set(str(b))),
    lambda a, b: True,
    lambda a, b: 10**400,
    lambda a, b: np.ones((1, 1)),
)
ITEMS = (
    lambda n, rng: ["abc"[: int(k)] for k in rng.integers(0, 4, n)],
    lambda n, rng: list(range(n)),
    lambda n, rng: np.arange(n),
    lambda n, rng: [{"a": k} for k in range(n)],
    lambda n, rng: [None] * n,
    lambda n, rng: [[1] * (k % 4) for k in range(n)],
    lambda n, rng: np.array(["a", "b"] * n)[:n],
    lambda n, rng: "a" * n,
    lambda n, rng: tuple(range(n)),
    lambda n, rng: [],
    lambda n, rng: {k: k for k in range(n)},
    lambda n, rng: 5,
    lambda n, rng: None,
    lambda n, rng: iter(range(n)),
    lambda n, rng: b"a" * n,
    lambda n, rng: np.arange(n)[:, None],
    lambda n, rng: [object()] * n,
    lambda n, rng: np.ones((n, 2, 2)),
    lambda n, rng: ["a"] * (n + 1),
    lambda n, rng: np.array([[1, 2], [3]] * n, dtype=object)[:n],
    lambda n, rng: [np.ones(2)] * n,
    lambda n, rng: [1.5] * n,
)
SETTINGS = (
    lambda v: Gaussian(v),
    lambda v: Laplacian(v),
    lambda v: Polynomial(3, v),
    lambda v: Polynomial(v),
    lambda v: Polynomial(2, 1.0, v),
    lambda v: Sigmoid(v),
    lambda v: Sigmoid(1.0, v),
    lambda v: Function(v),
    lambda v: v,
    lambda v: Function(lambda a, b: 1.0, on=v),
)
