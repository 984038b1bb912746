"""SBP, section 5: seconds against LIBSVM, with an unregularised bias."""

import math
import time
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from threadpoolctl import threadpool_limits

from hinge.access import Gram, as_points
from hinge.access.gram.device import import_torch
from hinge.datasets import load
from hinge.display.figure import Beside, Series, Value, loglog
from hinge.estimators import SVC
from hinge.experiments.base import Cell, CellResults, Claims, Draft, Experiment, Scale, median
from hinge.experiments.measure import Evaluation, band, evaluate_at, log_spaced
from hinge.experiments.sbp.table2 import LINES
from hinge.experiments.sets import SHUFFLED, choose, is_own
from hinge.kernels import Gaussian
from hinge.problems import Expansion, KernelSlackConstrained
from hinge.report.page import duration
from hinge.solvers import SBP, trace
from hinge.types import Stored

SEEDS = {"tiny": 1, "full": 5}
RANGES = (1999, 360, 66, 1397, 774, 7117, 254, 254, 254, 7173)
"""Largest less smallest value of Covertype's ten numbers, by which our copy's columns are divided."""


class Setting(NamedTuple):
    """A set of the paper: σ², C = 1/(λn), rows and epochs at each scale; errors in %, LIBSVM's seconds.

    All rows of Forest, for which LIBSVM takes a day, are learned by the SBP on a GPU, and by no other.
    """

    variance: float
    C: float
    rows: dict[str, int | None]
    epochs: dict[str, float]
    libsvm: float
    sbp: float
    seconds: float

    @property
    def digits(self) -> int:
        """Decimals of the paper's errors."""
        return len(str(self.libsvm).partition(".")[2])


SETTINGS = {
    "adult": Setting(100.0, 100.0, {"tiny": 600, "full": None}, {"tiny": 2, "full": 2}, 14.9, 15.0, 195.0),
    "mnist": Setting(25.0, 1e3, {"tiny": 600, "full": 20_000}, {"tiny": 2, "full": 3}, 0.44, 0.46, 1980.0),
    "covertype": Setting(5e3, 1e4, {"tiny": 600, "full": None}, {"tiny": 2, "full": 2}, 1.8, 1.6, 126e3),
}


class KernelSet(NamedTuple):
    """The rows and labels of a set, and γ of the kernel that they are seen through."""

    X: Stored
    y: np.ndarray
    X_test: Stored
    y_test: np.ndarray
    gamma: float
    about: dict[str, str]


@lru_cache(maxsize=1)
def _kernel_set(name: str, rows: int | None) -> KernelSet:
    if name != "covertype" or not is_own(name):
        data = choose(name, rows)
        variance = experiment.stand_in_variance if name == "covertype" else SETTINGS[name].variance
        return KernelSet(*data.parts, 1 / (2 * variance), data.about)
    forest = load(name, positive=2)
    assert forest.X_test is not None and forest.y_test is not None
    units = np.ones(forest.X_train.shape[1], np.float32)
    units[: len(RANGES)] = RANGES
    centre = np.rint(units * forest.X_train.mean(axis=0))

    def part(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        kept = np.sort(np.random.default_rng(SHUFFLED).permutation(len(y))[:rows])
        return np.rint(X[kept] * units) - centre, y[kept]  # whole numbers, as a GPU multiplies without rounding

    X, y = part(forest.X_train, forest.y_train)
    about = {"label": f"Forest (Covertype in its own units, class 2), {len(y):,} rows", "note": ""}
    return KernelSet(X, y, *part(forest.X_test, forest.y_test), 1 / (2 * SETTINGS[name].variance), about)


@lru_cache(maxsize=1)
def _slack(name: str, rows: int | None) -> float:
    """ν of the optimum, which SBP is given, as in the paper; its time is not SBP's."""
    data = _kernel_set(name, rows)
    model = SVC(SETTINGS[name].C, gamma=data.gamma, cache_size=experiment.cache_mb, n_jobs=1, random_state=0)
    return float(model.fit(data.X, data.y).slack_)


class SBPRuntimes(Experiment):
    """LIBSVM, the SBP and our exact solver on the clock."""

    name = "sbp-runtimes"

    timed = True

    cache_mb = 2000  # MB, for all
    batch_size = 32
    device_batch = 8192
    """On a GPU. This and two epochs are those of benchmarks/gpu.py."""
    stand_in_variance = 0.5
    """σ² for what stands in for Covertype, with columns in [0, 1]."""

    def cells(self, scale: Scale) -> list[Cell]:
        """LIBSVM once for each set, ours over the seeds; of all of Forest, the SBP on a GPU."""
        return [
            {"set": name, "rows": s.rows[scale], "solver": solver, "epochs": s.epochs[scale], "seed": seed, **device}
            for name, s in SETTINGS.items()
            for device in [{"device": "cuda"} if name == "covertype" and s.rows[scale] is None else {}]
            for solver in (("SBP",) if device else ("LIBSVM", "hinge.SVC", "SBP"))
            for seed in range(1 if solver == "LIBSVM" else SEEDS[scale])
        ]

    def run(self, cell: Cell) -> dict[str, Any]:
        """Seconds of training in one thread, or on a GPU, evaluation and compilation apart, and the test error."""
        data = _kernel_set(cell["set"], cell["rows"])
        if "device" in cell:
            return {**_sbp_on_device(data, cell), "n": len(data.y), **data.about}
        with threadpool_limits(1):
            found = {"LIBSVM": _libsvm, "hinge.SVC": _hinge_svc, "SBP": _sbp}[cell["solver"]](data, cell)
        return {**found, "n": len(data.y), **data.about}

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """A panel for each set; the error at a quarter of the time, and the time to about the same error."""
        panels, rows, printed = [], [], []
        for name, part in results.by("set"):
            series = [*_series(part), *_marks(name)]
            panels.append(loglog(part.first["label"], "seconds of training", "test error, %", series))
            _claims(draft.claims, part, name)
            printed.append(_printed_row(part, name))
            rows += _rows(part)
        draft.figure(self.text("caption", seeds=SEEDS[scale]), panels)
        columns = ["data set", "method", "seconds", "LIBSVM's over these", "test error %", "support vectors"]
        draft.table("To the end of each run; medians over the seeds.", columns, rows)
        said = "Section 5, whose numbers stand in a sentence: test errors and LIBSVM's seconds, the paper's / ours."
        heads = ["", "LIBSVM|seconds", "LIBSVM|test error, %", "SBP in a quarter of them|test error, %"]
        draft.print_table(said, heads, printed)


def _libsvm(data: KernelSet, cell: Cell) -> dict[str, Any]:
    from sklearn.svm import SVC as Libsvm

    sparse = cell["set"] != "covertype"  # LIBSVM is faster on compressed rows of the other two
    X, X_test = (
        sp.csr_matrix(part, dtype=np.float64) if sparse else np.asarray(part, np.float64)
        for part in (data.X, data.X_test)
    )
    model = Libsvm(C=SETTINGS[cell["set"]].C, gamma=data.gamma, cache_size=experiment.cache_mb)
    return _timed(model, X, X_test, data)


def _hinge_svc(data: KernelSet, cell: Cell) -> dict[str, Any]:
    C = SETTINGS[cell["set"]].C
    SVC(C, gamma=data.gamma, tol=0.5, n_jobs=1).fit(data.X[:500], data.y[:500])  # compiles
    model = SVC(C, gamma=data.gamma, cache_size=experiment.cache_mb, n_jobs=1, random_state=cell["seed"])
    return {**_timed(model, data.X, data.X_test, data), "gap": model.gap_}


def _timed(model: BaseEstimator, X: Stored, X_test: Stored, data: KernelSet) -> dict[str, Any]:
    began = time.perf_counter()
    model.fit(X, data.y)
    seconds = time.perf_counter() - began
    error = float(np.mean(model.predict(X_test) != data.y_test))
    return {"seconds": seconds, "error": error, "support": len(model.support_)}


def _sbp(data: KernelSet, cell: Cell) -> dict[str, Any]:
    kernel, n = Gaussian(data.gamma), len(data.y)
    nu, solver = _slack(cell["set"], cell["rows"]), SBP(batch_size=experiment.batch_size)

    def problem_of(rows: int) -> KernelSlackConstrained:
        gram = Gram(as_points(data.X[:rows], kernel), int(experiment.cache_mb * 1e6))
        return KernelSlackConstrained(gram, data.y[:rows], nu, bias="free")

    next(trace(problem_of(500), solver, [3]))  # compiles
    problem = problem_of(n)
    stack = sp.vstack if sp.issparse(data.X) else np.vstack
    both = stack([data.X, data.X_test])
    apart = Gram(as_points(sp.csr_matrix(both) if sp.issparse(both) else both, kernel))
    tested = np.arange(n, apart.n)

    def evaluate(answer: Expansion) -> Evaluation:
        used = np.flatnonzero(answer.beta)
        _, b, _ = problem.level(answer)  # of w at unit norm
        scores = apart.pass_over(used, answer.beta[used], tested) + b * np.sqrt(problem.checked(answer))
        error = float(np.mean(np.where(scores > 0, 1, -1) != data.y_test))
        return {"error": error, "support": len(used)}

    last = max(16, int(cell["epochs"] * n / experiment.batch_size))
    looks = evaluate_at(problem, solver, log_spaced(8, last, 4), evaluate, cell["seed"])
    end = looks[-1]
    return {"looks": looks, "nu": nu, "seconds": end["seconds"], "error": end["error"], "support": int(end["support"])}


def _sbp_on_device(data: KernelSet, cell: Cell) -> dict[str, Any]:
    """A fit with the paper's ν, and for the first seed the seconds that it would take in one thread.

    All iterations take as long: those are made of its first two.
    """
    solver = SBP(experiment.device_batch, passes=cell["epochs"])
    nu = next(line["paper"] for line in LINES if line["set"] == cell["set"])
    model = SVC(gamma=data.gamma, slack=nu, solver=solver, device=cell["device"], random_state=cell["seed"])
    clone(model).set_params(max_iter=2).fit(data.X, data.y)  # compiles
    found = _timed(model, data.X, data.X_test, data)
    if cell["seed"] == 0:
        gram = Gram(as_points(data.X, Gaussian(data.gamma)), int(experiment.cache_mb * 1e6))
        with threadpool_limits(1):
            (now,) = trace(KernelSlackConstrained(gram, data.y, nu, bias="free"), solver, [2])
        found["thread seconds"] = now.seconds / 2 * int(np.max(model.n_iter_))
    looks = [{key: found[key] for key in ("seconds", "error", "support")}]
    return {**found, "looks": looks, "nu": nu, "device": import_torch(cell["device"]).cuda.get_device_name()}


def _traces(part: CellResults) -> list[list[Evaluation]]:
    found = part.where(solver="SBP").column("looks")
    return [[{**look, "error": 100 * look["error"]} for look in looks] for looks in found]


def _series(part: CellResults) -> list[Series]:
    series = [band("SBP, averaged", _traces(part), "seconds", "error")]
    for solver in ("LIBSVM", "hinge.SVC"):
        found = part.where(solver=solver)
        errors = [100 * error for error in found.column("error")]
        series.append(Series(solver, found.column("seconds"), errors, kind="points"))
    return series


def _marks(name: str) -> list[Series]:
    """What the paper states of a set."""
    paper = SETTINGS[name]
    return [
        Series("the paper's LIBSVM", [paper.seconds], [paper.libsvm], kind="stated"),
        Series("the paper's SBP", [paper.seconds / 4], [paper.sbp], kind="stated"),
    ]


class Quarter(NamedTuple):
    """LIBSVM's seconds and error, in %, and the same of the SBP at its last evaluation within a quarter of the seconds.

    Where LIBSVM was not run as all was learned on a GPU, the first two are the paper's; nan is what was not measured.
    """

    seconds: float
    error: float
    ends: float
    reached: float


def _quarter(part: CellResults, paper: Setting) -> Quarter:
    peer = part.where(solver="LIBSVM")
    seconds, error = peer.median("seconds"), 100 * peer.median("error")
    if _device(part):
        seconds, error = paper.seconds, paper.libsvm
    within = [[look for look in looks if look["seconds"] <= seconds / 4] for looks in _traces(part)]
    ends = [looks[-1] for looks in within] if all(within) else []
    return Quarter(seconds, error, median(look["seconds"] for look in ends), median(look["error"] for look in ends))


def _device(part: CellResults) -> str:
    """The GPU on which a set was learned; empty if on none."""
    return str(part.first.get("device", ""))


def _printed_row(part: CellResults, name: str) -> list[Any]:
    paper = SETTINGS[name]
    found = _quarter(part, paper)
    libsvm = (None, None) if _device(part) else found[:2]  # where it was not run
    label = Beside({"adult": "Adult", "mnist": "MNIST", "covertype": "Forest"}[name], part.first["label"])
    theirs = (int(paper.seconds), paper.libsvm, paper.sbp)
    return [label, *map(Beside, theirs, (*libsvm, found.reached))]


def _claims(claims: Claims, part: CellResults, name: str) -> None:
    paper, label, device = SETTINGS[name], part.first["label"], _device(part)
    seconds, error, ends, reached = _quarter(part, paper)
    said = unmeasured = ""
    if error > 2 * paper.libsvm:
        unmeasured = f"too few rows: LIBSVM has {error:.1f}% there, and {paper.libsvm:g}% in the paper"
    apart = round(reached, paper.digits) - round(error, paper.digits)
    if not math.isnan(apart):
        said = f"; SBP {reached:.2f}% in {ends:.3g} s"
        said = said if device else f"; LIBSVM {error:.2f}% in {seconds:.3g} s{said}"
    seeds = len(part.where(solver="SBP"))
    about: dict[str, Any] = {"variance": _variance(part, name), "paper": paper, "seeds": seeds, "said": said}
    if device:
        first = part.where(seed=0)  # the one that was timed in a thread, too
        thread = duration(first.first["thread seconds"]) if first else "an unknown time"
        where = experiment.text("conditions_2", **about, epochs=part[0].cell["epochs"], device=device, thread=thread)
    else:
        where = experiment.text("conditions", **about)
    claims.add("quarter", label, apart, round(paper.sbp - paper.libsvm, 2), where, unmeasured=unmeasured)


def _variance(part: CellResults, name: str) -> float:
    stood_in = name == "covertype" and bool(part.first["note"])
    return experiment.stand_in_variance if stood_in else SETTINGS[name].variance


def _rows(part: CellResults) -> list[list[Value]]:
    peer = part.where(solver="LIBSVM").column("seconds")
    rows = list[list[Value]]()
    for solver, found in part.by("solver"):
        seconds, error, support = (found.median(c) for c in ("seconds", "error", "support"))
        ratio = peer[0] / seconds if peer else None
        rows.append([found.first["label"], solver, seconds, ratio, 100 * error, int(support)])
    return rows


experiment = SBPRuntimes()
