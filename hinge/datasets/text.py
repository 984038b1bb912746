"""A generator of rows that look like those of CCAT: sparse, high-dimensional, unit tf-idf."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .base import Dataset
from .synthetic import LICENSE
from .tasks import unit_rows

BLOCK = 1 << 14  # rows made at once, each block from a stream of its own
ZIPF_OFFSET = 8.0  # flattens the very top of Zipf's law, where a stop list would have cut
LENGTH_SPREAD = 0.45
TOPICAL = (3.5, 3.3)  # Beta law of the share of a row's words that come from its own topic
STRAY = (1.0, 6.0)  # the same for the stray topic, as a share of the words left
PILOT_ROWS = 2000


class _Block(NamedTuple):
    length: NDArray[Any]  # words drawn for each row
    distinct: NDArray[Any]  # and how many of them differ
    indices: NDArray[Any]  # the distinct words, row after row in ascending order
    weights: NDArray[Any]  # 1 + log count of each
    topic: NDArray[Any]


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
    orders = _word_orders(topics, d, np.random.default_rng(setup))
    words = _words_for(nnz_per_row, orders, pilot_seed)
    X, y = _documents(n, orders, words, noise, train_seed)
    idf = np.log1p(n / (1.0 + np.bincount(X.indices, minlength=d))).astype(np.float32)
    X_test, y_test = None, None
    if n_test:
        X_test, y_test = _documents(n_test, orders, words, noise, test_seed)
        X_test = _weighted(X_test, idf)
    description = (
        f"Synthetic text, not real: {topics} topics over {d} Zipf words, about {nnz_per_row} words a row,"
        f" unit tf-idf rows, {noise:.0%} of the labels turned over."
    )
    source = f"make_text (synthetic), seed {seed}"
    return Dataset("text", _weighted(X, idf), y, X_test, y_test, description, source, LICENSE)


def check_sizes(n: int, d: int, nnz_per_row: int, n_test: int) -> None:
    """Whether there can be so many rows of so many words."""
    if n < 1 or n_test < 0:
        raise ValueError(f"At least 1 training row and 0 test rows are needed, but n={n} and n_test={n_test}.")
    if not 1 <= nnz_per_row <= d / 4:
        raise ValueError(f"nnz_per_row must lie in [1, d / 4], here at most {d // 4}, but is {nnz_per_row}.")


def _word_orders(topics: int, d: int, rng: np.random.Generator) -> NDArray[Any]:
    """The words by rank: of the common vocabulary in row 0, then of each topic."""
    return rng.permuted(np.tile(np.arange(d, dtype=np.int32), (topics + 1, 1)), axis=1)


def _words_for(nnz_per_row: int, orders: NDArray[Any], seed: np.random.SeedSequence) -> float:
    """The mean number of words to draw so that the mean number of distinct ones is `nnz_per_row`."""
    words = float(nnz_per_row)
    for _ in range(5):
        pilot = _block(PILOT_ROWS, orders, words, np.random.default_rng(seed))
        words = nnz_per_row * pilot.length.sum() / pilot.distinct.sum()
    return words


def _documents(
    n: int, orders: NDArray[Any], words: float, noise: float, seed: np.random.SeedSequence
) -> tuple[sp.csr_matrix, NDArray[Any]]:
    """Rows of 1 + log count, and their labels."""
    sizes = [min(BLOCK, n - start) for start in range(0, n, BLOCK)]
    distinct, indices, weights, labels = [], [], [], []
    for size, block_seed in zip(sizes, seed.spawn(len(sizes)), strict=True):
        rng = np.random.default_rng(block_seed)
        block = _block(size, orders, words, rng)
        turned = rng.random(size) < noise
        distinct.append(block.distinct)
        indices.append(block.indices)
        weights.append(block.weights)
        labels.append(np.where((block.topic % 2 == 1) ^ turned, 1, -1).astype(np.int8))
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(distinct))])
    X = sp.csr_matrix((np.concatenate(weights), np.concatenate(indices), indptr), shape=(n, orders.shape[1]))
    return X, np.concatenate(labels)


def _block(size: int, orders: NDArray[Any], words: float, rng: np.random.Generator) -> _Block:
    """Some rows of about `words` words each."""
    topics, d = len(orders) - 1, orders.shape[1]
    spread = rng.lognormal(-(LENGTH_SPREAD**2) / 2, LENGTH_SPREAD, size)
    length = np.maximum(1, np.rint(words * spread)).astype(np.int64)
    topic = rng.integers(1, topics + 1, size)
    stray = rng.integers(1, topics + 1, size)
    share = rng.beta(*TOPICAL, size).astype(np.float32)
    stray_share = share + (rng.beta(*STRAY, size) * (1 - share)).astype(np.float32)

    row = np.repeat(np.arange(size), length)
    pick = rng.random(len(row), dtype=np.float32)
    origin = np.where(pick < share[row], topic[row], np.where(pick < stray_share[row], stray[row], 0))
    # Inverse of the distribution with density proportional to 1 / (rank + offset).
    top = np.float32(np.log((d + ZIPF_OFFSET) / ZIPF_OFFSET))
    rank = ZIPF_OFFSET * np.expm1(top * rng.random(len(row), dtype=np.float32))
    word = orders[origin, np.minimum(rank.astype(np.int32), d - 1)]

    key = row * d + word
    key.sort()
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    times = np.diff(np.append(first, len(key)))
    key = key[first]
    row = key // d
    weights = 1 + np.log(times.astype(np.float32))
    return _Block(length, np.bincount(row, minlength=size), (key - row * d).astype(np.int32), weights, topic)


def _weighted(X: sp.csr_matrix, idf: NDArray[Any]) -> sp.csr_matrix:
    X.data *= idf[X.indices]
    return unit_rows(X)
