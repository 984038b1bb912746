"""SIMBA, Figure 1: test error against feature accesses, next to Pegasos and to what else there is."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from hinge.access import SparseTable
from hinge.access.tables.table import Bill
from hinge.display.figure import Panel, Series, Value, level_line
from hinge.experiments.base import Cell, CellResults, Claims, Draft, Experiment, Scale, grid
from hinge.experiments.measure import Evaluation, band, error, evaluate_at, log_spaced, ratio
from hinge.experiments.sets import choose, split
from hinge.problems import Regularized, SlackConstrained, Solution
from hinge.solvers import SDCA, Frugal, Pegasos, Perceptron, Simba, trace

SETS = {"news20": "news20", "real-sim": "real vs. simulated"}
ROWS: dict[str, dict[str, int | None]] = {
    "tiny": {"news20": 400, "real-sim": 400},
    "full": {"news20": 10_000, "real-sim": None},  # 8,000 to learn from, as in the paper, and 2,000 to validate
}
SEEDS = {"tiny": 2, "full": 5}
FRUGAL_SEEDS = {"news20": 2, "real-sim": 5}
PASSES = {"tiny": {"news20": 2, "real-sim": 2}, "full": {"news20": 5, "real-sim": 8}}
"""Limit of SIMBA's reads, in passes over all cells; methods that read rows get twice as many."""
LAMS = {"tiny": (1e-3, 1e-4), "full": (3e-4, 1e-4, 3e-5, 1e-5, 3e-6)}
NUS = {"tiny": (0.003, 0.01), "full": (0.001, 0.002, 0.005, 0.01)}
CAPS = {"tiny": (0.1,), "full": (0.03, 0.1)}
LABELS = {
    "SIMBA": "SIMBA (section 6)",
    "capped": "SIMBA, capped",
    "Pegasos": "Pegasos",
    "SDCA": "SDCA",
    "Perceptron": "Perceptron",
    "Frugal": "Frugal (cells kept)",
}
TUNED = {"test": "test rows, as in the paper", "val": "validation rows"}
CONVENTIONS = {"cells": "every cell counts", "nonzeros": "nonzeros count"}


@lru_cache(maxsize=2)
def _columns(name: str, rows: int | None) -> sp.csc_matrix:
    """The rows to learn from, by columns."""
    return split(name, rows).X.tocsc()


class SimbaFigure1(Experiment):
    """Accesses in both conventions until the error that Pegasos attains at its optimum."""

    name = "simba-figure1"

    within = 1.05

    def cells(self, scale: Scale) -> list[Cell]:
        """Every setting of every method, over the seeds."""
        settings: dict[str, Sequence[float]] = {
            "SIMBA": NUS[scale],
            "capped": CAPS[scale],
            "Pegasos": LAMS[scale],
            "SDCA": LAMS[scale],
            "Perceptron": (0.0,),
            "Frugal": (3.0,),  # its C
        }
        cells: list[Cell] = []
        for name in SETS:
            about: dict[str, Any] = {"set": name, "rows": ROWS[scale][name], "passes": PASSES[scale][name]}
            for method, values in settings.items():
                seeds = min(SEEDS[scale], FRUGAL_SEEDS[name]) if method == "Frugal" else SEEDS[scale]
                cells += grid(**about, method=method, setting=values, seed=range(seeds))
        return cells

    def run(self, cell: Cell) -> dict[str, Any]:
        """Validation and test error against cells and nonzeros read."""
        chosen = choose(cell["set"], cell["rows"])
        X, y, X_val, y_val, X_test, y_test = split(cell["set"], cell["rows"])
        n, d = X.shape

        def errors(solution: Solution) -> Evaluation:
            return {"val": error(solution, X_val, y_val), "test": error(solution, X_test, y_test)}

        setting, passes, seed = cell["setting"], cell["passes"], cell["seed"]
        if cell["method"] == "Frugal":
            looks = _frugal(Regularized.from_C(X, y, setting), errors, seed)
        elif cell["method"] in ("SIMBA", "capped"):
            table = SparseTable(X, _columns(cell["set"], cell["rows"]))
            if cell["method"] == "SIMBA":
                solver = Simba("lazy", refresh_every=1, certify=False)  # ξ as in the paper
                problem = SlackConstrained(table, y, setting, bias="free")
            else:
                solver = Simba("capped", cap=setting, certify=False)
                problem = SlackConstrained(table, y, setting / 10, bias="free")
            last = max(100, passes * n * d // (n + d))
            looks = evaluate_at(problem, solver, log_spaced(40, last, 6), _with_bill(errors, table.bill), seed)
        else:
            rows = Regularized(X, y, setting or 1.0)  # the Perceptron ignores λ
            at = log_spaced(max(20, n // 100), 2 * passes * n, 6)
            solvers: dict[str, Any] = {
                "Pegasos": Pegasos(output="last"),
                "SDCA": SDCA(),
                "Perceptron": Perceptron(passes=2 * passes),
            }
            looks = evaluate_at(rows, solvers[cell["method"]], at, errors, seed)
            looks = [{**look, "cells": look["iteration"] * d, "nonzeros": look["reads"]} for look in looks]
        kept = [{k: look[k] for k in ("cells", "nonzeros", "val", "test")} for look in looks]
        return {"looks": kept, "n": n, "d": d, "nonzeros": int(X.nnz), **chosen.about}

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """The figure as in the paper, the same with honest tuning, and the ratios."""
        rows = []
        for tuned, on in TUNED.items():
            panels = []
            for _, part in results.by("set"):
                best = {method: _best_setting(runs, tuned) for method, runs in part.by("method")}
                level = None
                if "Pegasos" in best:
                    level = self.within * float(_mean(best["Pegasos"], "cells", "test")[1].min())
                    rows += [_row(part, best, of, tuned, level) for of in CONVENTIONS]
                panels += [_panel(best, of, level) for of in CONVENTIONS]
                if level is not None and "SIMBA" in best:
                    _claims(draft.claims, best, tuned, level)
            of_frugal = min(SEEDS[scale], FRUGAL_SEEDS["news20"])
            caption = self.text("caption", on=on, seeds=results.seeds, of_frugal=of_frugal)
            draft.figure(caption, panels, "" if tuned == "test" else "validation")
        columns = ["set", "counted", "tuned on", "error", *LABELS.values(), "Pegasos / SIMBA in hindsight"]
        draft.table(self.text("caption_2"), columns, rows)


def _with_bill(errors: Callable[[Any], Evaluation], bill: Bill) -> Callable[[Any], Evaluation]:
    """The errors together with the reads so far, counted as cells and as nonzeros."""
    return lambda solution: {"cells": bill.cells, "nonzeros": bill.nonzeros, **errors(solution)}


def _frugal(problem: Regularized, errors: Callable[[Any], Evaluation], seed: int) -> list[Evaluation]:
    """Errors each time that it has learned from a batch."""
    bill, looks = problem.table.bill, []
    for now in trace(problem, Frugal(flips=0.0), seed=seed):
        looks.append(_with_bill(errors, bill)(now.solution))
        if bill.cells > 0.35 * problem.n * problem.d:  # Frugal keeps what it reads
            break
    return looks


# --- what the curves say ---------------------------------------------------------------------


def _mean(part: CellResults, of: str, what: str) -> tuple[np.ndarray, np.ndarray]:
    """The mean curve over the seeds, at the accesses that all of them have."""
    series = [[(look[of], look[what]) for look in looks] for looks in part.column("looks")]
    low, high = max(one[0][0] for one in series), min(one[-1][0] for one in series)
    at = np.geomspace(low, max(low, high), 200)
    lines = [np.interp(np.log(at), np.log([x for x, _ in one]), [y for _, y in one]) for one in series]
    return at, np.mean(lines, axis=0)


def _best_setting(part: CellResults, by: str) -> CellResults:
    """The runs of the setting whose mean curve goes lowest on these rows."""
    lowest = {s: float(_mean(part.where(setting=s), "cells", by)[1].min()) for s in part.values_of("setting")}
    return part.where(setting=min(lowest, key=lambda s: lowest[s]))


def _accesses_to(part: CellResults, of: str, level: float) -> float:
    """Accesses at which the mean test error is first at most the level; nan where it never is."""
    if not part:
        return math.nan
    at, mean = _mean(part, of, "test")
    hit = np.flatnonzero(mean <= level)
    return float(at[hit[0]]) if len(hit) else math.nan


def _row(part: CellResults, best: dict[str, CellResults], of: str, tuned: str, level: float) -> list[Value]:
    reached = [_accesses_to(best.get(m, CellResults()), of, level) for m in LABELS]
    forms = [runs for form in ("SIMBA", "capped") for _, runs in part.where(method=form).by("setting")]
    found = [accesses for form in forms if (accesses := _accesses_to(form, of, level)) > 0]
    hindsight = ratio(_accesses_to(best["Pegasos"], of, level), min(found, default=None))
    return [part.first["label"], CONVENTIONS[of], TUNED[tuned].split(",")[0], level, *reached, hindsight]


def _claims(claims: Claims, best: dict[str, CellResults], tuned: str, level: float) -> None:
    first = best["SIMBA"][0].values
    settings = ", ".join(f"{m} at {best[m][0].cell['setting']:g}" for m in ("SIMBA", "Pegasos"))
    seeds, on = len(best["SIMBA"]), TUNED[tuned]
    where = experiment.text("conditions", first=first, tuned=on, settings=settings, seeds=seeds, level=100 * level)
    for of, counted in CONVENTIONS.items():
        pegasos, simba = (_accesses_to(best[m], of, level) for m in ("Pegasos", "SIMBA"))
        times, said = pegasos / simba, ""
        spent = float(_mean(best["SIMBA"], of, "test")[0][-1])
        if math.isnan(simba) and pegasos / spent < 2.0:
            times, said = pegasos / spent, "; SIMBA did not get there, so that this is an upper bound"
        sentence = "hundred" if tuned == "test" else "validated"
        claims.add(sentence, f"{first['label']}, {counted}", times, 100.0, where + said)
    if tuned == "test":
        pegasos, simba = _accesses_to(best["Pegasos"], "cells", level), _accesses_to(best["SIMBA"], "nonzeros", level)
        claims.add("guessed", first["label"], pegasos / simba, 100.0, where)


def _panel(best: dict[str, CellResults], of: str, goal: float | None) -> Panel:
    series = [band(LABELS[m], part.column("looks"), of, "test") for m, part in best.items()]
    if goal is not None:
        series.append(level_line(f"{experiment.within:g} × Pegasos' lowest", goal, series))
        accesses = _accesses_to(best["Pegasos"], of, goal)
        series.append(Series("a 100th of Pegasos' accesses, as stated", [accesses / 100], [goal], kind="stated"))
    label = next(iter(best.values()))[0].values["label"]
    return Panel(label, f"feature accesses ({CONVENTIONS[of]})", "test error", series, log_x=True)


experiment = SimbaFigure1()
