"""Two-way folders with damage, signed again or not, read in every way and fitted."""

import json
from functools import lru_cache

import numpy as np
import scipy.sparse as sp

import hinge
from hinge.access.two_way.reader import HEADER, _checksum

from ..damage import damaged, damaged_files, files_in, folder_of
from ..doors import with_pair

WILD = (0, -1, 1, 2, 20, 21, 1 << 40, -(1 << 62), 1.0, 2.5, "20", None, True, [], "x", [20], "dense", "float32")


def case(rng):
    """A damaged pair, opened and read."""
    files = dict(stored()[int(rng.integers(3))])
    if rng.random() < 0.3:
        files[HEADER] = _resigned(files[HEADER], rng)
    if rng.random() < 0.8:
        files = damaged_files(files, rng, spare=() if rng.random() < 0.2 else (HEADER,))
        if rng.random() < 0.8:  # as long as they were
            for name, content in stored_sizes(files).items():
                files[name] = files[name][:content].ljust(content, b"\0")
    with folder_of(files) as folder:
        keep = bool(rng.random() < 0.5)
        table = hinge.open_pair(folder, keep, page_cache=int(rng.choice([0, 1 << 20])))
        with_pair(table, np.resize([-1, 1], 20))


@lru_cache
def stored():
    """A dense pair in two types, and a compressed one."""
    X = np.random.default_rng(0).normal(size=(20, 7)).round(2)
    S = sp.csr_array(np.where(np.random.default_rng(1).random(X.shape) < 0.4, X, 0))
    found = []
    for matrix in (X, X.astype(np.float32), S):
        with folder_of({}) as folder:
            hinge.write_pair(matrix, folder / "pair")
            found.append(files_in(folder / "pair"))
    return found


def stored_sizes(files):
    """The sizes that the header states, where it can be read."""
    try:
        sizes = json.loads(files[HEADER])["files"]
        return {k: size for k, size in sizes.items() if k in files and type(size) is int and 0 <= size < 1 << 16}
    except (KeyError, ValueError, TypeError, AttributeError):
        return {}


def _resigned(content, rng):
    body = json.loads(content)
    body.pop("sha256")
    place = body[["shape", "files"][int(rng.integers(2))]] if rng.random() < 0.4 else body
    keys = range(len(place)) if isinstance(place, list) else sorted(place)
    place[keys[int(rng.integers(len(keys)))]] = WILD[int(rng.integers(len(WILD)))]
    text = json.dumps({**body, "sha256": _checksum(body)}).encode()
    return damaged(text, rng) if rng.random() < 0.1 else text
