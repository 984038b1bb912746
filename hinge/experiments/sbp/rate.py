"""SBP, Lemma 3.2: how the margin after slack comes to its optimum; and section 3.1, without slack."""

import math
from functools import lru_cache
from statistics import median_high
from typing import Any, NamedTuple

import numpy as np

from hinge.access import Gram, as_points
from hinge.display.figure import Series, Value, loglog
from hinge.estimators import SVC
from hinge.experiments.base import Cell, CellResults, Claims, Draft, Experiment, Scale, grid
from hinge.experiments.measure import Evaluation, band, late_rate, log_spaced, margin_after_slack, power_law
from hinge.experiments.sets import choose
from hinge.kernels import Gaussian, Precomputed
from hinge.problems import KernelSlackConstrained
from hinge.saddle.front_doors import max_margin
from hinge.solvers import SBP, trace

SETS: dict[str, tuple[float, float | None]] = {"adult": (10.0, 1.0), "mnist": (25.0, None)}
"""σ² of the kernel, and the C whose slack is ν; None is section 3.1, ν = 0, on rows that are separable."""
ROWS = {"tiny": 150, "full": 1000}
SEEDS = {"tiny": 2, "full": 10}
FIRST, LAST = 30, {"tiny": 1_200, "full": 30_000}


class SlackProblem(NamedTuple):
    """Kernel values, labels, ν, and the largest margin after that slack."""

    K: np.ndarray
    y: np.ndarray
    nu: float
    best: float
    about: dict[str, str]


@lru_cache(maxsize=1)
def _problem(name: str, rows: int) -> SlackProblem:
    variance, C = SETS[name]
    data = choose(name, rows)
    X, y = data.parts[:2]
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
    K = np.asarray(Gaussian(1 / (2 * variance))(X, X))
    if C is None:
        factor = np.linalg.cholesky(K + 1e-10 * np.eye(len(y)))
        found = max_margin(factor * np.asarray(y, float)[:, None], eps=experiment.tol, relative=False)
        return SlackProblem(K, y, 0.0, (found.lower + found.upper) / 2, data.about)
    model = SVC(C, kernel="precomputed", fit_intercept=False, tol=experiment.tol, random_state=0).fit(K, y)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    c, nu = y * (K @ beta) / float(np.sqrt(beta @ K @ beta)), float(model.slack_)
    return SlackProblem(K, y, nu, margin_after_slack(c, nu), data.about)


class SBPRate(Experiment):
    """What the plain mean of T iterates loses of the largest margin after slack."""

    name = "sbp-rate"

    late = 10  # the rate is fitted from T/LAST = 1/30 on: earlier, w is hardly a direction
    tol = 1e-6

    def cells(self, scale: Scale) -> list[Cell]:
        """Every seed, on two sets."""
        return grid(set=SETS, rows=ROWS[scale], T=LAST[scale], seed=range(SEEDS[scale]))

    def run(self, cell: Cell) -> dict[str, Any]:
        """The loss of the mean on the way to T."""
        given = _problem(cell["set"], cell["rows"])
        problem = KernelSlackConstrained(Gram(as_points(given.K, Precomputed()), 2 * given.K.nbytes), given.y, given.nu)
        solver = SBP(output="uniform", passes=math.ceil(cell["T"] / problem.n) + 1)
        looks: list[Evaluation] = []
        for now in trace(problem, solver, log_spaced(FIRST, cell["T"], 6), seed=cell["seed"]):
            level = margin_after_slack(given.y * now.solution.responses, given.nu)
            looks.append({"iteration": now.iteration, "loss": given.best - level})
        return {"looks": looks, "nu": given.nu, "best": given.best, "n": problem.n, **given.about}

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """A panel for each set, the exponents, and how far the seeds are apart."""
        panels, rows = [], list[list[Value]]()
        for name, part in results.by("set"):
            first = part.first
            line = band("loss", part.column("looks"), "iteration", "loss")
            title = f"{first['label']}, ν = {first['nu']:.3g}, largest margin {first['best']:.3g}"
            law = power_law("∝ T^-1/2", line, -0.5)
            panels.append(loglog(title, "T, iterations", "margin after slack that is lost", [line, law]))
            where = f"σ² = {SETS[name][0]:g}, no bias, mean iterate, {len(part)} seeds, T to {LAST[scale]:,}"
            _claims(draft.claims, line, part, where, title)
            rows.append([title, line.x[-1], line.y[-1], line.y[-1] * math.sqrt(line.x[-1])])
        draft.figure(self.text("caption", seeds=SEEDS[scale]), panels)
        draft.table("At the last T.", ("set", "T", "loss", "loss × √T"), rows)


def _claims(claims: Claims, line: Series, part: CellResults, where: str, title: str) -> None:
    start = experiment.late * FIRST
    ends = [looks[-1]["loss"] for looks in part.column("looks")]
    apart = max(ends) / median_high(ends) if median_high(ends) > 0 else None
    allowed = math.sqrt(math.log(max(2, len(ends))) / math.log(2))
    claims.add("root", title, late_rate(line, start, least=3), 0.5, f"{where}; fitted from T = {start} on")
    claims.add("apart", title, apart, allowed, where)


experiment = SBPRate()
