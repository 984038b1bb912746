"""All that writes: how each is asked to, and what must be true of what it wrote.

``write(folder, version)`` writes one of two contents, 0 or 1; ``check(folder, allowed)`` raises unless what
is there is whole and of an allowed version, None standing for nothing at all.
"""

import contextlib
import csv
import importlib
import json
import sys
import warnings
import zlib
from functools import cache

import numpy as np
import scipy.sparse as sp

from hinge import SVC, LinearSVC, Oracle
from hinge.access.gram.row_store import RowStore, open_store
from hinge.access.two_way.reader import open_pair
from hinge.access.two_way.writer import write_pair
from hinge.display.figure import Figure, Panel, Series
from hinge.experiments.base import Experiment
from hinge.experiments.runner import place, run
from hinge.files import model_files
from hinge.kernels import Function
from hinge.monitoring.checkpoint import Checkpoint
from hinge.report.outcome import Outcome, Section
from hinge.report.page import Heading, write_report

TRACED = (
    "hinge/files/replacing.py",
    "hinge/files/model_files.py",
    "hinge/monitoring/checkpoint.py",
    "hinge/access/two_way/writer.py",
    "hinge/access/two_way/reader.py",
    "hinge/access/tables/oracle.py",
    "hinge/access/gram/row_store.py",
    "hinge/experiments/runner.py",
    "hinge/report/page.py",
    "hinge/report/outcome.py",
    "hinge/racing/race.py",
    "hinge/cli/pair.py",
    "hinge/cli/two_classes.py",
    "hinge/cli/reproduce.py",
    "hinge/compiled.py",
    "numba/core/caching.py",
)
"""Before any line of these a writer may be killed."""

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 6)).round(3)
Y = np.where(X[:, 0] + 0.3 * RNG.standard_normal(60) > 0, 1, -1)


class Files:
    """One writer; `share` is how often it has its turn."""

    share = 1
    warms = True
    """Whether a write in this process makes those of its children faster."""

    def prepare(self, folder):
        """What must be there before the first write."""

    def write(self, folder, version):
        raise NotImplementedError

    def check(self, folder, allowed):
        raise NotImplementedError


# --- models -----------------------------------------------------------------------------------


@cache
def fitted(version):
    """A linear and a kernel machine."""
    return LinearSVC().fit(X, Y) if version == 0 else SVC(gamma=0.5).fit(X, Y)


class Model(Files):
    share = 8

    def write(self, folder, version):
        model_files.save(fitted(version), folder / "model.hinge")

    def check(self, folder, allowed):
        path = folder / "model.hinge"
        found = None
        if path.exists():
            model = model_files.load(path)
            found = int(isinstance(model, SVC))
            assert (model.decision_function(X) == fitted(found).decision_function(X)).all()
        assert found in allowed, f"version {found} is there"


class State(Files):
    """The checkpoint of a run, written again and again."""

    share = 8

    def state(self, version):
        return np.arange(5000.0) + version, np.full(3, version)

    def run(self, folder):
        return Checkpoint(folder / "run", "the same data", every=0.0)

    def write(self, folder, version):
        run = self.run(folder)
        for _ in range(3):
            run.offer(self.state(version), final=True)

    def check(self, folder, allowed):
        state = self.run(folder).load(self.state(0))
        found = None if state is None else int(state[1][0])
        assert found in allowed, f"version {found} is there"
        assert found is None or all(map(np.array_equal, state, self.state(found)))


# --- pairs ------------------------------------------------------------------------------------


class Pair(Files):
    share = 6

    def __init__(self, form):
        self.form = form

    def content(self, version):
        return self.form((0.5 * version < X) * X)

    def write(self, folder, version):
        write_pair(self.content(version), folder / "pair", memory=1500)

    def check(self, folder, allowed):
        found = version_of_pair(folder / "pair", [(0.5 * v < X) * X for v in (0, 1)])
        assert found in allowed, f"version {found} is there"


def version_of_pair(folder, contents):
    """Which of several matrices a pair holds, by rows and by columns; None if it is not there."""
    if not folder.exists():
        return None
    table = open_pair(folder)
    rows = np.stack([dense(table.row(i), table.shape[1]) for i in range(table.shape[0])])
    columns = np.stack([dense(table.column(j), table.shape[0]) for j in range(table.shape[1])], 1)
    assert (rows == columns).all(), "rows and columns are not of the same matrix"
    found = [v for v, content in enumerate(contents) if np.array_equal(rows, content)]
    assert found, "it is no matrix that was ever written"
    return found[0]


def dense(line, length):
    out = np.zeros(length)
    out[line.at if len(line.at) or not len(line.values) else slice(None)] = line.values
    return out


# --- what was paid for, and what was computed -------------------------------------------------


class Shop:
    """Sells rows, columns and cells of a matrix, and writes down what it sold before it hands it over."""

    shape = (40, 12)
    cellar = np.random.default_rng(3).standard_normal(shape).round(2) * (np.random.default_rng(4).random(shape) < 0.6)

    def __init__(self, folder):
        self.folder = folder

    def sold(self, cells):
        with (self.folder / "sold").open("ab", buffering=0) as stream:
            stream.write(b"%d\n" % cells)

    def row(self, i):
        self.sold(self.shape[1])
        return self.cellar[i].tolist()

    def column(self, j):
        self.sold(self.shape[0])
        return self.cellar[:, j].tolist()

    def cells(self, i, columns):
        self.sold(len(columns))
        return self.cellar[i, columns].tolist()


class Paid(Files):
    """Version 1 is what is bought in version 0, and more. What was sold is known, but for the last sale."""

    share = 8

    def write(self, folder, version):
        table = Oracle(Shop(folder), cache=folder / "paid")
        for i in range(6 if version == 0 else 25):
            table.row(i)
            table.block(np.array([39 - i]), np.array([1, i % 12 if i % 12 != 1 else 0]))
        for j in range(2 + 4 * version):
            table.column(j)
        table.close()

    def check(self, folder, allowed):
        sold = [int(line) for line in (folder / "sold").read_text().split()] if (folder / "sold").exists() else []
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table = Oracle(Shop(folder), cache=folder / "paid")
        assert table.recovered <= table.shape[0] * table.shape[1]
        for i in range(table.shape[0]):
            known = np.flatnonzero(~table.bill.missing(i, np.arange(table.shape[1])))
            assert (table.block(np.array([i]), known) == Shop.cellar[i, known]).all(), f"row {i} is wrong"
        assert table.calls == 0
        table.close()
        if None in allowed or len(allowed) > 1:
            # A line comes whole where some of its cells are known: count the sales, not the cells.
            assert len(list(records(table))) >= len(sold) - 1 - self.torn(folder), "what was paid for is lost"
        (folder / "torn").write_text(str(self.torn(folder) + 1))  # each kill may cost the sale at hand

    def torn(self, folder):
        path = folder / "torn"
        return int(path.read_text()) if path.exists() else 0


def records(table):
    return table._store.records()


def similarity(x, z):
    """A kernel that is slow enough to be worth keeping."""
    return float(np.exp(-0.3 * ((x - z) ** 2).sum()))


class Values(Files):
    """Kernel values of a fit, kept between runs."""

    share = 4

    def write(self, folder, version):
        SVC(kernel=Function(similarity, on="pairs"), C=1.0 + 20 * version, cache_folder=folder / "values").fit(X, Y)

    def check(self, folder, allowed):
        kernel = Function(similarity, on="pairs")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            store = open_store(folder / "values", X, kernel)
        assert isinstance(store, RowStore)
        for row, columns, values in store.records():
            truth = [similarity(X[row], X[j]) for j in columns.tolist()]
            assert np.allclose(values, truth, rtol=1e-14, atol=0), f"row {row} is wrong"
        store.close()
        assert len(list((folder / "values").glob("*"))) <= 1, "the files of a store grow in number"


# --- experiments and their report -------------------------------------------------------------


class Powers(Experiment):
    """Cells that take no time."""

    name, title, paper, place, question = "powers", "Powers", "none", "nowhere", "Which?"
    version = 1
    timed = True

    def __init__(self, power):
        self.power = power

    def cells(self, scale):
        return [{"k": k, "power": self.power} for k in range(5)]

    def run(self, cell):
        return {"value": cell["k"] ** cell["power"]}

    def outcome(self, results, scale):
        line = Series("ours", [r.cell["k"] for r in results], [r.values["value"] for r in results])
        figure = Figure("powers", f"power {self.power}", (Panel("all", "k", "value", (line,)),))
        return Outcome((), (figure,))


class Report(Files):
    share = 1

    def write(self, folder, version):
        experiment = Powers(2 + version)
        (one,) = run([experiment], "tiny", folder)
        section = Section.from_run(experiment, experiment.outcome(one.results, "tiny"), one.results, one.failures)
        write_report(folder, [section], Heading("Faults", "tiny", "any", f"powers {version}"))

    def check(self, folder, allowed):
        for version in (0, 1):
            experiment = Powers(2 + version)
            for cell in experiment.cells("tiny"):
                path = place(experiment, cell, folder)
                if path.exists():
                    assert json.loads(path.read_text())["values"] == experiment.run(cell)
        whole(folder)
        page = folder / "report.html"
        found = [v for v in (0, 1) if page.exists() and f"powers {v}" in page.read_text()]
        assert (found or [None])[0] in allowed, f"the page is of version {found}"


def whole(folder):
    """Every file in it can be read to its end."""
    for path in (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".hinge-")):
        content = path.read_bytes()
        if path.suffix == ".json":
            json.loads(content)
        elif path.suffix == ".csv":
            rows = list(csv.reader(content.decode().splitlines()))
            assert len({len(row) for row in rows}) == 1, f"{path.name} is cut short"
        elif path.suffix == ".html":
            assert content.rstrip().endswith(b"</html>"), f"{path.name} is cut short"
        elif path.suffix == ".svg":
            assert content.rstrip().endswith(b"</svg>"), f"{path.name} is cut short"
        elif path.suffix == ".png":
            assert content[-12:] == b"\0\0\0\0IEND" + zlib.crc32(b"IEND").to_bytes(4, "big"), f"{path.name} is cut"


# --- commands ---------------------------------------------------------------------------------


class Command(Files):
    """A command of the command line, on one of two files."""

    def __init__(self, *words, share=1):
        self.words, self.share = words, share

    def prepare(self, folder):
        for version in (0, 1):
            rows = [[*map(str, x), str(y)] for x, y in zip(X[version:], Y[version:], strict=True)]
            text = "\n".join(",".join(row) for row in rows) + "\n"
            (folder / f"data{version}.csv").write_text(text)
        model_files.save(fitted(0), folder / "given.hinge")

    def write(self, folder, version):
        from hinge.cli.app import application

        (folder / "out").mkdir(exist_ok=True)
        words = [word.format(data=f"data{version}.csv") for word in self.words]
        with contextlib.chdir(folder):
            application()(words, standalone_mode=False)
        (folder / "out" / f"done{version}").touch()

    def check(self, folder, allowed):
        out = folder / "out"
        whole(out)
        if (out / "model.hinge").exists():
            assert np.isfinite(model_files.load(out / "model.hinge").coef_).all()
        if (out / "labels.txt").exists():
            assert len((out / "labels.txt").read_text().splitlines()) in (59, 60)
        if (out / "pair").exists() or 0 in allowed:
            version_of_pair(out / "pair", [X.astype(np.float32), X[1:].astype(np.float32)])
        if (out / "pair.labels.npy").exists():
            labels = np.load(out / "pair.labels.npy")
            assert any(np.array_equal(labels, Y[v:]) for v in (0, 1)), "the labels are not whole"
        if allowed == {1}:
            assert (out / "done1").exists()


# --- compiled code ----------------------------------------------------------------------------


class Code(Files):
    """Code that is kept on disk; a new version of the source must never be given the code of the old."""

    share = 2
    warms = False
    source = "from hinge.compiled import compiled\n\n\n@compiled\ndef power(x):\n    return x**{n}\n"

    def write(self, folder, version):
        source = folder / "power.py"
        text = self.source.format(n=version + 2) + "#" * version
        if not source.exists() or source.read_text() != text:
            part = folder / "power.part"
            part.write_text(text)
            part.replace(source)
        assert self.called(folder) == 3.0 ** (version + 2)

    def check(self, folder, allowed):
        if (folder / "power.py").exists():
            version = int("**3" in (folder / "power.py").read_text())
            assert version in allowed
            assert self.called(folder) == 3.0 ** (version + 2), "code of another version was run"

    def called(self, folder):
        import numba

        numba.config.CACHE_DIR = str(folder / "code")
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(folder))
        return importlib.import_module("power").power(3.0)


WRITERS = {
    "model": Model(),
    "checkpoint": State(),
    "dense pair": Pair(np.asarray),
    "compressed pair": Pair(sp.csr_array),
    "oracle cache": Paid(),
    "row store": Values(),
    "cells and report": Report(),
    "compiled code": Code(),
    "hinge train": Command("train", "{data}", "-o", "out/model.hinge", share=2),
    "hinge predict": Command("predict", "given.hinge", "{data}", "-o", "out/labels.txt", share=2),
    "hinge pair": Command("pair", "{data}", "out/pair", share=3),
    "hinge path": Command("path", "{data}", "--out", "out", "--points", "3"),
    "hinge compare": Command(
        "compare", "{data}", "--out", "out", "--solvers", "sdca", "--repeats", "1", "--max-time", "0.2"
    ),
    "hinge reproduce": Command("reproduce", "sbp-table2", "--out", "out"),
}
