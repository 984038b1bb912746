"""Downloads through scikit-learn, which keeps its own cache."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from .base import DatasetNotFoundError, Parts
from .entries import Entry

RCV1_TEST_ROWS = 23149
MNIST_TRAIN_ROWS = 60000


def fetch(entry: Entry, positive: str | int | None = None) -> Parts:
    """The parts of `entry` by scikit-learn's fetcher.

    `positive` matters only to RCV1, whose rows carry several topics: it chooses the topic.
    """
    try:
        return FETCHERS[entry.fetcher](entry.positive if positive is None else positive)
    except OSError as error:  # no network, a refused connection, a full disk: urllib's errors are OSErrors
        raise DatasetNotFoundError(
            f"{entry.name!r} could not be fetched with scikit-learn's {entry.fetcher} ({error}):"
            " check the network, or fetch it on another machine and copy scikit-learn's data folder."
        ) from error


def _rcv1(topic: str | int | None) -> Parts:
    from sklearn.datasets import fetch_rcv1

    rcv1 = fetch_rcv1()
    names = [str(name) for name in rcv1.target_names]
    if topic not in names:
        raise ValueError(f"ccat has no topic {topic!r} to make positive: its topics are {', '.join(names)}.")
    member = np.asarray(rcv1.target[:, [names.index(str(topic))]].todense()).ravel() > 0
    X = sp.csr_matrix(rcv1.data, dtype=np.float32)
    y = np.where(member, 1, -1).astype(np.int8)
    # scikit-learn puts the 23,149 rows of the official training part first; the papers test on them.
    small = slice(None, RCV1_TEST_ROWS)
    large = slice(RCV1_TEST_ROWS, None)
    return Parts(X[large], y[large], X[small], y[small])


def _covtype(_: str | int | None) -> Parts:
    from sklearn.datasets import fetch_covtype

    X, y = fetch_covtype(return_X_y=True)
    return Parts(np.asarray(X, dtype=np.float32), np.asarray(y))


def _mnist(_: str | int | None) -> Parts:
    from sklearn.datasets import fetch_openml

    X, y = fetch_openml("mnist_784", version=1, return_X_y=True, as_frame=False)
    X, y = np.asarray(X, dtype=np.float32), np.asarray(y).astype(np.int64)
    n = MNIST_TRAIN_ROWS
    return Parts(X[:n], y[:n], X[n:], y[n:])


def _news20(_: str | int | None) -> Parts:
    from sklearn.datasets import fetch_20newsgroups_vectorized

    parts = []
    for subset in ("train", "test"):
        group = fetch_20newsgroups_vectorized(subset=subset)
        chosen = [name.startswith(("comp.", "sci.", "misc.")) for name in group.target_names]
        y = np.where(np.array(chosen)[group.target], 1, -1).astype(np.int8)
        parts += [sp.csr_matrix(group.data, dtype=np.float32), y]
    return Parts(*parts)


FETCHERS: dict[str, Callable[[str | int | None], Parts]] = {
    "fetch_rcv1": _rcv1,
    "fetch_covtype": _covtype,
    "fetch_openml": _mnist,
    "fetch_20newsgroups_vectorized": _news20,
}
