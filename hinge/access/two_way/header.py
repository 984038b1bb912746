"""The header of a pair: a matrix on disk stored twice, by rows and by columns.

A pair is a folder with `pair.json`, the header. If it is dense, the files ``rows`` and ``columns`` hold the cells, one
row or column after another. If it is compressed, there are ``indptr``, ``indices`` and ``values`` for each of the two.
All numbers are little-endian.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

VERSION = 1
HEADER = "pair.json"
FORMAT = "hinge.pair"
LONGEST = 1 << 16
"""Bytes of a header that are read at most."""
POINTER = np.dtype("<i8")
WAYS = ("rows", "columns")
PARTS = ("indptr", "indices", "values")
_VALUES: dict[str, np.dtype] = {"float32": np.dtype("<f4"), "float64": np.dtype("<f8")}


class PairHeader(NamedTuple):
    """The header of a pair.

    Attributes
    ----------
    shape : tuple of int
    values : str
        Type of the cells, "float32" or "float64".
    nonzeros : int or None
        Number of cells that a compressed pair stores; None for a dense one.
    """

    shape: tuple[int, int]
    values: str
    nonzeros: int | None = None

    @property
    def dtype(self) -> np.dtype:
        """Type of the cells."""
        return _VALUES[self.values]

    @property
    def files(self) -> dict[str, int]:
        """Names and sizes of the files of the pair."""
        n, d = self.shape
        if self.nonzeros is None:
            return dict.fromkeys(WAYS, n * d * self.dtype.itemsize)
        sizes = {}
        for way, lines, length in zip(WAYS, self.shape, self.shape[::-1], strict=True):
            sizes[f"{way}.indptr"] = (lines + 1) * POINTER.itemsize
            sizes[f"{way}.indices"] = self.nonzeros * index_type(length).itemsize
            sizes[f"{way}.values"] = self.nonzeros * self.dtype.itemsize
        return sizes

    def write(self, folder: Path) -> None:
        """Write the header into the folder of the pair."""
        body = {
            "format": FORMAT,
            "version": VERSION,
            "kind": "dense" if self.nonzeros is None else "compressed",
            "shape": list(self.shape),
            "dtype": self.values,
            "nonzeros": self.nonzeros,
            "files": self.files,
        }
        (folder / HEADER).write_text(json.dumps({**body, "sha256": _checksum(body)}, indent=1) + "\n")


def index_type(length: int) -> np.dtype:
    """Type of the indices in rows or columns of this length."""
    return np.dtype("<i4" if length < 1 << 31 else "<i8")


def is_pair(folder: Path) -> bool:
    """Whether a folder has the header of a pair, valid or not."""
    return (folder / HEADER).is_file()


def read_header(folder: Path) -> PairHeader:
    """The header of a pair, after checking that all its files exist and have the right size.

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    ValueError
        If it is not a pair, or one that is damaged, truncated or of a newer version.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}: write one with write_pair, or check the name.")
    if not is_pair(folder):
        raise ValueError(f"{folder} is not a pair: it has no {HEADER}.")
    try:
        with (folder / HEADER).open("rb") as stream:
            body: Any = json.loads(stream.read(LONGEST))
        is_ours = body.get("format") == FORMAT and type(body.get("version")) is int
    except (ValueError, AttributeError, RecursionError) as error:
        raise ValueError(f"{folder / HEADER} is cut short or damaged: write the pair again.") from error
    if not is_ours:
        raise ValueError(f"{folder / HEADER} is not the header of a pair.")
    if body["version"] > VERSION:
        raise ValueError(
            f"{folder} has version {body['version']} of the format, but versions up to {VERSION} are known"
            " here: upgrade hinge."
        )
    if body.pop("sha256", None) != _checksum(body):
        raise ValueError(f"{folder / HEADER} was edited or damaged: its checksum is wrong. Write the pair again.")
    try:
        n, d = body["shape"]
        header = PairHeader((n, d), body["dtype"], body["nonzeros"])
        counts = [n, d] if header.nonzeros is None else [n, d, header.nonzeros + 1]
        fits = all(type(count) is int and count > 0 for count in counts)
        fits = fits and header.files == body["files"] and (header.nonzeros is None) == (body["kind"] == "dense")
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{folder / HEADER} does not describe a pair: write the pair again.") from error
    if not fits:
        raise ValueError(f"{folder / HEADER} contradicts itself: write the pair again.")
    for name, size in header.files.items():
        _check_size(folder / name, size)
    return header


def _check_size(path: Path, size: int) -> None:
    if not path.is_file():
        raise ValueError(f"{path.parent} is not whole: {path.name} is missing. Write the pair again.")
    found = path.stat().st_size
    if found != size:
        raise ValueError(f"{path} has {found} bytes, but the header says {size}: write the pair again.")


def _checksum(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
