"""The survey, Algorithm 2 and Theorem 3.1: one method for margins, games, balls and slack."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from hinge.bounds import generic_iterations
from hinge.datasets import make_separable
from hinge.display.figure import Value
from hinge.experiments.base import Cell, CellResults, Claims, Draft, Experiment, Scale, grid, share_at_most
from hinge.experiments.measure import Evaluation
from hinge.experiments.survey import losses
from hinge.kernels import Gaussian
from hinge.monitoring import Stop
from hinge.problems import (
    EnclosingBall,
    KernelMaxMargin,
    LinearMaxMin,
    MatrixGame,
    MaxMargin,
    SlackConstrained,
    SlackGame,
)
from hinge.problems.max_min.base import MaxMin
from hinge.saddle.front_doors import enclosing_ball, max_margin
from hinge.solvers import PrimalDual, solve_slack

SEEDS = {"tiny": 2, "full": 20}
SIZES = {"tiny": (60, 15), "full": (300, 50)}
RATIOS = {"tiny": (2.5, 5.0, 10.0), "full": (2.5, 5.0, 10.0, 20.0, 40.0)}
"""c/ε, of which T = (c/ε)² log n is made; a run tells of every ε."""
EPS = {"tiny": (0.2,), "full": (0.2, 0.1)}
PROOFS = {"margin": "200", "kernel": "200", "game": "100", "ball": "100", "slack": "100", "box": "100"}


class Instance(NamedTuple):
    """A problem made anew for each run, its exact value, and what it is."""

    make: Callable[[], MaxMin]
    value: float
    label: str


class Box(LinearMaxMin):
    """A user's own problem: the smallest of linear functions on [-1, 1]^d."""

    def __init__(self, G: np.ndarray) -> None:
        super().__init__(G, relative=False)
        self.diameter, self.second_moment = math.sqrt(self.d), float(self.d)  # ‖x‖² may be d

    def project(self, x: np.ndarray) -> np.ndarray:
        """Coordinate by coordinate."""
        return np.clip(x, -1.0, 1.0)

    def support(self, g: np.ndarray) -> float:
        """The largest g·x on the box."""
        return float(np.abs(g).sum())


def _linear_value(A: np.ndarray, low: float) -> float:
    """max min A x on the simplex (low = 0) or on the box [-1, 1]^d (low = -1), by HiGHS."""
    n, d = A.shape
    on_simplex = low == 0.0
    found = linprog(
        np.r_[np.zeros(d), -1.0],
        A_ub=np.c_[-A, np.ones(n)],
        b_ub=np.zeros(n),
        A_eq=np.r_[np.ones(d), 0.0][None] if on_simplex else None,
        b_eq=[1.0] if on_simplex else None,
        bounds=[(low, 1.0)] * d + [(None, None)],
    )
    return -float(found.fun)


@lru_cache(maxsize=8)
def instance_of(kind: str, n: int, d: int) -> Instance:
    """A small problem of each kind."""
    rng = np.random.default_rng(0)
    if kind == "margin":
        made = make_separable(n, d, 0.2)
        A = made.X_train * made.y_train[:, None]
        return Instance(lambda: MaxMargin(A, relative=False), made.margin, "margin (synthetic rows)")
    if kind == "kernel":
        X = rng.standard_normal((n, 2))
        y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, 1.0, -1.0)
        X[:, 1] += 0.3 * y
        factor = np.linalg.cholesky(Gaussian(1.0)(X, X) + 1e-10 * np.eye(n))
        value = max_margin(factor * y[:, None], eps=experiment.tolerance / 2, relative=False).upper
        label = "margin with a Gaussian kernel (synthetic points)"
        return Instance(lambda: KernelMaxMargin(X, y, Gaussian(1.0), relative=False), value, label)
    if kind == "game":
        A = rng.uniform(-0.3, 0.3, (n, d))
        A[:, 10:] -= 0.5
        A[10:, :10] += 0.5
        value = _linear_value(A, 0.0)
        return Instance(lambda: MatrixGame(A, relative=False), value, "matrix game (synthetic, support of 10)")
    if kind == "ball":
        A = rng.standard_normal((n, d)) * np.arange(1, d + 1) ** -0.5
        A /= np.linalg.norm(A, axis=1).max()
        ball = enclosing_ball(A, experiment.tolerance / 2, relative=False)
        return Instance(lambda: EnclosingBall(A, relative=False), ball.upper, "enclosing ball (synthetic)")
    if kind == "slack":
        X = rng.standard_normal((n, d))
        X /= np.linalg.norm(X, axis=1)[:, None]
        y = np.where(X[:, :3].sum(axis=1) + 0.1 * rng.standard_normal(n) > 0, 1, -1)
        nu, stop = experiment.nu, Stop(experiment.tolerance / 2)
        value = solve_slack(SlackConstrained(X, y, nu), stop=stop).certificate.bound
        label = f"margin with slack, ν = {nu:g} (SIMBA's problem, synthetic)"
        return Instance(lambda: SlackGame(X, y, nu, bias=False, relative=False), value, label)
    G = rng.standard_normal((n, d)) + 0.3
    G /= np.linalg.norm(G, axis=1)[:, None] * math.sqrt(d)  # values of at most one
    return Instance(lambda: Box(G), _linear_value(G, -1.0), "a user's own, on a box (synthetic)")


class SurveyPrimalDual(Experiment):
    """Losses of one solver on six problems, after the theorem's number of iterations and after others."""

    name = "survey-primal-dual"

    version = 3  # the printed η is fixed

    nu = 0.05
    tolerance = 1e-5  # how far the exact values may be off, in the units of the functions

    def cells(self, scale: Scale) -> list[Cell]:
        """All T of a problem and a seed make one cell."""
        n, d = SIZES[scale]
        ratios, eps = list(RATIOS[scale]), list(EPS[scale])
        return grid(problem=PROOFS, n=n, d=d, ratios=[ratios], eps=[eps], seed=range(SEEDS[scale]))

    def run(self, cell: Cell) -> dict[str, Any]:
        """Losses at each T, at the T of the theorem, and with the rate that the survey prints."""
        instance, seed = instance_of(cell["problem"], cell["n"], cell["d"]), cell["seed"]
        problem, value = instance.make(), instance.value
        n, unit = problem.n, problem.scale * math.sqrt(problem.second_moment)

        def at_ratio(ratio: float) -> Evaluation:
            return losses.loss_at_ratio(instance.make(), ratio, value, self.tolerance, seed, unit)

        at_theorem, printed = [], []
        for eps in cell["eps"]:
            T = float(generic_iterations(n, eps))
            at_theorem.append({"eps": eps, **at_ratio(math.sqrt(T / math.log(n)))})
            literal = PrimalDual("fixed", eps * unit, math.sqrt(T / math.log(n)) * eps, rate=0.01)
            problem = instance.make()
            lost = losses.loss_after(problem, literal, literal.horizon(problem), value, self.tolerance, seed, unit)
            printed.append({"eps": eps, **lost})
        return {
            "looks": [at_ratio(ratio) for ratio in cell["ratios"]],
            "theorem": at_theorem,
            "printed": printed,
            "n": n,
            "label": instance.label,
            "value": value,
            "start": (value - float(problem.values(problem.start()).min())) / unit,
        }

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """A panel for each problem, and what the table says of it."""
        parts = {kind: results.where(problem=kind) for kind in results.values_of("problem")}
        columns = ("problem", "ε", "c, half", "c, all", "c, proof", "T", "share", "share, η/100", "p")
        rows = [_row(kind, part, eps) for kind, part in parts.items() for eps in EPS[scale]]
        draft.table(self.text("table_caption"), columns, rows)
        axis, law = "loss, units of an estimate", losses.root_law("n", results.first["n"])
        panels = [losses.losses_panel(part.first["label"], axis, part, law) for part in parts.values()]
        draft.figure(self.text("caption", seeds=results.seeds), panels)
        _claims(draft.claims, parts, scale)


def _smallest_constant(part: CellResults, eps: float, share: float) -> float | None:
    """The smallest c = ratio · ε from which on this share of the seeds is within ε; None if none is."""
    found = None
    for ratio in sorted({look["ratio"] for look in losses.all_looks(part)}, reverse=True):
        lost = [look["loss"] for look in losses.all_looks(part) if look["ratio"] == ratio]
        if share_at_most(lost, eps) < share:
            break
        found = ratio * eps
    return found


def _share(part: CellResults, which: str, eps: float) -> float:
    """Of seeds within ε after the theorem's T."""
    return share_at_most([look["loss"] for looks in part.column(which) for look in looks if look["eps"] == eps], eps)


def _row(kind: str, part: CellResults, eps: float) -> list[Value]:
    first = part.first
    T = next(look["T"] for look in first["theorem"] if look["eps"] == eps)
    return [
        first["label"],
        eps,
        _smallest_constant(part, eps, 0.5),
        _smallest_constant(part, eps, 1.0),
        PROOFS[kind],
        T,
        _share(part, "theorem", eps),
        _share(part, "printed", eps),
        losses.exponent_of_losses(part),
    ]


def _claims(claims: Claims, parts: dict[str, CellResults], scale: Scale) -> None:
    """For each problem whether half of the seeds get to ε, with the printed η and without its hundredth."""
    n, eps = SIZES[scale][0], min(EPS[scale])
    seeds = max(part.seeds for part in parts.values())
    where = f"n = {n}, ε = {eps:g} of the largest root mean square of an estimate, {seeds} seeds"
    for sentence, which in (("printed", "printed"), ("larger", "theorem")):
        for part in parts.values():
            within = "the point that a run begins with is within ε" if part.first["start"] <= eps else ""
            claims.add(sentence, part.first["label"], _share(part, which, eps), "1/2", where, sure=within)
    every = [look for part in parts.values() for r in part for look in [*r.values["looks"], *r.values["theorem"]]]
    claims.add("rate", "all problems", losses.median_exponent(parts.values()), 0.5, where)
    known = f"exact by construction, by HiGHS, or by a certified gap of {experiment.tolerance:g}"
    losses.certificates_hold(claims, "values", every, f"{len(every)} runs, all problems; {known}")


experiment = SurveyPrimalDual()
