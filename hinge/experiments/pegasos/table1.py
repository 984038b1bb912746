"""Pegasos, Table 1: seconds of Pegasos, SVM-Perf and SVM-Light, and of what is used today."""

import math
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits

from hinge.display.figure import Beside, Series, loglog
from hinge.experiments.base import Cell, CellResults, Claims, Draft, Experiment, Scale, grid, median
from hinge.experiments.measure import Evaluation, band, error, evaluate_at, log_spaced, of_sets, ratio, slope
from hinge.experiments.sets import Chosen, choose
from hinge.monitoring import Record, Stop
from hinge.problems import Regularized, Solution
from hinge.solvers import CuttingPlane, Pegasos, solve, trace
from hinge.solvers.choice import auto
from hinge.types import Stored

STEEPEST = 4.0  # seconds of LIBSVM grow as the cube of the rows at most: a larger exponent means too few
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
"""Heads of the table."""
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
            common: dict[str, Any] = {"set": name, "rows": ROWS[scale], "limit": LIMIT[scale]}
            for method in (PERF, *OUTPUTS, *OTHERS):
                once = name == "covertype" and method not in (PERF, OTHERS[0])  # half a minute each
                repeats = range(1 if once else REPEATS[scale])
                cells += grid(**common, method=method, T=LAST[scale][name], seed=repeats)
            for part in LIBSVM_ROWS[scale].get(name, ()):
                once = part > 10_000  # minutes each
                cells += grid(**common, method=LIBSVM, part=part, seed=range(1 if once else REPEATS[scale]))
        return cells

    def run(self, cell: Cell) -> dict[str, Any]:
        """Objective and test error on the way, against seconds that hold no evaluation."""
        with threadpool_limits(1):  # SVM-Perf's planes and Newton's Hessian are for BLAS
            return _run_method(cell)

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """The table, the curves, and the ratios of seconds."""
        panels, rows, printed, claims = [], [], [], draft.claims
        spent: dict[str, tuple[float, bool]] = {}
        for name, part in results.by("set"):
            if not part.where(method=PERF):
                continue  # SVM-Perf sets the goal for the others
            runs = RunsAtGoal(name, part)
            lines, own = runs.compare((PERF, *OUTPUTS, *OTHERS))
            rows += own
            if runs.most_light:
                rows.append(runs.row(LIBSVM, runs.most_light))
            if name in PAPER:
                printed.append(_printed_row(runs))
            panels.append(loglog(runs.label, "seconds", "objective above the optimum", lines))
            runs.beside_perf(claims)
            _beside_light(draft, runs)
            if runs.pegasos:
                spent[name] = runs.median(runs.pegasos, "seconds"), runs.reached
        if "ccat" in spent and "covertype" in spent:
            times, reached = spent["covertype"][0] / spent["ccat"][0], spent["covertype"][1]
            known = spent["ccat"][1] and (reached or times > 1.5)
            said = "as above" + ("" if reached else "; on Covertype the seconds spent in vain")
            theirs = PAPER["covertype"][0] / PAPER["ccat"][0]
            claims.add("larger", "Covertype and CCAT", times if known else None, theirs, said)
        lams, lasts = of_sets("{:g}", LAMS, SETS[scale]), of_sets("{:,}", LAST[scale], SETS[scale])
        draft.figure(self.text("caption", seeds=results.seeds, lams=lams), panels)
        draft.table(self.text("table_caption", accuracy=ACCURACY, lasts=lasts), COLUMNS, rows)
        draft.print_table(self.text("table_caption_2"), ["", PEGASOS, PERF, "SVM-Light"], printed)


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
    return {**data.about, "n": len(y), **run_on(cell, X, y, X_test, y_test)}


def run_on(cell: Cell, X: Stored, y: np.ndarray, X_test: Stored, y_test: np.ndarray) -> dict[str, Any]:
    """What the method of a cell gives on these rows."""
    problem, method = Regularized(X, y, LAMS[cell["set"]]), cell["method"]

    def evaluate(solution: Solution) -> Evaluation:
        return {"objective": problem.objective(solution), "error": error(solution, X_test, y_test)}

    if method in OUTPUTS:
        solver = Pegasos(output=OUTPUTS[method])  # type: ignore[arg-type]
        return {"looks": evaluate_at(problem, solver, log_spaced(10_000, cell["T"], 8), evaluate, cell["seed"])}
    if method == PERF:
        return _svm_perf(problem, evaluate, cell["limit"])
    if method == LIBSVM:
        return _libsvm(problem, X, y, evaluate)
    if method == OTHERS[0]:
        return _run_default(problem, evaluate, cell["limit"], cell["seed"])
    return {"looks": _liblinear(problem, X, y, evaluate, cell["seed"])}


def _svm_perf(problem: Regularized, evaluate: Evaluate, limit: float) -> dict[str, Any]:
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


class RunsAtGoal:
    """The runs on one set, and when they come to the objective that SVM-Perf ends with, and the accuracy.

    Parameters
    ----------
    name : str
        Of the set.
    part : CellResults
        With runs of SVM-Perf.
    """

    def __init__(self, name: str, part: CellResults) -> None:
        self.name, self.part = name, part
        self.stated = dict(zip((PEGASOS, PERF, LIBSVM), PAPER.get(name, ()), strict=False))
        self.perf, self.pegasos = part.where(method=PERF), part.where(method=PEGASOS)
        self.light = part.where(method=LIBSVM)
        self.most_light = self.light.where(part=max(self.light.values_of("part"), default=0))
        self.label, self.n = self.perf.first["label"], self.perf.first["n"]
        self.goal = self.perf.end("objective") + ACCURACY
        self.reached = self._is_reached(self.pegasos)
        runs = {"of_perf": len(self.perf), "gap": max(self.perf.column("gap")), "of_pegasos": len(self.pegasos)}
        self.where = experiment.text("conditions", label=self.label, lam=LAMS[name], accuracy=ACCURACY, **runs)

    def median(self, found: CellResults, value: str) -> float:
        """The median of a value at the goal, or at the end of runs that miss it; nan where there are no runs."""
        return median(self._at_goal(looks)[value] for looks in found.column("looks"))

    def _at_goal(self, looks: list[Evaluation]) -> Evaluation:
        """The first evaluation at or below the goal; the last one if there is none."""
        return next((look for look in looks if look["objective"] <= self.goal), looks[-1])

    def _is_reached(self, found: CellResults) -> bool:
        return all(self._at_goal(looks)["objective"] <= self.goal for looks in found.column("looks"))

    def compare(self, methods: Iterable[str]) -> tuple[list[Series], list[list[Any]]]:
        """A line for each method that was run, and the paper's seconds where it has some; and rows of the table."""
        best = max(float(bound) for r in self.part if (bound := r.values.get("bound")))
        runs = {method: found for method in methods if (found := self.part.where(method=method))}
        lines = [_line(method, found.column("looks"), best) for method, found in runs.items()]
        for method in (PEGASOS, PERF):
            if method in self.stated:
                lines.append(Series(f"the paper's {method}", [self.stated[method]], [ACCURACY], kind="stated"))
        return lines, [self.row(method, found) for method, found in runs.items()]

    def row(self, method: str, found: CellResults) -> list[Any]:
        """The row of a method in the table, with the paper's seconds beside ours."""
        value = found.first
        by = f" ({value['by']})" if "by" in value else ""
        reached = "yes" if self._is_reached(found) else "no"
        if method == PERF:
            reached = "yes" if all(gap <= ACCURACY for gap in found.column("gap")) else "no"
        elif method == LIBSVM:
            reached = "no" if any(found.column("cut_off")) else "its own tolerance"
        ends = method in (PERF, LIBSVM)  # by its own rule: its last point
        keys = ("seconds", "objective", "error")
        seconds, objective, wrong = (found.end(key) if ends else self.median(found, key) for key in keys)
        above = None if ends else objective - (self.goal - ACCURACY)
        paper = self.stated.get(method)
        return [self.label, method + by, value["n"], seconds, paper, reached, objective, above, 100 * wrong]

    def beside_perf(self, claims: Claims) -> None:
        """Pegasos beside SVM-Perf: seconds, objective, test error."""
        perf, pegasos, where = self.perf, self.pegasos, self.where
        theirs = PAPER[BESIDE.get(self.name, self.name)]
        where += f"; the paper's number is that of {BESIDE[self.name]}" if self.name in BESIDE else ""
        faster = ratio(perf.end("seconds"), self.median(pegasos, "seconds"))
        above = self.median(pegasos, "objective") - (self.goal - ACCURACY)
        apart = abs(self.median(pegasos, "error") - perf.end("error"))
        bound = never = ""
        if not self.reached:
            missed = f"not reached in {pegasos[0].cell['T']:,} iterations"
            where += f"; {missed}"
            bound = ": the ratio is an upper bound"
            if faster >= 1:  # which decides nothing
                faster, never = math.nan, missed
        claims.add("pegasos-table1.faster", self.label, faster, theirs[1] / theirs[0], where + bound, unmeasured=never)
        stopped = "the run is stopped where it is met"
        claims.add("pegasos-table1.above", self.label, above, ACCURACY, where, sure=stopped)
        claims.add("pegasos-table1.identical", self.label, apart, "virtually identical", where)


def _beside_light(draft: Draft, runs: RunsAtGoal) -> None:
    """LIBSVM beside SVM-Perf, and how its seconds grow with the rows, where it ran on several numbers of them."""
    sizes = sorted(runs.light.values_of("part"))
    if len(sizes) < 2 or any(runs.light.column("cut_off")):
        return
    seconds = [runs.light.where(part=size).end("seconds") for size in sizes]
    p, most = slope(sizes, seconds), sizes[-1]
    law = f"{sizes[0]:,} to {most:,} rows are too few to tell how its seconds grow"
    if p <= STEEPEST:
        for_all = seconds[-1] * (runs.n / most) ** p
        law = (
            f"seconds grow as rows^{p:.2f} between {sizes[0]:,} and {most:,} rows; by that law all rows would "
            f"take {for_all:,.0f} s"
        )
    draft.notes.append(f"LIBSVM on {runs.label}: {law}. It has no setting without a bias.")
    few = f"LIBSVM ran on {most:,} rows, where SVM-Perf had all" if most < runs.n else ""
    where = f"{runs.where}; LIBSVM in place of SVM-Light"
    times, theirs = seconds[-1] / runs.perf.end("seconds"), runs.stated[LIBSVM] / runs.stated[PERF]
    draft.claims.add("light", runs.label, times, theirs, where, unmeasured=few)


def _printed_row(runs: RunsAtGoal) -> list[Any]:
    """A row of the paper's table; of LIBSVM, in place of SVM-Light, the most rows that it had."""
    most = max(runs.light.values_of("part"), default=0)
    seconds = (runs.median(runs.pegasos, "seconds"), runs.perf.end("seconds"), runs.most_light.end("seconds"))
    notes = ("" if runs.reached else "0.001 not reached", "", f"LIBSVM, {most:,} rows")
    return [Beside(NAMES[runs.name], runs.label), *map(Beside, PAPER[runs.name], seconds, notes)]


def _line(method: str, runs: list[list[Evaluation]], best: float) -> Series:
    """Excess against seconds; separate fits are points, at the medians of both."""
    above = [[{**look, "excess": max(look["objective"] - best, 1e-9)} for look in run] for run in runs]
    if method != OTHERS[1]:  # the run of median length: runs differ in seconds, not in what they do
        run = sorted(above, key=lambda run: run[-1]["seconds"])[(len(above) - 1) // 2]
        return band(method, [run], "seconds", "excess")
    x, y = ([median(run[i][key] for run in above) for i in range(len(TOLERANCES))] for key in ("seconds", "excess"))
    return Series(method, x, y, kind="points")


experiment = PegasosTable1()
