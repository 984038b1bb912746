import gc
import os
from pathlib import Path

import numpy as np
import pytest
from access.two_way.made_up import WIDE, copied
from read_sequences import whole

from hinge.access.tables.bill import PAGE
from hinge.access.two_way import pages as page_file
from hinge.access.two_way.reader import open_pair

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
    table, calls = open_pair(pairs / "wide", page_cache=1 << 20), []
    read = page_file.PageFile._read
    monkeypatch.setattr(
        page_file.PageFile, "_read", lambda self, at, size: calls.append((at, size)) or read(self, at, size)
    )
    columns = np.array([2900, 0, PER_PAGE - 1, PER_PAGE])  # of row 0: pages 2, 0, 0, 1
    assert (table._fetch_cells(0, columns) == WIDE[0, columns]).all()
    assert calls == [(0, 3 * PAGE)]
    assert (table.bill.bytes, table.bill.pages) == (3 * PAGE, 3)
    calls.clear()
    assert (table._fetch_cells(100, np.array([10, 2500, 11])) == WIDE[100, [10, 2500, 11]]).all()
    first = 4 * 3000 * 100
    assert calls == [((first + 40) // PAGE * PAGE, PAGE), ((first + 10000) // PAGE * PAGE, PAGE)]
    calls.clear()
    assert (table._fetch_cells(0, columns) == WIDE[0, columns]).all()
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
