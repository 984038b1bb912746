"""The survey, Algorithm 3 and Theorem 4.6: semidefinite feasibility from single matrices and entries."""

import copy
import math
import time
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from hinge.bounds import sdp_iterations
from hinge.display.figure import Panel, Value, loglog
from hinge.experiments.base import Cell, CellResults, Claims, Draft, Experiment, Scale, grid, share_at_most
from hinge.experiments.measure import power_law, slope, spread, value_at
from hinge.experiments.survey import losses
from hinge.problems import Semidefinite
from hinge.problems.max_min.symmetric import svec
from hinge.saddle.front_doors import semidefinite
from hinge.solvers import PrimalDual, SublinearSDP, trace
from hinge.solvers.saddle.primal_dual import PrimalDualState

SEEDS = {"tiny": 2, "full": 20}
TIMED_SEEDS = {"tiny": 2, "full": 5}
RATIOS = {"tiny": (5.0, 10.0), "full": (5.0, 10.0, 20.0, 40.0)}
"""c/ε, of which T = (c/ε)² log m is made; a run tells of every ε."""
SHAPES = {"tiny": ((4, 20),), "full": ((8, 50), (16, 200))}
SPARSE_SHAPES = {"tiny": ((4, 20),), "full": ((8, 50), (32, 50))}
SPARSE_SEEDS = {"tiny": 1, "full": 5}
SPARSE_EPS = {"tiny": 0.15, "full": 0.1}
"""ε of the runs by Hazan's projection, to ε/2 as the theorem has it; less than σ, so that X = 0 is not enough."""
ORDERS = {"tiny": (4, 8), "full": (8, 16, 32, 64, 128, 256, 512, 1024)}


@lru_cache(maxsize=2)
def matrices(n: int, m: int) -> np.ndarray:
    """m symmetric matrices of unit Frobenius norm; one direction satisfies all but a few of them well."""
    rng = np.random.default_rng(0)
    q, r = np.linalg.qr(rng.standard_normal((n, 2)))[0].T
    along = np.tile([0.4, 0.0], (m, 1))
    along[rng.choice(m, experiment.rare, replace=False)] = (-0.1, 0.4)
    G = rng.standard_normal((m, n, n))
    G = G + G.transpose(0, 2, 1)
    axes = np.stack([np.outer(q, q), np.outer(r, r)])
    G -= np.einsum("mk,kij->mij", np.einsum("mij,kij->mk", G, axes), axes)
    G *= (np.sqrt(1 - (along**2).sum(axis=1)) / np.linalg.norm(G, axis=(1, 2)))[:, None, None]
    return G + np.einsum("mk,kij->mij", along, axes)


@lru_cache(maxsize=8)
def exact_value(n: int, m: int) -> tuple[float, str]:
    """The optimum, by Clarabel where it is installed, else by the certificate of our own solver."""
    A = matrices(n, m)
    try:
        return _clarabel(A), "Clarabel"
    except ImportError:
        found = semidefinite(A, experiment.tolerance / 2, relative=False)
        return (found.lower + found.upper) / 2, "our own certificate"


def _clarabel(A: np.ndarray) -> float:
    """max t with A_i∘X ≥ t, tr X ≤ 1, X ⪰ 0."""
    import clarabel

    n = A.shape[1]
    rows = np.stack([svec(one) for one in A])
    d = rows.shape[1]
    places = np.zeros((n, n), int)
    places[np.triu_indices(n)] = np.arange(d)
    order = [places[i, j] for j in range(n) for i in range(j + 1)]  # Clarabel packs by columns, svec by rows
    blocks = [[-rows, np.ones((len(A), 1))], [svec(np.eye(n))[None], np.zeros((1, 1))]]
    G = np.block([*blocks, [-np.eye(d)[order], np.zeros((d, 1))]])
    h = np.concatenate([np.zeros(len(A)), [1.0], np.zeros(d)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    cones = [clarabel.NonnegativeConeT(len(A) + 1), clarabel.PSDTriangleConeT(n)]
    cost = np.append(np.zeros(d), -1.0)
    none = sp.csc_matrix((d + 1, d + 1))
    return -float(clarabel.DefaultSolver(none, cost, sp.csc_matrix(G), h, cones, settings).solve().obj_val)


class SurveySdp(Experiment):
    """Losses after T = c² log m / ε² iterations, and what an iteration costs with either projection."""

    name = "survey-sdp"

    timed = True

    large_seeds = 2
    accuracies = (0.2, 0.1, 0.05)
    constants = (0.5, 1.0, 2.0, 4.0)
    large = 256  # from this order on fewer seeds, and fewer iterations on the clock
    timed_m = 20  # constraints where seconds are measured
    rare = 3  # constraints that need a second direction
    timed_eps = 0.1
    warm_up = 60
    timed_iterations: ClassVar[dict[str, int]] = {"exact": 60, "sparse": 1}  # of large orders 3 and 1
    tolerance = 1e-5  # how far the exact values may be off
    timed_solver: ClassVar[dict[str, PrimalDual]] = {
        "exact": PrimalDual("fixed", timed_eps, 2.0),
        "sparse": SublinearSDP("fixed", timed_eps, 2.0),
    }

    def cells(self, scale: Scale) -> list[Cell]:
        """All T of an instance and a seed make one cell; an order and a projection another."""
        cells: list[Cell] = []
        for n, m in SHAPES[scale]:
            seeds, ratios = range(SEEDS[scale]), list(RATIOS[scale])
            cells += grid(part="guarantee", n=n, m=m, ratios=[ratios], seed=seeds)
        for n, m in SPARSE_SHAPES[scale]:
            cells += grid(part="sparse", n=n, m=m, eps=SPARSE_EPS[scale], seed=range(SPARSE_SEEDS[scale]))
        for n in ORDERS[scale]:
            seeds = range(TIMED_SEEDS[scale] if n < self.large else self.large_seeds)
            cells += grid(part="seconds", n=n, m=self.timed_m, seed=seeds, projection=["exact", "sparse"])
        return cells

    def run(self, cell: Cell) -> dict[str, Any]:
        """Losses, or seconds of an iteration; on one core, since small matrices gain nothing by two."""
        n, m, seed = cell["n"], cell["m"], cell["seed"]
        with threadpool_limits(1):
            if cell["part"] == "seconds":
                return _time_iteration(n, cell["projection"], seed)
            (value, by), problem = exact_value(n, m), Semidefinite(matrices(n, m), relative=False)
            if cell["part"] == "sparse":  # Algorithm 3 as printed, with Hazan's projection to ε/2, at c = 2
                solver = SublinearSDP("fixed", cell["eps"], 2.0)
                T = solver.horizon(problem)
                found: dict[str, Any] = losses.loss_after(problem, solver, T, value, self.tolerance, seed)
            else:  # with exact projections
                every = [losses.loss_at_ratio(problem, c, value, self.tolerance, seed) for c in cell["ratios"]]
                found = {"looks": every}
        return {**found, "value": value, "by": by}

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """Losses beside the law, shares within ε, seconds beside the order."""
        panels = []
        if guarantee := results.where(part="guarantee"):
            _claims(draft.claims, guarantee, scale)
            panels += [_panel(part) for part in instances(guarantee)]
            columns = ("n", "m", "σ", "ε", *(f"c = {c:g}" for c in self.constants), "T of the theorem")
            draft.table(self.text("caption_2", by=guarantee.first["by"]), columns, _shares(guarantee), "shares")
        if by_hazan := results.where(part="sparse"):
            _hazan_claims(draft.claims, by_hazan)
        if seconds := results.where(part="seconds"):
            panels.append(_costs(draft, seconds))
        draft.figure(self.text("caption", seeds=guarantee.seeds), panels)


@lru_cache(maxsize=1)
def _warm_state(n: int, seed: int) -> PrimalDualState:
    """The state after some iterations by exact projections, which have filled Y."""
    problem = Semidefinite(matrices(n, experiment.timed_m), relative=False)
    (now,) = trace(problem, experiment.timed_solver["exact"], [experiment.warm_up], seed=seed)
    state: PrimalDualState = now.state
    return state


def _time_iteration(n: int, projection: Literal["exact", "sparse"], seed: int) -> dict[str, Any]:
    """The processor's time of an iteration, with a Y that was filled by others."""
    problem, solver = Semidefinite(matrices(n, experiment.timed_m), relative=False), experiment.timed_solver[projection]
    count = max(1, experiment.timed_iterations[projection] // (1 if n < experiment.large else 20))
    at = experiment.warm_up + 1, experiment.warm_up + 1 + count
    at_marks = [time.process_time() for _ in trace(problem, solver, at, state=copy.deepcopy(_warm_state(n, seed)))]
    return {"milliseconds": 1e3 * (at_marks[1] - at_marks[0]) / count}


def instances(results: CellResults) -> list[CellResults]:
    """The results of each order and number of constraints."""
    return [part for _, of_n in results.by("n") for _, part in of_n.by("m")]


def _shares(results: CellResults) -> list[list[Value]]:
    rows = list[list[Value]]()
    for part in instances(results):
        n, m, value = part[0].cell["n"], part[0].cell["m"], part.first["value"]
        for eps in experiment.accuracies:
            T = float(sdp_iterations(m, eps))
            rows.append([n, m, value, eps, *(losses.share_within(part, c, eps) for c in experiment.constants), T])
    return rows


def _claims(claims: Claims, results: CellResults, scale: Scale) -> None:
    parts = instances(results)
    two = losses.least_share_within(parts, 2.0, experiment.accuracies)
    shapes = ", ".join(f"n = {n} and m = {m}" for n, m in SHAPES[scale])
    where = experiment.text("conditions", shapes=shapes, seeds=results.seeds)
    claims.add("high", "synthetic, exact projections", two, "high probability", where)
    claims.add("root", "synthetic", losses.median_exponent(parts), 0.5, where)
    losses.certificates_hold(claims, "optima", losses.all_looks(results), f"{where}; exact by {results.first['by']}")


def _hazan_claims(claims: Claims, results: CellResults) -> None:
    shapes = ", ".join(f"n = {n} and m = {m}" for n, m in dict.fromkeys((r.cell["n"], r.cell["m"]) for r in results))
    eps = results[0].cell["eps"]
    where = experiment.text("conditions_3", shapes=shapes, eps=eps, seeds=results.seeds)
    share = share_at_most(results.column("loss"), eps)
    sure = "X = 0 is within ε" if min(results.column("value")) <= eps else ""
    claims.add("high", "synthetic, Hazan's projection to ε/2", share, "high probability", where, sure=sure)


def _panel(part: CellResults) -> Panel:
    cell = part[0].cell
    title = f"Synthetic, n = {cell['n']}, m = {cell['m']}, σ = {part.first['value']:.3f}"

    laws = losses.root_law("m", cell["m"]) | losses.root_law("m", cell["m"], 60, ", the proof")
    return losses.losses_panel(title, "loss", part, laws)


def _costs(draft: Draft, results: CellResults) -> Panel:
    """Milliseconds of an iteration against the order, with either projection."""
    exact = spread("all eigenvalues", results.where(projection="exact"), "n", "milliseconds")
    sparse = spread("Hazan's projection", results.where(projection="sparse"), "n", "milliseconds")
    where = experiment.text("conditions_2", most=max(results.values_of("n")), seeds=results.seeds)
    half = len(sparse.x) // 2
    draft.claims.add("square", "synthetic", slope(sparse.x[half:], sparse.y[half:]), 2.0, where)
    if both := set(exact.x) & set(sparse.x):
        n = max(both)
        times = value_at(exact, n) / value_at(sparse, n)
        draft.claims.add("cheaper", f"synthetic, order {n:g}", times, None, where)
    T = math.ceil(float(sdp_iterations(experiment.timed_m, experiment.timed_eps, 2.0)))
    rows = [[n, value_at(exact, n), value_at(sparse, n), T] for n in results.values_of("n")]
    columns = ("n", "all eigenvalues", "Hazan's projection", "T at c = 2")
    draft.table(experiment.text("table_caption", seeds=results.seeds), columns, rows, "seconds")
    series = [exact, sparse]
    if exact.x:
        series += [power_law(label, exact, k, point=-1) for label, k in (("n²", 2), ("n³", 3))]
    return loglog("Synthetic: the cost of an iteration", "n, order of the matrices", "milliseconds", series)


experiment = SurveySdp()
