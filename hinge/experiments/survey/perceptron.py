"""The survey, Algorithm 1 and Theorem 2.8: what the sublinear perceptron keeps of its promise."""

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np

from hinge.bounds import perceptron_runtime, sublinear_perceptron_gap, sublinear_perceptron_runtime
from hinge.datasets import make_separable
from hinge.display.figure import Panel, Series, Value, loglog
from hinge.experiments.base import Cell, CellResults, Claims, Draft, Experiment, Scale, grid
from hinge.experiments.measure import Evaluation, evaluate_at, first_below, last, log_spaced, slope, spread
from hinge.experiments.survey import losses
from hinge.problems import MaxMargin, Regularized, Solution, Strategies
from hinge.saddle.front_doors import max_margin
from hinge.solvers import Perceptron, Solver, SublinearPerceptron

SEEDS = {"tiny": 2, "full": 20}
READ_SEEDS = {"tiny": 2, "full": 5}
RATIOS = {"tiny": (2.5, 5.0, 10.0), "full": (2.5, 5.0, 10.0, 20.0, 40.0)}
"""c/ε: T = (c/ε)² log n is all that a run depends on, so that one of them tells of several ε."""
SIZES = {"tiny": (100, 200), "full": (250, 500, 1000, 2000)}
METHODS = ("sublinear", "classical")
RARE = 6
"""Rows that need a second direction: without them a handful of rows would determine the answer."""
FAMILIES = {
    "separable": "synthetic, separable by construction",
    "rare": f"synthetic, {RARE} of 300 rows need a second direction",
    "digits": "scikit-learn's digits 0 and 1 (real)",
    "mixed": "synthetic, not separable",
}


@lru_cache(maxsize=8)
def rows_of(family: str, n: int = 300, d: int = 50, seed: int = 0) -> tuple[np.ndarray, float]:
    """Rows in the unit ball with their labels in the signs, and the widest margin."""
    rng = np.random.default_rng(seed)
    if family == "separable":
        made = make_separable(n, d, 0.2, seed=seed)
        return made.X_train * made.y_train[:, None], made.margin
    if family == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(n_class=2, return_X_y=True)
        A = np.c_[X / 16.0, np.ones(len(X))] * np.where(y == 1, 1.0, -1.0)[:, None]
        A /= np.linalg.norm(A, axis=1).max()
    else:
        along = np.zeros((n, 3))
        along[:, 0] = 0.4 if family == "rare" else rng.choice([-1.0, 1.0], n) * rng.uniform(0.0, 0.5, n)
        if family == "rare":
            few = rng.choice(n, RARE, replace=False)
            along[few] = (-0.1, 0.4, 0.6)
            along[few[::2], 2] *= -1.0  # so that learning from one of them does not help with the others
        noise = rng.standard_normal((n, d - 3))
        noise *= (np.sqrt(1 - (along**2).sum(axis=1)) / np.linalg.norm(noise, axis=1))[:, None]
        A = np.hstack([along, noise])
    exact = max_margin(A, eps=experiment.tolerance, relative=False)
    return A, (exact.lower + exact.upper) / 2


class SurveyPerceptron(Experiment):
    """Losses after T = c² log n / ε² iterations, and the reads of the classical perceptron beside them."""

    name = "survey-perceptron"

    accuracies = (0.2, 0.1, 0.05)
    constants = (0.5, 1.0, 2.0, 4.0)
    tolerance = 1e-6  # how far the exact margins that are computed may be off

    def cells(self, scale: Scale) -> list[Cell]:
        """All T of a family and a seed make one cell; so do all evaluations of a size and a seed."""
        ratios, seeds = list(RATIOS[scale]), range(READ_SEEDS[scale])
        guarantee = grid(part="guarantee", family=FAMILIES, ratios=[ratios], seed=range(SEEDS[scale]))
        return guarantee + grid(part="reads", method=METHODS, n=SIZES[scale], seed=seeds)

    def run(self, cell: Cell) -> dict[str, Any]:
        """Losses against T, or reads until the loss is below the margin, so that all rows are separated."""
        if cell["part"] == "guarantee":
            A, margin = rows_of(cell["family"])
            problem: Any = MaxMargin(A, relative=False)
            about = margin, 2 * self.tolerance, cell["seed"], problem.scale
            looks = [losses.loss_at_ratio(problem, ratio, *about) for ratio in cell["ratios"]]
            return {"looks": looks, "n": len(A), "margin": margin}
        n, seed = cell["n"], cell["seed"]
        A, margin = rows_of("rare", n, n, seed)
        if cell["method"] == "sublinear":
            problem = MaxMargin(A, relative=False)
            solver: Solver = SublinearPerceptron()
            last = math.ceil(8 * math.log(n) / margin**2)
        else:
            y = np.where(np.arange(n) % 2, 1, -1)
            problem = Regularized(A * y[:, None], y, 1.0)  # the Perceptron ignores λ
            passes = math.ceil(1 / margin**2)  # the bound of the theory, where a pass finds one mistake
            solver, last = Perceptron(average=False, passes=passes), passes * n

        def loss(answer: Strategies | Solution) -> Evaluation:
            """The margin lost by the direction of an answer, of either kind."""
            w = answer.x if isinstance(answer, Strategies) else answer.w
            norm = float(np.linalg.norm(w))
            return {"loss": margin - float((A @ w).min()) / norm if norm > 0 else margin}

        looks = evaluate_at(problem, solver, log_spaced(16, last, 16), loss, seed)
        found = first_below(looks, "reads", "loss", 0.999 * margin)  # all rows on the right side
        return {"reads": found if found < np.inf else None, "most": looks[-1]["reads"], "margin": margin}

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """Losses and their bound, shares within ε, and reads."""
        guarantee = results.where(part="guarantee")
        if guarantee:
            _claims(draft.claims, guarantee)
            draft.figure(self.text("caption_3"), [_losses(family, part) for family, part in guarantee.by("family")])
            columns = ("rows", "ε", *(f"c = {c:g}" for c in self.constants), "worst loss")
            draft.table(self.text("caption_2"), columns, _shares(guarantee))
        reads = results.where(part="reads")
        if reads:
            caption = self.text("caption", rare=RARE, seeds=reads.seeds)
            draft.figure(caption, [_reads(draft.claims, reads, scale)], "reads")


def _shares(results: CellResults) -> list[list[Value]]:
    rows = list[list[Value]]()
    for family, part in results.by("family"):
        for eps in experiment.accuracies:
            lost = [look["loss"] for look in losses.all_looks(part) if math.isclose(look["ratio"], 2 / eps)]
            shares = (losses.share_within(part, c, eps) for c in experiment.constants)
            rows.append([FAMILIES[family], eps, *shares, max(lost, default=None)])
    return rows


def _claims(claims: Claims, results: CellResults) -> None:
    looks, parts = losses.all_looks(results), [part for _, part in results.by("family")]
    two = losses.least_share_within(parts, 2.0, experiment.accuracies)
    where = f"300 × 50 rows and the digits, ε = .2, .1, .05, {results.seeds} seeds each; c up to 4"
    sizes = {look["T"] for look in looks}
    on = "300 × 50 rows, and the digits"
    claims.add("half", on, two, "1/2 at c = 200", where)
    exponent = losses.median_exponent(parts)
    claims.add("at_least", on, exponent, 0.5, f"{where}; T from {min(sizes)} to {max(sizes)}")
    known = f"exact by construction, or by a certified gap of {experiment.tolerance:g}"
    losses.certificates_hold(claims, "margins", looks, f"{where}; {known}")


def _losses(family: str, part: CellResults) -> Panel:
    n = part.first["n"]
    laws = losses.root_law("n", n) | {"bound of the proof": partial(sublinear_perceptron_gap, n=n)}
    title = f"{FAMILIES[family]}, margin {part.first['margin']:.3f}"
    return losses.losses_panel(title, "margin lost", part, laws)


def _reads(claims: Claims, results: CellResults, scale: Scale) -> Panel:
    """Reads to the same loss, and how they grow with n = d."""
    found = CellResults(r for r in results if r.values["reads"] is not None)
    sublinear, classical = (
        spread(f"{method} perceptron", found.where(method=method), "n", "reads") for method in METHODS
    )
    at, eps = np.array(SIZES[scale], float), results.median("margin")
    bounds = {
        "(n + d) log n/ε²": np.log(at) * sublinear_perceptron_runtime(at, at, eps),
        "nd/ε²": perceptron_runtime(at * at, eps),
    }
    laws = [Series(label, at.tolist(), np.asarray(bound).tolist(), kind="theory") for label, bound in bounds.items()]
    n = max(SIZES[scale])
    theory = n * n / (2 * n * math.log(n))
    missed, runs = len(results) - len(found), len(results)
    where = experiment.text("conditions", rare=RARE, eps=eps, n=n, seeds=results.seeds, missed=missed, runs=runs)
    law = slope(at, at * np.log(at))  # of n log n over the same sizes
    claims.add("reads", "synthetic, the sublinear perceptron", slope(sublinear.x, sublinear.y), round(law, 3), where)
    claims.add("reads", "synthetic, the classical perceptron", slope(classical.x, classical.y), 2.0, where)
    fewer = last(classical) / last(sublinear) if classical.x[-1:] == sublinear.x[-1:] else None
    claims.add("fewer", f"synthetic, n = d = {n:,}", fewer, theory, f"{where}; the paper's number by the bounds")
    title = f"Synthetic, {RARE} rows need a second direction"
    return loglog(title, "n = d", "entries read until separated", [sublinear, classical, *laws])


experiment = SurveyPerceptron()
