"""A generator of text whose classes differ by a little in very many words, as hard for cutting planes as real text."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .base import Dataset
from .synthetic import LICENSE
from .tasks import unit_rows
from .text import BLOCK, PILOT_ROWS, check_sizes

TOPICS = 200
LEANING = 0.1  # of topics: the two parameters of the Beta law of the share of positive rows in a topic
JITTER = 0.1  # standard deviation of the logarithm of a word's rank between the two classes
TOPICAL = (3.5, 14.0)  # Beta law of the share of a row's words that come from its topic
ZIPF_OFFSET, ZIPF_POWER = 1.0, 1.3  # ranks are offset · expm1(log(1 + d/offset) · u^power), u uniform
LENGTH_SPREAD, SHORTEST = 1.2, 0.2  # of the logarithm of a row's length; the shortest rows, of the mean length


class _Vocabulary(NamedTuple):
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

    The laws were chosen so that SVM-Perf's cutting planes need about as many passes as on real text of the same
    shape (`tests/datasets/test_subtle_text.py` has the numbers), and by nothing else: on `make_text`, whose
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
    words = _vocabulary(d, np.random.default_rng(setup))
    length = _length_for(nnz_per_row, words, pilot_seed)
    X, y = _documents(n, words, length, train_seed)
    X_test, y_test = _documents(n_test, words, length, test_seed) if n_test else (None, None)
    description = (
        f"Synthetic text, not real: two classes over {d} Zipf words that differ a little in each, {TOPICS} topics, "
        f"about {nnz_per_row} words a row, unit rows of 1 + log count."
    )
    source = f"make_subtle_text (synthetic), seed {seed}"
    return Dataset("subtle text", X, y, X_test, y_test, description, source, LICENSE)


def _vocabulary(d: int, rng: np.random.Generator) -> _Vocabulary:
    order, lean = rng.permutation(d), JITTER * rng.standard_normal(d)
    rank = np.log(np.arange(d) + ZIPF_OFFSET)
    by_class = np.stack([order[np.argsort(rank + side * lean, kind="stable")] for side in (-0.5, 0.5)])
    coprime = np.flatnonzero(np.gcd(np.arange(d), d) == 1)  # so that a topic is a permutation, and no table of one
    factor, shift = rng.choice(coprime, TOPICS), rng.integers(0, d, TOPICS)
    return _Vocabulary(d, by_class, factor, shift, rng.beta(LEANING, LEANING, TOPICS))


def _length_for(nnz_per_row: int, words: _Vocabulary, seed: np.random.SeedSequence) -> float:
    """The mean number of words to draw so that the mean number of distinct ones is `nnz_per_row`."""
    length = float(nnz_per_row)
    for _ in range(5):
        pilot, _ = _block(PILOT_ROWS, words, length, np.random.default_rng(seed))
        length *= nnz_per_row * PILOT_ROWS / max(1, pilot.nnz)
    return length


def _documents(
    n: int, words: _Vocabulary, length: float, seed: np.random.SeedSequence
) -> tuple[sp.csr_matrix, NDArray[Any]]:
    """Unit rows and their labels, in blocks from a stream each."""
    sizes = [min(BLOCK, n - start) for start in range(0, n, BLOCK)]
    blocks = [
        _block(size, words, length, np.random.default_rng(block_seed))
        for size, block_seed in zip(sizes, seed.spawn(len(sizes)), strict=True)
    ]
    X = sp.vstack([X for X, _ in blocks], format="csr")
    return unit_rows(X), np.concatenate([y for _, y in blocks])


def _block(
    size: int, words: _Vocabulary, length: float, rng: np.random.Generator
) -> tuple[sp.csr_matrix, NDArray[Any]]:
    """Some rows of 1 + log count, of about `length` words each, and their labels."""
    d = words.d
    topic = rng.integers(0, TOPICS, size)
    y = np.where(rng.random(size) < words.leaning[topic], 1, -1).astype(np.int8)
    drawn = length * rng.lognormal(-(LENGTH_SPREAD**2) / 2, LENGTH_SPREAD, size)
    row = np.repeat(np.arange(size), np.maximum(1, np.maximum(SHORTEST * length, drawn)).astype(np.int64))
    u = rng.random(len(row), dtype=np.float32) ** np.float32(ZIPF_POWER)
    rank = (ZIPF_OFFSET * np.expm1(np.float32(math.log(1 + d / ZIPF_OFFSET)) * u)).astype(np.int64)
    rank = np.minimum(rank, d - 1)
    topical = rng.random(len(row), dtype=np.float32) < rng.beta(*TOPICAL, size).astype(np.float32)[row]
    of_topic = (words.factor[topic][row] * rank + words.shift[topic][row]) % d
    word = np.where(topical, of_topic, words.by_class[(y[row] > 0).astype(np.int64), rank])
    key = np.sort(row * d + word)
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    times = np.diff(np.append(first, len(key)))
    row = key[first] // d
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=size))])
    values = 1 + np.log(times.astype(np.float32))
    return sp.csr_matrix((values, (key[first] - row * d).astype(np.int32), indptr), shape=(size, d)), y
