"""Pegasos, Figure 2: against Norma, and against stochastic gradient descent with fixed steps."""

from dataclasses import replace
from typing import Any

import numpy as np

from hinge.display.figure import Series, level_line, loglog
from hinge.experiments.base import Cell, CellResults, Draft, Experiment, Scale, grid
from hinge.experiments.measure import above_minimum, band, evaluate_at, last, log_spaced, mean_hinge, ratio
from hinge.problems import Solution
from hinge.solvers import SGD, Norma, Pegasos, Solver

SEEDS = {"tiny": 2, "full": 5}
ROWS = {"tiny": 800, "full": None}
LAST = {"tiny": 5_000, "full": 1_000_000}
SUGGESTED = 1e-5  # by the analysis of Zhang 2004: where the paper began its search
ETAS = (0.001, 0.01, 0.1, 1.0, 10.0)
SOLVERS: dict[str, Solver] = {
    "Pegasos": Pegasos(output="last"),
    "Norma": Norma(p=0.71),
    "Norma, projected": Norma(p=0.71, projection=True),
    **{f"SGD, η = {eta:g}": SGD(eta=eta) for eta in (SUGGESTED, *ETAS)},
}
FIXED = [f"SGD, η = {eta:g}" for eta in ETAS]


class PegasosFigure2(Experiment):
    """Objective and test loss of the last iterate against the iterations."""

    name = "pegasos-figure2"

    lam = 2e-4

    def cells(self, scale: Scale) -> list[Cell]:
        """Every solver over the seeds."""
        seeds = range(SEEDS[scale])
        return grid(set=["astro-ph", "imdb"], solver=SOLVERS, seed=seeds, rows=ROWS[scale], T=LAST[scale])

    def run(self, cell: Cell) -> dict[str, Any]:
        """Objective above the optimum and mean hinge loss on the test rows, on the way to T."""
        data, problem, best = above_minimum(cell, self.lam)
        _, _, X_test, y_test = data.parts

        def evaluate(solution: Solution) -> dict[str, float]:
            return {"excess": problem.objective(solution) - best, "test": mean_hinge(solution, X_test, y_test)}

        looks = evaluate_at(problem, SOLVERS[cell["solver"]], log_spaced(100, cell["T"]), evaluate, cell["seed"])
        return {"looks": looks, "optimum": best, **data.about}

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """A figure for each set: Norma's objective and test loss on the left, fixed steps on the right."""
        seeds = results.seeds
        for name, part in results.by("set"):
            label = part.first["label"]
            excess, test = _lines(part, "excess"), _lines(part, "test")
            left = [s for s in SOLVERS if not s.startswith("SGD")]
            right = [s for s in SOLVERS if not s.startswith("Norma")]
            optimum = part.first["optimum"]
            objective = {solver: _raised(line, optimum) for solver, line in excess.items()}
            objective["optimum"] = level_line("optimum", optimum, list(excess.values()))
            panels = [
                loglog(title, "T, iterations", y, [lines[s] for s in chosen])
                for title, y, lines, chosen in (
                    (f"{label}: Norma", "objective", objective, [*left, "optimum"]),
                    (f"{label}: Norma, test", "mean hinge loss, test", test, left),
                    (f"{label}: fixed steps", "objective", objective, [*right, "optimum"]),
                )
            ]
            caption = self.text("caption", label=label, optimum=optimum, seeds=seeds)
            draft.figure(caption, panels, name)
            where = f"{label}, λ = {self.lam:g}, T = {LAST[scale]:,}, last iterate, median of {seeds} seeds"
            hindsight = f"{where}, η of {', '.join(f'{eta:g}' for eta in ETAS)} judged by the training objective"
            fixed = [_over_pegasos(excess, solver) for solver in FIXED]
            for sentence, found, conditions in (
                ("not_converged", _over_pegasos(excess, "Norma"), f"{where}, p = 0.71"),
                ("outperforms", _over_pegasos(test, "Norma"), f"{where}, p = 0.71"),
                ("still", _over_pegasos(excess, "Norma, projected"), f"{where}, p = 0.71"),
                ("some", np.min(fixed), hindsight),
                ("others", np.max(fixed), hindsight),
                ("poor", _over_pegasos(excess, f"SGD, η = {SUGGESTED:g}"), where),
            ):
                draft.claims.add(sentence, label, float(found), conditions=conditions)


def _lines(part: CellResults, value: str) -> dict[str, Series]:
    """A curve for each solver."""
    return {s: band(s, part.where(solver=s).column("looks"), "iteration", value) for s in SOLVERS}


def _raised(line: Series, by: float) -> Series:
    """The same curve and band with a number added."""
    y, low, high = (None if part is None else [by + value for value in part] for part in (line.y, line.low, line.high))
    return replace(line, y=y or [], low=low, high=high)


def _over_pegasos(lines: dict[str, Series], solver: str) -> float:
    """What a solver reached after the last iteration, in multiples of what Pegasos did."""
    return ratio(last(lines[solver]), last(lines["Pegasos"]))


experiment = PegasosFigure2()
