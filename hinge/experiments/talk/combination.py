"""The talk's open question: "Can we somehow combine SGD and DCA?" Here is one answer, measured."""

from statistics import median_high  # between a number and infinity there is no mean
from typing import Any

import numpy as np

from hinge.display.figure import Panel, loglog
from hinge.experiments.base import Cell, CellResults, Claims, Draft, Experiment, Scale, grid, median
from hinge.experiments.measure import Evaluation, spread_of
from hinge.experiments.talk.sgd_dca import curve_panel, run_methods
from hinge.solvers import SDCA, Pegasos, Solver

SETS = {"tiny": (("ccat", 3000), ("adult", 1500)), "full": (("ccat", 100_000), ("covertype", 100_000), ("adult", None))}
LAM_M = {"tiny": (1.0, 10.0), "full": (1.0, 3.0, 10.0, 30.0, 100.0)}
SEEDS = {"tiny": 2, "full": 5}
EPOCHS = {"tiny": 5, "full": 16}
TARGET = 1e-3
METHODS: dict[str, Solver] = {
    "SGD": Pegasos(projection=False, output="last"),
    "DCA": SDCA(first_pass="plain", shrinking=False, block_rows=1),
    "combined": SDCA(first_pass="sgd", shrinking=False, block_rows=1),
}

LARGE = 10.0
"""From this λm on, gradient steps begin better than the dual ascent."""
ASKED = "Can we somehow combine SGD and DCA ?"


class TalkCombination(Experiment):
    """Suboptimality of SGD, of DCA, and of DCA begun by a gradient pass that leaves a feasible dual point."""

    name = "talk-combination"

    shown = (1.0, 10.0)
    quarters = 3  # epochs with four evaluations each; later epochs have one

    def cells(self, scale: Scale) -> list[Cell]:
        """Every set, λ and seed; a cell runs all three methods."""
        return [
            {"set": name, "rows": rows, **cell}
            for name, rows in SETS[scale]
            for cell in grid(lam_m=LAM_M[scale], seed=range(SEEDS[scale]), epochs=EPOCHS[scale])
        ]

    def run(self, cell: Cell) -> dict[str, Any]:
        """ρ at each evaluation."""
        epochs = [k / 4 for k in range(1, 4 * self.quarters)] + list(range(self.quarters, cell["epochs"] + 1))
        return run_methods(cell, METHODS, epochs)

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """Epochs to the target over λm, and the curves behind them."""
        rows, over, curves = [], [], []
        for _, part in results.by("set"):
            label, m = part.first["label"], part.first["m"]
            needed = {
                lam_m: {method: [*map(_crossing, some.column(method))] for method in METHODS}
                for lam_m, some in part.by("lam_m")
            }
            rows += [
                [label, lam_m, *(_format_epochs(found[method], scale) for method in METHODS)]
                for lam_m, found in needed.items()
            ]
            _claims(draft.claims, needed, label, f"m = {m:,} rows are learned from", scale)
            over.append(_needed_panel(needed, label))
            curves.append(curve_panel(part, METHODS, self.shown))
        seeds = f"Median of {SEEDS[scale]} seeds; bands are their range. Each panel names its data."
        how = self.text("how")
        draft.figure(f"Objective above the minimum. {how} {seeds}", curves)
        draft.figure(self.text("figure_caption", target=TARGET, epochs=EPOCHS[scale], seeds=seeds), over, "epochs")
        caption = self.text("table_caption", target=TARGET, seeds=SEEDS[scale], how=how)
        draft.table(caption, ("set", "λm", *METHODS), rows)


def _crossing(looks: list[Evaluation]) -> float:
    """Epochs to the target, infinite where it is not reached."""
    before: Evaluation | None = None
    for look in looks:
        if look["rho"] <= TARGET:
            if before is None:
                return look["epoch"]
            falls = np.log(before["rho"] / TARGET) / np.log(before["rho"] / look["rho"])
            return float(before["epoch"] + falls * (look["epoch"] - before["epoch"]))
        before = look
    return np.inf


def _format_epochs(values: list[float], scale: Scale) -> float | str:
    middle = median_high(values)
    return middle if np.isfinite(middle) else f"over {EPOCHS[scale]}"


def _needed_panel(needed: dict[float, dict[str, list[float]]], label: str) -> Panel:
    series = []
    for method in METHODS:
        kept = {at: found[method] for at, found in needed.items() if np.isfinite(max(found[method]))}
        series.append(spread_of(method, kept, median_high))
    return loglog(label, "λm", f"epochs to ρ = {TARGET:g}", series)


def _claims(claims: Claims, needed: dict[float, dict[str, list[float]]], label: str, where: str, scale: Scale) -> None:
    """What is saved against DCA where λm is large, and how far from the better of the two at worst."""
    cap = float(EPOCHS[scale])  # one that never arrives took at least so long
    saved, ratios = [], []
    for lam_m, found in needed.items():
        sgd, dca, both = (median_high(found[method]) for method in ("SGD", "DCA", "combined"))
        if not np.isfinite(both):
            if np.isfinite(min(sgd, dca)):
                ratios.append(cap / min(sgd, dca))
            continue
        ratios.append(both / min(sgd, dca, cap))
        if lam_m >= LARGE:
            saved.append(min(dca, cap) - both)
    seeds = f"ρ = {TARGET:g}, at most {EPOCHS[scale]} epochs, median of {SEEDS[scale]} seeds"
    reached = f"{len(ratios)} of {len(needed)} values of λm, of which one of the methods gets there"
    claims.add("saved", label, median(saved), ASKED, f"{where}, {seeds}")
    claims.add("better", label, max(ratios, default=None), ASKED, f"{where}, {seeds}; {reached}")


experiment = TalkCombination()
