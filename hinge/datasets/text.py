"""Generators of rows like text, sparse, high-dimensional and of unit norm: with clear topics, or subtle ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge.datasets.base import Dataset, unit_rows
from hinge.datasets.synthetic import LICENSE

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
    key = np.sort(row * d + word)
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    times = np.diff(np.append(first, len(key)))
    row = key[first] // d
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=size))])
    values = 1 + np.log(times.astype(np.float32))
    return sp.csr_matrix((values, (key[first] - row * d).astype(np.int32), indptr), shape=(size, d))


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
