"""Pegasos, section 4: kernel evaluations, where inner products are made of the support vectors so far."""

from functools import lru_cache
from typing import Any

import numpy as np

from hinge.display.figure import loglog
from hinge.experiments.base import Cell, CellResults, Draft, Experiment, Scale, grid
from hinge.experiments.measure import Evaluation, first_below, line_of, log_spaced, slope, value_at
from hinge.experiments.sets import choose
from hinge.kernels import Gaussian
from hinge.monitoring import Stop
from hinge.problems import KernelRegularized
from hinge.solvers import BlockDual, KernelPegasos, solve, trace

SET, VARIANCE, LAM = "adult", 10.0, 1e-3
SIZES = {"tiny": (300, 600), "full": (500, 1000, 2000, 4000)}
SEEDS = {"tiny": 2, "full": 5}
MOST = {"tiny": 2_000, "full": 30_000}
ACCURACIES = {"tiny": (0.2, 0.1, 0.07), "full": (0.1, 0.05, 0.03, 0.02)}


@lru_cache(maxsize=1)
def _problem(rows: int) -> tuple[KernelRegularized, float, str, str]:
    """The problem, its least value, and what the rows are."""
    data = choose(SET, rows)
    problem = KernelRegularized(*data.parts[:2], LAM, Gaussian(1 / (2 * VARIANCE)))
    best = solve(problem, BlockDual(), stop=Stop(tol=1e-4, max_time=60.0)).certificate.bound
    return problem, float(best), data.label, data.note


class PegasosKernel(Experiment):
    """Iterations, support vectors and kernel evaluations until the last iterate is ε-accurate."""

    name = "pegasos-kernel"

    def cells(self, scale: Scale) -> list[Cell]:
        """Every number of rows, over the seeds."""
        return grid(set=SET, rows=SIZES[scale], seed=range(SEEDS[scale]), most=MOST[scale])

    def run(self, cell: Cell) -> dict[str, Any]:
        """Excess, support vectors and evaluations on the way, as if nothing were kept but the coefficients."""
        problem, best, label, note = _problem(cell["rows"])
        solver = KernelPegasos(projection=True, average=False)
        looks: list[Evaluation] = []
        evaluations, before, support = 0.0, 0, 0
        for now in trace(problem, solver, log_spaced(10, cell["most"], 24), seed=cell["seed"]):
            more = int(np.count_nonzero(now.solution.beta))
            evaluations += (now.iteration - before) * (support + more) / 2  # they came one by one
            before, support = now.iteration, more
            excess = problem.objective(now.solution) - best
            looks.append({"iteration": now.iteration, "excess": excess, "support": support, "evaluations": evaluations})
        return {"looks": looks, "m": problem.n, "label": label.rsplit(", ", 1)[0], "note": note}

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """T and evaluations over ε, and over m."""
        sizes, eps, label = results.values_of("rows"), ACCURACIES[scale], results.first["label"]
        needs = {
            what: {m: line_of(f"m = {m:,}", {e: _first(results.where(rows=m), what, e) for e in eps}) for m in sizes}
            for what in ("iteration", "evaluations", "support")
        }
        panels = [
            loglog(label, "ε, absolute accuracy", words, list(needs[what].values()))
            for what, words in (("iteration", "T, iterations"), ("evaluations", "kernel evaluations"))
        ]
        caption = self.text("caption", label=label, variance=VARIANCE, lam=LAM, seeds=results.seeds)
        where = f"σ² = {VARIANCE:g}, λ = {LAM:g}, last iterate, projected, median of {results.seeds} seeds"
        draft.figure(caption, panels)
        largest, least = max(sizes), min(eps)

        def over_eps(what: str) -> float:
            line = needs[what][largest]
            return -slope(line.x, line.y, len(eps))

        over_m = line_of("", {m: value_at(line, least) for m, line in needs["iteration"].items()})
        here = f"{where}, m = {largest:,}"
        support, iterations = (value_at(needs[what][largest], least) for what in ("support", "iteration"))
        all_eps = f"{here}, ε = {', '.join(f'{e:g}' for e in eps)}"
        draft.claims.add("accurate", f"{label}, ε^-p", over_eps("iteration"), 1.0, all_eps)
        all_m = f"{where}, m = {', '.join(f'{m:,}' for m in sizes)}, ε = {least:g}"
        draft.claims.add("accurate", f"{label}, m^p", abs(slope(over_m.x, over_m.y)), 0.0, all_m)
        draft.claims.add("evaluations", label, over_eps("evaluations"), 2.0, all_eps)
        draft.claims.add("inner", label, support / min(iterations, largest), 1.0, f"{here}, ε = {least:g}")


def _first(part: CellResults, what: str, eps: float) -> float:
    """The median over the seeds of a count at the first evaluation within ε; infinite where one run has none."""
    found = [first_below(looks, what, "excess", eps) for looks in part.column("looks")]
    return float(np.median(found)) if max(found) < np.inf else np.inf


experiment = PegasosKernel()
