"""Pegasos, Table 1: seconds of Pegasos, SVM-Perf and SVM-Light, and of what is used today."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from hinge.display.figure import Beside, Series, loglog
from hinge.experiments.base import Cell, CellResults, Claims, Draft, Experiment, Scale, grid
from hinge.experiments.measure import Evaluation, band, error, evaluate_at, log_spaced, slope
from hinge.experiments.sets import Chosen, choose
from hinge.monitoring import Record, Stop
from hinge.problems import Regularized, Solution
from hinge.solvers import CuttingPlane, Pegasos, solve, trace
from hinge.solvers.choice import auto
from hinge.types import Stored

STEEPEST = 4.0  # seconds of LIBSVM grow as the cube of the rows at most: a larger exponent is that of too few
ACCURACY = 0.001  # of SVM-Perf, and of Pegasos above SVM-Perf
LAMS = {"ccat": 1e-4, "covertype": 1e-6, "astro-ph": 2e-4, "imdb": 2e-4}
PAPER = {"ccat": (2, 77, 20_075), "covertype": (6, 85, 25_514), "astro-ph": (2, 5, 80)}
NAMES = {"ccat": "CCAT", "covertype": "Covertype", "astro-ph": "astro-ph"}
BESIDE = {"imdb": "astro-ph"}  # not in the paper's table, but real text of about the size of astro-ph
SETS = {"tiny": ("ccat", "covertype"), "full": ("ccat", "covertype", "astro-ph", "imdb")}
ROWS = {"tiny": 2000, "full": None}
REPEATS = {"tiny": 1, "full": 5}
LAST = {
    "tiny": dict.fromkeys(LAMS, 200_000),
    "full": {"ccat": 4_000_000, "covertype": 80_000_000, "astro-ph": 2_000_000, "imdb": 2_000_000},
}
LIMIT = {"tiny": 0.5, "full": 90.0}  # seconds for a solver that knows its gap
LIBSVM_ROWS: dict[str, dict[str, tuple[int, ...]]] = {
    "tiny": {"ccat": (200, 400), "covertype": (50, 100)},
    "full": {"ccat": (750, 1500, 3000), "astro-ph": (750, 1500, 3000, 29_882), "covertype": (2500, 5000, 10_000)},
}
"""The last of astro-ph is all of it, as the paper's 80 s are."""
TOLERANCES = (1.0, 0.1)  # of scikit-learn's LinearSVC: its default asks for far more than 0.001
PERF, PEGASOS, LIBSVM = "SVM-Perf", "Pegasos", "LIBSVM"
OUTPUTS = {PEGASOS: "last", "Pegasos, weighted average": "weighted"}
OTHERS = ("hinge, default", "scikit-learn LinearSVC")
COLUMNS = (
    *("set", "method", "rows", "seconds", "paper's seconds"),
    *("reached", "objective", "above SVM-Perf", "test error, %"),
)
"""Heads of the table, of which `row_of` makes the rows."""
Evaluate = Callable[[Solution], Evaluation]


class PegasosTable1(Experiment):
    """Seconds until the objective is within 0.001 of what SVM-Perf ends with."""

    name = "pegasos-table1"

    timed = True

    libsvm_steps = 10_000_000

    def cells(self, scale: Scale) -> list[Cell]:
        """Every method on every set, and LIBSVM on parts of them."""
        cells: list[Cell] = []
        for name in SETS[scale]:
            common: dict[str, Any] = {"set": [name], "rows": [ROWS[scale]], "limit": [LIMIT[scale]]}
            for method in (PERF, *OUTPUTS, *OTHERS):
                once = name == "covertype" and method not in (PERF, OTHERS[0])  # half a minute each
                repeats = range(1 if once else REPEATS[scale])
                cells += grid(**common, method=[method], T=[LAST[scale][name]], seed=repeats)
            for part in LIBSVM_ROWS[scale].get(name, ()):
                once = part > 10_000  # minutes each
                cells += grid(**common, method=[LIBSVM], part=[part], seed=range(1 if once else REPEATS[scale]))
        return cells

    def run(self, cell: Cell) -> dict[str, Any]:
        """Objective and test error on the way, against seconds that hold no evaluation."""
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):  # SVM-Perf's planes and Newton's Hessian are for BLAS
            return _run_method(cell)

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """The table, the curves, and the ratios of seconds."""
        panels, rows, printed, claims = [], [], [], draft.claims
        spent: dict[str, tuple[float, bool]] = {}
        for name, part in results.by("set"):
            perf = part.where(method=PERF)
            if not perf:
                continue  # SVM-Perf sets the goal for the others
            label = perf.first["label"]
            goal = float(np.median([looks[-1]["objective"] for looks in perf.column("looks")])) + ACCURACY
            best = max([float(b) for r in part if (b := r.values.get("bound"))])
            lines = []
            for method in (PERF, *OUTPUTS, *OTHERS):
                found = part.where(method=method)
                if not found:
                    continue
                lines.append(line_of(method, found.column("looks"), best))
                rows.append(row_of(label, name, method, found, goal))
            if name in PAPER:
                lines += marks(name)
                printed.append(_printed_row(name, label, part, goal))
            panels.append(loglog(label, "seconds", "objective above the optimum", lines))
            gap, pegasos = max(perf.column("gap")), part.where(method=PEGASOS)
            where = self.text(
                "conditions",
                label=label,
                lam=LAMS[name],
                of_perf=len(perf),
                gap=gap,
                of_pegasos=len(pegasos),
                accuracy=ACCURACY,
            )
            beside_perf(claims, name, label, part, goal, where)
            reached = bool(pegasos) and _is_reached(pegasos, goal)
            if pegasos:
                spent[name] = median_at(pegasos, goal, "seconds"), reached
            sizes, p, seconds_for_all = _libsvm_law(part, perf.first["n"])
            if sizes:
                rows.append(row_of(label, name, LIBSVM, part.where(method=LIBSVM, part=sizes[-1]), goal))
            if p is None or seconds_for_all is None:
                continue
            law = (
                f"seconds grow as rows^{p:.2f} between {sizes[0]:,} and {sizes[-1]:,} rows; by that law all rows would "
                f"take {seconds_for_all:,.0f} s"
                if p <= STEEPEST
                else f"{sizes[0]:,} to {sizes[-1]:,} rows are too few to tell how its seconds grow"
            )
            draft.notes.append(f"LIBSVM on {label}: {law}. It has no setting without a bias.")
            measured = median_at(part.where(method=LIBSVM, part=sizes[-1]), -np.inf, "seconds")
            few = f"LIBSVM ran on {sizes[-1]:,} rows, where SVM-Perf had all" if sizes[-1] < perf.first["n"] else ""
            claims.add(
                "light",
                label,
                measured / median_at(perf, -np.inf, "seconds"),
                PAPER[name][2] / PAPER[name][1],
                f"{where}; LIBSVM in place of SVM-Light",
                unmeasured=few,
            )
        if "ccat" in spent and "covertype" in spent:
            ratio, reached = spent["covertype"][0] / spent["ccat"][0], spent["covertype"][1]
            claims.add(
                "larger",
                "Covertype and CCAT",
                ratio if spent["ccat"][1] and (reached or ratio > 1.5) else None,
                PAPER["covertype"][0] / PAPER["ccat"][0],
                "as above" + ("" if reached else "; on Covertype the seconds spent in vain"),
            )
        caption = (
            "Objective above the best lower bound known, against seconds without evaluation and compilation. "
            f"Lines are the runs of median length of up to {results.seeds}. λ = "
            + ", ".join(f"{LAMS[name]:g} ({name})" for name in SETS[scale])
            + ". The paper's seconds are marked at the accuracy of 0.001, which both end with. "
            "SVM-Perf is this library's CuttingPlane; LinearSVC is a fit for each of tol = 1 and 0.1."
        )
        draft.figure(caption, panels)
        draft.table(
            f"Seconds until the objective is within {ACCURACY:g} of what SVM-Perf ends with; SVM-Perf itself "
            f"to a gap of {ACCURACY:g}. Pegasos is given up after so many iterations: "
            + ", ".join(f"{LAST[scale][name]:,} ({name})" for name in SETS[scale])
            + ". LIBSVM stands in for SVM-Light, on fewer rows and with a bias.",
            COLUMNS,
            rows,
        )
        said = "Table 1. Training time in CPU-seconds: the paper's / ours."
        draft.print_table(said, ["", PEGASOS, PERF, "SVM-Light"], printed)


@lru_cache(maxsize=1)
def _sparse(name: str, rows: int | None) -> Chosen:
    """A set in CSR where most of it is zero, as the paper's programs read it (Covertype comes dense)."""
    chosen = choose(name, rows)
    X = chosen.data.X_train
    if sp.issparse(X) or np.mean(X[:1000] != 0) > 0.5:
        return chosen
    return chosen._replace(data=replace(chosen.data, X_train=sp.csr_matrix(X)))


def _run_method(cell: Cell) -> dict[str, Any]:
    data = _sparse(cell["set"], cell["rows"])
    X, y, X_test, y_test = data.parts
    if "part" in cell:
        kept = np.random.default_rng(cell["seed"]).permutation(len(y))[: cell["part"]]
        X, y = X[kept], y[kept]
    problem = Regularized(X, y, LAMS[cell["set"]])

    def evaluate(solution: Solution) -> Evaluation:
        return {"objective": problem.objective(solution), "error": error(solution, X_test, y_test)}

    method = cell["method"]
    said: dict[str, Any] = {**data.about, "n": len(y)}
    if method in OUTPUTS:
        solver = Pegasos(output=OUTPUTS[method])  # type: ignore[arg-type]
        at = log_spaced(10_000, cell["T"], 8)
        return {**said, "looks": evaluate_at(problem, solver, at, evaluate, cell["seed"])}
    if method == PERF:
        return {**said, **svm_perf(problem, evaluate, cell["limit"])}
    if method == LIBSVM:
        return {**said, **_libsvm(problem, X, y, evaluate)}
    if method == OTHERS[0]:
        return {**said, **_run_default(problem, evaluate, cell["limit"], cell["seed"])}
    return {**said, "looks": _liblinear(problem, X, y, evaluate, cell["seed"])}


def svm_perf(problem: Regularized, evaluate: Evaluate, limit: float) -> dict[str, Any]:
    """Passes until the gap is at most the accuracy, in absolute terms as the paper's ε."""
    looks: list[Evaluation] = []
    for now in trace(problem, CuttingPlane(), count(1)):
        primal, dual = now.state.primal, now.state.dual
        if not looks or now.seconds > 1.1 * looks[-1]["seconds"]:
            looks.append({"seconds": now.seconds, "objective": primal})
        if primal - dual <= ACCURACY or now.seconds >= limit:
            break
    looks.append({"seconds": now.seconds, **evaluate(now.solution)})
    return {"looks": looks, "bound": dual, "gap": primal - dual, "passes": now.iteration}


def _run_default(problem: Regularized, evaluate: Evaluate, limit: float, seed: int) -> dict[str, Any]:
    """What the library chooses by itself, certificates on the clock."""
    looks: list[Evaluation] = []

    def look(record: Record, solution: Solution) -> None:
        looks.append({"seconds": record.seconds, **evaluate(solution)})

    solver = auto.choose(problem).solver
    assert solver is not None
    next(trace(problem, solver, [0]))  # compiles
    stop = Stop(tol=3e-4, max_time=limit)
    result = solve(problem, solver, stop=stop, seed=seed, callbacks=[look])
    return {"looks": looks, "bound": float(result.certificate.bound), "by": type(solver).__name__}


def _liblinear(problem: Regularized, X: Stored, y: np.ndarray, evaluate: Evaluate, seed: int) -> list[Evaluation]:
    """A fit for each tolerance, each with its own seconds."""
    from sklearn.svm import LinearSVC

    looks = []
    C = 1.0 / (problem.lam * problem.n)
    for tol in TOLERANCES:
        model = LinearSVC(loss="hinge", C=C, tol=tol, fit_intercept=False, random_state=seed)
        looks.append(_fit_and_evaluate(model, X, y, evaluate))
    return looks


def _libsvm(problem: Regularized, X: Stored, y: np.ndarray, evaluate: Evaluate) -> dict[str, Any]:
    from sklearn.svm import SVC

    C = 1.0 / (problem.lam * problem.n)
    model = SVC(kernel="linear", C=C, cache_size=500, max_iter=experiment.libsvm_steps)
    look = _fit_and_evaluate(model, X, y, evaluate)
    return {"looks": [look], "cut_off": bool(np.max(model.n_iter_) >= experiment.libsvm_steps)}


def _fit_and_evaluate(model: BaseEstimator, X: Stored, y: np.ndarray, evaluate: Evaluate) -> Evaluation:
    with warnings.catch_warnings(action="ignore"):  # that a limit was met shows in the objective
        began = time.process_time()  # the paper's are CPU-seconds; these run in one thread
        model.fit(X, y)
        seconds = time.process_time() - began
    w = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
    b = float(np.ravel(model.intercept_)[0])
    return {"seconds": seconds, **evaluate(Solution(np.ascontiguousarray(w.ravel(), np.float64), b))}


def marks(name: str) -> list[Series]:
    """The paper's seconds of both, at the accuracy that they end with."""
    seconds = zip((PEGASOS, PERF), PAPER[name], strict=False)
    return [Series(f"the paper's {method}", [spent], [ACCURACY], kind="stated") for method, spent in seconds]


def _printed_row(name: str, label: str, part: CellResults, goal: float) -> list[Any]:
    """A row of the paper's table; of LIBSVM, in place of SVM-Light, the most rows that it had."""
    light, pegasos = part.where(method=LIBSVM), part.where(method=PEGASOS)
    most = max(light.values_of("part"), default=0)
    seconds = [
        median_at(found, stop, "seconds") if found else None
        for found, stop in ((pegasos, goal), (part.where(method=PERF), -np.inf), (light.where(part=most), -np.inf))
    ]
    notes = ["" if not pegasos or _is_reached(pegasos, goal) else "0.001 not reached", "", f"LIBSVM, {most:,} rows"]
    return [Beside(NAMES[name], label), *map(Beside, PAPER[name], seconds, notes)]


def line_of(method: str, runs: list[list[Evaluation]], best: float) -> Series:
    """Excess against seconds; separate fits are points, at the medians of both."""
    above = [[{**look, "excess": max(look["objective"] - best, 1e-9)} for look in run] for run in runs]
    if method != OTHERS[1]:  # the run of median length: runs differ in seconds, not in what they do
        run = sorted(above, key=lambda run: run[-1]["seconds"])[(len(above) - 1) // 2]
        return band(method, [run], "seconds", "excess")
    x, y = (
        [float(np.median([run[i][key] for run in above])) for i in range(len(TOLERANCES))]
        for key in ("seconds", "excess")
    )
    return Series(method, x, y, kind="points")


def _at_goal(looks: list[Evaluation], goal: float) -> Evaluation:
    """The first evaluation at or below the goal; the last one if there is none."""
    return next((look for look in looks if look["objective"] <= goal), looks[-1])


def median_at(found: CellResults, goal: float, value: str) -> float:
    """The median of a value at the goal, or at the end of runs that miss it."""
    return float(np.median([_at_goal(looks, goal)[value] for looks in found.column("looks")]))


def _is_reached(found: CellResults, goal: float) -> bool:
    return all(_at_goal(looks, goal)["objective"] <= goal for looks in found.column("looks"))


def row_of(label: str, name: str, method: str, found: CellResults, goal: float) -> list[Any]:
    """The row of a method in the table, with the paper's seconds beside ours."""
    value = found.first
    by = f" ({value['by']})" if "by" in value else ""
    reached = "yes" if _is_reached(found, goal) else "no"
    if method == PERF:
        reached = "yes" if all(gap <= ACCURACY for gap in found.column("gap")) else "no"
    elif method == LIBSVM:
        reached = "no" if any(found.column("cut_off")) else "its own tolerance"
    ends = method in (PERF, LIBSVM)  # by its own rule: its last point
    seconds, objective, wrong = (
        median_at(found, -np.inf if ends else goal, k) for k in ("seconds", "objective", "error")
    )
    paper = dict(zip((PEGASOS, PERF, LIBSVM), PAPER.get(name, (None, None, None)), strict=True)).get(method)
    above = None if ends else objective - (goal - ACCURACY)
    return [label, method + by, value["n"], seconds, paper, reached, objective, above, 100 * wrong]


def _libsvm_law(part: CellResults, rows: int) -> tuple[list[int], float | None, float | None]:
    """Sizes that were run, the exponent of seconds in them, and the seconds of all rows by that law."""
    found = part.where(method=LIBSVM)
    sizes = sorted(found.values_of("part"))
    if len(sizes) < 2 or any(found.column("cut_off")):
        return sizes, None, None
    seconds = [median_at(found.where(part=size), -np.inf, "seconds") for size in sizes]
    p = slope(sizes, seconds)
    return sizes, p, seconds[-1] * (rows / sizes[-1]) ** p


def beside_perf(claims: Claims, name: str, label: str, part: CellResults, goal: float, where: str) -> None:
    """Pegasos beside SVM-Perf: seconds, objective, test error."""
    perf, pegasos = part.where(method=PERF), part.where(method=PEGASOS)
    theirs = PAPER[BESIDE.get(name, name)]
    where += f"; the paper's number is that of {BESIDE[name]}" if name in BESIDE else ""
    ratio = above = apart = None
    words, reached = "", bool(pegasos) and _is_reached(pegasos, goal)
    if pegasos:
        ratio = median_at(perf, -np.inf, "seconds") / median_at(pegasos, goal, "seconds")
        above = median_at(pegasos, goal, "objective") - (goal - ACCURACY)
        apart = abs(median_at(pegasos, goal, "error") - median_at(perf, -np.inf, "error"))
        if not reached:
            words = f"; not reached in {pegasos[0].cell['T']:,} iterations: the ratio is an upper bound"
            ratio = ratio if ratio < 1 else None  # where it is only an upper bound, a value above 1 decides nothing
    missed = words.partition(":")[0]
    never = missed.removeprefix("; ") if ratio is None else ""
    claims.add("pegasos-table1.faster", label, ratio, theirs[1] / theirs[0], where + words, unmeasured=never)
    stopped = "the run is stopped where it is met"
    claims.add("pegasos-table1.above", label, above, ACCURACY, where + missed, sure=stopped)
    claims.add("pegasos-table1.identical", label, apart, "virtually identical", where + missed)


experiment = PegasosTable1()
