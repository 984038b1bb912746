"""Files that are read page by page, without read-ahead."""

import os
import weakref
from pathlib import Path

import numpy as np

from hinge.access.tables.bill import PAGE, Bill, pages_of
from hinge.access.tables.recent import Recent

BATCH = 2048
"""Pages that are in memory at once while cells are gathered from them."""

LONG, LONGEST = 64, 1 << 16
"""A range longer than 1/`LONG` of the cache, or than `LONGEST` bytes, bypasses the cache of pages."""


class PageFile:
    """A file of numbers, read in whole pages by positioned reads.

    A memory map would read ahead: for cells that lie apart, many times what is needed.

    Parameters
    ----------
    path : Path
    bill : Bill
        Counts the bytes and pages that are read.
    recent : Recent
        Cache of pages, which may be shared with other files.
    """

    def __init__(self, path: Path, bill: Bill, recent: Recent) -> None:
        if not hasattr(os, "preadv"):
            raise OSError("Pairs on disk need positioned reads, which this system does not have.")
        self.path, self.bill, self.recent = path, bill, recent
        self._fd = os.open(path, os.O_RDONLY)
        self.close = weakref.finalize(self, os.close, self._fd)
        self.size = os.fstat(self._fd).st_size
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._fd, 0, 0, os.POSIX_FADV_RANDOM)

    def stretch(self, at: int, nbytes: int) -> np.ndarray:
        """A range of bytes; long ranges bypass the cache of pages."""
        if nbytes > min(self.recent.budget // LONG, LONGEST):
            self.bill.moved(nbytes, pages_of(at, nbytes))
            return self._read(at, nbytes)
        first = at // PAGE
        pages = self.pages(np.arange(first, first + pages_of(at, nbytes)))
        return pages.reshape(-1)[at - first * PAGE :][:nbytes]

    def expect(self, at: int, nbytes: int) -> None:
        """Ask the system to fetch these bytes in the background, since they will be read soon."""
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._fd, at, nbytes, os.POSIX_FADV_WILLNEED)

    def gather(self, places: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """The numbers at some positions, given as ascending indices of numbers."""
        page, first = self._pages_of(places, dtype)
        wanted = page[first]
        out = np.empty(len(places), dtype)
        per_page = PAGE // dtype.itemsize
        for lo in range(0, len(wanted), BATCH):
            a = first[lo]
            b = first[lo + BATCH] if lo + BATCH < len(first) else len(places)
            batch = wanted[lo : lo + BATCH]
            numbers = self.pages(batch).view(dtype)
            out[a:b] = numbers[np.searchsorted(batch, page[a:b]), places[a:b] - page[a:b] * per_page]
        return out

    def unread(self, places: np.ndarray, dtype: np.dtype) -> int:
        """Number of pages that `gather` would read from the file."""
        page, first = self._pages_of(places, dtype)
        return sum((self.path.name, p) not in self.recent for p in page[first].tolist())

    def pages(self, wanted: np.ndarray) -> np.ndarray:
        """Pages with these ascending numbers; consecutive ones are read at once."""
        out = np.empty((len(wanted), PAGE), np.uint8)
        missing = []
        for k, page in enumerate(wanted.tolist()):
            known = self.recent.get((self.path.name, page))
            if known is None:
                missing.append(k)
            else:
                out[k] = known
        absent = wanted[missing]
        for run in np.split(np.array(missing, np.int64), np.flatnonzero(np.diff(absent) != 1) + 1):
            if len(run):
                self._read_pages(int(wanted[run[0]]), out[run[0] : run[-1] + 1])
        for k in missing:
            self.recent.put((self.path.name, int(wanted[k])), out[k].copy())
        return out

    def _read_pages(self, first: int, out: np.ndarray) -> None:
        """Fill `out` with the pages from `first` on; the last page of the file may be shorter."""
        nbytes = min(out.size, self.size - first * PAGE)
        out.reshape(-1)[:nbytes] = self._read(first * PAGE, nbytes)
        self.bill.moved(nbytes, len(out))

    def _read(self, at: int, nbytes: int) -> np.ndarray:
        out, done = np.empty(nbytes, np.uint8), 0
        while done < nbytes:
            count = os.preadv(self._fd, [out[done:].data], at + done)
            if not count:
                raise OSError(f"{self.path} was cut short while it was open: write the pair again.")
            done += count
        return out

    @staticmethod
    def _pages_of(places: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        """The page of each position, and the indices at which a new page begins."""
        page = places // (PAGE // dtype.itemsize)
        return page, np.flatnonzero(np.diff(page, prepend=-1))
