"""Files and folders that are written whole or not at all.

A file that is being written has no name until all of it is on the disk, where the system has such files (Linux
does), so that a killed process leaves nothing. Folders, and files elsewhere, have a name of their own meanwhile,
``.hinge-….tmp`` beside the place where they will be, and are locked by their process: what a killed one left behind is
known by its free lock, and goes with the next write there.
"""

import ctypes
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # not a Unix system: no lock, and nothing is cleared away
    fcntl = None  # type: ignore[assignment]


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write that takes the place of `path` once all of it is on the disk.

    Whatever goes wrong before leaves what was there, and nothing beside it. Devices and pipes are written
    directly.

    Parameters
    ----------
    path : str or path-like
        The file to be; a link is followed.

    Yields
    ------
    file
        Open for writing bytes.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, but the name of a file is needed.")
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            yield stream
        return
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} for {path.name}: make it first.")
    temporary, handle = _create(target.parent, folder=False)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(handle)
            _name(temporary, handle)
            if target.exists():
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            if fcntl is not None:
                os.replace(temporary, target)  # while it is locked: nobody takes it for a leftover
        if fcntl is None:
            os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync(target.parent)


@contextmanager
def replacing_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder to write into that takes the place of `path` once all of it is on the disk.

    Where the system cannot swap two folders in one step (Linux can), a process that is killed between two
    renamings leaves what was there as ``.hinge-….old``.

    Parameters
    ----------
    path : str or path-like
        The folder to be, or one to be replaced; its parent is there.

    Yields
    ------
    Path
        An empty folder.
    """
    target = Path(os.path.realpath(path))
    temporary, handle = _create(target.parent, folder=True)
    try:
        yield temporary
        for part in temporary.iterdir():
            _sync(part)
        _sync(temporary)
        if not target.exists():
            temporary.rename(target)
        elif not _swapped(temporary, target):
            old = temporary.with_suffix(".old")
            target.rename(old)
            try:
                temporary.rename(target)
            except BaseException:
                old.rename(target)
                raise
            shutil.rmtree(old, ignore_errors=True)
        _sync(target.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if handle >= 0:
            os.close(handle)


def _create(parent: Path, *, folder: bool) -> tuple[Path, int]:
    """A new file or folder to write, locked, and its handle; what killed processes left goes.

    A file may have no name yet: `_name` gives it the path.
    """
    _clear(parent)
    while True:
        path = parent / f".hinge-{secrets.token_hex(8)}.tmp"
        handle = -1 if folder else _unnamed(parent)
        if handle >= 0:
            return path, handle
        if folder:
            path.mkdir()
            handle = -1 if fcntl is None else os.open(path, os.O_RDONLY)
        else:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        if fcntl is None:
            return path, handle
        with suppress(OSError):  # a file system without locks, or it was cleared away before it had one
            fcntl.flock(handle, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), path.stat()):
                return path, handle
        os.close(handle)


def _unnamed(parent: Path) -> int:
    """The handle of a new file without a name, locked; -1 where the system has none, or could not name it later."""
    if fcntl is None or not hasattr(os, "O_TMPFILE"):
        return -1
    try:
        handle = os.open(parent, os.O_WRONLY | os.O_TMPFILE, 0o666)
    except OSError:  # a file system without
        return -1
    if not os.path.exists(f"/proc/self/fd/{handle}"):
        os.close(handle)
        return -1
    with suppress(OSError):  # a file system without locks
        fcntl.flock(handle, fcntl.LOCK_EX)
    return handle


def _name(path: Path, handle: int) -> None:
    """Give an open file the name that `_create` chose, if it has none."""
    if path.exists():
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:  # Python follows the link to the open file only where it is given a folder's handle
        os.link(f"/proc/self/fd/{handle}", path.name, dst_dir_fd=folder)
    finally:
        os.close(folder)


def _clear(folder: Path) -> None:
    """Remove what is not locked any more."""
    if fcntl is None:
        return
    for path in folder.glob(".hinge-*.tmp"):
        with suppress(OSError):  # another one removes it, or it is locked
            handle = os.open(path, os.O_RDONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            finally:
                os.close(handle)


def _swapped(one: Path, other: Path) -> bool:
    """Swap two folders in one step; False where the system has no such step."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (OSError, TypeError, AttributeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD and RENAME_EXCHANGE
    return bool(rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)


def _sync(path: Path) -> None:
    """Make a file, or the names in a folder, survive a power cut, where the system lets folders be opened."""
    if os.name == "posix" or not path.is_dir():
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
