"""Pegasos, Figure 2: against Norma, and against stochastic gradient descent with fixed steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hinge.display.figure import Series, level_line, loglog
from hinge.experiments.base import Cell, CellResults, Draft, Experiment, Scale, grid
from hinge.experiments.measure import above_minimum, band, evaluate_at, log_spaced, mean_hinge
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
        return grid(
            set=["astro-ph", "imdb"],
            solver=list(SOLVERS),
            seed=range(SEEDS[scale]),
            rows=[ROWS[scale]],
            T=[LAST[scale]],
        )

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
                loglog(title, "T, iterations", y, [lines[s] for s in chosen if s in lines])
                for title, y, lines, chosen in (
                    (f"{label}: Norma", "objective", objective, [*left, "optimum"]),
                    (f"{label}: Norma, test", "mean hinge loss, test", test, left),
                    (f"{label}: fixed steps", "objective", objective, [*right, "optimum"]),
                )
            ]
            caption = self.text("caption", label=label, optimum=part.first["optimum"], seeds=seeds)
            draft.figure(caption, panels, name)
            where = f"{label}, λ = {self.lam:g}, T = {LAST[scale]:,}, last iterate, median of {seeds} seeds"
            hindsight = f"{where}, η of {', '.join(f'{eta:g}' for eta in ETAS)} judged by the training objective"
            fixed = _over_pegasos(excess, FIXED)
            suggested = _over_pegasos(excess, [f"SGD, η = {SUGGESTED:g}"])
            for sentence, ratios, wanted, conditions in (
                ("not_converged", _over_pegasos(excess, ["Norma"]), 1, f"{where}, p = 0.71"),
                ("outperforms", _over_pegasos(test, ["Norma"]), 1, f"{where}, p = 0.71"),
                ("still", _over_pegasos(excess, ["Norma, projected"]), 1, f"{where}, p = 0.71"),
                ("some", fixed, len(ETAS), hindsight),
                ("others", fixed, len(ETAS), hindsight),
                ("poor", suggested, 1, where),
            ):
                best = min if sentence == "some" else max
                found = best(ratios) if len(ratios) == wanted else None
                draft.claims.add(sentence, label, found, conditions=conditions)


def _lines(part: CellResults, value: str) -> dict[str, Series]:
    """A curve for each solver that was run."""
    groups = {solver: part.where(solver=solver) for solver in SOLVERS}
    return {s: band(s, found.column("looks"), "iteration", value) for s, found in groups.items() if found}


def _raised(line: Series, by: float) -> Series:
    """The same curve and band with a number added."""
    y, low, high = (None if part is None else [by + value for value in part] for part in (line.y, line.low, line.high))
    return replace(line, y=y or [], low=low, high=high)


def _over_pegasos(lines: dict[str, Series], solvers: list[str]) -> list[float]:
    """What these solvers reached after the last iteration, in multiples of what Pegasos did."""
    if "Pegasos" not in lines:
        return []
    return [lines[s].y[-1] / lines["Pegasos"].y[-1] for s in solvers if s in lines]


experiment = PegasosFigure2()
