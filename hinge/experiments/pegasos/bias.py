"""Pegasos, section 4: three ways to a bias, one of them with two kinds of steps, on sets with few positive rows."""

from typing import Any

import numpy as np

from hinge.display.figure import Series, loglog
from hinge.experiments.base import Cell, CellResults, Claims, Draft, Experiment, Scale, grid
from hinge.experiments.measure import Evaluation, band, error, evaluate_at, last, late_rate, log_spaced, of_sets, ratio
from hinge.experiments.sets import choose
from hinge.monitoring import Stop
from hinge.problems import Regularized, Solution
from hinge.problems.svm.linear import Bias
from hinge.solvers import SDCA, Newton, Pegasos, Solver, solve

SETS = {"tiny": ("reuters",), "full": ("reuters", "mnist")}
LAMS = {"reuters": 1e-4, "mnist": 1e-3}  # pixels have norms near 9: the same λ would ask for 80 times the steps
SEEDS = {"tiny": 2, "full": 5}
ROWS = {"tiny": 1500, "full": None}
BUDGET = {"tiny": 20_000, "full": 1_000_000}  # rows read, k of them in an iteration
BATCHES = {"tiny": (10, 1000), "full": (10, 100, 1000)}
SMALLEST, LARGEST = "exact, k = 10", "exact, k = 1000"

WAYS: dict[str, tuple[Bias, Pegasos]] = {
    "no bias": ("none", Pegasos(output="last")),
    "constant feature": ("penalized", Pegasos(output="last")),
    "sub-gradient": ("free", Pegasos(output="last", bias="subgradient")),
    "sub-gradient, η": ("free", Pegasos(output="last", bias="eta")),
    **{f"exact, k = {k}": ("free", Pegasos(output="last", bias="exact", batch_size=k)) for k in BATCHES["full"]},
}
"""Ways to learn a bias: the bias of the problem, and the solver."""
OPTIMA: dict[str, Bias] = {"no bias": "none", "constant feature": "penalized", "free bias": "free"}


class PegasosBias(Experiment):
    """The objective with a free bias and the test error, against the rows read."""

    name = "pegasos-bias"

    def cells(self, scale: Scale) -> list[Cell]:
        """The three optima, and every way over the seeds."""
        cells: list[Cell] = []
        for name in SETS[scale]:
            common: dict[str, Any] = {"set": name, "rows": ROWS[scale], "lam": LAMS[name]}
            cells += grid(**common, optimum=OPTIMA, seed=0)
            ways = [w for w, (_, solver) in WAYS.items() if solver.batch_size in (1, *BATCHES[scale])]
            cells += grid(**common, way=ways, seed=range(SEEDS[scale]), budget=BUDGET[scale])
        return cells

    def run(self, cell: Cell) -> dict[str, Any]:
        """Each answer by the objective (11), in which the bias is free, and by the objective of its own problem."""
        data = choose(cell["set"], cell["rows"])
        X, y, X_test, y_test = data.parts
        bias = OPTIMA[cell["optimum"]] if "optimum" in cell else WAYS[cell["way"]][0]
        problem = Regularized(X, y, cell["lam"], bias=bias)
        free = Regularized(X, y, cell["lam"], bias="free")
        said = {**data.about, "positive": float(np.mean(y > 0))}

        def evaluate(solution: Solution) -> Evaluation:
            return {
                "objective": free.objective(solution),
                "own": problem.objective(solution),
                "error": error(solution, X_test, y_test),
            }

        if "optimum" in cell:
            few = isinstance(X, np.ndarray) and X.shape[1] <= 1000
            exact: Solver = Newton() if few else SDCA()
            result = solve(problem, exact, stop=Stop(tol=1e-4, max_time=60.0))
            return {**evaluate(result.solution), "bound": float(result.certificate.bound), **said}
        solver = WAYS[cell["way"]][1]
        k = solver.cost(problem).rows
        at = [rows // k for rows in log_spaced(1000, cell["budget"])]
        looks = evaluate_at(problem, solver, at, evaluate, cell["seed"])
        return {"looks": [{**look, "rows": look["iteration"] * k} for look in looks], **said}

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """Curves for each set, a table of where they end, and what is claimed of each way."""
        panels, rows, claims, seeds = [], [], draft.claims, results.seeds
        for name, part in results.by("set"):
            values = part.first
            optima = {o: found.first for o in OPTIMA if (found := part.where(optimum=o))}
            if "free bias" not in optima:
                continue  # without the optima there is nothing to compare with
            best = optima["free bias"]["bound"]
            title = f"{values['label']}, {100 * values['positive']:.1f}% positive"
            runs = {w: part.where(way=w) for w in WAYS}
            curves = {w: _curve(w, found, "objective", best) for w, found in runs.items()}
            panels.append(loglog(title, "rows read", "objective above the free-bias optimum", list(curves.values())))
            for o, v in optima.items():
                rows.append(_row(title, f"optimum, {o}", v["objective"], best, v["error"]))
            for w, found in runs.items():
                if found:
                    rows.append(_row(title, f"Pegasos, {w}", found.end("objective"), best, found.end("error")))
            none, constant, free = (optima.get(o, {}) for o in OPTIMA)
            where = f"λ = {LAMS[name]:g}, optima to a gap of 1e-4"
            claims.add("crucial", title, ratio(none.get("error"), free["error"]), "often crucial", where)
            excess = ratio(constant.get("objective"), free["bound"]) - 1
            claims.add("different", title, excess, "slightly different", where)
            where = f"λ = {LAMS[name]:g}, {BUDGET[scale]:,} rows read, last iterate, median of {seeds} seeds"
            own = _curve("", runs["constant feature"], "own", constant.get("bound", np.nan))
            _way_claims(claims, curves, last(own), title, where)
        draft.figure(self.text("caption", lams=of_sets("{:g}", LAMS, SETS[scale]), seeds=seeds), panels)
        columns = ("set", "method", "objective (11)", "above the optimum, %", "test error, %")
        draft.table(self.text("table_caption", budget=BUDGET[scale]), columns, rows, digits=4)


def _curve(label: str, runs: CellResults, value: str, best: float) -> Series:
    """An objective above the least one, over the rows read."""
    above = [[{**look, "above": look[value] - best} for look in looks] for looks in runs.column("looks")]
    return band(label, above, "rows", "above")


def _row(title: str, method: str, objective: float, best: float, wrong: float) -> list[str | float]:
    return [title, method, objective, 100 * (objective / best - 1), 100 * wrong]


def _way_claims(claims: Claims, curves: dict[str, Series], own: float, title: str, where: str) -> None:
    """What is said of each way; `own` is what the constant feature ends with, by its own objective."""
    ends = {way: last(curve) for way, curve in curves.items()}
    for sentence, way in (("root", "sub-gradient"), ("eta", "sub-gradient, η")):
        two_decades = late_rate(curves[way], max(curves[way].x, default=0.0) / 100)
        claims.add(sentence, title, two_decades, 0.5, where)
    least = float(np.minimum(ends["constant feature"], ends["sub-gradient"]))
    claims.add("slower", title, ratio(ends["sub-gradient"], own), "slower", where)
    claims.add("both", title, ratio(ends[LARGEST], least), "advantages of both", where)
    claims.add("large_k", title, ratio(ends[SMALLEST], ends[LARGEST]), "large k only", where)


experiment = PegasosBias()
