"""What each column explains of the labels, from few rows: variance components, one for the columns of each price."""

import numpy as np

STEPS = 50
MOST_KINDS = 8
"""Kinds of columns, by their price: more prices than this are put together with their neighbours."""
NEARLY = 0.995
"""Share of what all columns explain that the columns of an answer explain at least."""
LEFT = 0.1  # share of its variance that a kind keeps however uncertain: cheap columns are bought all the same
HALF = 0.5  # of a standard error less: else every second kind that is worth nothing would seem to be worth something
MOST = 0.99  # of the variance that columns can explain


def column_worth(X: np.ndarray, y: np.ndarray, kind: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The share of the labels' variance that each column is expected to explain, if there were rows enough.

    Labels less their mean are taken for :math:`y = X\\beta + \\varepsilon`, the columns having variance one, with
    :math:`\\beta_j \\sim N(0, \\lambda_g)` for the columns of kind g and :math:`\\varepsilon_i \\sim N(0, \\sigma^2)`.
    The variances of greatest likelihood are found by the monotone steps

    .. math:: \\lambda_g \\leftarrow \\lambda_g\\sqrt{\\frac{y^\\top P K_g P y}{\\mathrm{tr}\\,P K_g}}, \\qquad
              K_g = X_gX_g^\\top, \\quad P = \\Big(\\sum_g\\lambda_gK_g + \\sigma^2I\\Big)^{-1},

    and the worth is :math:`E[\\beta_j^2 \\mid y]`, less for kinds that are uncertain: by half a standard error of
    :math:`\\lambda_g`. What may be hoped for is a whole one more. So what is known of many columns
    of a kind together is used for each of them: where none of twenty useless columns could be told from a useful one,
    all of them can.

    Costs `STEPS` systems of order m or d, whichever is less.

    Parameters
    ----------
    X : ndarray of shape (m, d)
    y : ndarray of shape (m,)
        -1 and 1.
    kind : ndarray of int of shape (d,)

    Returns
    -------
    worth, hope : ndarray of shape (d,)

    References
    ----------
    H. Zhou, L. Hu, J. Zhou, K. Lange, 2019, for the steps.
    """
    m, d = X.shape
    X = X - X.mean(axis=0)
    spread = X.std(axis=0)
    X = np.divide(X, spread, out=np.zeros_like(X), where=spread > 1e-12 * max(1.0, spread.max(initial=0.0)))
    y = (y - y.mean()) / max(float(y.std()), 1e-12)
    kinds, place = np.unique(kind, return_inverse=True)
    lam, noise = np.full(len(kinds), 0.5 / d), 0.5
    for _ in range(STEPS):
        mean, var = _weights(X, y, lam[place], noise)
        known = np.bincount(place, 1.0 - var / lam[place])  # tr P Kg times the variance: as many weights are known
        up = np.bincount(place, mean**2)  # of the root, times the variance squared
        lam = np.maximum(np.sqrt(lam * up / np.maximum(known, 1e-12)), 1e-12)
        left = y - X @ mean
        noise = max(float(np.sqrt(noise * (left @ left) / max(m - known.sum(), 1e-12))), 1e-6)
    mean, var = _weights(X, y, lam[place], noise)
    error = _errors(X, place, lam, noise)
    worth = (mean**2 + var) * np.maximum(LEFT, 1.0 - HALF * error / lam)[place]
    worth *= min(1.0, MOST / max(float(worth.sum()), 1e-300))
    return worth, np.maximum(worth, mean**2 + var + error[place])


def _errors(X: np.ndarray, place: np.ndarray, lam: np.ndarray, noise: float) -> np.ndarray:
    """Standard errors of the variances of each kind.

    By the likelihood's curvature, :math:`2 / \\mathrm{tr}\\,(PK_g)^2`, less the part :math:`2\\lambda_g^2/k_g` that
    would be there if all :math:`k_g` weights of the kind were known.
    """
    P = np.linalg.inv((X * lam[place]) @ X.T + noise * np.eye(len(X)))
    PK = [P @ X[:, place == g] @ X[:, place == g].T for g in range(len(lam))]
    error = 2.0 / np.maximum([np.sum(M * M.T) for M in PK], 1e-300) - 2.0 * lam**2 / np.bincount(place)
    return np.sqrt(np.maximum(error, 0.0))


def _weights(X: np.ndarray, y: np.ndarray, lam: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of each weight, given the labels: by a system of the order of the columns, or of the rows."""
    m, d = X.shape
    if d <= m:
        S = np.linalg.inv(X.T @ X / noise + np.diag(1.0 / lam))
        return S @ (X.T @ y) / noise, np.maximum(np.diag(S), 0.0)
    PX = np.linalg.solve((X * lam) @ X.T + noise * np.eye(m), X)
    return lam * (PX.T @ y), np.maximum(lam - lam**2 * np.einsum("ij,ij->j", X, PX), 0.0)


def kinds_of(prices: np.ndarray) -> np.ndarray:
    """Columns of one price, or of prices that are neighbours where there are many."""
    each, kind = np.unique(prices, return_inverse=True)
    if len(each) <= MOST_KINDS:
        return kind
    return np.searchsorted(np.quantile(prices, np.arange(1, MOST_KINDS) / MOST_KINDS), prices, side="right")


# --- which columns, then ---------------------------------------------------------------------


def path_of(worth: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """The columns that are worth something, in the order of their worth for their price."""
    path = np.flatnonzero(worth > 0)
    return path[np.argsort(-worth[path] / np.maximum(prices[path], 1e-300), kind="stable")]


def explained(V: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The share of the variance that w explains after so many rows.

    .. math:: R^2(n, k) = V\\,\\frac{nV}{nV + k(1 - V)},

    where V is what k columns could explain: to first order :math:`V - (1 - V)k/n`, as for least squares.
    """
    return V * rows * V / np.maximum(rows * V + columns * (1.0 - V), 1e-300)


def columns_to_buy(
    worth: np.ndarray, hope: np.ndarray, prices: np.ndarray, known: int, money: float, n: int, hedge: float
) -> np.ndarray:
    """The first columns of the path, as many as explain most for this money beside the rows that are known.

    More columns say more, and leave money for fewer rows. Others are bought too, in the order of what may be hoped of
    them for their price, as far as they would pay if it were so, and for at most `hedge` times the price of the first
    ones: few rows may be wrong, and a column that is left out does not come back.
    """

    def gains(columns: np.ndarray, each: np.ndarray) -> np.ndarray:
        rows = np.minimum(n, known + money / np.maximum(np.cumsum(prices[columns]), 1e-300))
        return explained(np.minimum(np.cumsum(each), MOST), rows, np.arange(1, len(columns) + 1))

    path = path_of(worth, prices)
    best, others = np.split(path, [int(np.argmax(gains(path, worth[path]))) + 1])
    others = others[np.argsort(-hope[others] / np.maximum(prices[others], 1e-300), kind="stable")]
    others = others[np.cumsum(prices[others]) <= hedge * prices[best].sum()]
    both = np.concatenate([best, others])
    hoped = gains(both, np.concatenate([worth[best], hope[others]]))[len(best) - 1 :]
    return both[: len(best) + int(np.argmax(hoped))]


def columns_to_use(worth: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """The first columns of the path, as few as explain nearly as much as all."""
    path = path_of(worth, prices)
    return path[: int(np.searchsorted(np.cumsum(worth[path]), NEARLY * worth[path].sum())) + 1]
