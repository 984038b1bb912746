"""SBP, section 4.4: are its solutions sparser, since dual feasibility does not bound its coefficients?"""

from statistics import median_high
from typing import Any

import numpy as np

from hinge.display.figure import Series, loglog
from hinge.experiments.base import Cell, CellResults, Claims, Draft, Experiment, Scale, grid
from hinge.experiments.measure import Evaluation, band, first_below, log_spaced
from hinge.experiments.sbp.figure2 import NEAR, VARIANCE, kernels_of, solvers
from hinge.experiments.sets import choose
from hinge.solvers import trace

ROWS = {"tiny": 200, "full": 2000}
SEEDS = {"tiny": 2, "full": 5}
EPOCHS = {"tiny": 2, "full": 4}
METHODS = ("SBP", "Pegasos")


class SBPSparsity(Experiment):
    """Support vectors of an answer whose error is near the SVM's, beside the SVM's own."""

    name = "sbp-sparsity"

    def cells(self, scale: Scale) -> list[Cell]:
        """Both methods on three sets."""
        return grid(set=VARIANCE, rows=ROWS[scale], epochs=EPOCHS[scale], method=METHODS, seed=range(SEEDS[scale]))

    def run(self, cell: Cell) -> dict[str, Any]:
        """Error and support vectors of the average on the way; both iterates are made of the same points."""
        data, given = choose(cell["set"], cell["rows"]), kernels_of(cell["set"], cell["rows"])
        n = len(given.y)
        solver = solvers(cell["method"], cell["epochs"])["average"]
        looks: list[Evaluation] = []
        at = log_spaced(max(10, n // 100), cell["epochs"] * n, per_decade=12)
        for now in trace(given.problem(cell["method"]), solver, at, seed=cell["seed"]):
            beta = now.solution.beta
            support = float(np.count_nonzero(beta))
            looks.append({"iteration": now.iteration, "support": support, "error": given.error_of(beta)})
        return {"looks": looks, "n": n, "svm": given.error, "support": given.support, **data.about}

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """Error over support vectors, and how many there are on arrival."""
        panels, rows = [], []
        for name, part in results.by("set"):
            first = part.first
            found = {m: some for m in METHODS if (some := part.where(method=m))}
            lines = [band(m, some.column("looks"), "support", "error") for m, some in found.items()]
            lines.append(Series("SVM's optimum", [first["support"]], [first["svm"]], kind="points"))
            panels.append(loglog(first["label"], "support vectors", "test error", lines))
            arrived = {m: _on_arrival(some, first["svm"]) for m, some in found.items()}
            rows += [[first["label"], m, count, first["support"], first["n"]] for m, count in arrived.items()]
            if "SBP" in found:
                _claims(draft.claims, name, found["SBP"], arrived["SBP"], part.seeds)
        draft.figure(self.text("caption", rows=ROWS[scale], seeds=SEEDS[scale]), panels)
        columns = ("set", "method", "support vectors", "of the SVM", "rows")
        draft.table(self.text("table_caption", near=100 * NEAR), columns, rows)


def _on_arrival(part: CellResults, svm: float) -> float:
    """The upper median over the seeds; infinite where too few arrive."""
    return median_high(first_below(looks, "support", "error", svm + NEAR) for looks in part.column("looks"))


def _claims(claims: Claims, name: str, runs: CellResults, arrived: float, seeds: int) -> None:
    first, support, error = runs.first, runs.end("support"), runs.end("error")
    where = experiment.text(
        "conditions", variance=VARIANCE[name], error=100 * error, svm=100 * first["svm"], seeds=seeds
    )
    if arrived < np.inf:
        where += f"; {arrived / first['support']:.2f} on arrival within {100 * NEAR:g}% of the SVM's error"
    near = error <= first["svm"] + NEAR
    claims.add("sparser", first["label"], support / first["support"] if near else None, "sparser", where)


experiment = SBPSparsity()
