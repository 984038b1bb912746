"""Every command with flags and values of any kind, on small files: a sentence and an exit code, no more."""

import functools
import os
import sys
import tempfile
import traceback
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from hinge import SVC, SVR, LinearSVC, OneClassSVM
from hinge.cli.app import application, main
from hinge.cli.preparation import joined, keep_names, preparation_of
from hinge.cli.rows import FileRows
from hinge.files import model_files

from ..odd import one_of

NUMBERS = (
    "0",
    "1",
    "-1",
    "2",
    "0.5",
    "1e-3",
    "1e300",
    "1e-300",
    "nan",
    "inf",
    "-inf",
    "x",
    "",
    "1e400",
    "999999999999",
    "0x10",
)
COMMANDS = (
    *("train", "train", "train", "predict", "predict", "evaluate", "evaluate", "inspect", "compare", "path", "pair"),
    *("datasets", "reproduce", "svm-train", "svm-predict", "linear-train", "linear-predict"),
)
MODEL_FILES = ("lin.hinge", "svc.hinge", "given.hinge", "words.hinge", "table.hinge", "outside.hinge", "svr.hinge")
READING = {
    "--label": ("0", "-1", "y", "99", "", "town"),
    "--drop": ("y", "x0", "town,x0", "99"),
    "--categorical": ("x0", "town", "y", ""),
    "--impute": ("median", "mean", "most_frequent", "x"),
    "--zero-based": (),
    "--json": (),
}
DATA = (
    "l.csv",
    "l.csv",
    "m.parquet",
    "n.csv",
    "a.svm",
    "b.csv",
    "c.npz",
    "d.npy",
    "e.tsv",
    "f.csv",
    "g.svm",
    "h.csv",
    "i.svm",
    "j.csv",
    "k.svm",
)
FLAGS = {
    "train": {
        "--test": DATA,
        "-o": ("m.hinge", ".", "no/m", "a.svm", ""),
        "--C": NUMBERS,
        "--lam": NUMBERS,
        "--slack": NUMBERS,
        "--solver": ("newton", "sdca", "pegasos", "simba", "x", "", "AUTO"),
        "--tol": NUMBERS,
        "--max-reads": NUMBERS,
        "--target-error": NUMBERS,
        "--no-intercept": (),
        "--class-weight": ("balanced", "x"),
        "--seed": NUMBERS,
        "--positive": ("1", "-1", "a", ""),
        "--format": ("json", "table", "x"),
        "--quiet": (),
        "--max-time": NUMBERS,
        "--model": ("linearsvc", "svc", "nusvc", "linearsvr", "svr", "nusvr", "oneclass"),
        "--kernel": ("linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed"),
        "--gamma": (*NUMBERS, "scale"),
        "--nu": NUMBERS,
        "--epsilon": NUMBERS,
        "--degree": NUMBERS,
        "--coef0": NUMBERS,
        "--probability": (),
        "--scale": (),
        "--cv": NUMBERS,
        "--tune": (),
        "--free-intercept": (),
        "--loss": ("hinge", "squared_hinge", "epsilon_insensitive"),
        "--penalty": ("l1", "l2"),
        "--max-memory": ("2G", "1", "x", ""),
        "--labels": ("l.npy", "none", "a.svm"),
        "--sample-weight-column": ("x0", "town", "7"),
        **READING,
    },
    "evaluate": {"--html": ("page.html", "-", ".", "no/p"), "--positive": ("1", "a"), **READING},
    "inspect": {"--top": NUMBERS, "--json": ()},
    "svm-train": {f"-{letter}": NUMBERS for letter in "stdgrcnpmehbvqx"} | {"-w1": NUMBERS},
    "svm-predict": {"-b": ("0", "1", "x"), "-q": ()},
    "linear-train": {f"-{letter}": NUMBERS for letter in "scpneBvCRqx"} | {"-w-1": NUMBERS},
    "linear-predict": {"-b": ("0", "1", "x"), "-q": ()},
    "predict": {
        "-o": ("p.txt", ".", "no/p", "lin.hinge"),
        "--scores": (),
        "--positive": ("1", "a"),
        "--label": ("0", "y", "99"),
        "--no-labels": (),
        "--probabilities": (),
        "--zero-based": (),
        "--json": (),
    },
    "compare": {
        "--solvers": ("sdca", "newton,sdca", "liblinear", "all", "x", "", "sgd,sdca", "pegasos,simba", "libsvm"),
        "--lam": NUMBERS,
        "--C": NUMBERS,
        "--test": DATA,
        "--kernel": ("rbf", "x"),
        "--gamma": NUMBERS,
        "--repeats": ("1", "0", "x"),
        "--rows": ("2", "5", "1", "x"),
        "--seed": NUMBERS,
        "--positive": ("1", "a"),
        **READING,
        "--no-intercept": (),
        "--out": ("out", "a.svm"),
        "--format": ("json", "table"),
        "--target": ("gap", "error", "x"),
    },
    "path": {
        "--points": ("2", "3", "1", "x"),
        "--lam-from": NUMBERS,
        "--lam-to": NUMBERS,
        "--test": DATA,
        "--tol": NUMBERS,
        "--intercept": (),
        "--seed": NUMBERS,
        "--positive": ("1", "a"),
        **READING,
        "--no-intercept": (),
        "--format": ("json", "table"),
        "--max-time": ("0", "0.1", "x", "nan"),
    },
    "pair": {
        "--labels": ("l.npy", ".", "a.svm"),
        "--memory": ("1", "0", "-1", "x"),
        "--positive": ("1", "a"),
        "--label": ("0", "y"),
    },
    "datasets": {"--json": ()},
    "reproduce": {"--scale": ("x",), "--out": ("out", "a.svm")},
}

OLD_MODEL = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 2
rho 0.1
label 1 -1
nr_sv 1 1
SV
1 1:1
-1 1:-1
"""
OLD_LINEAR = "solver_type L2R_L2LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\nnr_feature 1\nbias -1\nw\n0.5\n"


def case(rng):
    """One command in a folder of its own; one in twenty as a process."""
    with tempfile.TemporaryDirectory() as folder:
        _files(Path(folder), rng)
        arguments = _arguments(rng)
        if rng.random() < 0.05:
            code, said = _process(arguments, folder)
        else:
            here = os.getcwd()
            os.chdir(folder)
            try:
                result = CliRunner().invoke(application(), arguments)
            finally:
                os.chdir(here)
            if result.exception is not None and not isinstance(result.exception, SystemExit):
                raise result.exception
            code, said = result.exit_code, result.output
        assert code in (0, 1, 2), f"{arguments}: exit code {code}"
        assert "Traceback" not in said and "fault of hinge" not in said, f"{arguments}: {said}"
        assert code == 0 or len(said.split()) > 2, f"{arguments}: exit code {code} and nothing said"


def _process(arguments, folder):
    """The exit code and the words of a process; it is forked, so that nothing is imported again."""
    said = Path(folder) / "said"
    child = os.fork()
    if child == 0:
        code = 1
        try:
            stream = os.open(said, os.O_WRONLY | os.O_CREAT)
            for k in (1, 2):
                os.dup2(stream, k)
            sys.stdout, sys.stderr = (os.fdopen(k, "w") for k in (1, 2))
            os.chdir(folder)
            sys.argv = ["hinge", *arguments]
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status, said.read_text(errors="replace")


def _arguments(rng):
    command = one_of(rng, COMMANDS)
    known = FLAGS[command]
    words = [command]
    if command in ("predict", "evaluate", "inspect"):
        words.append(one_of(rng, (*MODEL_FILES, "a.svm", "none", ".")))
    if command not in ("datasets", "reproduce", "inspect") and rng.random() < 0.97:
        words.append(one_of(rng, (*DATA, *DATA, *DATA, "none.svm", ".", "", "/dev/null")))
    if command.endswith(("-train", "-predict")):
        words.append(one_of(rng, (*MODEL_FILES, "out.model", "old.model", "old.linear", ".")))
    if command.endswith("-predict"):
        words.append(one_of(rng, ("out.txt", "no/p", ".")))
    if command == "pair" and rng.random() < 0.95:
        words.append(one_of(rng, ("pair", "a.svm", ".", "no/where")))
    if command == "reproduce":
        words += one_of(rng, (["x"], ["--scale", "x"], ["all", "x"], ["--help"]))
    flags = (
        rng.choice(sorted(known), size=min(len(known), int(rng.integers(4))), replace=False).tolist() if known else []
    )
    if command in ("train", "compare", "path") and "--max-time" not in flags:
        words += ["--max-time", "0.2"]
    if command == "compare":
        words += ["--repeats", "1"] if "--repeats" not in flags else []
        words += ["--solvers", one_of(rng, ("sdca,liblinear", "newton,sgd"))] if "--solvers" not in flags else []
    for flag in flags:
        words.append(flag)
        if known[flag]:
            words.append(one_of(rng, known[flag]))
        if flag == "--target":
            words.append(one_of(rng, NUMBERS))
    if rng.random() < 0.05:
        words.append(one_of(rng, ("--help", "--nothing", "-x", "extra", "--")))
    return words


def _files(folder, rng):
    """Files of every kind, of few rows: plain, of one class, of huge or tiny values, empty, and models."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n, d = int(rng.integers(4, 20)), int(rng.integers(1, 5))
    X, y = rng.normal(size=(n, d)), np.resize([1, -1], n)
    X *= 10.0 ** float(rng.choice([0, 0, 0, 0, -30, 20, 60, 150]))

    def svm(A, labels, first=1):
        return "".join(
            f"{k} {' '.join(f'{j + first}:{v!r}' for j, v in enumerate(row.tolist()))}\n"
            for k, row in zip(labels, A, strict=True)
        )

    def delimited(A, labels, comma=","):
        return "".join(comma.join([str(k), *map(repr, row.tolist())]) + "\n" for k, row in zip(labels, A, strict=True))

    texts = {
        "a.svm": svm(X, y),
        "b.csv": delimited(X, y),
        "e.tsv": delimited(X, np.where(y > 0, "a", "b"), "\t"),
        "f.csv": f"y,{','.join(f'x{j}' for j in range(d))}\n" + delimited(X, np.arange(n) % 3),
        "g.svm": svm(X, np.ones(n, int)),
        "h.csv": "",
        "i.svm": svm(np.ones((n, d)), y),
        "j.csv": delimited(X[:1], y[:1]),
        "k.svm": svm(X * 0, np.arange(n)),
    }
    towns = np.resize(["Oslo", "Rome", "", "1"], n)
    rows = [
        f"{town},{'' if rng.random() < 0.1 else repr(v)},{'ab'[k % 2]}\n"
        for k, (town, v) in enumerate(zip(towns, X[:, 0].tolist(), strict=True))
    ]
    texts["l.csv"] = "town,x0,y\n" + "".join(rows)
    texts["n.csv"] = "x0,town\n" + "".join(f"{v!r},{town}\n" for town, v in zip(towns, X[:, 0].tolist(), strict=True))
    texts["old.model"] = OLD_MODEL
    texts["old.linear"] = OLD_LINEAR
    for name, text in texts.items():
        (folder / name).write_text(text)
    pq.write_table(pa.table({"x0": X[:, 0], "town": towns, "y": y}), folder / "m.parquet")
    np.save(folder / "l.npy", y)
    np.savez(folder / "c.npz", X=X, y=y)
    np.save(folder / "d.npy", X)
    for name in MODELS:
        (folder / f"{name}.hinge").write_bytes(_model(name, d))


@functools.cache
def _model(name, d):
    """A small model of d features, as a file's bytes."""
    rng = np.random.default_rng(d)
    X = np.eye(max(2, d)) if name == "given" else rng.normal(size=(12, d))
    if name == "table":
        X = np.array([[town, float(k)] for k, town in enumerate(np.resize(["Oslo", "Rome", "1"], 12).tolist())], object)
    y = np.arange(len(X)) % 2
    with tempfile.TemporaryDirectory() as folder:
        model_files.save(MODELS[name](X, y), Path(folder) / "m")
        return (Path(folder) / "m").read_bytes()


MODELS = {
    "lin": lambda X, y: LinearSVC().fit(X, y),
    "words": lambda X, y: LinearSVC().fit(X, np.where(y > 0, "a", "b")),
    "svc": lambda X, y: SVC().fit(X, np.arange(len(y)) % 3),
    "given": lambda X, y: SVC(kernel="precomputed").fit(X, y),
    "outside": lambda X, y: OneClassSVM().fit(X),
    "svr": lambda X, y: SVR().fit(X, y),
    "table": lambda X, y: _of_table(X, y),
}


def _of_table(X, y):
    rows = FileRows(X, y, ["town", "x0"], (0,))
    model = joined(preparation_of(rows, "mean"), LinearSVC()).fit(X, y)
    keep_names(model, rows.names)
    return model
