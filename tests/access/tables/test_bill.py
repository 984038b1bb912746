"""The account of reads."""

import numpy as np
import pytest

from hinge.access.tables.table import FEW, PAGE, Bill, _bits_of, _words_of, pages_of


def brute(bill):
    """Which cells a bill takes for read, one by one."""
    return np.array([~bill.missing(i, np.arange(bill.d)) for i in range(bill.n)])


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 63, 64, 65, 130])
def test_distinct_cells_are_exact(d):
    rng = np.random.default_rng(d)
    bill, read = Bill(8, d), np.zeros((8, d), bool)
    assert bill.distinct == 0
    for step in range(12):
        if step % 4 == 1:
            i = int(rng.integers(8))
            bill.whole_rows[i] = read[i] = True
        elif step % 4 == 2:
            j = int(rng.integers(d))
            bill.whole_columns[j] = read[:, j] = True
        else:
            rows, columns = rng.integers(8, size=2), rng.integers(d, size=3)
            bill.mark(rows, columns)
            read[np.ix_(rows, columns)] = True
        assert bill.distinct == read.sum()
        assert (brute(bill) == read).all()
        rows, columns = rng.permutation(8)[:5], rng.permutation(d)[:40]
        assert (bill.missing(rows[:, None], columns) == ~read[np.ix_(rows, columns)]).all()
        for j in range(d):
            assert (bill.missing(slice(None), j) == ~read[:, j]).all()


@pytest.mark.parametrize("d", [1, 64, 1000, 4097, 20_000])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_few_columns_have_the_words_of_the_plain_way(d, dtype):
    rng = np.random.default_rng(d)
    for size in (0, 1, 2, d // FEW, d // FEW + 1, d // 3, d):
        columns = rng.integers(d, size=size).astype(dtype)  # in any order, some of them twice
        flags = np.zeros(d, bool)
        flags[columns] = True
        plain = _bits_of(flags)
        at, mask = _words_of(columns, d)
        assert len(at) <= max(size, len(plain) * (size * FEW > d))
        assert (np.diff(at) > 0).all()
        words = np.zeros_like(plain)
        words[at] = mask
        assert (words == plain).all()


@pytest.mark.parametrize("size", [3, 5000 // FEW, 5000 // FEW + 1, 2000])
def test_counts_of_few_and_of_many_columns_are_exact(size):
    rng = np.random.default_rng(size)
    bill, read = Bill(6, 5000), np.zeros((6, 5000), bool)
    bill.whole_rows[4] = read[4] = True
    bill.whole_columns[::7] = read[:, ::7] = True
    for _ in range(8):
        rows, columns = rng.permutation(6)[:3], rng.permutation(5000)[:size]
        before = bill.cells
        bill.charge_block(rows, columns, 0, keep=True)
        assert bill.cells - before == (~read[np.ix_(rows, columns)]).sum()
        bill.mark(rows, columns)
        read[np.ix_(rows, columns)] = True
        assert bill.distinct == read.sum()
    assert (brute(bill) == read).all()


def test_blocks_are_free_where_they_were_read():
    prices = np.array([1.0, 10.0, 100.0, 0.0])
    for given in (None, prices):
        bill = Bill(3, 4, given)
        rows, columns = np.array([0, 2]), np.array([3, 1])
        bill.charge_block(rows, columns, 4, keep=True)
        bill.mark(rows, columns)
        bill.charge_block(np.array([0, 1]), np.array([1, 2]), 0, keep=True)
        assert (bill.cells, bill.nonzeros) == (7, 4)
        assert bill.cost == (7.0 if given is None else 20.0 + 100.0 + 110.0)
        bill.charge_block(rows, columns, 4, keep=False)
        assert (bill.cells, bill.nonzeros) == (11, 8)
        assert bill.distinct == 4  # nothing was marked since


def test_prices():
    bill = Bill(5, 3, [1, 2, 4])
    assert bill.row_price == 7.0
    assert bill.price_of(np.array([2, 0])) == 5.0
    assert Bill(5, 3).row_price == 3.0
    assert Bill(5, 3).price_of(np.array([2, 0])) == 2.0
    for bad in ([1, 2], [1, 2, -1], [1, 2, np.nan], [[1, 2, 3]], [1, 2, np.inf]):
        with pytest.raises(ValueError, match="3 finite numbers"):
            Bill(5, 3, bad)


def test_what_was_moved_adds_up():
    bill = Bill(2, 2)
    bill.moved(100, 1)
    bill.moved(np.int64(5000), np.int64(2))
    assert (bill.bytes, bill.pages) == (5100, 3)
    assert type(bill.bytes) is int


def test_a_fork_is_empty():
    bill = Bill(4, 3, [1, 2, 3])
    bill.charge(5, 4, 9.5)
    bill.moved(1, 1)
    bill.mark(np.array([1]), np.array([2]))
    other = bill.fork()
    assert (other.cells, other.nonzeros, other.bytes, other.pages, other.cost) == (0, 0, 0, 0, 0.0)
    assert other.distinct == 0 and bill.distinct == 1
    assert (other.prices == [1, 2, 3]).all()


@pytest.mark.parametrize(
    ("address", "nbytes", "pages"),
    [
        (0, 0, 0),
        (5, 0, 0),
        (0, 1, 1),
        (0, PAGE, 1),
        (0, PAGE + 1, 2),
        (PAGE - 1, 1, 1),
        (PAGE - 1, 2, 2),
        (3 * PAGE + 7, 2 * PAGE, 3),
    ],
)
def test_pages_of(address, nbytes, pages):
    assert pages_of(address, nbytes) == pages
    touched = {byte // PAGE for byte in range(address, address + nbytes)}
    assert len(touched) == pages
