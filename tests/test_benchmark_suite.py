"""The benchopt suite, and the race on a GPU: their files load, solvers reach the optimum, and who is absent says so."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

SUITE = Path(__file__).parents[1] / "benchmarks" / "svm"
TINY = "ccat-like[rows=300,words=400]"
# What stochastic gradients reach in the time of a test; all others are exact.
NEAR = {"hinge": 0.3, "hinge[solver=pegasos]": 1e-2, "sklearn-sgd": 1e-2, "vowpal-wabbit": 0.1}
EXACT = 1e-4
OURS = ("sdca", "stalesdca", "uniformdca", "newton", "cuttingplane", "interiorpoint")
NEAR |= {f"hinge[solver={name}]": EXACT for name in OURS}

with_benchopt = pytest.mark.skipif(
    importlib.util.find_spec("benchopt") is None, reason="benchopt is not installed: pip install benchopt"
)


@pytest.fixture
def peers(monkeypatch):
    """The module that finds and runs peers, which needs no benchopt; it forgets what it has seen."""
    spec = importlib.util.spec_from_file_location("peers", SUITE / "benchmark_utils" / "peers.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "peers", module)
    spec.loader.exec_module(module)
    for name in module.PEERS:
        monkeypatch.delenv(module.variable(name), raising=False)
    return module


def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, 1, -1)


def is_sentence(text):
    return text[0].isalpha() and text.endswith(".") and "environments.py" in text


def test_who_is_absent_says_how_to_get_it(peers, monkeypatch, tmp_path):
    monkeypatch.setattr(peers, "ENVIRONMENTS", tmp_path)
    for name in peers.PEERS:
        reason = peers.missing(name)
        assert is_sentence(reason) and name in reason and peers.variable(name) in reason


def test_an_interpreter_without_the_peer_says_what_is_missing(peers, monkeypatch):
    monkeypatch.setenv("HINGE_BENCH_SKGLM", sys.executable)
    monkeypatch.setitem(peers.PEERS, "skglm", peers.Package("no_such_module", ()))
    reason = peers.missing("skglm")
    assert is_sentence(reason) and "No module named 'no_such_module'" in reason


def test_a_process_that_ends_early_says_why(peers, monkeypatch):
    monkeypatch.setenv("HINGE_BENCH_NOBODY", sys.executable)
    X, y = problem()
    with pytest.raises(RuntimeError, match="of nobody ended before it answered: KeyError: 'nobody'"):
        peers.Worker("nobody", X, y, {"lam": 0.1, "seed": 0})


def test_every_peer_has_a_solver_and_a_worker(peers):
    said = {line for path in (SUITE / "solvers").glob("*.py") for line in path.read_text().splitlines()}
    assert {f'    peer = "{name}"' for name in peers.PEERS} == {line for line in said if "    peer = " in line}
    served = (SUITE / "benchmark_utils" / "worker.py").read_text().partition("PEERS")[2]
    assert all(f'"{name}": ' in served for name in peers.PEERS)


@with_benchopt
def test_every_file_imports():
    code = (
        "import sys; from benchopt.benchmark import Benchmark; b = Benchmark(sys.argv[1])\n"
        "for c in [b.get_benchmark_objective(), *b.get_solvers(), *b.get_datasets()]:\n"
        "    print(c.name, c.is_installed())"
    )
    ran = subprocess.run([sys.executable, "-c", code, SUITE], capture_output=True, text=True, check=True)
    lines = [line for line in ran.stdout.splitlines() if line.endswith((" True", " False"))]
    files = [*(SUITE / "solvers").glob("*.py"), *(SUITE / "datasets").glob("*.py")]
    assert len(lines) == 1 + len(files)
    assert not [line for line in lines if line.endswith("False")], ran.stdout


def run_tiny(tmp_path, *more, **environment):
    output = tmp_path / "tiny.parquet"
    command = [sys.executable, "-m", "benchopt", "run", SUITE, "-l", "-d", TINY, "-o", "SVM[lam=0.01]"]
    command += ["-n", "16", "--timeout", "30", "--no-cache", "--no-plot", "--output", output, *more]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return output, ran.stdout


@with_benchopt
def test_solvers_reach_the_optimum(tmp_path):
    pd = pytest.importorskip("pandas", reason="benchopt's results are read with pandas")
    output, _ = run_tiny(tmp_path)
    results = pd.read_parquet(output)
    least = (results["objective_value"] / (1 + results["objective_gap"])).max()
    best = results.groupby("solver_name")["objective_value"].min() / least - 1
    assert len(best) >= 9  # those that need no environment of their own
    assert (best > -1e-9).all()
    for name, above in best.items():
        assert above <= NEAR.get(name, NEAR.get(name.partition("[")[0], EXACT)), (name, above)


@with_benchopt
def test_what_is_absent_is_skipped_with_its_reason(tmp_path):
    absent = {"HINGE_BENCH_LIBLINEAR_OFFICIAL": str(tmp_path / "python"), "HINGE_DATA": str(tmp_path)}
    _, said = run_tiny(tmp_path, "-s", "hinge[solver=sdca]", "-s", "liblinear-official", "-d", "reuters", **absent)
    assert "liblinear-official is not installed" in " ".join(said.split())
    assert "reuters" in said and "skip" in said


def command(script, tmp_path, *options):
    """What a script prints into its file."""
    out = tmp_path / "table.md"
    ran = subprocess.run(
        [sys.executable, SUITE.parent / script, *options, "--out", out], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return out.read_text()


def cells(text):
    """The cells of all lines of all tables."""
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]


def test_the_table_of_peers_has_who_is_there_and_says_who_is_not(tmp_path, monkeypatch):
    monkeypatch.setenv("HINGE_BENCH_SKGLM", str(tmp_path / "nobody"))
    text = command("peers.py", tmp_path, "--sets", "a9a", "--problems", "hinge", "squared", "--most", "2")
    rows = {(row[0], row[3]): row for row in cells(text) if row[1] == "a9a"}
    for problem in ("hinge", "squared"):
        ours, theirs = rows[problem, "hinge"], rows[problem, "scikit-learn, dual"]
        assert ours[6] == "1" and float(ours[4]) > 0 and float(theirs[6]) > 0
        assert abs(float(ours[7].strip("%")) - float(theirs[7].strip("%"))) < 0.2  # of the same optimum
    assert ("hinge", "skglm") not in rows and "skglm is not installed" in text


RANKS = ["mean rank", "best on", "mean test error %", "CPU s in all", "accuracy per CPU s"]


def test_the_race_on_tables_ranks_all(tmp_path):
    text = command("tabular.py", tmp_path, "--sets", "iris", "wine", "--budget", "0.5", "--seeds", "1")
    ranks = {row[0]: float(row[1]) for row in cells(text)[cells(text).index(["", *RANKS]) + 2 :]}
    assert len(ranks) == 5 and {"hinge SVCCV", "hinge LinearSVCCV", "random forest"} < set(ranks)
    assert sum(ranks.values()) == pytest.approx(15.0)


def test_the_race_on_a_gpu_runs_without_one(tmp_path):
    pytest.importorskip("torch")
    out, race = tmp_path / "table.md", SUITE.parent / "gpu_peers.py"
    given = ["--device", "cpu", "--rows", "200", "--sets", "few", "--calls", "1", "--out", str(out)]
    said = subprocess.run([sys.executable, race, *given], capture_output=True, text=True, check=True).stdout
    assert out.read_text(encoding="utf-8").strip() == said.strip()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in said.splitlines() if line.startswith("| few")]
    ours = {row[2]: row for row in rows if row[3] == "hinge"}
    assert set(ours) == {"search", "fit"}
    for *_, error, objective, above in ours.values():
        assert float(error) < 0.5 and float(objective) > 0 and -1e-6 <= float(above) <= 2e-3
    for who, package in (("TorchKM", "torchkm"), ("cuML", "cuml"), ("ThunderSVM", "thundersvm")):
        assert (importlib.util.find_spec(package) is not None) == any(row[3] == who for row in rows)
    assert said.rstrip().endswith("All contests were held.")
