"""Reading a pair: a matrix on disk stored twice, by rows and by columns, of which only the pages needed are read.

A pair is a folder with `pair.json`, the header. If it is dense, the files ``rows`` and ``columns`` hold the cells, one
row or column after another. If it is compressed, there are ``indptr``, ``indices`` and ``values`` for each of the two.
All numbers are little-endian.
"""

import hashlib
import json
import os
import weakref
from collections import OrderedDict
from collections.abc import Hashable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from hinge.access.matrix import ROW_BLOCK_CELLS
from hinge.access.tables.fetched import Fetched
from hinge.access.tables.table import EVERYWHERE, PAGE, Bill, Line, pages_of
from hinge.types import Stored

VERSION = 1
HEADER = "pair.json"
FORMAT = "hinge.pair"
LONGEST = 1 << 16
"""Bytes of a header that are read at most, and of a range that goes through the cache of pages."""
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


class Recent:
    """A least-recently-used cache of arrays.

    Parameters
    ----------
    budget : int
        Limit of the arrays' bytes; a larger array is not stored.

    Attributes
    ----------
    budget, nbytes : int
        Bytes allowed, and bytes used.
    """

    def __init__(self, budget: int) -> None:
        if budget < 0:
            raise ValueError(f"The budget of a cache is a number of bytes, 0 for no cache, got {budget}.")
        self.budget, self.nbytes = int(budget), 0
        self._arrays: OrderedDict[Hashable, np.ndarray] = OrderedDict()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._arrays

    def get(self, key: Hashable) -> np.ndarray | None:
        """The array of this key, which becomes the most recently used; None if it is not stored."""
        array = self._arrays.get(key)
        if array is not None:
            self._arrays.move_to_end(key)
        return array

    def put(self, key: Hashable, array: np.ndarray) -> None:
        """Store an array, which must not be written to afterwards; it should own its memory."""
        old = self._arrays.pop(key, None)
        if old is not None:
            self.nbytes -= old.nbytes
        if array.nbytes > self.budget:
            return
        self._arrays[key] = array
        self.nbytes += array.nbytes
        while self.nbytes > self.budget:
            self.nbytes -= self._arrays.popitem(last=False)[1].nbytes


BATCH = 2048
"""Pages that are in memory while cells are gathered from them: 8 MiB."""


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
        if nbytes > min(self.recent.budget, LONGEST):
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
        """Pages with these ascending numbers; consecutive ones are read together."""
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


PAGE_CACHE = 64 << 20


def open_pair(
    folder: str | Path, keep: bool = True, *, prices: ArrayLike | None = None, page_cache: int = PAGE_CACHE
) -> "DiskTable":
    """Open a matrix that `write_pair` wrote.

    Parameters
    ----------
    folder : path
    keep : bool
        Whether cells that were read stay in memory: then a cell is billed once. Use False for passes over more data
        than fits into memory.
    prices : array of shape (d,), optional
        Price of a cell in each column.
    page_cache : int
        Bytes for the cache of pages.

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    ValueError
        If it is not a pair, or one that is damaged, truncated or of a newer version.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from hinge import open_pair, write_pair
    >>> folder = tempfile.mkdtemp()
    >>> write_pair(np.arange(6.0).reshape(2, 3), folder)
    >>> table = open_pair(folder)
    >>> table.column(1).values.tolist(), table.bill.cells
    ([1.0, 4.0], 2)
    """
    return DiskTable(folder, prices, keep=keep, page_cache=page_cache)


class DiskTable(Fetched):
    """A pair on disk as a table.

    The bill has the bytes that were read from the system, in whole pages, and the number of pages. Pages in the cache
    of this table cost nothing; cells of a page that were not requested do not count as read.

    Parameters
    ----------
    folder : path
    prices, keep
        As for `Table`.
    page_cache : int
        Bytes for the cache of pages.

    Attributes
    ----------
    folder : Path
    dtype : dtype
        Type of the cells.
    """

    in_memory = False

    def __init__(
        self, folder: str | Path, prices: ArrayLike | None = None, *, keep: bool = True, page_cache: int = PAGE_CACHE
    ) -> None:
        self.folder = Path(folder).absolute()
        header = read_header(self.folder)
        super().__init__(header.shape, prices, keep=keep)
        self.dtype, self.is_sparse, self._nonzeros = (header.dtype, header.nonzeros is not None, header.nonzeros)
        self.sells_cells = self.is_sparse  # a dense row has few pages, and one of its cells costs a page
        self._recent = Recent(page_cache)
        self._files = {name: PageFile(self.folder / name, self.bill, self._recent) for name in header.files}
        self._by_rows, self._by_columns = (
            self._lines(way, length) for way, length in zip(WAYS, self.shape[::-1], strict=True)
        )
        self.n_cells, self.max_row_cells = self._by_rows.n_cells, self._by_rows.longest

    def _lines(self, way: str, length: int) -> "DenseLines | CompressedLines":
        if not self.is_sparse:
            return DenseLines(self._files[way], length, self.dtype)
        indptr, indices, values = (self._files[f"{way}.{part}"] for part in PARTS)
        starts = indptr.stretch(0, indptr.size).view(POINTER).copy()
        # Neighbours are compared, not subtracted: the difference of two huge numbers may overflow.
        if starts[0] != 0 or (starts[1:] < starts[:-1]).any() or starts[-1] != self._nonzeros:
            raise ValueError(f"{indptr.path} is damaged: write the pair again.")
        return CompressedLines(starts, indices, values, length, self.dtype)

    def close(self) -> None:
        """Close the files; kept cells remain available."""
        for file in self._files.values():
            file.close()

    # --- shape ----------------------------------------------------------------------------

    @property
    def max_column_cells(self) -> int:
        """Cells of the longest column."""
        return self._by_columns.longest

    # --- Fetched --------------------------------------------------------------------------

    def _fetch_column(self, j: int) -> Line:
        return self._by_columns.line(j)

    def _row(self, i: int) -> Line:
        if not self.keep:
            return self._by_rows.line(i)
        if not self.bill.whole_rows[i]:
            # Not by its missing cells: they are on the same pages, and zeros would be stored with them.
            self.kept.put(i, self._by_rows.line(i))
        return self.kept.row(i)

    def expect(self, rows: np.ndarray) -> None:
        """Ask the system to fetch rows that will be read: concurrent requests are faster."""
        for i in rows[~(self.keep & self.bill.whole_rows[rows])].tolist():
            self._by_rows.expect(i)

    def _block(self, rows: np.ndarray, columns: np.ndarray) -> Any:
        out = np.empty((len(rows), len(columns)), self.dtype)
        columns, place = np.unique(columns, return_inverse=True)
        step = max(1, ROW_BLOCK_CELLS // max(1, len(columns)))
        for lo in range(0, len(rows), step):
            piece, back = np.unique(rows[lo : lo + step], return_inverse=True)
            out[lo : lo + step] = self._cells(piece, columns)[np.ix_(back, place)]
        return sp.csr_array(out) if self.is_sparse else out

    def _cells(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The cells rows × columns, both ascending, from the copy that needs fewer pages."""
        out = np.zeros((len(rows), len(columns)), self.dtype)
        fresh = self.bill.missing(rows[:, None], columns) if self.keep else np.ones(out.shape, bool)
        down = self._by_columns.cost(columns, rows, fresh.T)
        if self._by_rows.cost(rows, columns, fresh) <= down:
            self._by_rows.fill(rows, columns, fresh, out)
        else:
            self._by_columns.fill(columns, rows, fresh.T, out.T)
        if self.keep:
            for k, i in enumerate(rows.tolist()):
                self._keep(i, columns, fresh[k], out[k])
        return out

    def _keep(self, i: int, columns: np.ndarray, fresh: np.ndarray, cells: np.ndarray) -> None:
        """Keep the fresh cells of row i, and fill in those that were kept before."""
        if not fresh.all():
            cells[~fresh] = self.kept.cells(i, columns[~fresh])
        new = fresh & (cells != 0) if self.is_sparse else fresh
        if new.any():
            self.kept.put(i, Line(columns[new], cells[new]))

    # --- passes ---------------------------------------------------------------------------

    def responses(self, w: np.ndarray, lo: int, hi: int, billed: bool = True) -> np.ndarray:
        """``X[lo:hi] @ w``; billed even with ``billed=False``, since the cells have to be fetched."""
        out = np.empty(hi - lo)
        for a, b in self._ranges(lo, hi):
            out[a - lo : b - lo] = self._measured_rows(a, b) @ w[: self.shape[1]]
        return out

    def combine(self, coef: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """``out += X[lo:hi].T @ coef``; rows whose coefficient is zero are not read."""
        used = np.concatenate([[False], coef != 0, [False]])
        for begin, end in np.flatnonzero(used[1:] != used[:-1]).reshape(-1, 2).tolist():
            for a, b in self._ranges(lo + begin, lo + end):
                out[: self.shape[1]] += self._measured_rows(a, b).T @ coef[a - lo : b - lo]

    def _measured_rows(self, lo: int, hi: int) -> Any:
        X = self.rows_between(lo, hi)
        squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X, dtype=np.float64)
        self._largest_sq = max(self._largest_sq, float(np.max(squares, initial=0.0)))
        return X

    def rows_between(self, lo: int, hi: int) -> Any:
        """Rows lo to hi, as an array or a CSR matrix, billed; with `keep` only cells never read are fetched.

        With `keep` they are kept, as rows that are read one by one: for a table larger than memory use ``keep=False``.
        """
        bill, rows = self.bill, np.arange(lo, hi)
        if self.keep and (bill.whole_columns.any() or (bill.whole_rows | bill.in_part)[lo:hi].any()):
            for i in rows[~bill.whole_rows[lo:hi]].tolist():
                self.row(i)
            return self.held(rows)
        X: Any = self._by_rows.between(lo, hi)
        nonzeros = X.nnz if self.is_sparse else int(np.count_nonzero(X))
        bill.charge(len(rows) * self.shape[1], nonzeros, len(rows) * bill.row_price)
        bill.whole_rows[lo:hi] = True
        if self.keep:
            for k, i in enumerate(rows.tolist()):
                self.kept.put(i, _line(X, k))
        return X

    def __reduce__(self) -> tuple[Any, ...]:
        """The name of the folder, and the settings: a copy has read nothing, and has an empty bill."""
        settings: dict[str, Any] = {"keep": self.keep, "page_cache": self._recent.budget}
        opening = partial(DiskTable, self.folder, self.bill.prices, **settings)
        return opening, (), {"max_reads": self.max_reads, "max_cost": self.max_cost}


def _line(X: Stored, k: int) -> Line:
    if isinstance(X, np.ndarray):
        return Line(EVERYWHERE, X[k])
    lo, hi = X.indptr[k], X.indptr[k + 1]
    return Line(X.indices[lo:hi], X.data[lo:hi])


class DenseLines:
    """The rows, or the columns, of a dense matrix, stored one after another in a file.

    Parameters
    ----------
    file : PageFile
    length : int
        Cells of a line.
    dtype : dtype
    """

    def __init__(self, file: PageFile, length: int, dtype: np.dtype) -> None:
        self.file, self.longest, self.dtype = file, length, dtype
        self.n_cells = file.size // dtype.itemsize
        self._size = length * dtype.itemsize  # bytes of a line

    def line(self, k: int) -> Line:
        """Line k."""
        return Line(EVERYWHERE, self.between(k, k + 1)[0])

    def expect(self, k: int) -> None:
        """Announce that line k will be read."""
        self.file.expect(k * self._size, self._size)

    def between(self, lo: int, hi: int) -> np.ndarray:
        """Lines lo to hi."""
        cells = self.file.stretch(lo * self._size, (hi - lo) * self._size).view(self.dtype)
        return _checked_values(self.file, cells).reshape(hi - lo, -1)

    def cost(self, lines: np.ndarray, across: np.ndarray, fresh: np.ndarray) -> int:
        """Number of pages that `fill` would read."""
        return self.file.unread((lines[:, None] * self.longest + across)[fresh], self.dtype)

    def fill(self, lines: np.ndarray, across: np.ndarray, fresh: np.ndarray, out: np.ndarray) -> None:
        """Fill in the cells lines × across, both ascending, that are fresh."""
        places = (lines[:, None] * self.longest + across)[fresh]
        out[fresh] = _checked_values(self.file, self.file.gather(places, self.dtype))


class CompressedLines:
    """The rows, or the columns, of a compressed matrix.

    Parameters
    ----------
    indptr : array
        Start of each line, and the end of the last.
    indices, values : PageFile
    length : int
        Cells of a line, zeros included.
    dtype : dtype
        Of the values.
    """

    def __init__(self, indptr: np.ndarray, indices: PageFile, values: PageFile, length: int, dtype: np.dtype) -> None:
        self.indptr, self.indices, self.values = indptr, indices, values
        self.length, self.dtype, self.index = length, dtype, index_type(length)
        self.n_cells = int(indptr[-1])
        self.longest = int(np.diff(indptr).max(initial=0))

    def line(self, k: int) -> Line:
        """Line k."""
        return Line(*self._lines(k, k + 1))

    def expect(self, k: int) -> None:
        """Announce that line k will be read."""
        for file, itemsize in ((self.indices, self.index.itemsize), (self.values, self.dtype.itemsize)):
            file.expect(int(self.indptr[k]) * itemsize, int(self.indptr[k + 1] - self.indptr[k]) * itemsize)

    def between(self, lo: int, hi: int) -> sp.csr_array:
        """Lines lo to hi."""
        index, values = self._lines(lo, hi)
        return sp.csr_array((values, index, self.indptr[lo : hi + 1] - self.indptr[lo]), shape=(hi - lo, self.length))

    def _lines(self, lo: int, hi: int) -> tuple[np.ndarray, np.ndarray]:
        """Positions and values of lines lo to hi, validated: ascending in each line, and finite."""
        begin, end = int(self.indptr[lo]), int(self.indptr[hi])
        index = self.indices.stretch(begin * self.index.itemsize, (end - begin) * self.index.itemsize)
        values = self.values.stretch(begin * self.dtype.itemsize, (end - begin) * self.dtype.itemsize)
        index = self._checked_index(index.view(self.index), self.indptr[lo + 1 : hi] - begin)
        return index, _checked_values(self.values, values.view(self.dtype))

    def _checked_index(self, index: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Positions, validated: in range, and ascending except where another line starts."""
        falls = index[1:] <= index[:-1]
        falls[starts[(starts > 0) & (starts < len(index))] - 1] = False
        if len(index) and (index.min() < 0 or index.max() >= self.length or falls.any()):
            raise ValueError(f"{self.indices.path} is damaged: write the pair again.")
        return index

    def cost(self, lines: np.ndarray, across: np.ndarray, fresh: np.ndarray) -> int:
        """Number of pages of the indices that `fill` reads."""
        lines = lines[fresh.any(axis=1)]
        lines = lines[self.indptr[lines] < self.indptr[lines + 1]]
        first = self.indptr[lines] * self.index.itemsize // PAGE
        last = (self.indptr[lines + 1] * self.index.itemsize - 1) // PAGE
        first[1:] = np.maximum(first[1:], last[:-1] + 1)  # a page that two lines share is read once
        return int((last - first + 1).sum())

    def fill(self, lines: np.ndarray, across: np.ndarray, fresh: np.ndarray, out: np.ndarray) -> None:
        """Fill in the cells lines × across, both ascending, that are fresh."""
        needed = np.flatnonzero(fresh.any(axis=1))
        counts = self.indptr[lines[needed] + 1] - self.indptr[lines[needed]]
        cuts = np.flatnonzero(np.diff(np.cumsum(counts) // ROW_BLOCK_CELLS)) + 1
        for part, sizes in zip(np.split(needed, cuts), np.split(counts, cuts), strict=True):
            begin = self.indptr[lines[part]]
            places = np.arange(sizes.sum()) + np.repeat(begin - np.cumsum(sizes) + sizes, sizes)
            owner = np.repeat(part, sizes)
            index = self._checked_index(self.indices.gather(places, self.index), np.cumsum(sizes)[:-1])
            at = np.minimum(np.searchsorted(across, index), len(across) - 1)
            hit = (across[at] == index) & fresh[owner, at]
            values = _checked_values(self.values, self.values.gather(places[hit], self.dtype))
            out[owner[hit], at[hit]] = values


def _checked_values(file: PageFile, values: np.ndarray) -> np.ndarray:
    """Values of a file, or an error if they are not finite."""
    if not np.isfinite(values).all():
        raise ValueError(f"{file.path} has cells that are not finite numbers: write the pair again.")
    return values
