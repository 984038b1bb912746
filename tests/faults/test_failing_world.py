"""Full disks, folders that cannot be written, services that hang, reset and lie."""

import http.server
import json
import resource
import socket
import threading
import time
import urllib.request
import warnings
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp

from hinge import SVC, LinearSVC, Oracle
from hinge.access.tables.oracle import OracleError
from hinge.access.two_way.writer import write_pair
from hinge.files import model_files
from hinge.kernels import Function
from hinge.report.outcome import write_text

from .kills import child
from .writers import X, Y, fitted, similarity, version_of_pair

# Connections that a service broke off are closed by the garbage collector.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]
LARGE = np.tile(X, (40, 1))


def full_disk(action, limit):
    """Do something in a process whose files may not grow beyond a limit; what it said."""

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        action()

    return child(limited) or ""


@pytest.mark.parametrize("limit", [0, 10, 700])
def test_a_full_disk_leaves_the_old_model(tmp_path, limit):
    path = tmp_path / "model.hinge"
    model_files.save(fitted(0), path)
    before = path.read_bytes()
    assert "File too large" in full_disk(lambda: model_files.save(fitted(1), path), limit)
    assert path.read_bytes() == before
    assert "File too large" in full_disk(lambda: write_text(tmp_path / "report.html", 900 * "x"), limit)
    assert [file.name for file in tmp_path.iterdir()] == ["model.hinge"]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("limit", [0, 1000, 60_000])
def test_a_full_disk_leaves_the_old_pair(tmp_path, form, limit):
    write_pair(form(X), tmp_path / "pair")
    assert "File too large" in full_disk(lambda: write_pair(form(LARGE), tmp_path / "pair"), limit)
    assert version_of_pair(tmp_path / "pair", [X]) == 0
    assert [file.name for file in tmp_path.iterdir()] == ["pair"]


@pytest.mark.parametrize("limit", [0, 64, 3000])
def test_a_full_disk_costs_kept_kernel_values_and_no_fit(tmp_path, limit):
    kernel = Function(similarity, on="pairs")

    def fit():
        with pytest.warns(RuntimeWarning, match="the fit goes on without"):
            model = SVC(kernel=kernel, cache_folder=tmp_path, random_state=0).fit(X, Y)
        assert model.gap_ <= model.tol

    assert full_disk(fit, limit) == ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SVC(kernel=kernel, cache_folder=tmp_path, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.dual_coef_, SVC(kernel=kernel, random_state=0).fit(X, Y).dual_coef_)


@pytest.mark.parametrize("limit", [0, 64, 300])
def test_a_full_disk_costs_no_sale(tmp_path, limit):
    def buy():
        with pytest.warns(RuntimeWarning, match="the fit goes on without"):
            table = Oracle(_Rows(lambda i: X[i]), cache=tmp_path)
            for i in range(30):
                assert (np.asarray(table.row(i).values)[: len(X[i])] != 0).any()
        assert table.bill.cells == 30 * X.shape[1]

    assert full_disk(buy, limit) == ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = Oracle(_Rows(lambda i: X[i]), cache=tmp_path)
    known = np.flatnonzero(table.bill.whole_rows)
    np.testing.assert_array_equal(table.block(known, np.arange(X.shape[1])), X[known])
    assert table.calls == 0


def test_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").write_text("in the way")  # a path below a file can be written by nobody, not even root
    place = tmp_path / "file" / "folder"
    with pytest.raises(OSError, match=r"make it first|Not a directory"):
        model_files.save(fitted(0), place / "model.hinge")
    with pytest.raises(OSError, match=r"make it first|Not a directory"):
        write_pair(X, place / "pair")
    with pytest.warns(RuntimeWarning, match="cannot be"):
        model = SVC(kernel=Function(similarity, on="pairs"), cache_folder=place).fit(X, Y)
    assert model.gap_ <= model.tol
    with pytest.warns(RuntimeWarning, match="cannot be"):
        table = Oracle(_Rows(lambda i: X[i]), cache=place)
        table.row(0)
    assert table.calls == 1


# --- services ---------------------------------------------------------------------------------


class _Rows:
    """Sells rows by a function."""

    shape = X.shape

    def __init__(self, row):
        self.row = row

    def column(self, j):
        return [self.row(i)[j] for i in range(self.shape[0])]


class _Service(http.server.BaseHTTPRequestHandler):
    """Answers a row in JSON, or does what services do."""

    moods: ClassVar[list[str]] = []

    def do_GET(self):
        mood = self.moods.pop(0) if self.moods else "well"
        row = X[int(self.path[1:])].tolist()
        body = {
            "short": row[:-1],
            "long": [*row, 0.0],
            "nan": [float("nan"), *row[1:]],
            "text": ["a"] * len(row),
            "infinite": [float("inf"), *row[1:]],
            "nothing": None,
            "nested": [row],
            "huge": [10**400, *row[1:]],
        }.get(mood, row)
        text = b"<html>sorry</html>" if mood == "rubbish" else json.dumps(body).encode()
        if mood == "hangs":
            time.sleep(1.5)
        if mood == "resets":
            linger = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.close()
            return
        self.send_response(500 if mood == "error" else 200)
        self.send_header("Content-Length", str(len(text) + 100 * (mood == "lies") - 9 * (mood == "cuts")))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *words):
        pass


MOODS = [
    "hangs",
    "resets",
    "lies",
    "cuts",
    "error",
    "rubbish",
    "short",
    "long",
    "nan",
    "infinite",
    "text",
    "nothing",
    "nested",
    "huge",
]


@pytest.fixture(scope="module")
def asked():
    """A function that asks the service for a row."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Service)
    server.daemon_threads = True
    server.handle_error = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def row(i):
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/{i}") as answer:
            return json.loads(answer.read())

    yield row
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("mood", MOODS)
def test_an_answer_that_is_none_is_asked_for_again_and_never_kept(tmp_path, asked, mood):
    _Service.moods[:] = [mood]
    table = Oracle(_Rows(asked), retries=1, wait=0.01, timeout=0.5, cache=tmp_path)
    began = time.perf_counter()
    row = table.row(3)
    assert time.perf_counter() - began < 1.5
    assert table.calls == 2
    assert table.bill.cells == X.shape[1]
    table.close()
    again = Oracle(_Rows(asked), cache=tmp_path)
    for known in (row, again.row(3)):
        out = np.zeros(X.shape[1])
        out[known.at if len(known.at) else slice(None)] = known.values
        np.testing.assert_array_equal(out, X[3])
    assert again.calls == 0


@pytest.mark.parametrize("mood", MOODS)
def test_a_service_that_stays_so_is_told_of_in_time(tmp_path, asked, mood):
    _Service.moods[:] = [mood] * 40
    table = Oracle(_Rows(asked), retries=1, wait=0.01, timeout=0.3, cache=tmp_path)
    began = time.perf_counter()
    with pytest.raises(OracleError, match=r"Row \d+ of _Rows could not be had in 2 calls"):
        LinearSVC().fit(table, Y)
    assert time.perf_counter() - began < 2
    assert table.bill.cells == 0
    _Service.moods.clear()
    table.close()
    assert Oracle(_Rows(asked), cache=tmp_path).recovered == 0
