"""The papers' data sets, or what stands in for them where they are not to be had."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from hinge.datasets import Dataset, DatasetNotFoundError, catalog, load, make_subtle_text, make_text
from hinge.types import Stored

SHUFFLED = 20_120_626  # seed of the permutation whose first rows make a smaller part


class Chosen(NamedTuple):
    """A data set for an experiment.

    Attributes
    ----------
    data : Dataset
    label : str
        What it is, for captions: synthetic sets and stand-ins say so.
    note : str
        Where the paper's own set would have to be put; empty if it is the one used.
    """

    data: Dataset
    label: str
    note: str

    @property
    def about(self) -> dict[str, str]:
        """Label and note, as results of cells have them."""
        return {"label": self.label, "note": self.note}

    @property
    def parts(self) -> tuple[Stored, np.ndarray, Stored, np.ndarray]:
        """Training rows and labels, test rows and labels."""
        data = self.data
        assert data.X_test is not None and data.y_test is not None
        return data.X_train, data.y_train, data.X_test, data.y_test


@dataclass(frozen=True)
class StandIn:
    """What to use for a set: another real set if it is there, else a generated one."""

    generate: Callable[[int | None], Dataset]  # given the largest number of rows
    called: str
    real: tuple[str, str] | None = None  # name in the catalog, and what to call it


def _text(
    n: int, d: int, nnz: int, n_test: int, make: Callable[..., Dataset] = make_text
) -> Callable[[int | None], Dataset]:
    def generate(rows: int | None) -> Dataset:
        share = 1.0 if rows is None else min(1.0, rows / n)
        return make(int(share * n), d, nnz, n_test=max(1000, int(share * n_test)), seed=0)

    return generate


def _digits(rows: int | None) -> Dataset:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    labels = np.where(y == 8, 1, -1).astype(np.int8)
    X = (X / 16).astype(np.float32)
    return Dataset("digits", X[:1200], labels[:1200], X[1200:], labels[1200:])


def _clusters(n: int, d: int, n_test: int) -> Callable[[int | None], Dataset]:
    def generate(rows: int | None) -> Dataset:
        from sklearn.datasets import make_classification

        m = n if rows is None else min(n, rows)
        X, y = make_classification(
            m + n_test,
            d,
            n_informative=d // 3,
            n_redundant=d // 4,
            n_clusters_per_class=4,
            flip_y=0.1,
            weights=[0.635],
            random_state=0,
        )
        X = ((X - X.min(0)) / (X.max(0) - X.min(0))).astype(np.float32)
        y = np.where(y == 1, 1, -1).astype(np.int8)
        return Dataset("clusters", X[:m], y[:m], X[m:], y[m:])

    return generate


STAND_INS = {
    "ccat": StandIn(_text(780_000, 47_236, 69, 23_149, make_subtle_text), "synthetic subtle text of CCAT's shape"),
    "astro-ph": StandIn(
        _text(29_882, 99_757, 77, 32_487, make_subtle_text), "synthetic subtle text of astro-ph's shape"
    ),
    "news20": StandIn(_text(8_000, 300_000, 400, 4_000), "synthetic wide text in place of news20"),
    "real-sim": StandIn(
        _text(20_000, 20_958, 52, 10_000),
        "synthetic text of real-sim's shape",
        ("reuters", "Reuters money-fx in place of real-sim"),
    ),
    "reuters": StandIn(_text(7_770, 8_315, 60, 3_299), "synthetic text of Reuters money-fx's shape"),
    "imdb": StandIn(_text(25_000, 44_800, 130, 10_000), "synthetic text of the film reviews' shape"),
    "mnist": StandIn(_digits, "8 of scikit-learn's small digits in place of MNIST"),
    "covertype": StandIn(_clusters(100_000, 54, 10_000), "synthetic clusters of Covertype's width"),
}

OWN_LABELS = {
    "adult": "Adult (a9a)",
    "ccat": "CCAT (RCV1)",
    "astro-ph": "astro-ph",
    "covertype": "Covertype, class 1",
    "news20": "20 newsgroups, 1-3-grams, by date (stands in for news20.binary)",
    "real-sim": "real-sim",
    "reuters": "Reuters money-fx",
    "mnist": "MNIST, 8 against the rest",
    "imdb": "IMDB reviews (real text)",
}


@lru_cache(maxsize=4)
def choose(name: str, rows: int | None = None) -> Chosen:
    """A set of the papers, or its stand-in, or a subsample of either.

    Parameters
    ----------
    name : str
        Of the catalog.
    rows : int, optional
        The largest number of training rows, and of test rows; of more, a fixed random choice.
    """
    try:
        data, label, note = load(name), OWN_LABELS.get(name, name), ""
    except DatasetNotFoundError:
        if name not in STAND_INS:
            raise
        data, label = _load_stand_in(STAND_INS[name], rows)
        note = (
            f"{name} is not on this machine: put {name}.npz, or {name}.train and {name}.test in svmlight "
            f"form, into the data folder ($HINGE_DATA, else hinge_data in your home). In its place: {label}."
        )
    if data.X_test is None:
        X, y, X_test, y_test = hold_out(data.X_train, data.y_train, 0.25, SHUFFLED)
        data = replace(data, X_train=X, y_train=y, X_test=X_test, y_test=y_test)
    data = _subsample(data, rows)
    return Chosen(data, f"{label}, {data.X_train.shape[0]:,} rows", note)


def is_own(name: str) -> bool:
    """Whether the set itself is on this machine, so that nothing stands in for it."""
    return any(entry.found for entry in catalog() if name in (entry.name, *entry.aliases))


def stand_in_name(name: str) -> str:
    """What the stand-in of a set is called, where it would be used; empty where the set itself is here."""
    return "" if is_own(name) or name not in STAND_INS else STAND_INS[name].called


def hold_out(
    X: Stored, y: np.ndarray, share: float = 0.2, seed: int = 0
) -> tuple[Stored, np.ndarray, Stored, np.ndarray]:
    """Training rows and labels, validation rows and labels: what parameters are tuned on."""
    order = np.random.default_rng(seed).permutation(len(y))
    cut = len(y) - int(share * len(y))
    first, last = np.sort(order[:cut]), np.sort(order[cut:])
    return X[first], y[first], X[last], y[last]


class HeldOutSplit(NamedTuple):
    """Rows and labels to learn from, to choose parameters and stops by, and to test on."""

    X: Any
    y: np.ndarray
    X_val: Any
    y_val: np.ndarray
    X_test: Any
    y_test: np.ndarray


@lru_cache(maxsize=2)
def split(name: str, rows: int | None, share: float = 0.2) -> HeldOutSplit:
    """A set with a share of its training rows held out."""
    X, y, X_test, y_test = choose(name, rows).parts
    return HeldOutSplit(*hold_out(X, y, share), X_test, y_test)


def _load_stand_in(stand_in: StandIn, rows: int | None) -> tuple[Dataset, str]:
    if stand_in.real is not None and is_own(stand_in.real[0]):
        return load(stand_in.real[0]), stand_in.real[1]
    return stand_in.generate(rows), stand_in.called


def _subsample(data: Dataset, rows: int | None) -> Dataset:
    if rows is None:
        return data
    cut: dict[str, Any] = {}
    for part in ("train", "test"):
        X, y = getattr(data, f"X_{part}"), getattr(data, f"y_{part}")
        if len(y) > rows:
            kept = np.sort(np.random.default_rng(SHUFFLED).permutation(len(y))[:rows])
            cut |= {f"X_{part}": X[kept], f"y_{part}": y[kept]}
    return replace(data, **cut)
