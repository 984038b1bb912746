"""The talk, "Comparing SGD and DCA": which is ahead, over λm."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from hinge.access import as_matrix
from hinge.bounds import dca_gap, dca_over_sgd
from hinge.display.figure import Panel, Series, level_line, loglog
from hinge.experiments.base import Cell, CellResults, Draft, Experiment, Scale, grid
from hinge.experiments.measure import Evaluation, band, error, evaluate_at, spread_of
from hinge.experiments.sets import choose, split
from hinge.monitoring import Stop
from hinge.problems import Regularized, Solution
from hinge.solvers import SDCA, Newton, Pegasos, Solver, UniformDCA, solve
from hinge.types import Stored

SETS = {"tiny": (("ccat", 1500), ("adult", 1500)), "full": (("ccat", 100_000), ("covertype", 100_000), ("adult", None))}
LAM_M = {"tiny": (0.1, 1.0, 10.0, 100.0), "full": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)}
SEEDS = {"tiny": 2, "full": 5}
EPOCHS = (0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)


@lru_cache
def least(name: str, rows: int | None, lam: float) -> float:
    """The minimum over the rows that `split` leaves, from below, within a relative gap of 1e-6."""
    data = split(name, rows)
    solver: Solver = Newton() if data.X.shape[1] <= 200 else SDCA()  # whichever finds the minimum sooner
    result = solve(Regularized(data.X, data.y, lam), solver, stop=Stop(tol=1e-6, max_time=60.0))
    return float(result.certificate.bound)


METHODS: dict[str, Solver] = {"SGD": Pegasos(projection=False, output="last"), "DCA": UniformDCA()}


class TalkSgdDca(Experiment):
    """Suboptimality ρ and test error of both after each epoch, for λm from 0.1 to 100."""

    name = "talk-sgd-dca"

    shown = (1.0, 10.0, 100.0)
    judged = (1.0, 3.0)
    early = (0.25, 0.5)  # before DCA can have seen all rows
    delta = 0.1  # the δ of the theorem

    def cells(self, scale: Scale) -> list[Cell]:
        """Every set, λ and seed; a cell runs both methods."""
        return [
            {"set": name, "rows": rows, **cell}
            for name, rows in SETS[scale]
            for cell in grid(lam_m=LAM_M[scale], seed=range(SEEDS[scale]))
        ]

    def run(self, cell: Cell) -> dict[str, Any]:
        """ρ and the errors of the last iterate at each evaluation."""
        data = split(cell["set"], cell["rows"])
        return run_methods(cell, METHODS, EPOCHS, validation=(data.X_val, data.y_val), test=(data.X_test, data.y_test))

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """Who is ahead where, beside who should be; and the same in test error."""
        claims, rows = draft.claims, list[tuple[Any, ...]]()
        ratios, curves, errors = [], [], []
        for _, part in results.by("set"):
            label, m = part.first["label"], part.first["m"]
            where = f"m = {m:,} rows are learned from, median of {SEEDS[scale]} seeds"
            for epochs, when in ((self.judged, "after whole epochs"), (self.early, "within the first epoch")):
                found = _points(part, m, label, epochs)
                rows += found
                lams, of_T = sorted(part.values_of("lam_m")), " and ".join(f"{e:g}" for e in epochs)
                said = self.text("conditions", where=where, least=lams[0], most=lams[-1], of_T=of_T, points=len(found))
                share = float(np.mean([row[4] == row[5] for row in found]))
                silent = "T < m: DCA's bound is more than w = 0 has" if epochs == self.early else ""
                claims.add("ahead", f"{label}, {when}", share, "depends on λm against log T", said, silent=silent)
            above = "for most λ and T the bound is more than w = 0 has"
            said = f"{where}, δ = {self.delta:g}, every λ, T and seed"
            share, refined = _of_bounds(part, m)
            claims.add("bound", label, share, 1.0, said, sure=above)
            claims.add("refined", label, refined, None, f"{where}, every λ and seed, T > m")
            ratios.append(_ratio_panel(part, m, label))
            curves.append(curve_panel(part, METHODS, self.shown))
            panel, ratio, chosen = _error_panel(part, label)
            errors.append(panel)
            claims.add("level", label, ratio, "both alike", f"{where}; λ chosen on validation rows: {chosen}")
        seeds = f"Median of {SEEDS[scale]} seeds; bands are their range. Each panel names its data."
        draft.figure(self.text("figure_caption", seeds=seeds), ratios)
        draft.figure(f"Objective of the last iterates above the minimum. {seeds}", curves, "epochs")
        draft.figure(self.text("figure_caption_2", seeds=seeds), errors, "test")
        columns = ("set", "λm", "epochs", "log T", "ahead", "predicted", "ρ of SGD", "ρ of DCA")
        draft.table("Median ρ of both, and who is ahead, beside whom the bounds put ahead.", columns, rows)


def run_methods(
    cell: Cell, methods: Mapping[str, Solver], epochs: Iterable[float], **judged: tuple[Stored, np.ndarray]
) -> dict[str, Any]:
    """ρ of each method after these epochs, and the errors on the rows by which it is judged."""
    chosen, data = choose(cell["set"], cell["rows"]), split(cell["set"], cell["rows"])
    m = len(data.y)
    lam = cell["lam_m"] / m
    problem, best = Regularized(as_matrix(data.X), data.y, lam), least(cell["set"], cell["rows"], lam)

    def evaluate(solution: Solution) -> Evaluation:
        errors = {name: error(solution, X, y) for name, (X, y) in judged.items()}
        return {"rho": max(problem.objective(solution) - best, 1e-12), **errors}

    values: dict[str, Any] = {"m": m, **chosen.about}
    for name, solver in methods.items():
        looks = evaluate_at(problem, solver, [round(e * m) for e in epochs], evaluate, cell["seed"])
        values[name] = [{**look, "epoch": look["iteration"] / m} for look in looks]
    return values


def _median(part: CellResults, method: str, epoch: float, key: str) -> float:
    place = EPOCHS.index(epoch)
    return float(np.median([looks[place][key] for looks in part.column(method)]))


def _points(part: CellResults, m: int, label: str, epochs: tuple[float, ...]) -> list[tuple[Any, ...]]:
    """One row of the table for each λ and T."""
    rows = []
    for lam_m, some in part.by("lam_m"):
        for epoch in epochs:
            steps = epoch * m
            sgd, dca = (_median(some, method, epoch, "rho") for method in ("SGD", "DCA"))
            predicted = "DCA" if dca_over_sgd(steps, m, lam_m / m) < 1 else "SGD"
            ahead = "DCA" if dca < sgd else "SGD"
            rows.append((label, lam_m, epoch, float(np.log(steps)), ahead, predicted, sgd, dca))
    return rows


def _of_bounds(part: CellResults, m: int) -> tuple[float, float]:
    """The largest ρ of DCA over the bound of the talk's theorem, and the largest ρ(T - m)λ.

    The latter is the constant c that the theorem needs at most, as its other terms are positive.
    """
    looks = [(one["rho"], one["iteration"], r.cell["lam_m"] / m) for r in part for one in r.values["DCA"]]
    shares = (rho / float(dca_gap(T, m, lam, experiment.delta)) for rho, T, lam in looks)
    return max(shares), max(rho * (T - m) * lam for rho, T, lam in looks)


def _ratio_panel(part: CellResults, m: int, label: str) -> Panel:
    at, series = part.values_of("lam_m"), []
    for epoch in (*experiment.early, *experiment.judged):
        place = EPOCHS.index(epoch)
        ratios = {
            lam_m: [r.values["DCA"][place]["rho"] / r.values["SGD"][place]["rho"] for r in some]
            for lam_m, some in part.by("lam_m")
        }
        series.append(spread_of(f"{epoch:g} epoch{'s' * (epoch != 1)}", ratios))
    law = [float(dca_over_sgd(3 * m, m, lam_m / m)) for lam_m in at]
    series += [Series("ratio of the bounds", at, law, kind="theory"), level_line("equal", 1.0, series)]
    return loglog(label, "λm", "ρ of DCA / ρ of SGD", series)


def curve_panel(part: CellResults, methods: Iterable[str], shown: Iterable[float]) -> Panel:
    """ρ over epochs, a curve for each method and each λm that is shown."""
    label = part.first["label"]
    series = [
        band(f"{method}, λm = {lam_m:g}", part.where(lam_m=lam_m).column(method), "epoch", "rho")
        for lam_m in shown
        for method in methods
    ]
    return loglog(label, "epochs", "ρ, objective above the minimum", series)


def _error_panel(part: CellResults, label: str) -> tuple[Panel, float, str]:
    """Test errors at the λ that validation rows choose after one epoch; DCA's over SGD's; the choices."""
    series, after, chosen = [], {}, []
    for method in METHODS:
        lam_m = min(part.values_of("lam_m"), key=lambda v: _median(part.where(lam_m=v), method, 1.0, "validation"))
        some = part.where(lam_m=lam_m)
        series.append(band(method, some.column(method), "epoch", "test"))
        after[method] = _median(some, method, 1.0, "test")
        chosen.append(f"{method} λm = {lam_m:g}, error {after[method]:.4f}")
    panel = Panel(label, "epochs", "test error", series, log_x=True)
    return panel, after["DCA"] / max(after["SGD"], 1e-12), "; ".join(chosen)


experiment = TalkSgdDca()
