"""The talk's table T(m, B, ε): work of SMO, SVM-Perf, DCA and SGD to an excess test loss, data being plentiful."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from hinge.bounds import learning_runtime
from hinge.datasets import make_text
from hinge.display.figure import Beside, Series, loglog
from hinge.experiments.base import Cell, CellResults, Draft, Experiment, Scale, grid, median
from hinge.experiments.measure import Evaluation, evaluate_at, log_spaced, mean_hinge, ratio, slope
from hinge.experiments.sets import HeldOutSplit, hold_out
from hinge.kernels import Linear
from hinge.monitoring import Stop
from hinge.problems import KernelRegularized, Regularized, Solution
from hinge.solvers import SDCA, SMO, CuttingPlane, Pegasos, Solver, UniformDCA, solve

ROWS = {"tiny": 8_000, "full": 100_000}
LAMS = {"tiny": (1e-3, 3e-3), "full": (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)}
SIZES: dict[str, dict[str, tuple[int, ...]]] = {
    "tiny": {"SMO": (80, 160, 320), "SVM-Perf": (80, 320, 1280), "DCA": (80, 320, 1280)},
    "full": {
        "SMO": (80, 125, 200, 320, 500, 800, 1250, 2000, 3200),
        "SVM-Perf": (80, 125, 200, 320, 500, 800, 1250, 2000, 3200, 5000, 8000, 12_500),
        "DCA": (80, 125, 200, 320, 500, 800, 1250, 2000, 3200, 5000, 8000, 12_500),
    },
}
SEEDS = {"tiny": 2, "full": 5}
EPS = {"tiny": (0.3, 0.25, 0.2), "full": tuple(float(e) for e in np.geomspace(0.3, 0.03, 7).round(4))}
BOUNDS = {"SMO": "smo", "SVM-Perf": "svm_perf", "SGD": "sgd", "DCA": "dca"}
EXPONENTS = {"SMO": 4.0, "SVM-Perf": 4.0, "SGD": 2.0, "DCA": 3.0}
PRINTED = {
    "SMO": ("SMO (Platt '98)", "exp(−T/m²)", "(B/ε)⁴"),
    "SVM-Perf": ("SVM-Perf (Joachims '06)", "m/(λT)", "(B/ε)⁴"),
    "SGD": ("SGD (S, Srebro, Singer '07)", "1/(λT)", "(B/ε)²"),
}
"""The talk's table, row by row."""


class Sample(NamedTuple):
    """The rows, the norm B, and the losses of the best of that ball on rows to choose stops by and on test rows."""

    rows: HeldOutSplit
    B: float
    best_val: float
    best_test: float


@lru_cache(maxsize=1)
def _sample(rows: int) -> Sample:
    held, words, noise = experiment.held, experiment.words, experiment.noise
    text = make_text(rows + held, words, 60, topics=4, noise=noise, n_test=held, seed=0)
    assert text.y_test is not None
    split = HeldOutSplit(*hold_out(text.X_train, text.y_train, held / (rows + held)), text.X_test, text.y_test)
    problem = Regularized(split.X, split.y, experiment.lam_ball)
    best = solve(problem, SDCA(), stop=Stop(tol=1e-3, max_time=60.0)).solution
    losses = mean_hinge(best, split.X_val, split.y_val), mean_hinge(best, split.X_test, split.y_test)
    return Sample(split, float(np.linalg.norm(best.w)), *losses)


class TalkRuntimes(Experiment):
    """Inner products to an excess ε of the test hinge loss, each method with its best m and λ."""

    name = "talk-runtimes"

    words, noise, held = 300, 0.05, 10_000
    """Narrow, noisy text: the norm of its best separator is bounded, so that a decade of ε is in reach of SMO."""
    lam_ball = 1e-5
    """λ of the SVM on all rows. The norm of its answer is B; by optimality no answer of that norm has less loss."""
    most_above = 10.0
    """A bound above this multiple of what was needed says nothing of an exponent."""
    epochs = 4
    passes = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)

    def cells(self, scale: Scale) -> list[Cell]:
        """Every method, sample size, λ and seed; SGD has all rows, as a row costs it nothing until drawn."""
        cells = []
        for solver in BOUNDS:
            sizes, seeds = SIZES[scale].get(solver, ROWS[scale]), range(SEEDS[scale])
            cells += grid(solver=solver, m=sizes, lam=LAMS[scale], seed=seeds, rows=ROWS[scale], eps=[list(EPS[scale])])
        return cells

    def run(self, cell: Cell) -> dict[str, Any]:
        """Work at the first evaluation within each ε on validation rows, and the test excess there."""
        data = _sample(cell["rows"])
        rows, m = data.rows, cell["m"]
        taken = np.random.default_rng(cell["seed"]).permutation(len(rows.y))[:m]
        X, y = rows.X[taken], rows.y[taken]

        def excess(solution: Solution) -> Evaluation:
            return {
                "validation": mean_hinge(solution, rows.X_val, rows.y_val) - data.best_val,
                "test": mean_hinge(solution, rows.X_test, rows.y_test) - data.best_test,
            }

        if cell["solver"] == "SMO":
            looks = evaluate_at(
                KernelRegularized(X, y, cell["lam"], Linear()),
                SMO(),
                log_spaced(m // 16, 2 * m, 12),
                lambda answer: excess(Solution(X.T @ answer.beta)),
            )
            work = [look["evals"] for look in looks]
        else:
            problem, a_row = Regularized(X, y, cell["lam"]), X.nnz / m
            ways: dict[str, tuple[Solver, Sequence[int]]] = {
                "SGD": (Pegasos(), log_spaced(10, m, 12)),
                "DCA": (UniformDCA(), log_spaced(m // 16, self.epochs * m, 12)),
                "SVM-Perf": (CuttingPlane(capacity=50), self.passes),
            }
            looks = evaluate_at(problem, *ways[cell["solver"]], excess, cell["seed"])
            work = [look["reads"] / a_row for look in looks]
        reached = []
        for eps in cell["eps"]:
            k = next((k for k, look in enumerate(looks) if look["validation"] <= eps), None)
            reached.append(None if k is None else {"work": work[k], "test": looks[k]["test"]})
        return {"reached": reached, "B": data.B, "best": data.best_test}

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """Work over ε on logarithmic scales, with the exponents of the fit beside the bounds'."""
        B, best = results.first["B"], results.first["best"]
        data = self.text(
            "conditions", rows=ROWS[scale], B=B, best=best, first=EPS[scale][0], last=EPS[scale][-1], seeds=SEEDS[scale]
        )
        rows, lines = list[list[Any]](), dict[str, Series]()
        exponents: dict[str, float] = {}
        last: dict[str, float] = {}
        for solver, part in results.by("solver"):
            chosen = [_best_run(part, k, eps) for k, eps in enumerate(EPS[scale])]
            rows += [[solver, *choice] for choice in chosen]
            kept = [choice for choice in chosen if choice.work < math.inf]
            eps, work, low, high = ([getattr(c, key) for c in kept] for key in ("eps", "work", "least", "most"))
            lines[solver] = Series(solver, eps, work, low, high)
            if len(kept) == len(EPS[scale]):
                exponents[solver] = -slope(eps, work)
                last[solver] = work[-1]
        claims, least = draft.claims, f"{data}; at ε = {EPS[scale][-1]:g}"
        for solver, exponent in EXPONENTS.items():
            bound = float(learning_runtime(BOUNDS[solver], B, EPS[scale][-1]))
            times = bound / last.get(solver, bound)
            above = f"an upper bound, {times:,.0f} times what was needed" if times > self.most_above else ""
            claims.add("table", solver, exponents.get(solver), exponent, data, silent=above)
        rivals = [last[solver] for solver in ("SMO", "SVM-Perf") if solver in last]
        better = ratio(min(rivals, default=None), last.get("SGD"))
        claims.add("much_better", "synthetic text", better, "(B/ε)² by the bounds", least)
        claims.add("same", "synthetic text", ratio(last.get("DCA"), last.get("SGD")), "B²/ε² for both", least)
        series = list(lines.values())
        for label, solver in (("bound of SGD, ε⁻²", "SGD"), ("bound of the others, ε⁻⁴", "SMO")):
            if solver in lines and lines[solver].x:
                first = lines[solver]
                law = learning_runtime(BOUNDS[solver], B, np.array(EPS[scale]))
                scaled = np.asarray(law) * first.y[0] / float(learning_runtime(BOUNDS[solver], B, first.x[0]))
                series.append(Series(label, EPS[scale], scaled.tolist(), kind="theory"))
        panel = loglog("synthetic text", "ε, excess test hinge loss", "inner products", series)
        draft.figure(self.text("caption", initial=data[0].upper(), rest=data[1:]), [panel])
        columns = ("method", "ε", "m", "λ", "inner products", "least", "most", "test excess")
        draft.table(self.text("table_caption", data=data), columns, rows)
        printed = [
            [name, rho, Beside(runtime, f"p = {exponents[solver]:.2f}" if solver in exponents else None)]
            for solver, (name, rho, runtime) in PRINTED.items()
        ]
        draft.print_table(self.text("table_caption_2"), ["", "ρ(T, m, λ)", "T(m, B, ε)"], printed)


class BestRun(NamedTuple):
    """The m and λ of least median work to an ε, that work and its range, and the median test excess."""

    eps: float
    m: int | None = None
    lam: float | None = None
    work: float = math.inf
    least: float = math.inf
    most: float = math.inf
    test: float = math.nan


def _best_run(part: CellResults, k: int, eps: float) -> BestRun:
    """The best m and λ for the k-th ε; nothing but ε where most seeds reach it with none of them."""
    choices = dict[float, BestRun]()  # the first of each median
    for m, of_m in part.by("m"):
        for lam, some in of_m.by("lam"):
            reached = [one[k] for one in some.column("reached") if one[k] is not None]
            work = sorted(one["work"] for one in reached)
            if len(work) > len(some) // 2:
                middle = work[len(some) // 2]
                test = median(one["test"] for one in reached)
                choices.setdefault(middle, BestRun(eps, m, lam, middle, work[0], work[-1], test))
    return choices[min(choices)] if choices else BestRun(eps)


experiment = TalkRuntimes()
