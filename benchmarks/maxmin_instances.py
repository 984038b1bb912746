"""Instances of max-min problems that benchmarks share; each function is its own law of random numbers."""

import numpy as np
import scipy.sparse as sp

PLANTED_RANK = 3
MARGIN = (0.05, 0.25)  # of the planted matrix, by constraint
SPECTRAL_NORM = 0.77  # of the noise


def semidefinite_dense(n: int, m: int, seed: int = 0) -> np.ndarray:
    """Gaussian symmetric matrices of spectral norm about 0.77, shifted so that a planted X has a margin.

    With :math:`X_0 = QQ^\\top/3` of rank 3 and trace 1, each matrix gets the multiple of
    :math:`QQ^\\top` that makes its product with :math:`X_0` the margin, uniform in [0.05, 0.25].

    Returns
    -------
    ndarray of shape (m, n, n), float32
    """
    rng = np.random.default_rng(seed)
    rank = min(PLANTED_RANK, n)
    Q = np.linalg.qr(rng.standard_normal((n, rank)))[0]
    P = Q @ Q.T
    margins = rng.uniform(*MARGIN, m)
    A = np.empty((m, n, n), np.float32)
    for i in range(m):
        G = rng.standard_normal((n, n))
        G = (G + G.T) * (SPECTRAL_NORM / (2.0 * np.sqrt(2.0 * n)))
        A[i] = G + (margins[i] - np.vdot(G, P) / rank) * P
    return A


def semidefinite_rank_one(n: int, m: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Factors of (aaᵀ - bbᵀ)/2, as metric learning has them: a planted metric finds a longer than b.

    Returns
    -------
    a, b : ndarrays of shape (m, n), float32
        Divided by √2 already: `Semidefinite.from_factors(a, b)`.
    """
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, min(PLANTED_RANK, n))))[0]
    a, b = rng.standard_normal((2, m, n)) / np.sqrt(n)
    a += rng.uniform(0.5, 1.0, (m, 1)) * _directions(rng, m, Q)
    b -= b @ Q @ Q.T
    a, b = (f / np.linalg.norm(f, axis=1, keepdims=True) / np.sqrt(2.0) for f in (a, b))
    return a.astype(np.float32), b.astype(np.float32)


def _directions(rng: np.random.Generator, m: int, Q: np.ndarray) -> np.ndarray:
    """Unit vectors in the span of Q."""
    u = rng.standard_normal((m, Q.shape[1]))
    return u / np.linalg.norm(u, axis=1, keepdims=True) @ Q.T


def semidefinite_sparse(n: int, m: int, seed: int = 0, entries: int = 8) -> list[sp.coo_array]:
    """Matrices of a few random entries each, with signs that a planted X of rank 3 prefers.

    Returns
    -------
    list of m sparse arrays of shape (n, n), float32, of spectral norm at most about 1
    """
    rng = np.random.default_rng(seed)
    hidden = rng.choice([-1.0, 1.0], n)
    out = []
    for _ in range(m):
        i, j = rng.integers(0, n, (2, entries))
        values = rng.uniform(0.0, 0.5, entries)
        values[i == j] *= -1.0  # else the identity would do
        values *= np.where(rng.random(entries) < 0.25, -1.0, 1.0) * hidden[i] * hidden[j]
        half = sp.coo_array((values / 2.0, (i, j)), shape=(n, n))
        out.append(sp.coo_array(half + half.T).astype(np.float32))
    return out


def infeasible(A: np.ndarray, shift: float = 0.12) -> np.ndarray:
    """The same matrices less a multiple of the identity, so that only X = 0 is feasible."""
    return A - shift * np.eye(A.shape[1], dtype=A.dtype)


# --- margins ----------------------------------------------------------------------------------


def planted(n: int, d: int, margin: float, seed: int = 0, signs: bool = False) -> np.ndarray:
    """Unit rows whose part along a hidden direction is uniform in [margin, .5]; with `signs`, ±."""
    return np.concatenate(list(planted_blocks(n, d, margin, seed, signs)))


def planted_blocks(n: int, d: int, margin: float, seed: int = 0, signs: bool = False, block: int = 1000):
    """The same in blocks of rows, float32."""
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal(d).astype(np.float32)
    hidden /= np.linalg.norm(hidden)
    for lo in range(0, n, block):
        m = min(block, n - lo)
        A = rng.standard_normal((m, d), np.float32)
        A -= np.outer(A @ hidden, hidden)
        along = rng.uniform(margin, 0.5, m).astype(np.float32)
        if signs:
            along *= rng.choice(np.float32([-1, 1]), m)
        A *= (np.sqrt(1 - along**2) / np.linalg.norm(A, axis=1))[:, None]
        yield A + np.outer(along, hidden)


def decaying(n: int, d: int, margin: float, seed: int = 0) -> np.ndarray:
    """The same, with coordinates of size j^-.75 beside the hidden one."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d), np.float32) * (np.arange(1, d + 1, dtype=np.float32) ** -0.75)
    along = rng.uniform(margin, 0.5, n).astype(np.float32)
    A[:, -1] = 0.0
    A *= (np.sqrt(1 - along**2) / np.linalg.norm(A, axis=1))[:, None]
    A[:, -1] = along
    return A


def rare(n: int, d: int, count: int, seed: int = 0) -> np.ndarray:
    """Rows of margin .4 along one direction, but for a few that need a second one."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d), np.float32)
    A[:, :2] = 0.0
    A *= np.float32(np.sqrt(1 - 0.4**2)) / np.linalg.norm(A, axis=1, keepdims=True)
    A[:, 0] = 0.4
    few = rng.choice(n, count, replace=False)
    A[few] *= np.float32(0.5)
    A[few, 0], A[few, 1] = -0.1, 0.4
    return A


def digits() -> np.ndarray:
    """scikit-learn's digits 0 and 1, labels in the signs, rows in the unit ball; real data."""
    from sklearn.datasets import load_digits

    X, y = load_digits(n_class=2, return_X_y=True)
    return unit(np.c_[X / 16.0, np.ones(len(X))] * np.where(y == 1, 1.0, -1.0)[:, None])


def unit(A: np.ndarray) -> np.ndarray:
    """Rows divided by the longest."""
    return A / np.linalg.norm(A, axis=1).max()


# --- games ------------------------------------------------------------------------------------


def random_game(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Payoffs uniform in [-1, 1]: the value is about zero, and supports are wide."""
    return np.random.default_rng(seed).uniform(-1, 1, (n, d)).astype(np.float32)


def low_rank_game(n: int, d: int, seed: int = 0, rank: int = 10) -> np.ndarray:
    """Payoffs of rank ten."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    return (A / np.abs(A).max()).astype(np.float32)


def small_support_game(n: int, d: int, seed: int = 0, support: int = 10) -> np.ndarray:
    """A small game hidden in a large one: other rows pay more, other columns get less."""
    rng = np.random.default_rng(seed)
    A = rng.uniform(-0.3, 0.3, (n, d))
    A[:, support:] -= 0.5
    A[support:, :support] += 0.5
    return A.astype(np.float32)
