"""The state of a run on disk, written atomically, so that a killed run can continue."""

import json
import os
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from hinge.files.replacing import replacing

NAME = "state.npz"
HEADER = "header"
EVERY, SHARE = 10.0, 0.05
"""Least seconds between two checkpoints, and the largest fraction of the time that is spent writing them."""

State: TypeAlias = tuple | np.ndarray | np.generic
"""A state, or a part of one."""


class Checkpoint:
    """A folder with the last state of one run, and a fingerprint of the run.

    Parameters
    ----------
    folder : str or path-like
        Created if it does not exist; its parent must exist.
    fingerprint : str
        A text that identifies the data and everything else that the answer depends on. A state with another one raises
        an error.
    every : float
        Least seconds between two writes; more if writing takes long.
    **notes
        Further values to store with the state, as JSON.
    """

    def __init__(self, folder: str | os.PathLike[str], fingerprint: str, every: float = EVERY, **notes: Any) -> None:
        self.folder, self.every, self.notes = Path(folder), every, {**notes, "fingerprint": fingerprint}
        if self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(f"checkpoint is a folder, but {self.folder} is a file: give another name.")
        if not self.folder.exists() and not self.folder.parent.is_dir():
            raise FileNotFoundError(f"There is no folder {self.folder.parent} for the checkpoint: make it first.")
        self.folder.mkdir(exist_ok=True)
        self.path = self.folder / NAME
        self._due = time.perf_counter() + every

    def load(self, fresh: tuple) -> Any:
        """The state that was last written, in the form of a `fresh` one; None if there is none."""
        notes = notes_of(self.folder)
        if notes is None:
            return None
        if notes.get("fingerprint") != self.notes["fingerprint"]:
            raise ValueError(
                f"The checkpoint in {self.folder} is that of a fit of other data, or with other parameters: give "
                "another folder, or remove that one to begin anew."
            )
        try:
            with self.path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
                return _filled(fresh, (stored[name] for name in _names(fresh)))
        except (KeyError, ValueError, zipfile.BadZipFile) as error:
            raise ValueError(f"The checkpoint {self.path} is damaged, or of another version: remove it.") from error

    def offer(self, state: tuple, final: bool = False) -> None:
        """Write the state, if the last write is long enough ago."""
        began = time.perf_counter()
        if not final and began < self._due:
            return
        arrays = dict(zip(_names(state), _parts(state), strict=True))
        arrays[HEADER] = np.frombuffer(json.dumps(self.notes).encode(), np.uint8)
        with replacing(self.path) as stream:
            np.savez(stream, **arrays)  # type: ignore[arg-type]
        ended = time.perf_counter()
        self._due = ended + max(self.every, (ended - began) / SHARE)


def notes_of(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The values stored with a checkpoint's state; None if there is no checkpoint."""
    path = Path(folder) / NAME
    if not path.exists():
        return None
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            found = json.loads(stored[HEADER].tobytes())
    except (KeyError, ValueError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"The checkpoint {path} is damaged, or of another version: remove it.") from error
    return found if isinstance(found, dict) else {}


def _parts(state: State) -> Iterator[np.ndarray]:
    """The arrays and numbers of a state, in order."""
    if isinstance(state, tuple):
        for part in state:
            yield from _parts(part)
    else:
        yield np.frombuffer(state.tobytes(), np.uint8) if state.dtype.names else np.asarray(state)


def _names(state: State) -> list[str]:
    return [f"part{k}" for k in range(sum(1 for _ in _parts(state)))]


def _filled(fresh: State, parts: Iterator[np.ndarray]) -> Any:
    """A state of the same form with the stored numbers."""
    if isinstance(fresh, tuple):
        inside = [_filled(part, parts) for part in fresh]
        return type(fresh)(*inside) if hasattr(fresh, "_fields") else tuple(inside)
    found = next(parts)
    if fresh.dtype.names and found.nbytes == fresh.dtype.itemsize:  # a record, which compiled code writes to
        return np.frombuffer(bytearray(found.tobytes()), fresh.dtype)[0]
    # Arrays that start empty may have any length.
    grown = isinstance(fresh, np.ndarray) and fresh.ndim and not len(fresh) and found.shape[1:] == fresh.shape[1:]
    if (found.shape != np.shape(fresh) and not grown) or found.dtype != fresh.dtype:
        raise ValueError("A part of the state has another form.")
    return found if found.shape else fresh.dtype.type(found)
