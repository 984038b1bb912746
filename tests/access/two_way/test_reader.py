import gc
import json
import os
import pickle
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from access.two_way.made_up import WIDE, X, copied
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from read_sequences import Mirror, reads, whole

from hinge.access.tables.table import PAGE
from hinge.access.two_way import reader as page_file
from hinge.access.two_way.reader import HEADER, DiskTable, PairHeader, Recent, _checksum, open_pair

# --- opening and closing -----------------------------------------------------------------------


def test_damaged_headers_are_refused(pairs, tmp_path):
    folder = copied(pairs, "float32", tmp_path)
    header = json.loads((folder / HEADER).read_text())

    def opened(text):
        (folder / HEADER).write_text(text)
        return open_pair(folder)

    def signed(**changes):
        body = {**header, **changes}
        body.pop("sha256")
        return json.dumps({**body, "sha256": _checksum(body)})

    assert opened(signed()).shape == X.shape
    for text in ("", "{", "[]", json.dumps(header)[:-5]):
        with pytest.raises(ValueError, match="cut short or damaged"):
            opened(text)
    with pytest.raises(ValueError, match="not the header of a pair"):
        opened('{"format": "something"}')
    with pytest.raises(ValueError, match=r"version 2 .* upgrade hinge"):
        opened(signed(version=2))
    with pytest.raises(ValueError, match="its checksum is wrong"):
        opened(json.dumps({**header, "shape": [70, 40]}))
    vast = "[" * 10_000
    for text in (vast, "{}" + " " * (1 << 17)):
        with pytest.raises(ValueError, match=r"cut short or damaged|not the header"):
            opened(text)
    for shape in ([-40, -70], [0, 70], [40.0, 70], [True, 2800], ["40", 70], [1 << 70, 1 << 70]):
        with pytest.raises(ValueError, match=r"contradicts itself|does not describe a pair"):
            opened(signed(shape=shape))
    for changes in ({"shape": [41, 70]}, {"kind": "compressed"}, {"dtype": "float64"}):
        with pytest.raises(ValueError, match="contradicts itself"):
            opened(signed(**changes))
    for changes in ({"dtype": "int8"}, {"shape": 3}):
        with pytest.raises(ValueError, match="does not describe a pair"):
            opened(signed(**changes))


def test_other_folders_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        open_pair(tmp_path / "nothing")
    with pytest.raises(ValueError, match=r"it has no pair.json"):
        open_pair(tmp_path)


def test_where_lines_are_too_long_for_short_indices():
    header = PairHeader((3, 1 << 31), "float32", 10)
    assert header.files["rows.indices"] == 80 and header.files["columns.indices"] == 40


@pytest.mark.slow
@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("kind", ["float32", "float64", "compressed"])
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=reads(*X.shape, passes=True), priced=st.booleans(), cache=st.sampled_from([0, 3 * PAGE, 1 << 20]))
def test_every_cell_is_read_and_billed_as_it_should_be(pairs, kind, keep, sequence, priced, cache):
    prices = np.arange(70.0) if priced else None
    table = open_pair(pairs / kind, keep, prices=prices, page_cache=cache)
    Mirror(table, X, prices).run(sequence)
    assert PAGE * table.bill.pages >= table.bill.bytes
    table.close()


def test_sizes(pairs):
    table = open_pair(pairs / "float32")
    assert not table.is_sparse and not table.in_memory and table.keep
    assert (table.n_cells, table.max_row_cells, table.max_column_cells) == (2800, 70, 40)
    assert table.dtype == np.float32 and table.bill.bytes == 0
    table = open_pair(pairs / "compressed")
    assert table.is_sparse and not table.in_memory
    assert table.n_cells == np.count_nonzero(X)
    assert table.max_row_cells == np.count_nonzero(X, axis=1).max()
    assert table.max_column_cells == np.count_nonzero(X, axis=0).max()
    assert table.bill.bytes == 8 * (41 + 71)  # where the lines begin
    assert [i for lo, hi in table.row_blocks() for i in range(lo, hi)] == list(range(40))


# --- what is read ------------------------------------------------------------------------------


def test_blocks_are_read_the_cheaper_way(pairs):
    rows = np.arange(300)
    table = open_pair(pairs / "wide", keep=False)
    assert (table.block(rows, np.array([7, 2000])) == WIDE[:, [7, 2000]]).all()
    assert table.bill.pages <= 4  # two columns; by rows it would be 600 pages
    few = open_pair(pairs / "wide", keep=False)
    columns = np.arange(0, 3000, 2)
    assert (few.block(rows[5:6], columns) == WIDE[5:6, columns]).all()
    assert few.bill.pages <= 4  # one row; by columns it would be over 800
    thin = open_pair(pairs / "thin", keep=False)
    before = thin.bill.pages
    full = np.asarray([whole(thin.row(i), 3000) for i in range(300)])
    by_rows = thin.bill.pages - before
    thin = open_pair(pairs / "thin", keep=False)
    assert (thin.block(rows, np.array([7, 2000])).toarray() == full[:, [7, 2000]]).all()
    assert thin.bill.pages - before <= 8 < by_rows


def test_rows_and_columns_may_be_in_any_order_but_not_repeat(pairs):
    for kind in ("float64", "compressed"):
        for keep in (True, False):
            table = open_pair(pairs / kind, keep)
            rows, columns = np.array([9, 2, 39]), np.array([69, 0, 5, 66])
            cells = table.block(rows, columns)
            cells = cells.toarray() if sp.issparse(cells) else cells
            assert (cells == X[np.ix_(rows, columns)]).all()
            cells = table.block(rows[:1], columns)
            assert ((cells.toarray() if sp.issparse(cells) else cells) == X[9, columns]).all()
            with pytest.raises(ValueError, match="each row once"):
                table.block(np.array([9, 2, 9]), columns)
            with pytest.raises(ValueError, match="each column once"):
                table.block(rows, np.array([5, 5]))


@pytest.mark.slow
def test_passes_read_long_stretches(pairs, monkeypatch):
    w = np.random.default_rng(0).standard_normal(3000)
    for keep in (True, False):
        table, calls = open_pair(pairs / "wide", keep, page_cache=1 << 20), []
        monkeypatch.setattr(os, "pread", counted(os.pread, calls))
        for _ in range(2):
            r = np.concatenate([table.responses(w, lo, hi) for lo, hi in table.row_blocks()])
            assert np.allclose(r, WIDE @ w)
        monkeypatch.undo()
        passes = 1 if keep else 2
        assert len(calls) <= 2 * passes
        assert table.bill.cells == passes * WIDE.size
        assert passes * WIDE.nbytes <= table.bill.bytes <= passes * (WIDE.nbytes + PAGE)


@pytest.mark.parametrize("kind", ["float64", "compressed"])
def test_a_pass_reads_the_rows_it_needs_in_stretches_and_kept_ones_never_again(pairs, kind, monkeypatch):
    table, coef = open_pair(pairs / kind, keep=False), np.zeros(40)
    coef[[3, 4, 20]] = 1.0
    calls, between = [], table._by_rows.between
    monkeypatch.setattr(table._by_rows, "between", lambda lo, hi: calls.append((lo, hi)) or between(lo, hi))
    out = np.ones(70)
    table.combine(coef, 0, 40, out)
    np.testing.assert_allclose(out, 1 + coef @ X)
    assert calls == [(3, 5), (20, 21)] and table.bill.cells == 3 * 70
    monkeypatch.setattr("hinge.access.tables.table.ROW_BLOCK_CELLS", -(-table.n_cells // 4))
    calls.clear()
    np.testing.assert_allclose(table.responses(np.ones(70), 0, 40), X.sum(axis=1))
    assert calls == [(0, 10), (10, 20), (20, 30), (30, 40)]
    kept = open_pair(pairs / kind)
    kept.responses(np.ones(70), 0, 40)
    read = kept.bill.bytes
    np.testing.assert_allclose(kept.responses(np.ones(70), 0, 40), X.sum(axis=1))
    for j in range(70):
        assert (kept.column(j).values == X[:, j]).all()  # known by its rows
    assert (kept.bill.bytes, kept.bill.cells) == (read, X.size)
    assert (kept.held(np.arange(40)).toarray() == X).all()


@pytest.mark.parametrize("kind", ["float64", "compressed"])
def test_nothing_is_kept_where_nobody_keeps(pairs, kind):
    table = open_pair(pairs / kind, keep=False)
    for _ in range(2):
        table.row(1)
        table.block(np.array([1]), np.array([2]))
    assert table.bill.cells == 2 * 71 and table.bill.distinct == 70
    assert table.held(np.arange(40)).nnz == 0


def test_a_block_of_nothing(pairs):
    table, none = open_pair(pairs / "float64"), np.zeros(0, np.int64)
    assert table.block(none, np.arange(70)).shape == (0, 70) and table.block(np.arange(40), none).shape == (40, 0)
    assert table.bill.cells == table.bill.distinct == table.bill.bytes == 0


def counted(read, calls):
    return lambda fd, size, at: calls.append(size) or read(fd, size, at)


# --- what the system says ----------------------------------------------------------------------


class SystemCounts:
    """Bytes that this process has read, as the kernel counts them."""

    def __init__(self):
        if not Path("/proc/self/io").exists():
            pytest.skip("this system has no /proc/self/io")
        self.fd = os.open("/proc/self/io", os.O_RDONLY)

    def __call__(self):
        text = os.pread(self.fd, 4096, 0)
        asked, from_disk = (int(re.search(rb"%s: (\d+)" % name, text)[1]) for name in (b"rchar", b"read_bytes"))
        return asked, from_disk, len(text)

    def since(self, before):
        asked, from_disk, _ = self()
        return asked - before[0] - before[2], from_disk - before[1]


def exercise(table):
    n, d = table.shape
    rng = np.random.default_rng(0)
    for _ in range(10):
        table.row(int(rng.integers(n)))
        table.column(int(rng.integers(d)))
        table.block(rng.choice(n, 20, replace=False), rng.choice(d, 5, replace=False))
        table.block(rng.choice(n, 3, replace=False), rng.choice(d, 400, replace=False))
    table.responses(np.ones(d), 0, n)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wide", "thin"])
@pytest.mark.parametrize("keep", [True, False])
def test_the_bill_has_the_bytes_that_the_system_was_asked_for(pairs, kind, keep):
    exercise(open_pair(pairs / kind, keep))  # compiled code is loaded from files, too
    table, counts = open_pair(pairs / kind, keep, page_cache=100 * PAGE), SystemCounts()
    opening, before = table.bill.bytes, counts()
    exercise(table)
    assert counts.since(before)[0] == table.bill.bytes - opening > 0
    os.close(counts.fd)


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="the system cannot be told to forget a file")
def test_nothing_is_read_ahead_from_the_disk(pairs):
    counts = SystemCounts()
    exercise(open_pair(pairs / "wide", keep=False))
    for name in ("rows", "columns"):
        fd = os.open(pairs / "wide" / name, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
    table, before = open_pair(pairs / "wide", keep=False), counts()
    for i in range(0, 300, 17):
        table.row(i)
        table.column(9 * i)
    from_disk = counts.since(before)[1]
    os.close(counts.fd)
    if from_disk == 0:
        pytest.skip("this file system does not count what comes from the disk")
    # The system reads the last page of a file whole, and may look up where the pages lie.
    assert table.bill.bytes <= from_disk <= PAGE * table.bill.pages + 8 * PAGE


# --- opening and closing -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["float32", "compressed"])
def test_what_is_cut_short_is_refused(pairs, kind, tmp_path):
    whole_one = pairs / kind
    for path in sorted(whole_one.iterdir()):
        folder = copied(pairs, kind, tmp_path)
        with (folder / path.name).open("r+b") as file:
            file.truncate(path.stat().st_size - 1)
        if path.name != HEADER:
            with pytest.raises(ValueError, match=rf"{path.name} has \d+ bytes, but the header says"):
                open_pair(folder)
            (folder / path.name).unlink()
            with pytest.raises(ValueError, match=f"{path.name} is missing"):
                open_pair(folder)
        shutil.rmtree(folder)


def test_damaged_pointers_are_refused(pairs, tmp_path):
    folder = copied(pairs, "compressed", tmp_path)
    path = folder / "columns.indptr"
    starts = np.fromfile(path, "<i8")
    for k, value in ((0, 1), (3, -5), (-1, 10**6)):
        broken = starts.copy()
        broken[k] = value
        broken.tofile(path)
        with pytest.raises(ValueError, match=r"columns.indptr is damaged"):
            open_pair(folder)

    starts[[3, 4]] = (1 << 63) - 1, -(1 << 63)  # whose difference is 1, in 64 bits
    starts.tofile(path)
    with pytest.raises(ValueError, match=r"columns.indptr is damaged"):
        open_pair(folder)


READS = {
    "row": lambda table: [table.row(i) for i in range(40)],
    "column": lambda table: [table.column(j) for j in range(70)],
    "block": lambda table: table.block(np.arange(40), np.arange(70)),
    "responses": lambda table: table.responses(np.ones(70), 0, 40),
    "combine": lambda table: table.combine(np.ones(40), 0, 40, np.zeros(70)),
}


@pytest.mark.slow
@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("value", [-1, 70, 1 << 30, "the one before"])
def test_damaged_indices_are_refused_when_they_are_read(pairs, tmp_path, read, value, keep):
    folder = copied(pairs, "compressed", tmp_path)
    for way in ("rows", "columns"):
        index = np.fromfile(folder / f"{way}.indices", "<i4")
        index[5] = index[4] if value == "the one before" else value
        index.tofile(folder / f"{way}.indices")
    with pytest.raises(ValueError, match=r"indices is damaged: write the pair again"):
        READS[read](open_pair(folder, keep))


@pytest.mark.slow
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("kind", ["float32", "float64", "compressed"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused_when_they_are_read(pairs, tmp_path, kind, read, value):
    folder = copied(pairs, kind, tmp_path)
    dtype = "<f4" if kind == "float32" else "<f8"
    for name in ("rows.values", "columns.values") if kind == "compressed" else ("rows", "columns"):
        cells = np.fromfile(folder / name, dtype)
        cells[5] = value
        cells.tofile(folder / name)
    with pytest.raises(ValueError, match="cells that are not finite numbers: write the pair again"):
        READS[read](open_pair(folder))


def test_pickles_by_folder(pairs):
    table = open_pair(pairs / "float64", keep=False, prices=np.arange(70), page_cache=5 * PAGE)
    table.max_reads = 1000
    table.row(3)
    data = pickle.dumps(table)
    assert len(data) < 3000
    again = pickle.loads(data)
    assert isinstance(again, DiskTable) and again.bill.bytes == again.reads == 0
    assert (again.keep, again.max_reads, again._recent.budget) == (False, 1000, 5 * PAGE)
    assert (again.row(3).values == X[3]).all() and again.bill.cost == np.arange(70).sum()


PER_PAGE = PAGE // 4


# --- what is read ------------------------------------------------------------------------------


def pages_between(begin, end):
    return end // PAGE - begin // PAGE + (end % PAGE > 0)


def test_lines_are_billed_by_their_pages(pairs):
    table = open_pair(pairs / "wide", page_cache=1 << 20)
    table.row(1)
    assert (table.bill.pages, table.bill.bytes) == (4, 4 * PAGE)  # bytes 12,000 to 24,000
    table.row(2)
    assert table.bill.pages == pages_between(12000, 36000)  # they share a page
    table = open_pair(pairs / "wide")
    table.column(2999)
    size = 4 * WIDE.size
    assert table.bill.pages == pages_between(size - 1200, size)
    assert table.bill.bytes == size - (size - 1200) // PAGE * PAGE  # the last page is not whole
    before = table.bill.bytes
    assert (table.column(2999).values == WIDE[:, 2999]).all() and table.bill.bytes == before


def test_cells_are_read_from_their_pages_and_runs_at_once(pairs, monkeypatch):
    table, calls = open_pair(pairs / "wide", keep=False, page_cache=1 << 20), []
    read = page_file.PageFile._read
    monkeypatch.setattr(
        page_file.PageFile, "_read", lambda self, at, size: calls.append((at, size)) or read(self, at, size)
    )
    columns = np.array([2900, 0, PER_PAGE - 1, PER_PAGE])  # of row 0: pages 2, 0, 0, 1
    assert (table.block(np.array([0]), columns) == WIDE[0, columns]).all()
    assert calls == [(0, 3 * PAGE)]
    assert (table.bill.bytes, table.bill.pages) == (3 * PAGE, 3)
    calls.clear()
    assert (table.block(np.array([100]), np.array([10, 2500, 11])) == WIDE[100, [10, 2500, 11]]).all()
    first = 4 * 3000 * 100
    assert calls == [((first + 40) // PAGE * PAGE, PAGE), ((first + 10000) // PAGE * PAGE, PAGE)]
    calls.clear()
    assert (table.block(np.array([0]), columns) == WIDE[0, columns]).all()
    assert not calls and table.bill.pages == 5  # recent pages


def test_recent_pages_are_not_read_again(pairs):
    table = open_pair(pairs / "wide", keep=False, page_cache=1 << 20)
    table.block(np.arange(10), np.array([1]))
    once = table.bill.bytes
    table.block(np.arange(10, 20), np.array([1]))  # in the page of the column that was read
    assert table.bill.bytes == once and table.bill.cells == 20
    forgetful = open_pair(pairs / "wide", keep=False, page_cache=0)
    forgetful.block(np.arange(10), np.array([1]))
    forgetful.block(np.arange(10), np.array([1]))
    assert forgetful.bill.bytes == 2 * once


# --- opening and closing -----------------------------------------------------------------------


def test_a_file_that_shrinks_while_open(pairs, tmp_path):
    folder = copied(pairs, "wide", tmp_path)
    table = open_pair(folder)
    os.truncate(folder / "rows", 5000)
    with pytest.raises(OSError, match="was cut short while it was open"):
        table.row(299)


def open_files():
    if not Path("/proc/self/fd").exists():
        pytest.skip("this system does not list open files")
    return {os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if fd_exists(fd)}


def fd_exists(fd):
    return os.path.lexists(f"/proc/self/fd/{fd}")


@pytest.mark.slow
def test_files_are_closed(pairs, tmp_path):
    folder = copied(pairs, "compressed", tmp_path)
    table = open_pair(folder)
    table.row(0)
    assert any(str(folder) in name for name in open_files())
    del table
    gc.collect()
    assert not any(str(folder) in name for name in open_files())
    table = open_pair(folder)
    kept = table.row(0)
    table.close()
    assert not any(str(folder) in name for name in open_files())
    assert (whole(table.row(0), 70) == whole(kept, 70)).all()
    table.close()


# --- the cache of pages ------------------------------------------------------------------------


def array(k, nbytes=10):
    return np.full(nbytes, k, np.uint8)


def test_what_was_not_used_for_longest_goes_first():
    recent = Recent(30)
    for k in range(3):
        recent.put(k, array(k))
    assert (recent.get(0) == 0).all()
    recent.put(3, array(3))
    assert [k in recent for k in range(4)] == [True, False, True, True]
    assert recent.get(1) is None
    assert recent.nbytes == 30
    recent.put(4, array(4, 25))
    assert [k for k in range(5) if k in recent] == [4]
    assert recent.nbytes == 25


def test_an_array_may_be_replaced_or_too_large():
    recent = Recent(30)
    recent.put("a", array(1, 20))
    recent.put("a", array(2, 5))
    assert (recent.nbytes, int(recent.get("a")[0])) == (5, 2)
    recent.put("b", array(3, 31))
    assert "b" not in recent and "a" in recent
    recent.put("a", array(4, 31))
    assert "a" not in recent and recent.nbytes == 0
    with pytest.raises(ValueError, match="number of bytes"):
        Recent(-1)
