"""The talk, "Dependence on Data Set Size": more examples, less work to the same test error."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from hinge.access import as_matrix
from hinge.bounds import sgd_runtime_more_data
from hinge.display.figure import Series, Value, loglog
from hinge.experiments.base import Cell, CellResults, Draft, Experiment, Scale, grid
from hinge.experiments.measure import error, evaluate_at, log_spaced
from hinge.experiments.sets import choose, split
from hinge.monitoring import Stop
from hinge.problems import Regularized
from hinge.solvers import SDCA, Pegasos, solve

NAME = "ccat"
ROWS = {"tiny": 6_000, "full": None}
SIZES = {"tiny": (1_200, 2_400, 4_800), "full": (25_000, 40_000, 80_000, 160_000, 320_000, 748_000)}
LAMS = {"tiny": (1e-3, 3e-3), "full": (1e-4, 3e-4, 1e-3)}
SEEDS = {"tiny": 2, "full": 5}
LOOKS = {"tiny": (500, 20_000, 12), "full": (5_000, 300_000, 16)}  # first, last, in a decade
VALIDATION = {"tiny": 0.2, "full": 0.04}
SLACK = {"tiny": 1.5, "full": 1.07}
"""The target is so many times the test error of the SVM on all rows. The talk names none; less slack than
at full scale, and no smaller sample would reach it at all."""
WAYS = {"last iterate": Pegasos(output="last"), "average": Pegasos(), "average, blocks": Pegasos(block_rows=32)}
RULES = {"test": "λ and stop on test rows, as the talk", "validation": "λ and stop on validation rows"}


class Row(NamedTuple):
    """The best λ of one sample size, and the medians there."""

    m: int
    lam: float
    iterations: float
    low: float
    high: float
    seconds: float
    error: float


@lru_cache(maxsize=1)
def _sample(rows: int | None, share: float, m: int, seed: int) -> tuple[Any, np.ndarray]:
    pool = split(NAME, rows, share)
    taken = np.random.default_rng(seed).permutation(len(pool.y))[:m]
    return as_matrix(pool.X[taken]), pool.y[taken]


@lru_cache
def _best_errors(rows: int | None, share: float, lams: tuple[float, ...]) -> dict[str, float]:
    """The errors of the SVM on the whole pool, λ by validation rows."""
    pool, found = split(NAME, rows, share), []
    for lam in lams:
        result = solve(Regularized(pool.X, pool.y, lam), SDCA(), stop=Stop(tol=1e-3, max_time=60.0))
        found.append((error(result.solution, pool.X_val, pool.y_val), error(result.solution, pool.X_test, pool.y_test)))
    validation, test = min(found)
    return {"validation": validation, "test": test}


class TalkMoreData(Experiment):
    """Iterations and seconds of Pegasos to one fixed test error, over the size of the training set."""

    name = "talk-more-data"

    timed = True

    def cells(self, scale: Scale) -> list[Cell]:
        """Every sample size and sample, with each λ and each way to draw rows."""
        pool: dict[str, Any] = {"set": NAME, "rows": ROWS[scale], "share": VALIDATION[scale]}
        lams: dict[str, Any] = {"lam": LAMS[scale], "lams": [list(LAMS[scale])]}
        stop: dict[str, Any] = {"looks": [list(LOOKS[scale])], "slack": SLACK[scale]}
        return grid(**pool, m=SIZES[scale], seed=range(SEEDS[scale]), **lams, way=WAYS, **stop)

    def run(self, cell: Cell) -> dict[str, Any]:
        """The first evaluations at which the error on test rows, and on validation rows, is low enough."""
        data = choose(NAME, cell["rows"])
        pool = split(NAME, cell["rows"], cell["share"])
        X, y = _sample(cell["rows"], cell["share"], cell["m"], cell["seed"])
        looks = evaluate_at(
            Regularized(X, y, cell["lam"]),
            WAYS[cell["way"]],
            log_spaced(*cell["looks"]),
            lambda s: {"test": error(s, pool.X_test, pool.y_test), "validation": error(s, pool.X_val, pool.y_val)},
            cell["seed"],
        )
        best = _best_errors(cell["rows"], cell["share"], tuple(cell["lams"]))
        targets = {rows: cell["slack"] * value for rows, value in best.items()}
        sizes = {"pool": len(pool.y), "n_test": len(pool.y_test), "n_val": len(pool.y_val)}
        values: dict[str, Any] = {"m": len(y), "target": targets["test"], **sizes, **data.about}
        for rows in RULES:
            reached = next((look for look in looks if look[rows] <= targets[rows]), None)
            keys = ("iteration", "seconds", "test")
            values[rows] = None if reached is None else {key: reached[key] for key in keys}
        return values

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """Iterations and seconds over m, each with λ and stop chosen in both ways."""
        first = results.first
        iterations, seconds, fitted = list[Series](), list[Series](), ""
        for way in results.values_of("way"):
            for rule, words in RULES.items():
                rows = _best(results.where(way=way), rule)
                caption = self.text("table_caption", way=way.capitalize(), words=words, first=first)
                part = f"{way.replace(', ', '-').replace(' ', '-')}-{rule}"
                draft.table(caption, ("m", "best λ", "iterations", "seconds", "test error there"), _lines(rows), part)
                reached = [row for row in rows if np.isfinite(row.iterations)]
                label = f"{way}; {rule} rows"
                at = [row.m for row in reached]
                T, low, high = ([getattr(row, k) for row in reached] for k in ("iterations", "low", "high"))
                iterations.append(Series(label, at, T, low, high))
                seconds.append(Series(label, at, [row.seconds for row in reached]))
                sizes = f"m = {at[0]:,} to {at[-1]:,}, " if at else ""
                lams = ", ".join(f"{lam:g}" for lam in LAMS[scale])
                about = {"slack": SLACK[scale], "seeds": SEEDS[scale], "words": words, "lams": lams}
                where = sizes + self.text("conditions", first=first, **about)
                if "blocks" not in way:  # which are ours
                    on = f"{first['label']}, {way}, {rule} rows"
                    for key in ("iterations", "seconds")[: 1 if way == "average" else 2]:
                        values = [getattr(row, key) for row in reached]
                        fall = values[0] / values[-1] if len(values) > 1 else None
                        draft.claims.add("falls", f"{on}, {key}", fall, "decreases", where)
                if way == "average" and rule == "test" and len(reached) > 2:
                    law, fitted = _law(reached)
                    iterations.append(law)
        label = first["label"]
        panels = [
            loglog(label, "m, training rows", "iterations to the target", iterations),
            loglog(label, "m, training rows", "seconds to the target", seconds),
        ]
        about = {"slack": SLACK[scale], "last": LOOKS[scale][1], "of_lams": len(LAMS[scale]), "seeds": SEEDS[scale]}
        draft.figure(self.text("caption", first=first, fitted=fitted, **about), panels)


def _best(part: CellResults, rule: str) -> list[Row]:
    """For each m the λ with the least median of iterations; infinite where most seeds never arrive."""
    choices = ([_row(some, lam, rule) for lam, some in of_m.by("lam")] for _, of_m in part.by("m"))
    return [min(rows, key=lambda row: row.iterations) for rows in choices]


def _row(some: CellResults, lam: float, rule: str) -> Row:
    never = dict.fromkeys(("iteration", "seconds", "test"), np.inf)
    found = [one or never for one in some.column(rule)]
    reached = [one["iteration"] for one in found if one["iteration"] < np.inf] or [np.inf]
    T, seconds, wrong = (float(np.median([one[key] for one in found])) for key in never)
    return Row(some.first["m"], lam, T, min(T, min(reached)), max(T, max(reached)), seconds, wrong)


def _law(reached: list[Row]) -> tuple[Series, str]:
    """The talk's law through the measured points: ε/B by search, the constant by the mean in logarithms."""
    m = np.array([row.m for row in reached], float)
    T = np.log([row.iterations for row in reached])
    best = (np.inf, 0.0, 0.0)
    for ratio in np.geomspace(1.02, 100.0, 400) / np.sqrt(m.min()):
        law = np.log(sgd_runtime_more_data(m, 1.0, ratio))
        constant = float(np.mean(T - law))
        best = min(best, (float(np.sum((T - law - constant) ** 2)), ratio, constant))
    _, ratio, constant = best
    at = np.geomspace(m.min(), m.max(), 60)
    values = np.exp(constant) * sgd_runtime_more_data(at, 1.0, ratio)
    said = f" (c = {np.exp(constant):.3g}, ε/B = {ratio:.3g})"
    return Series("the talk's law, fitted", at.tolist(), np.asarray(values).tolist(), kind="theory"), said


def _lines(rows: list[Row]) -> list[tuple[Value, ...]]:
    """The lines of the table."""
    return [
        (row.m, row.lam, row.iterations, row.seconds, row.error)
        if np.isfinite(row.iterations)
        else (row.m, None, "never", "never", None)
        for row in rows
    ]


experiment = TalkMoreData()
