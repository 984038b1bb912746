"""Data sets by name: where they are found, how they are downloaded, and the rows and labels of their tasks."""

from __future__ import annotations

import difflib
import lzma
import os
import tomllib
from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge.datasets.base import (
    SUFFIXES,
    DataMatrix,
    Dataset,
    DatasetNotFoundError,
    Entry,
    Parts,
    Preparation,
    inner_suffix,
    unit_rows,
)
from hinge.datasets.readers import parse_archive, read_parts

HOME_VARIABLE = "HINGE_DATA"
BUNDLED_FILES = resources.files(__package__).joinpath("bundled")
BUNDLED = {"adult": "adult.npz.xz"}
ENTRIES = tuple(
    Entry(name=name, **{**fields, "aliases": tuple(fields.get("aliases", ()))})
    for name, fields in tomllib.loads(BUNDLED_FILES.joinpath("catalog.toml").read_text("utf-8")).items()
)
COMPRESSIONS = ("", *SUFFIXES)
# In order of preference; the second of a pair is the test file that may lie beside the first.
PATTERNS = (
    (".npz", ""),
    (".train", ".test"),
    (".svm", ".test"),
    (".svmlight", ".test"),
    (".libsvm", ".test"),
    ("", ".t"),
    (".csv", ".test.csv"),
    (".tsv", ".test.tsv"),
)
TRAIN_SUFFIXES = {train for train, _ in PATTERNS if train}


def catalog(home: str | os.PathLike[str] | None = None) -> list[Entry]:
    """List the data sets that :func:`load` knows, and those lying in the data folder.

    Parameters
    ----------
    home : str or path-like, optional
        The data folder, as for :func:`load`.

    Returns
    -------
    list of Entry
        One for each set; `Entry.found` says whether and where it is on this machine.

    Examples
    --------
    >>> from hinge.datasets import catalog
    >>> "adult" in [entry.name for entry in catalog()]
    True
    """
    folder = _home(home)
    known = []
    for entry in ENTRIES:
        files = _locate(entry, folder)
        known.append(replace(entry, found="bundled" if entry.name in BUNDLED else str(files[0]) if files else ""))
    claimed = {_plain(stem) for entry in ENTRIES for stem in _stems(entry)}
    for stem, path in _stems_in(folder).items():
        if _plain(stem) not in claimed:
            known.append(_entry_of_file(stem, path))
    return known


def load(
    name: str | os.PathLike[str],
    *,
    home: str | os.PathLike[str] | None = None,
    fetch: bool = False,
    positive: str | int | None = None,
) -> Dataset:
    """Load a data set by its name in the catalog, or from a file.

    The places are tried in this order: the sets that come with hinge; the data folder; with ``fetch=True``,
    scikit-learn's downloads.

    Parameters
    ----------
    name : str or path-like
        A name or alias of :func:`catalog`, the stem of a file in the data folder, or the path of a data file.
    home : str or path-like, optional
        The data folder. By default the environment variable HINGE_DATA, else hinge_data in your home folder.
    fetch : bool, default=False
        Whether a set that is not on this machine may be downloaded.
    positive : str or int, optional
        The class that becomes +1, all others -1. By default the papers' choice; "all" keeps the classes.

    Returns
    -------
    Dataset
        With labels -1 and +1 as int8 if the task is binary.

    Raises
    ------
    DatasetNotFoundError
        If the name is unknown or the set is not here. The message says what to put where.
    DataFormatError
        If the file found is broken.

    Notes
    -----
    In the data folder a set NAME is one of these, each optionally compressed as .gz, .bz2 or .xz:

    - ``NAME.npz``;
    - ``NAME.train``, ``NAME.svm``, ``NAME.svmlight`` or ``NAME.libsvm``, with ``NAME.test`` or without;
    - ``NAME`` and ``NAME.t``, the way of the LIBSVM collection;
    - ``NAME.csv`` and ``NAME.test.csv``, or ``NAME.tsv`` and ``NAME.test.tsv``.

    Examples
    --------
    >>> from hinge.datasets import load
    >>> load("adult")
    <Dataset 'adult': 32,561 + 16,281 rows, 123 sparse features>
    """
    folder = _home(home)
    entry = _find(os.fspath(name))
    if entry is None:
        files = _companions(Path(name)) or _stored(os.fspath(name), folder)
        if not files:
            raise _unknown(os.fspath(name), folder)
        entry = _entry_of_file(_stem(files[0]), files[0])
        parts = read_parts(files)
    elif entry.name in BUNDLED:
        packed = BUNDLED_FILES.joinpath(BUNDLED[entry.name]).read_bytes()
        parts = parse_archive(lzma.decompress(packed), BUNDLED[entry.name])
    else:
        files = _locate(entry, folder)
        if files:
            parts = read_parts(files)
            entry = replace(entry, source=f"{entry.source}; read from {files[0]}")
        elif fetch and entry.fetcher:
            parts = fetch_parts(entry, positive)
            positive = None if entry.fetcher == "fetch_rcv1" else positive
        else:
            raise _missing(entry, folder, fetch)
    parts = binary(cut(prepare(parts, entry.preparation), entry.train_rows), positive, entry.positive, entry.name)
    return Dataset(entry.name, *parts, entry.description, entry.source, entry.license)


def _home(home: str | os.PathLike[str] | None) -> Path:
    return Path(home or os.environ.get(HOME_VARIABLE) or Path.home() / "hinge_data").expanduser()


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").replace(" ", "-")


def _stems(entry: Entry) -> tuple[str, ...]:
    return (entry.name, *entry.aliases)


def _find(name: str) -> Entry | None:
    return next((entry for entry in ENTRIES if _plain(name) in map(_plain, _stems(entry))), None)


def _locate(entry: Entry, folder: Path) -> list[Path]:
    """The file of a set, and its test file if that is separate; nothing if it is not in the folder."""
    spellings = (spelling for stem in _stems(entry) for spelling in (stem, stem.replace("-", "_")))
    return next((files for spelling in spellings if (files := _stored(spelling, folder))), [])


def _stored(stem: str, folder: Path) -> list[Path]:
    """The file of that stem in the folder, and its test file if that is separate."""
    for train_suffix, test_suffix in PATTERNS if stem else ():
        if (train := _existing(folder / f"{stem}{train_suffix}")) is not None:
            test = _existing(folder / f"{stem}{test_suffix}") if test_suffix else None
            return [train] if test is None else [train, test]
    return []


def _existing(path: Path) -> Path | None:
    candidates = (path.with_name(path.name + compression) for compression in COMPRESSIONS)
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _companions(path: Path) -> list[Path]:
    """A file named outright, with the test file of the same stem if the name says it is a training file."""
    if not path.is_file():
        return []
    if inner_suffix(path) != ".train":
        return [path]
    test = _existing(path.with_name(_stem(path) + ".test"))
    return [path] if test is None else [path, test]


def _stem(path: Path) -> str:
    """The file's name without the ending that tells the compression and the one that tells the format."""
    name = path.with_suffix("").name if path.suffix.lower() in SUFFIXES else path.name
    return name[: len(name) - len(inner_suffix(path))]


def _stems_in(folder: Path) -> dict[str, Path]:
    """The data sets lying in a folder, by stem; a file without any known ending is none."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        stem = _stem(path)
        if inner_suffix(path) in TRAIN_SUFFIXES and not stem.endswith(".test") and path.is_file():
            found.setdefault(stem, path)
    return found


def _entry_of_file(stem: str, path: Path) -> Entry:
    return Entry(
        name=stem,
        description=f"Read from {path.name}.",
        task="as labelled",
        how="is in the data folder",
        source=str(path),
        license="unknown",
        found=str(path),
    )


def _missing(entry: Entry, folder: Path, fetch: bool) -> DatasetNotFoundError:
    advice = f"put {entry.name}.npz, or {entry.name}.train and {entry.name}.test in svmlight form, into {folder}"
    if not fetch and entry.fetcher:
        advice += f", or pass fetch=True (--fetch on the command line) to get it by scikit-learn's {entry.fetcher}"
    stand_in = f" Of its kind and always at hand: {entry.stand_in}." if entry.stand_in else ""
    return DatasetNotFoundError(
        f"{entry.name!r} is not on this machine: {advice} (to get it: {entry.how};"
        f" to choose another folder: home or the environment variable {HOME_VARIABLE}).{stand_in}"
    )


def _unknown(name: str, folder: Path) -> DatasetNotFoundError:
    names = [entry.name for entry in ENTRIES] + [stem for stem in _stems_in(folder) if _find(stem) is None]
    spellings = {_plain(stem): entry.name for entry in ENTRIES for stem in _stems(entry)}
    spellings |= {_plain(other): other for other in names}
    near = difflib.get_close_matches(_plain(name), spellings, 1)
    hint = f"did you mean {spellings[near[0]]!r}?" if near else "give a name of the catalog or the path of a file."
    return DatasetNotFoundError(f"There is no data set or file {name!r}: {hint} The names are {', '.join(names)}.")


def fetch_parts(entry: Entry, positive: str | int | None = None) -> Parts:
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
    n = 23149
    return Parts(X[n:], y[n:], X[:n], y[:n])


def _covtype(_: str | int | None) -> Parts:
    from sklearn.datasets import fetch_covtype

    X, y = fetch_covtype(return_X_y=True)
    return Parts(np.asarray(X, dtype=np.float32), np.asarray(y))


def _mnist(_: str | int | None) -> Parts:
    from sklearn.datasets import fetch_openml

    X, y = fetch_openml("mnist_784", version=1, return_X_y=True, as_frame=False)
    X, y = np.asarray(X, dtype=np.float32), np.asarray(y).astype(np.int64)
    n = 60000  # the official training part comes first
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


def cut(parts: Parts, train_rows: int) -> Parts:
    """Shuffle by a fixed seed and cut a test part off, unless there is one or too few rows."""
    n = parts.X_train.shape[0]
    if parts.X_test is not None or not 0 < train_rows < n:
        return parts
    order = np.random.default_rng(0).permutation(n)
    train, test = order[:train_rows], order[train_rows:]
    X, y = parts.X_train, parts.y_train
    return Parts(X[train], y[train], X[test], y[test])


def prepare(parts: Parts, preparation: Preparation) -> Parts:
    """Scale the rows the way the papers have them."""
    if preparation == "as stored":
        return parts
    if preparation == "unit rows":
        X, X_test = (None if part is None else unit_rows(part) for part in (parts.X_train, parts.X_test))
    elif preparation == "pixels":
        scale = 255 if parts.X_train.max() > 1 else 1
        X, X_test = (None if part is None else part / np.float32(scale) for part in (parts.X_train, parts.X_test))
    else:
        X, X_test = _unit_columns(parts.X_train, parts.X_test)
    return parts._replace(X_train=X, X_test=X_test)


def _unit_columns(X: DataMatrix, X_test: DataMatrix | None) -> tuple[DataMatrix, DataMatrix | None]:
    """Columns to [0, 1] by the training rows' extremes."""
    full = _full(X)
    low = full.min(axis=0)
    span = full.max(axis=0) - low
    span[span == 0] = 1
    return (full - low) / span, None if X_test is None else (_full(X_test) - low) / span


def _full(X: DataMatrix) -> NDArray[Any]:
    return cast(sp.csr_matrix, X).toarray() if sp.issparse(X) else X


def binary(parts: Parts, positive: str | int | None, default: str | int | None, name: str) -> Parts:
    """Labels -1 and +1 (int8) if a class was chosen or they are those already; otherwise as they are."""
    classes = np.unique(parts.y_train)
    signs = classes.dtype.kind in "iuf" and set(classes.tolist()) <= {-1, 1}
    if positive == "all":
        return parts
    if positive is None and (signs or default is None):
        return _relabelled(parts, 1) if signs else parts
    wanted = default if positive is None else positive
    match = [value for value in classes.tolist() if str(value) == str(wanted) or value == wanted]
    if not match:
        some = ", ".join(str(value) for value in classes[:20].tolist())
        raise ValueError(f"{name} has no class {wanted!r} to make positive: its classes are {some}.")
    return _relabelled(parts, match[0])


def _relabelled(parts: Parts, positive: str | float) -> Parts:
    def sign(y: NDArray[Any]) -> NDArray[Any]:
        return np.where(y == positive, 1, -1).astype(np.int8)

    return parts._replace(y_train=sign(parts.y_train), y_test=None if parts.y_test is None else sign(parts.y_test))
