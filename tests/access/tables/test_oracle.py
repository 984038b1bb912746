import itertools
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from access.tables.made_up import written_out
from hypothesis import given, settings
from hypothesis import strategies as st

from hinge.access import as_table
from hinge.access.tables.calls import line_of, numbers
from hinge.access.tables.oracle import FeatureOracle, Oracle, OracleError, OutOfBudget, as_oracle
from hinge.access.tables.table import EVERYWHERE, Line

N, D = 7, 10
RNG = np.random.default_rng(5)
A = np.round(8 * RNG.standard_normal((N, D))) / 8
A[RNG.random(A.shape) < 0.4] = 0.0
A[3] = 0.0
A[:, 6] = 0.0
PRICES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 1.0, 2.0, 3.0, 0.0, 0.7])


class Lines:
    """Whole rows and columns of A, in one of the forms that are allowed; calls are noted."""

    shape = (N, D)

    def __init__(self, form="list"):
        self.form, self.log = form, []

    def given(self, x):
        at = np.flatnonzero(x)[::-1]
        return {
            "list": lambda: x.tolist(),
            "array": lambda: x.astype(np.float32),
            "decimals": lambda: [Decimal(str(v)) for v in x],
            "series": lambda: pd.Series(x, index=np.arange(len(x))[::-1]),
            "pair": lambda: (at, x[at]),
            "lists": lambda: (at.tolist(), x[at].tolist()),
            "row matrix": lambda: sp.csr_matrix(x[None]),
            "column array": lambda: sp.csc_array(x[:, None]),
            "vector": lambda: sp.coo_array(x),
            "line": lambda: Line(EVERYWHERE, x),
        }[self.form]()

    def row(self, i):
        assert type(i) is int
        self.log.append(("row", i))
        return self.given(A[i])

    def column(self, j):
        assert type(j) is int
        self.log.append(("column", j))
        return self.given(A[:, j])


class Seller(Lines):
    """One that sells single cells too, at prices."""

    prices = PRICES

    def cells(self, i, columns):
        assert type(columns) is list and all(type(j) is int for j in (i, *columns))
        self.log.append(("cells", i, tuple(columns)))
        return A[i, columns]


class Database:
    """A table of SQLite: a column for each feature."""

    def __init__(self, connection):
        self.connection = connection
        self.names = [row[1] for row in self.ask("PRAGMA table_info(tests)")][1:]
        self.shape = self.ask("SELECT COUNT(*) FROM tests")[0][0], len(self.names)
        self.prices = [price for (price,) in self.ask("SELECT price FROM prices ORDER BY feature")]

    def ask(self, query, *values):
        return self.connection.execute(query, values).fetchall()

    def row(self, i):
        return self.cells(i, range(self.shape[1]))

    def column(self, j):
        return [x for (x,) in self.ask(f"SELECT {self.names[j]} FROM tests ORDER BY patient")]

    def cells(self, i, columns):
        names = ", ".join(self.names[j] for j in columns)
        return self.ask(f"SELECT {names} FROM tests WHERE patient = ?", i)[0]


@pytest.fixture
def database():
    connection = sqlite3.connect(":memory:")
    columns = ", ".join(f"f{j} REAL" for j in range(D))
    connection.execute(f"CREATE TABLE tests (patient INTEGER PRIMARY KEY, {columns})")
    rows = [(i, *A[i].tolist()) for i in range(N)]
    connection.executemany(f"INSERT INTO tests VALUES ({', '.join('?' * (D + 1))})", rows)
    connection.execute("CREATE TABLE prices (feature INTEGER, price REAL)")
    connection.executemany("INSERT INTO prices VALUES (?, ?)", list(enumerate(PRICES.tolist())))
    yield Database(connection)
    connection.close()


def quick(oracle, **settings):
    return Oracle(oracle, wait=0.0, **settings)


# --- every verb gives what the matrix has -----------------------------------------------------


def test_a_database(database):
    table = Oracle(database)
    assert isinstance(database, FeatureOracle) and table.shape == (N, D) and table.sells_cells
    rows, columns = np.array([5, 0, 3]), np.array([9, 2])
    w = RNG.standard_normal(D)
    assert (table.block(rows, columns) == A[np.ix_(rows, columns)]).all()
    assert table.bill.cells == 6 and table.bill.cost == pytest.approx(3 * (0.7 + 0.3))
    for i in range(N):
        assert (written_out(table.row(i), D) == A[i]).all()
    for j in range(D):
        assert (table.column(j).values == A[:, j]).all()
    np.testing.assert_allclose(table.dot(rows, columns, w[columns]), A[np.ix_(rows, columns)] @ w[columns])
    np.testing.assert_allclose(table.responses(w, 1, 5), A[1:5] @ w)
    np.testing.assert_allclose(table.responses_at(rows, w), A[rows] @ w)
    out = np.zeros(D)
    table.combine(w[:4], 2, 6, out)
    np.testing.assert_allclose(out, A[2:6].T @ w[:4])
    assert (table.held(rows).toarray() == A[rows]).all()
    assert table.bill.cells == table.bill.distinct == N * D
    assert table.bill.cost == pytest.approx(N * PRICES.sum())
    assert table.bill.nonzeros == np.count_nonzero(table.held(np.arange(table.n)).data) == np.count_nonzero(A)
    assert table.calls == len(rows) + N and table.bill.bytes == 8 * N * D  # by rows, each cell once


FORMS = ["list", "array", "decimals", "series", "pair", "lists", "row matrix", "column array", "vector", "line"]


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_a_line(form):
    table = Oracle(Lines(form))
    for j in (1, 6):
        assert (table.column(j).values == A[:, j]).all()
    for i in range(N):
        assert (written_out(table.row(i), D) == A[i]).all()
    assert table.calls == N + 2 and table.bill.distinct == N * D
    assert table.bill.cells == N * D + 2 * N  # the columns came again within the rows, and the seller charged for them


def test_two_numbers_are_no_pair():
    assert line_of((3.0, 4.0), 2).values.tolist() == [3.0, 4.0]
    line = line_of(([1], [4.0]), 2)
    assert (line.at.tolist(), line.values.tolist()) == ([1], [4.0])


VERBS = st.lists(
    st.one_of(
        st.tuples(st.just("row"), st.integers(0, N - 1)),
        st.tuples(st.just("column"), st.integers(0, D - 1)),
        st.tuples(
            st.just("block"),
            st.lists(st.integers(0, N - 1), min_size=1, max_size=4, unique=True),
            st.lists(st.integers(0, D - 1), min_size=1, max_size=4, unique=True),
        ),
    ),
    max_size=10,
)


def price_of(mask):
    return float((mask @ PRICES).sum())


@pytest.mark.slow
@settings(max_examples=60)
@given(VERBS, st.booleans(), st.sampled_from(["list", "pair"]), st.integers(0, 10))
def test_any_sequence_of_verbs(tmp_path_factory, verbs, cells, form, restart):
    """Against a mask of the known cells: values, bill, and nothing asked for that is known."""
    folder = tmp_path_factory.mktemp("cache")
    seller = Seller(form) if cells else Lines(form)
    table = Oracle(seller, prices=PRICES, cache=folder, name="it")
    known, paid = np.zeros((N, D), bool), np.zeros((N, D), int)
    for k, (verb, *what) in enumerate(verbs):
        if k == restart:
            table.close()
            table = Oracle(seller, prices=PRICES, cache=folder, name="it")
            assert table.recovered == table.bill.distinct == known.sum()
            assert (table.held(np.arange(N)).toarray() == np.where(known, A, 0)).all()
            assert table.bill.cells == table.bill.cost == table.bill.nonzeros == 0
            paid[:] = 0
        asked, before = np.zeros((N, D), bool), len(seller.log)
        if verb == "block":
            rows, columns = (np.array(k) for k in what)
            assert (table.block(rows, columns) == A[np.ix_(rows, columns)]).all()
            asked[np.ix_(rows, columns)] = True
            if not cells:  # whole rows, wherever something is missing
                asked[(asked & ~known).any(axis=1)] = True
        else:
            (k,) = what
            line = table.row(k) if verb == "row" else table.column(k)
            assert (written_out(line, D if verb == "row" else N) == (A[k] if verb == "row" else A[:, k])).all()
            asked[(k,) if verb == "row" else (slice(None), k)] = True
        fresh = asked & ~known
        assert len(seller.log) - before == (fresh.any() if verb != "block" else fresh.any(axis=1).sum())
        for call, *of in seller.log[before:]:
            if call == "cells":
                assert fresh[of[0], list(of[1])].all()
                paid[of[0], list(of[1])] += 1
            else:
                paid[(of[0],) if call == "row" else (slice(None), of[0])] += 1
        known |= asked
        assert table.bill.distinct == known.sum() and table.bill.cells == paid.sum()
        assert table.bill.nonzeros == paid[A != 0].sum()
        assert table.bill.cost == pytest.approx(price_of(paid))
    assert (table.held(np.arange(N)).toarray() == np.where(known, A, 0)).all()
    table.close()


def test_what_is_asked_for():
    seller = Seller()
    table = Oracle(seller)
    table.block(np.array([1]), np.array([3, 5]))
    table.row(1)
    table.column(5)
    table.column(5)
    table.row(2)
    table.block(np.array([4]), np.arange(D))
    rest = tuple(j for j in range(D) if j not in (3, 5))
    others = tuple(j for j in range(D) if j != 5)
    assert seller.log == [
        ("cells", 1, (3, 5)),
        ("cells", 1, rest),
        ("column", 5),
        ("cells", 2, others),
        ("cells", 4, others),
    ]
    seller = Lines()
    table = Oracle(seller)
    table.block(np.array([1, 4]), np.array([3]))
    table.row(1)
    table.column(3)
    assert seller.log == [("row", 1), ("row", 4), ("column", 3)] and not table.sells_cells
    assert table.bill.cells == 2 * D + N and table.bill.bytes == 8 * (2 * D + N)


@pytest.mark.parametrize("form", ["list", "pair"])
def test_a_column_known_by_rows_is_not_asked_for(form):
    table = Oracle(Seller(form))
    for i in range(N):
        table.row(i)
    for j in range(D):
        assert (table.column(j).values == A[:, j]).all()
    assert table.calls == N and table.bill.cells == N * D


def test_a_block_of_nothing():
    table, none = Oracle(Seller()), np.zeros(0, np.int64)
    assert table.block(none, np.arange(D)).shape == (0, D) and table.block(np.arange(N), none).shape == (N, 0)
    assert table.bill.cells == table.bill.distinct == table.calls == 0


def test_the_first_value_stays():
    class Moods:
        shape = (3, 4)

        def __init__(self):
            self.count = 0

        def row(self, i):
            self.count += 1
            return [self.count % 3] * 4

        def column(self, j):
            return self.row(j)[:3]

    table = Oracle(Moods())
    first, then = written_out(table.row(0), 4), table.column(1).values.copy()
    assert first.tolist() == [1] * 4 and then.tolist() == [1, 2, 2]
    assert written_out(table.row(1), 4).tolist() == [0, 2, 0, 0]
    assert written_out(table.row(0), 4).tolist() == [1] * 4 and table.column(1).values.tolist() == [1, 2, 2]
    assert table.column(0).values.tolist() == [1, 0, 1]
    whole = [[1, 1, 1, 1], [0, 2, 0, 0]]
    assert table.block(np.array([0, 1]), np.arange(4)).tolist() == whole
    assert [written_out(table.row(i), 4).tolist() for i in range(2)] == whole


def test_cells_that_are_not_there():
    table = Oracle(Seller())
    for rows, columns, what in (([0, N], [0], "row 7"), ([-1], [0], "row -1"), ([0], [3, D], "column 10")):
        with pytest.raises(IndexError, match=f"There is no {what}:"):
            table.block(np.array(rows), np.array(columns))
    for read, k, what in ((table.row, N, "row 7: the matrix has 7"), (table.column, -1, "column -1")):
        with pytest.raises(IndexError, match=f"There is no {what}"):
            read(k)
    assert table.calls == 0


def test_threads_pay_once():
    class Slow(Seller):
        def row(self, i):
            time.sleep(0.002)
            return super().row(i)

    seller = Slow()
    table = Oracle(seller)
    threads = [threading.Thread(target=lambda: [table.row(i) for i in range(N)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seller.log) == N and table.bill.cells == N * D


# --- budgets ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("cells", [True, False])
@pytest.mark.parametrize("budget", [0, 1, 9, 10, 11, 25, 69, 70])
def test_a_read_budget_is_exact(cells, budget):
    table = Oracle(Seller() if cells else Lines(), max_reads=budget)
    for i in range(N):
        fits = table.bill.cells + D <= budget
        if fits:
            table.row(i)
            continue
        before, calls = table.bill.cells, table.calls
        with pytest.raises(OutOfBudget, match=f"Row {i} was not asked for: it would take 10 more, and "):
            table.row(i)
        assert (table.bill.cells, table.calls) == (before, calls)
    left = budget - table.bill.cells
    row = min(N - 1, budget // D)
    if cells and left:
        table.block(np.array([row]), np.arange(left))  # the last cell of the budget can be had
        assert table.bill.cells == table.bill.distinct == budget
    assert table.bill.cells <= budget
    table.block(np.arange(budget // D), np.arange(D))  # what is known is free


def test_columns_have_a_budget():
    table = Oracle(Seller(), max_reads=2 * N - 1)
    table.column(0)
    sentence = (
        "Column 1 was not asked for: it would take 7 more, and 7 is spent of the budget of 13 cells. "
        "Raise the budget to go on; what was paid for is kept."
    )
    with pytest.raises(OutOfBudget) as said:
        table.column(1)
    assert str(said.value) == sentence and isinstance(said.value, RuntimeError)
    table.max_reads += 1
    table.column(1)
    assert table.bill.cells == 2 * N


def test_a_cost_budget_is_exact():
    bought = 0
    table = Oracle(Lines(), prices=np.full(D, 0.1), max_cost=3.0)
    for i in range(N):
        try:
            table.row(i)
            bought += 1
        except OutOfBudget as error:
            assert "it would take 1 more, and 3 is spent of the budget of a cost of 3" in str(error)
    assert bought == 3 and table.bill.cost == pytest.approx(3.0)
    table = Oracle(Seller(), max_cost=2.9)  # prices of the oracle
    with pytest.raises(OutOfBudget, match="Row 0"):
        table.block(np.array([0]), np.array([7]))
    table.block(np.array([0]), np.array([6, 1, 0, 4]))  # 2.8
    with pytest.raises(OutOfBudget):
        table.block(np.array([1]), np.array([1]))
    table.block(np.array([1]), np.array([0, 8]))  # one at 0.1, one for nothing
    assert table.bill.cost == pytest.approx(2.9)


def test_a_block_is_bought_as_far_as_the_budget_goes():
    table = Oracle(Seller(), max_reads=5)
    with pytest.raises(OutOfBudget, match="Row 2"):
        table.block(np.arange(3), np.array([1, 2]))
    assert table.bill.cells == table.bill.distinct == 4
    assert (table.block(np.arange(2), np.array([1, 2])) == A[:2, 1:3]).all()
    assert table.calls == 2


# --- what goes wrong --------------------------------------------------------------------------


class Flaky(Seller):
    """Fails at some of its calls, in some way."""

    def __init__(self, fails, how=None):
        super().__init__()
        self.fails, self.how, self.count = set(fails), how, 0

    def given(self, x):
        self.count += 1
        if self.count - 1 not in self.fails:
            return x.tolist()
        if self.how is None:
            raise ConnectionError("the line is dead")
        return self.how(x.tolist())

    def cells(self, i, columns):
        super().cells(i, columns)
        return self.given(A[i, columns])


def test_calls_are_made_again():
    seller = Flaky([0, 1, 2, 4])
    table = quick(seller)
    assert (written_out(table.row(2), D) == A[2]).all()
    assert table.calls == seller.count == 4 and table.bill.cells == D  # what failed is not billed
    table.column(1)
    table.block(np.array([0]), np.array([2, 3]))
    assert table.calls == seller.count == 7


@pytest.mark.parametrize("retries", [0, 1, 4])
def test_the_number_of_calls(retries):
    seller = Flaky(range(100))
    table = quick(seller, retries=retries)
    tries = {0: "one call", 1: "2 calls", 4: "5 calls"}[retries]
    with pytest.raises(OracleError, match=f"Column 3 of Flaky could not be had in {tries}; .*line is dead") as said:
        table.column(3)
    assert seller.count == table.calls == retries + 1
    assert isinstance(said.value.__cause__, ConnectionError) and isinstance(said.value, RuntimeError)
    assert table.bill.cells == table.bill.distinct == 0 and table.bill.cost == 0


def test_waits_are_doubled(monkeypatch):
    waits = []
    monkeypatch.setattr("hinge.access.tables.calls.time.sleep", waits.append)
    with pytest.raises(OracleError):
        Oracle(Flaky(range(100)), retries=4, wait=0.25).row(0)
    assert waits == [0.25, 0.5, 1.0, 2.0]


def changed(k, v):
    return lambda x: [*x[:k], v, *x[k + 1 :]]


BAD = {
    "value 2 of [0-9]+ is nan, not a finite number": changed(2, float("nan")),
    "value 1 of [0-9]+ is -inf, not a finite number": changed(1, -float("inf")),
    "[0-9]+ values came, not": lambda x: x[:-1],
    "[0-9]+ values came, not .*": lambda x: [*x, 0.0],
    "0 values came": lambda x: [],
    "not all of its values are numbers": changed(0, None),
    "not all of its values are numbers.": changed(0, "1"),
    "not all of its values are numbers..": lambda x: np.ma.masked_equal(x, x[0]),
    "not all of its values are numbers...": lambda x: np.array(x, complex),
    "a NoneType came, which is no sequence of numbers": lambda x: None,
    "a list came, which is no sequence of numbers": lambda x: [x],
    "a str came": lambda x: "1, 2",
}
BAD_LINES = {
    "position 10 is not one of 0 to 9": lambda x: ([10, 1], [1.0, 2.0]),
    "position -1 is not one of 0 to 9": lambda x: ([-1, 1], [1.0, 2.0]),
    "its positions are not whole numbers": lambda x: ([0.5], [1.0]),
    "a position comes twice": lambda x: ([1, 1], [1.0, 2.0]),
    "1 values came, not 2": lambda x: ([1, 2], [2.0]),
    "value 0 of 1 is nan": lambda x: ([1], [np.nan]),
    r"a sparse vector of shape \(1, 11\) came": lambda x: sp.csr_array([[*x, 1.0]]),
    "value 0 of 1 is inf": lambda x: sp.csr_array(([np.inf], ([0], [3])), shape=(1, D)),
}


@pytest.mark.slow
@pytest.mark.parametrize(("sentence", "how"), (BAD | BAD_LINES).items())
def test_rows_that_are_none(sentence, how):
    table = quick(Flaky([0, 1, 2], how), retries=1)
    with pytest.raises(OracleError, match=rf"Row 5 of Flaky could not be had .* ValueError: {sentence}"):
        table.row(5)
    assert table.bill.distinct == table.bill.cells == 0 and table.held(np.arange(N)).nnz == 0
    assert (written_out(table.row(5), D) == A[5]).all() and table.calls == 4


@pytest.mark.parametrize(("sentence", "how"), BAD.items())
def test_columns_and_cells_that_are_none(sentence, how):
    table = quick(Flaky([1, 3], how), retries=0)
    table.block(np.array([4]), np.array([7]))
    with pytest.raises(OracleError, match=f"Column 7 of Flaky .*{sentence}"):
        table.column(7)
    table.column(7)
    with pytest.raises(OracleError, match=f"Row 4 of Flaky .*{sentence}"):
        table.block(np.array([4]), np.array([1, 2, 3, 4]))
    assert table.bill.cells == N + 1 and table.bill.distinct == N
    assert (table.block(np.array([4]), np.array([1, 2])) == A[4, 1:3]).all()


def test_sums_in_no_float():
    with pytest.raises(OverflowError):
        numbers([10**400], 1)
    assert numbers([True, np.int8(3), 2**70], 3).tolist() == [1.0, 3.0, 2.0**70]


@pytest.mark.parametrize("cells", [True, False])
def test_what_was_paid_for_before_a_failure_is_kept(tmp_path, cells):
    rows, columns = np.array([6, 2, 4]), np.array([1, 8, 5])
    kind = Flaky if cells else type("Flaky", (Flaky,), {"cells": None})
    table = quick(kind([2]), retries=0, cache=tmp_path)
    with pytest.raises(OracleError, match="Row 4 of Flaky"):
        table.block(rows, columns)
    paid = 6 if cells else 2 * D
    assert table.bill.cells == table.bill.distinct == paid
    assert (table.block(rows, columns) == A[np.ix_(rows, columns)]).all()
    assert table.calls == 4 and table.bill.cells == paid * 3 // 2
    table.close()
    again = quick(kind([0]), retries=0, cache=tmp_path)
    assert (again.block(rows, columns) == A[np.ix_(rows, columns)]).all()
    assert again.calls == 0 and again.recovered == paid * 3 // 2


# --- time and interrupts ----------------------------------------------------------------------


@pytest.mark.slow
def test_a_call_that_takes_too_long():
    free = threading.Event()

    class Stuck(Lines):
        def row(self, i):
            threads.append(threading.current_thread())
            if len(threads) <= 2:
                free.wait(30)
                return [0.0] * D  # too late: nobody takes it
            return super().row(i)

    threads = []
    table = quick(Stuck(), timeout=0.2, retries=1)
    began = time.perf_counter()
    with pytest.raises(OracleError, match=r"Row 1 of .*Stuck .*TimeoutError: no answer within 0\.2 seconds"):
        table.row(1)
    assert 0.4 <= time.perf_counter() - began < 10
    assert table.bill.cells == 0
    assert all(thread.is_alive() and thread.daemon for thread in threads)
    free.set()
    for thread in threads:
        thread.join()
    assert (written_out(table.row(1), D) == A[1]).all()


def test_errors_come_out_of_the_thread():
    table = quick(Flaky([0, 1]), timeout=30, retries=1)
    with pytest.raises(OracleError, match="line is dead"):
        table.row(0)
    assert (written_out(table.row(0), D) == A[0]).all()


@pytest.mark.parametrize("buy", [lambda t: t.row(2), lambda t: t.column(1), lambda t: t.block([2], [0, 1])])
@pytest.mark.usefixtures("interruptible")
def test_what_was_paid_for_is_known_whenever_ctrl_c_comes(tmp_path, monkeypatch, buy):
    table = Oracle(Seller(), cache=tmp_path)
    keep = table._store.keep

    def pressed(*record):
        signal.raise_signal(signal.SIGINT)
        keep(*record)

    monkeypatch.setattr(table._store, "keep", pressed)
    with pytest.raises(KeyboardInterrupt):
        buy(table)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    calls = table.calls
    buy(table)
    assert table.calls == calls == 1
    assert table.bill.cells == table.bill.distinct > 0


@pytest.mark.parametrize("timeout", [None, 30])
@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_is_not_tried_again(tmp_path, timeout, interrupt):
    class Pressed(Lines):
        def row(self, i):
            if i == 2:
                self.log.append(i)
                raise interrupt
            return super().row(i)

    seller = Pressed()
    table = quick(seller, timeout=timeout, cache=tmp_path)
    with pytest.raises(interrupt):
        table.responses(np.ones(D), 0, N)
    assert len(seller.log) == table.calls == 3 and table.bill.cells == 2 * D
    table.close()
    assert quick(seller, cache=tmp_path).recovered == 2 * D


# --- the cache --------------------------------------------------------------------------------


@pytest.mark.slow
def test_another_process_pays_nothing_twice(tmp_path):
    code = """
        import logging, os, sys
        import numpy as np
        logging.getLogger("hinge").setLevel("ERROR")  # on a busy machine it says that it is compiling
        from hinge.access.tables.oracle import Oracle

        class Grid:
            shape = (30, 20)
            calls = 0
            def row(self, i):
                return self.cells(i, range(20))
            def cells(self, i, columns):
                Grid.calls += 1
                if Grid.calls == int(sys.argv[2]):
                    os.kill(os.getpid(), 9)
                return [(i * j) % 3 for j in columns]
            def column(self, j):
                return np.array(self.cells(j, range(30)))

        table = Oracle(Grid(), cache=sys.argv[1], max_reads=60 + 5 * 18 + 2 * 30)
        X = np.outer(np.arange(30), np.arange(20)) % 3
        a = (table.block(np.arange(10), np.arange(6)) == X[:10, :6]).all()
        b = all((table.block(np.array([i]), np.arange(20)) == X[i]).all() for i in range(5))
        c = all((table.column(j).values == X[:, j]).all() for j in (7, 9))
        print(a and b and c, Grid.calls, table.recovered, table.bill.cells, table.bill.distinct)
    """

    def run(at):
        command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path), str(at)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert not done.stderr
        return done.returncode, done.stdout.split()

    total = 60 + 5 * 14 + 2 * 25
    assert run(13) == (-9, [])
    # Ten calls for the block, two of the five rows: the rest is bought now, and the budget is the same.
    # The two columns are sold whole, with the five cells of each that are known.
    assert run(10**9) == (0, ["True", "5", "88", str(total - 88 + 2 * 5), str(total)])
    assert run(1) == (0, ["True", "0", str(total), "0", str(total)])


def test_zeros_are_known_again(tmp_path):
    seller = Lines("pair")
    table = Oracle(seller, cache=tmp_path)
    table.row(3)  # nothing but zeros
    table.column(6)
    table.close()
    table = Oracle(seller, cache=tmp_path)
    assert table.recovered == N + D - 1 and table.bill.nonzeros == 0
    assert (written_out(table.row(3), D) == 0).all() and (table.column(6).values == 0).all()
    assert table.calls == 0


def test_budgets_hold_over_runs(tmp_path):
    table = Oracle(Seller(), cache=tmp_path, max_reads=25, max_cost=100.0)
    table.row(0)
    table.close()
    table = Oracle(Seller(), cache=tmp_path, max_reads=25, max_cost=3.0 + PRICES.sum())
    assert table.max_reads == 15 and table.max_cost == pytest.approx(3.0)
    table.block(np.array([1]), np.array([6]))
    spent = "it would take 3 more, and 2 is spent of the budget of a cost of 3, not counting the 10 found"
    with pytest.raises(OutOfBudget, match=spent):
        table.block(np.array([1]), np.array([7]))
    table.block(np.arange(1, 5), np.array([8, 0]))
    table.close()
    table = Oracle(Seller(), cache=tmp_path, max_reads=5)
    assert table.max_reads == 0 and table.recovered == 19
    with pytest.raises(OutOfBudget, match="it would take 1 more, and 0 is spent of the budget of 0 cells"):
        table.block(np.array([6]), np.array([3]))


def test_another_shape_or_name_is_another_file(tmp_path):
    table = Oracle(Seller(), cache=tmp_path)
    table.row(0)
    table.close()
    wide = type("Seller", (Seller,), {"shape": (N, D + 1), "__qualname__": "Seller"})
    for other in (Oracle(Lines(), cache=tmp_path), Oracle(Seller(), cache=tmp_path, name="x")):
        assert other.recovered == 0
    assert Oracle(wide(), prices=np.ones(D + 1), cache=tmp_path).recovered == 0
    assert Oracle(Lines(), cache=tmp_path, name="Seller").recovered == D


def stored(folder):
    """A cache of three records: two rows and a column."""
    table = Oracle(Lines(), cache=folder)
    table.row(0)
    table.row(1)
    table.column(2)
    table.close()
    (path,) = folder.iterdir()
    return path


@pytest.mark.parametrize("cut", [1, 30, 60])
def test_a_torn_cache(tmp_path, cut):
    path = stored(tmp_path)
    path.write_bytes(path.read_bytes()[:-cut])
    seller = Lines()
    table = Oracle(seller, cache=tmp_path)
    assert table.recovered == 2 * D
    assert (table.column(2).values == A[:, 2]).all() and (written_out(table.row(1), D) == A[1]).all()
    assert seller.log == [("column", 2)]
    table.close()
    assert Oracle(seller, cache=tmp_path).recovered == 2 * D + N - 2


def test_a_damaged_cache(tmp_path):
    path = stored(tmp_path)
    data = bytearray(path.read_bytes())
    first = 64 + 24 + 16 * (np.count_nonzero(A[0]) + 1)
    data[first + 30] ^= 0xFF
    path.write_bytes(data)
    sentence = r"The stored cells of the table in .* are damaged .*those before that and new ones go to .*-2\.rows"
    with pytest.warns(RuntimeWarning, match=sentence):
        table = Oracle(Lines(), cache=tmp_path)
    assert table.recovered == D  # the row before the damage
    assert (written_out(table.row(0), D) == A[0]).all() and table.calls == 0
    assert (written_out(table.row(5), D) == A[5]).all() and table.calls == 1
    table.close()
    assert path.read_bytes() == data
    again = Oracle(Lines(), cache=tmp_path)  # said once
    assert again.recovered == 2 * D
    assert all((written_out(again.row(i), D) == A[i]).all() for i in (0, 5)) and again.calls == 0


def test_a_cache_that_is_no_such_file(tmp_path):
    stored(tmp_path).write_bytes(b"something else entirely" * 10)
    with pytest.warns(RuntimeWarning, match="belongs to other data"):
        table = Oracle(Lines(), cache=tmp_path)
    assert table.recovered == 0 and (written_out(table.row(0), D) == A[0]).all()


def test_no_folder_can_be_made(tmp_path):
    (tmp_path / "file").write_text("in the way")
    table = Oracle(Lines(), cache=tmp_path / "file" / "folder")
    with pytest.warns(RuntimeWarning, match="Cells of the table cannot be stored in") as said:
        assert (written_out(table.row(0), D) == A[0]).all()
        assert (written_out(table.row(1), D) == A[1]).all()
    assert len(said) == 1 and table.bill.cells == 2 * D


def test_two_on_one_folder(tmp_path):
    pytest.importorskip("fcntl", reason="no advisory locks on this system")
    stored(tmp_path)
    first = Oracle(Lines(), cache=tmp_path)
    with pytest.warns(RuntimeWarning, match="Another Oracle writes to the cache") as said:
        second = Oracle(Lines(), cache=tmp_path)
        assert first.recovered == second.recovered == 2 * D + N - 2
        for k, table in enumerate((first, second)):
            assert (written_out(table.row(4 + k), D) == A[4 + k]).all()
    assert len(said) == 1
    first.close()
    third = Oracle(Lines(), cache=tmp_path)
    assert third.recovered == 3 * D + N - 3  # what the first one bought; the second warned
    assert (written_out(third.row(4), D) == A[4]).all() and third.calls == 0


def test_two_on_one_folder_that_is_empty(tmp_path):
    pytest.importorskip("fcntl", reason="no advisory locks on this system")
    first, second = (Oracle(Lines(), cache=tmp_path) for _ in range(2))
    first.row(0)
    with pytest.warns(RuntimeWarning, match="Another Oracle writes to the cache") as said:
        second.row(1)
        second.row(2)
    assert len(said) == 1
    first.row(3)
    first.close()
    assert Oracle(Lines(), cache=tmp_path).recovered == 2 * D


def test_no_file_without_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = Oracle(Lines())
    table.row(0)
    table.close()
    assert not list(tmp_path.iterdir()) and table.recovered == 0


# --- what is an oracle, and settings ----------------------------------------------------------


def test_as_oracle():
    table = as_oracle(Seller())
    assert isinstance(table, Oracle) and (table.bill.prices == PRICES).all()
    assert as_oracle(table) is table
    in_memory = as_table(A)
    assert as_oracle(in_memory) is in_memory
    frame = pd.DataFrame({"row": [1.0], "column": [2.0]})  # has both names, as columns
    for X in (A, A.tolist(), sp.csr_array(A), frame, "shape", None, Seller):
        assert as_oracle(X) is None


def test_a_table_is_an_oracle():
    owner = as_table(A)
    table = Oracle(owner, prices=PRICES, max_reads=3 * D)
    for i, j in itertools.product(range(2), range(D)):
        assert table.block(np.array([i]), np.array([j]))[0, 0] == A[i, j]
    assert table.bill.cells == owner.bill.cells == 2 * D and owner.max_reads is None


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (dict(max_reads=-1), "max_reads must be a number of at least 0, or infinite, or None, got -1"),
        (dict(max_cost=float("nan")), "max_cost must be a number of at least 0, or infinite, or None, got nan"),
        (dict(retries=-1), "retries must be a whole number of at least 0, got -1"),
        (dict(retries=1.5), "retries must be a whole number of at least 0, got 1.5"),
        (dict(wait=-0.5), "wait must be a number of at least 0, got -0.5"),
        (dict(timeout=0), "timeout must be a number greater than 0, or None, got 0"),
        (dict(prices=[1.0]), "prices must be 10 finite numbers"),
    ],
)
def test_settings(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        Oracle(Lines(), **settings)


SHAPES = [(3,), (1.5, 2), (3.0, 4.0), ("3", "4"), (-1, 2), None]


@pytest.mark.parametrize("thing", [3, A.tolist(), A, *(type("T", (Lines,), {"shape": shape})() for shape in SHAPES)])
def test_no_oracle(thing):
    with pytest.raises(TypeError, match=r"An oracle has a shape \(n, d\), row\(i\) and column\(j\); "):
        Oracle(thing)


def test_a_cache_of_cells_that_the_table_has_not(tmp_path):
    table = Oracle(Lines(), cache=tmp_path)
    table._store.keep(0, np.array([0, D + 1]), np.ones(2))  # a cell behind the end of the row
    table.close()
    with pytest.raises(ValueError, match="not of this table: use another folder"):
        Oracle(Lines(), cache=tmp_path)


class Slow(Seller):
    """Answers after a while, and knows how many it is answering at once."""

    def __init__(self, fails=()):
        super().__init__()
        self.fails, self.now, self.most, self.lock = set(fails), 0, 0, threading.Lock()

    def cells(self, i, columns):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.02)
        with self.lock:
            self.now -= 1
            if i in self.fails:
                raise ConnectionError("gone")
            return super().cells(i, columns)


def test_several_calls_at_a_time_buy_the_same():
    rows, columns = np.array([5, 0, 3, 6, 1]), np.array([9, 2, 4])
    slow, one = Slow(), Oracle(Seller())
    table = quick(slow, concurrency=3)
    assert (table.block(rows, columns) == one.block(rows, columns)).all()
    assert 2 <= slow.most <= 3
    assert (table.bill.cells, table.bill.cost, table.calls) == (one.bill.cells, one.bill.cost, one.calls)
    table.read_whole(np.array([0, 5]))
    assert table.bill.whole_rows.sum() == 2 and table.bill.cells == 5 * 3 + 2 * 7  # only what was missing
    with pytest.raises(ValueError, match="concurrency must be"):
        Oracle(Seller(), concurrency=0)


def test_what_came_beside_a_failure_or_before_a_budget_is_kept():
    rows, columns = np.arange(6), np.array([1, 2])
    table = quick(Slow(fails=[2]), concurrency=4, retries=0)
    with pytest.raises(OracleError, match="Row 2 of Slow"):
        table.block(rows, columns)
    assert table.bill.cells == 10 and table.calls == 6
    table = quick(Slow(), concurrency=4, max_reads=7)
    with pytest.raises(OutOfBudget, match="Row 3 was not asked for"):
        table.block(rows, columns)
    assert table.bill.cells == 6 and table.calls == 3


def test_an_oracle_prints_what_was_bought():
    class Ones:
        shape = (3, 4)

        def row(self, i):
            return np.ones(4)

        def column(self, j):
            return np.ones(3)

    table = Oracle(Ones(), prices=[1.0, 1.0, 1.0, 997.0], name="shop")
    table.row(1)
    assert repr(table) == "Oracle(shop, 3 rows and 4 columns: 4 cells for 1,000 in 1 calls)"
