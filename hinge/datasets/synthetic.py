"""Generators: problems whose maximum margin or minimum is known by construction, and rows like text.

Text is sparse, high-dimensional and of unit norm: with clear topics, or subtle ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge.datasets.base import DataMatrix, Dataset, unit_rows

LICENSE = "generated; no rights reserved"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Separable(Dataset):
    """A data set whose maximum margin is known.

    Attributes
    ----------
    w_star : ndarray of shape (n_features,)
        The unit vector of maximum margin.
    margin : float
        max over unit w of min_i y_i <w, x_i>, attained at `w_star`.
    p_star : ndarray of shape (n_train,)
        The distribution over rows that proves it: the norm of sum_i p_i y_i x_i is `margin`.

    Examples
    --------
    >>> from hinge.datasets import make_separable
    >>> made = make_separable(100, 5, 0.25)
    >>> float((made.y_train * (made.X_train @ made.w_star)).min().round(6))
    0.25
    """

    w_star: NDArray[Any]
    margin: float
    p_star: NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class KnownOptimum(Dataset):
    """A data set whose regularised hinge problem has a known solution.

    Attributes
    ----------
    lam : float
        The regularisation the solution belongs to.
    w_star : ndarray of shape (n_features,)
        The minimiser of lam/2 |w|^2 + mean_i max(0, 1 - y_i <w, x_i>).
    alpha_star : ndarray of shape (n_train,)
        A dual solution in [0, 1]: w_star = sum_i alpha_i y_i x_i / (lam n).
    objective : float
        The minimum.

    Examples
    --------
    >>> from hinge import Regularized, Solution
    >>> from hinge.datasets import make_known_optimum
    >>> made = make_known_optimum(100, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> bool(abs(problem.objective(Solution(made.w_star)) - made.objective) < 1e-9)
    True
    """

    lam: float
    w_star: NDArray[Any]
    alpha_star: NDArray[Any]
    objective: float


def make_separable(n: int, d: int, margin: float, *, density: float = 1.0, seed: int = 0) -> Separable:
    r"""Rows in the unit ball, separable through the origin with exactly the given maximum margin.

    About a tenth of the rows lie on the margin. Write :math:`z_i = y_i x_i`. The features fall into :math:`m`
    blocks of density x d features, `w_star` has the same norm in each, and every block :math:`S` holds pairs
    :math:`z = \gamma w_S / |w_S|^2 \pm v` with :math:`v` orthogonal to :math:`w_S`. Their mean is
    :math:`\gamma w`, so no unit vector has a larger margin. The other rows have larger margins and, where
    these leave room, random supports.

    Parameters
    ----------
    n, d : int
        Rows (at least 2) and features.
    margin : float
        In (0, 1]; at most about sqrt(density) if rows are sparse, as each sees only a part of `w_star`.
    density : float, default=1.0
        Share of nonzero features in each row; below 1 the rows come as CSR.
    seed : int, default=0
        Seed of the generator.

    Returns
    -------
    Separable
        A data set in float64 without a test part, with `w_star`, `margin` and `p_star`.

    Examples
    --------
    >>> from hinge.datasets import make_separable
    >>> made = make_separable(100, 5, 0.25)
    >>> made.margin, made.X_train.shape
    (0.25, (100, 5))
    """
    k = _row_size(n, d, density)
    m = min(d // k, n // 2)
    if not 0 < margin <= m**-0.5:
        raise ValueError(
            f"margin must lie in (0, {m**-0.5:.6g}] for these sizes, but is {margin}:"
            " make it smaller or the rows denser."
        )
    rng = np.random.default_rng(seed)
    w = _direction(np.full(m, 1.0 / m), k, d, rng)
    pairs = max(1, n // (20 * m))
    n_support = 2 * pairs * m

    on_margin = np.tile(np.arange(m), pairs)
    half = _Rows.in_blocks(on_margin, w, k)
    half.add_orthogonal(rng, np.full(len(on_margin), margin))
    parallel = half.parallel(np.full(len(on_margin), margin))
    others = _Rows.anywhere(n - n_support, m, w, k, margin, rng)
    larger = margin + (others.reach - margin) * rng.random(n - n_support) * 0.9
    others.add_orthogonal(rng, larger)

    columns = np.concatenate([half.columns, half.columns, others.columns])
    z = np.concatenate([parallel + half.values, parallel - half.values, others.parallel(larger) + others.values])
    y = np.concatenate([np.ones(n_support // 2), -np.ones(n_support // 2), rng.choice([-1.0, 1.0], n - n_support)])
    p = np.zeros(n)
    p[:n_support] = 1 / n_support
    order = rng.permutation(n)
    X, y, p = _assembled(z * y[:, None], columns, d, order), y[order].astype(np.int8), p[order]
    description = f"Synthetic: {n} rows of maximum margin {margin:g} through the origin."
    return Separable(
        "separable",
        X,
        y,
        description=description,
        source=f"make_separable, seed {seed}",
        license=LICENSE,
        w_star=w,
        margin=margin,
        p_star=p,
    )


def make_known_optimum(
    n: int, d: int, lam: float, *, density: float = 1.0, noise: float = 0.05, seed: int = 0
) -> KnownOptimum:
    r"""A linear SVM problem in the unit ball whose exact solution is known.

    The problem is :math:`\min_w \frac\lambda2|w|^2 + \frac1n\sum_i \max(0, 1 - \langle w, z_i\rangle)` with
    :math:`z_i = y_i x_i`. Dual variables :math:`\alpha_i` and margins :math:`m_i` are drawn first, to match:
    :math:`m > 1` where :math:`\alpha = 0`, :math:`m = 1` where :math:`0 < \alpha < 1` and :math:`m < 1` where
    :math:`\alpha = 1`. Rows :math:`z_i = m_i u_S / (s |u_S|^2) + v_i` with :math:`v_i` orthogonal to the unit
    vector :math:`u` then have those margins at :math:`w = su`. With
    :math:`s^2 = \frac1{\lambda n}\sum_i \alpha_i m_i`, the block norms :math:`|u_S|^2` in proportion to the
    blocks' shares of this sum, and :math:`\sum_i \alpha_i v_i = 0`, also
    :math:`w = \frac1{\lambda n}\sum_i\alpha_i z_i` holds. Both together are the optimality conditions.

    Parameters
    ----------
    n, d : int
        Rows (at least 2) and features.
    lam : float
        The regularisation, at most about 0.1 x density for rows in the unit ball; the error says how much.
    density : float, default=1.0
        Share of nonzero features in each row; below 1 the rows come as CSR.
    noise : float, default=0.05
        Share of rows that the solution misclassifies, below 0.5.
    seed : int, default=0
        Seed of the generator.

    Returns
    -------
    KnownOptimum
        A data set in float64 without a test part, with `lam`, `w_star`, `alpha_star` and `objective`.

    Examples
    --------
    >>> from hinge.datasets import make_known_optimum
    >>> made = make_known_optimum(100, 5, 0.01)
    >>> made.X_train.shape, made.w_star.shape
    ((100, 5), (5,))
    """
    k = _row_size(n, d, density)
    if not 0 <= noise < 0.5:
        raise ValueError(f"noise must lie in [0, 0.5), but is {noise}.")
    rng = np.random.default_rng(seed)
    n_free, n_bound, n_wrong = max(1, n // 5), n // 10, int(noise * n)
    m = min(d // k, max(1, n_free // 4))
    block = np.concatenate([np.arange(count) % m for count in (n_free, n_bound, n_wrong)])
    alpha = np.ones(len(block))
    alpha[:n_free] = rng.uniform(0.1, 0.9, n_free)
    margins = np.concatenate([np.ones(n_free), rng.random(n_bound), -rng.random(n_wrong)])
    # The misclassified rows of a block may cancel at most half of the sum of the others.
    given = np.bincount(block, np.maximum(alpha * margins, 0), m)
    taken = np.bincount(block, np.maximum(-alpha * margins, 0), m)
    shrink = np.minimum(1, given / np.maximum(2 * taken, 1e-300))
    margins = np.where(margins < 0, margins * shrink[block], margins)
    share = np.bincount(block, alpha * margins, m)
    limit = share.min() / n
    if not 0 < lam <= limit:
        raise ValueError(
            f"lam must lie in (0, {limit:.6g}] for these sizes, but is {lam}: make it smaller or the rows denser."
        )
    s = np.sqrt(share.sum() / (lam * n))
    u = _direction(share / share.sum(), k, d, rng)

    active = _Rows.in_blocks(block, u, k)
    active.add_orthogonal(rng, margins / s)
    _cancel(active, alpha, block, m, margins / s)
    rest = _Rows.anywhere(n - len(block), m, u, k, 1 / s, rng)
    larger = 1 + (np.minimum(3, rest.reach * s) - 1) * rng.uniform(0.05, 0.95, n - len(block))
    rest.add_orthogonal(rng, larger / s)

    columns = np.concatenate([active.columns, rest.columns])
    z = np.concatenate([active.parallel(margins / s) + active.values, rest.parallel(larger / s) + rest.values])
    y = rng.choice([-1.0, 1.0], n)
    y[:2] = 1, -1
    order = rng.permutation(n)
    alpha = np.concatenate([alpha, np.zeros(n - len(block))])[order]
    objective = lam / 2 * s**2 + np.maximum(0, 1 - margins).sum() / n
    return KnownOptimum(
        "known_optimum",
        _assembled(z * y[:, None], columns, d, order),
        y[order].astype(np.int8),
        description=f"Synthetic: {n} rows whose SVM at lam={lam:g} has the minimum {objective:.6g}.",
        source=f"make_known_optimum, seed {seed}",
        license=LICENSE,
        lam=lam,
        w_star=s * u,
        alpha_star=alpha,
        objective=float(objective),
    )


def _row_size(n: int, d: int, density: float) -> int:
    if n < 2 or d < 1:
        raise ValueError(f"At least 2 rows and 1 feature are needed, but n={n} and d={d}.")
    if not 0 < density <= 1:
        raise ValueError(f"density must lie in (0, 1], but is {density}.")
    return max(1, round(density * d))


def _direction(shares: NDArray[Any], k: int, d: int, rng: np.random.Generator) -> NDArray[Any]:
    """A vector whose squared norms on consecutive blocks of k features are `shares`, zero beyond them."""
    pieces = rng.standard_normal((len(shares), k))
    pieces *= np.sqrt(shares)[:, None] / np.linalg.norm(pieces, axis=1, keepdims=True)
    u = np.zeros(d)
    u[: pieces.size] = pieces.ravel()
    return u


class _Rows:
    """Rows of k nonzeros each, as a part along a vector u and a part `values` orthogonal to it."""

    def __init__(self, columns: NDArray[Any], u: NDArray[Any]) -> None:
        self.columns = columns
        self.along = u[columns]
        self.reach = np.linalg.norm(self.along, axis=1)  # the largest <u, z> of a unit row with this support
        self.values = np.zeros(columns.shape)

    @classmethod
    def in_blocks(cls, block: NDArray[Any], u: NDArray[Any], k: int) -> _Rows:
        return cls(block[:, None] * k + np.arange(k), u)

    @classmethod
    def anywhere(cls, n: int, m: int, u: NDArray[Any], k: int, least: float, rng: np.random.Generator) -> _Rows:
        """Random supports among the m blocks; a block itself where the support would not reach `least`."""
        columns = np.sort(rng.integers(0, (m - 1) * k + 1, (n, k)), axis=1) + np.arange(k)
        short = np.linalg.norm(u[columns], axis=1) < least
        columns[short] = rng.integers(0, m, short.sum())[:, None] * k + np.arange(k)
        return cls(columns, u)

    def parallel(self, product: NDArray[Any]) -> NDArray[Any]:
        """The part along u that gives the rows this inner product with u."""
        return self.along * (product / self.reach**2)[:, None]

    def room(self, product: NDArray[Any]) -> NDArray[Any]:
        return np.sqrt(np.maximum(0, 1 - (product / self.reach) ** 2))

    def add_orthogonal(self, rng: np.random.Generator, product: NDArray[Any]) -> None:
        """A random part orthogonal to u that fills most of what the unit ball leaves beside `product`."""
        if self.columns.shape[1] == 1:
            return  # a row with one nonzero has no orthogonal part
        v = rng.standard_normal(self.columns.shape)
        for _ in range(2):  # a second time, for the rounding of the first
            v -= self.along * (np.einsum("ij,ij->i", v, self.along) / self.reach**2)[:, None]
        norm = np.linalg.norm(v, axis=1)
        fill = self.room(product) * rng.uniform(0.5, 0.95, len(v)) / np.where(norm > 0, norm, 1)
        self.values = v * fill[:, None]


def _cancel(rows: _Rows, alpha: NDArray[Any], block: NDArray[Any], m: int, product: NDArray[Any]) -> None:
    """Move the orthogonal parts within the unit ball until their sums weighted by alpha vanish."""
    total = np.zeros((m, rows.columns.shape[1]))
    np.add.at(total, block, alpha[:, None] * rows.values)
    rows.values -= alpha[:, None] * (total / np.bincount(block, alpha**2, m)[:, None])[block]
    norm = np.linalg.norm(rows.values, axis=1)
    factor = np.ones(m)
    np.minimum.at(factor, block, rows.room(product) / np.maximum(norm, 1e-300))
    rows.values *= factor[block][:, None]


def _assembled(z: NDArray[Any], columns: NDArray[Any], d: int, order: NDArray[Any]) -> DataMatrix:
    """Rows in the given order, dense if each has all d features."""
    n, k = z.shape
    if k == d:
        return z[order]
    indptr = np.arange(0, (n + 1) * k, k)
    return sp.csr_matrix((z[order].ravel(), columns[order].astype(np.int32).ravel(), indptr), shape=(n, d))


# --- text ---------------------------------------------------------------------------------------

BLOCK = 1 << 14  # rows of a block, each made from a random stream of its own
Draw = Callable[[int, float, np.random.Generator], tuple[sp.csr_matrix, NDArray[Any]]]
"""From a number of rows and the mean number of words in a row to rows of 1 + log count, and their labels."""


class _Laws(NamedTuple):
    """The distributions that rows are drawn from.

    Attributes
    ----------
    length_spread : float
        Standard deviation of the logarithm of a row's length.
    zipf_offset : float
        Ranks are offset · expm1(log(1 + d/offset) · u), u in [0, 1]: 8 flattens the very top of Zipf's law, where a
        stop list would have cut.
    topical : (float, float)
        Beta law of the share of a row's words that come from its topic.
    """

    length_spread: float
    zipf_offset: float
    topical: tuple[float, float]

    def lengths(self, size: int, rng: np.random.Generator) -> NDArray[Any]:
        """Lengths of rows, whose mean is 1."""
        return rng.lognormal(-(self.length_spread**2) / 2, self.length_spread, size)

    def ranks(self, u: NDArray[Any], d: int) -> NDArray[Any]:
        """Ranks of words by the inverse of the distribution with density proportional to 1/(rank + offset)."""
        top = np.float32(np.log((d + self.zipf_offset) / self.zipf_offset))
        return np.minimum((self.zipf_offset * np.expm1(top * u)).astype(np.int64), d - 1)


def make_text(
    n: int,
    d: int = 47236,
    nnz_per_row: int = 69,
    *,
    topics: int = 50,
    noise: float = 0.03,
    seed: int = 0,
    n_test: int = 0,
) -> Dataset:
    """Synthetic text of two classes, by default with the width and density of CCAT.

    Every row has a topic of its own and a stray one. Its words come from a vocabulary common to all, from its
    topic's and from the stray topic's, each a Zipf law over all d words in an order of its own. Word counts
    become (1 + log count) x idf, and rows are scaled to unit norm. The class is the parity of the row's
    topic, turned over with probability `noise` in the training and the test part alike. With the defaults a
    linear SVM at lam=1e-4 errs on about 6% of the test rows.

    Parameters
    ----------
    n : int
        Training rows.
    d : int, default=47236
        Words.
    nnz_per_row : int, default=69
        Mean number of distinct words in a row, at most d / 4.
    topics : int, default=50
        Number of topics, at least 2.
    noise : float, default=0.03
        Share of labels turned over, in [0, 0.5].
    seed : int, default=0
        Seed of the generator; the same arguments give the same rows.
    n_test : int, default=0
        Test rows. They leave the training rows as they are.

    Returns
    -------
    Dataset
        CSR in float32 with int32 indices, labels -1 and +1 as int8.

    Notes
    -----
    Time and memory grow with n x nnz_per_row; 780,000 rows of 69 words take about 1.4 GB at the peak. Another
    version of NumPy or another processor may round differently and so draw a few other words.

    Examples
    --------
    >>> from hinge.datasets import make_text
    >>> made = make_text(100, d=500, nnz_per_row=10, n_test=20)
    >>> made.X_train.shape, made.X_test.shape
    ((100, 500), (20, 500))
    """
    check_sizes(n, d, nnz_per_row, n_test)
    if topics < 2:
        raise ValueError(f"Two classes need at least 2 topics, but topics={topics}.")
    if not 0 <= noise <= 0.5:
        raise ValueError(f"noise must lie in [0, 0.5], but is {noise}.")
    setup, train_seed, test_seed, pilot_seed = np.random.SeedSequence(seed).spawn(4)
    # The words by rank: of the common vocabulary in row 0, then of each topic.
    ranks = np.tile(np.arange(d, dtype=np.int32), (topics + 1, 1))
    orders = np.random.default_rng(setup).permuted(ranks, axis=1)
    words = float(nnz_per_row)
    for _ in range(5):  # until the mean number of distinct words is `nnz_per_row`
        row, word, _ = _topic_words(2000, orders, words, np.random.default_rng(pilot_seed))
        words = nnz_per_row * len(row) / _counts(row, word, 2000, d).nnz

    def draw(size: int, words: float, rng: np.random.Generator) -> tuple[sp.csr_matrix, NDArray[Any]]:
        row, word, topic = _topic_words(size, orders, words, rng)
        turned = rng.random(size) < noise
        return _counts(row, word, size, d), np.where((topic % 2 == 1) ^ turned, 1, -1).astype(np.int8)

    X, y = _documents(n, draw, words, train_seed)
    idf = np.log1p(n / (1.0 + np.bincount(X.indices, minlength=d))).astype(np.float32)
    X_test, y_test = None, None
    if n_test:
        X_test, y_test = _documents(n_test, draw, words, test_seed)
        X_test = _weighted(X_test, idf)
    description = (
        f"Synthetic text, not real: {topics} topics over {d} Zipf words, about {nnz_per_row} words a row,"
        f" unit tf-idf rows, {noise:.0%} of the labels turned over."
    )
    source = f"make_text (synthetic), seed {seed}"
    return Dataset("text", _weighted(X, idf), y, X_test, y_test, description, source, LICENSE)


def check_sizes(n: int, d: int, nnz_per_row: int, n_test: int) -> None:
    """Raise if there cannot be this number of rows with this number of words."""
    if n < 1 or n_test < 0:
        raise ValueError(f"At least 1 training row and 0 test rows are needed, but n={n} and n_test={n_test}.")
    if not 1 <= nnz_per_row <= d / 4:
        raise ValueError(f"nnz_per_row must lie in [1, d / 4], here at most {d // 4}, but is {nnz_per_row}.")


def _documents(n: int, draw: Draw, words: float, seed: np.random.SeedSequence) -> tuple[sp.csr_matrix, NDArray[Any]]:
    """Rows of 1 + log count, and their labels, in blocks from a stream each."""
    sizes = [min(BLOCK, n - start) for start in range(0, n, BLOCK)]
    streams = map(np.random.default_rng, seed.spawn(len(sizes)))
    blocks = [draw(size, words, rng) for size, rng in zip(sizes, streams, strict=True)]
    return sp.vstack([X for X, _ in blocks], format="csr"), np.concatenate([y for _, y in blocks])


def _counts(row: NDArray[Any], word: NDArray[Any], size: int, d: int) -> sp.csr_matrix:
    """The matrix of 1 + log count, from the row and the word of each occurrence."""
    key, times = np.unique(row * d + word, return_counts=True)
    row = key // d
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=size))])
    values = 1 + np.log(times.astype(np.float32))
    return sp.csr_matrix((values, (key - row * d).astype(np.int32), indptr), shape=(size, d))


def _topic_words(
    size: int, orders: NDArray[Any], words: float, rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Row and word of each occurrence in rows of about `words` words, and the topic of each row."""
    laws = _Laws(length_spread=0.45, zipf_offset=8.0, topical=(3.5, 3.3))
    topics, d = len(orders) - 1, orders.shape[1]
    length = np.maximum(1, np.rint(words * laws.lengths(size, rng))).astype(np.int64)
    topic = rng.integers(1, topics + 1, size)
    stray = rng.integers(1, topics + 1, size)
    share = rng.beta(*laws.topical, size).astype(np.float32)
    stray_share = share + (rng.beta(1.0, 6.0, size) * (1 - share)).astype(np.float32)  # of the words left
    row = np.repeat(np.arange(size), length)
    pick = rng.random(len(row), dtype=np.float32)
    origin = np.where(pick < share[row], topic[row], np.where(pick < stray_share[row], stray[row], 0))
    return row, orders[origin, laws.ranks(rng.random(len(row), dtype=np.float32), d)], topic


def _weighted(X: sp.csr_matrix, idf: NDArray[Any]) -> sp.csr_matrix:
    X.data *= idf[X.indices]
    return unit_rows(X)


class _Vocabulary(NamedTuple):
    """The words of `make_subtle_text`."""

    d: int
    by_class: NDArray[Any]  # words by rank, one row for each class
    factor: NDArray[Any]  # word = (factor · rank + shift) mod d, for each topic
    shift: NDArray[Any]
    leaning: NDArray[Any]  # the share of positive rows in each topic


def make_subtle_text(n: int, d: int = 47236, nnz_per_row: int = 69, *, seed: int = 0, n_test: int = 0) -> Dataset:
    """Synthetic text of two classes that many words tell apart, each by a little.

    Most words of a row come from a vocabulary that both classes share: a Zipf law over all d words, in whose
    order every word is a little earlier in the one class and later in the other. The others come from the row's
    topic, of which there are 200, most of them leaning to one class. Rows are of very different lengths. Counts
    become 1 + log count, without idf, so that frequent words weigh as much as they do, and rows have unit norm.

    The laws were chosen so that SVM-Perf's cutting planes need about the same number of passes as on real text of the
    same shape (`tests/datasets/test_subtle_text.py` has the numbers), and by nothing else: on `make_text`, whose
    classes differ by a few dozen topics, they need a third of them.

    Parameters
    ----------
    n : int
        Training rows.
    d : int, default=47236
        Words.
    nnz_per_row : int, default=69
        Mean number of distinct words in a row, at most d / 4.
    seed : int, default=0
        Seed of the generator; the same arguments give the same rows.
    n_test : int, default=0
        Test rows. They leave the training rows as they are.

    Returns
    -------
    Dataset
        CSR in float32 with int32 indices, labels -1 and +1 as int8.

    Examples
    --------
    >>> from hinge.datasets import make_subtle_text
    >>> made = make_subtle_text(100, d=500, nnz_per_row=10, n_test=20)
    >>> made.X_train.shape, made.X_test.shape
    ((100, 500), (20, 500))
    """
    check_sizes(n, d, nnz_per_row, n_test)
    setup, train_seed, test_seed, pilot_seed = np.random.SeedSequence(seed).spawn(4)
    laws, topics = _Laws(length_spread=1.2, zipf_offset=1.0, topical=(3.5, 14.0)), 200
    vocabulary = _vocabulary(d, topics, laws, np.random.default_rng(setup))
    draw = partial(_subtle_rows, vocabulary, laws)
    words = float(nnz_per_row)
    for _ in range(5):  # until the mean number of distinct words is `nnz_per_row`
        pilot, _ = draw(2000, words, np.random.default_rng(pilot_seed))
        words *= nnz_per_row * 2000 / max(1, pilot.nnz)
    X, y = _documents(n, draw, words, train_seed)
    X_test, y_test = _documents(n_test, draw, words, test_seed) if n_test else (None, None)
    X, X_test = unit_rows(X), None if X_test is None else unit_rows(X_test)
    description = (
        f"Synthetic text, not real: two classes over {d} Zipf words that differ a little in each, {topics} topics, "
        f"about {nnz_per_row} words a row, unit rows of 1 + log count."
    )
    source = f"make_subtle_text (synthetic), seed {seed}"
    return Dataset("subtle text", X, y, X_test, y_test, description, source, LICENSE)


def _vocabulary(d: int, topics: int, laws: _Laws, rng: np.random.Generator) -> _Vocabulary:
    # The logarithm of a word's rank differs between the classes with a standard deviation of 0.1.
    order, lean = rng.permutation(d), 0.1 * rng.standard_normal(d)
    rank = np.log(np.arange(d) + laws.zipf_offset)
    by_class = np.stack([order[np.argsort(rank + side * lean, kind="stable")] for side in (-0.5, 0.5)])
    coprime = np.flatnonzero(np.gcd(np.arange(d), d) == 1)  # so that a topic is a permutation, and no table of one
    factor, shift = rng.choice(coprime, topics), rng.integers(0, d, topics)
    return _Vocabulary(d, by_class, factor, shift, rng.beta(0.1, 0.1, topics))


def _subtle_rows(
    words: _Vocabulary, laws: _Laws, size: int, length: float, rng: np.random.Generator
) -> tuple[sp.csr_matrix, NDArray[Any]]:
    """Some rows of 1 + log count, of about `length` words each and at least a fifth of that, and their labels."""
    d = words.d
    topic = rng.integers(0, len(words.shift), size)
    y = np.where(rng.random(size) < words.leaning[topic], 1, -1).astype(np.int8)
    drawn = length * laws.lengths(size, rng)
    row = np.repeat(np.arange(size), np.maximum(1, np.maximum(0.2 * length, drawn)).astype(np.int64))
    rank = laws.ranks(rng.random(len(row), dtype=np.float32) ** np.float32(1.3), d)
    topical = rng.random(len(row), dtype=np.float32) < rng.beta(*laws.topical, size).astype(np.float32)[row]
    of_topic = (words.factor[topic][row] * rank + words.shift[topic][row]) % d
    word = np.where(topical, of_topic, words.by_class[(y[row] > 0).astype(np.int64), rank])
    return _counts(row, word, size, d), y
