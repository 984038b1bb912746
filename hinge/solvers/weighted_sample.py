"""A sample of rows, each with the inverse of its probability as weight: the problem it makes, its answer."""

import numpy as np

from hinge.monitoring import Stop
from hinge.problems import Regularized, Solution
from hinge.solvers.driver import solve
from hinge.solvers.sdca import SDCA


def cost_of_a_row(problem: Regularized) -> float:
    """C, the weight of one row's loss against ½‖w‖²."""
    return 1.0 / (problem.lam * problem.total)


def sample_problem(problem: Regularized, rows: np.ndarray, share: np.ndarray) -> Regularized:
    """The problem of these rows at the same C, with what was read of them and weights 1/share."""
    weight = 1.0 / share
    weight *= problem.weight[rows] if len(problem.weight) > 1 else 1.0
    return Regularized.from_C(
        problem.table.held(rows), problem.y[rows], cost_of_a_row(problem), weight=weight, bias=problem.bias,
        bias_scale=problem.bias_scale,
    )  # fmt: skip


def solve_sample(inner: Regularized, start: Solution, tol: float) -> Solution:
    """Its answer; it costs nothing, since all cells are held."""
    return solve(inner, SDCA(), stop=Stop(max(tol, 1e-9), max_iter=1000 * inner.n), start=start).solution


def shares_of_classes(y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The share of each row's class that was taken, scaled to a mean weight of one."""
    taken = y[rows]
    share = np.ones(len(rows))
    for side in (1, -1):
        share[taken == side] = np.sum(taken == side) / max(1, np.sum(y == side))
    return share * np.mean(1.0 / share)


def alike(y: np.ndarray, left: np.ndarray, count: int) -> np.ndarray:
    """The first of the rows that are left, of both classes alike as long as there are."""
    positive = y[left] > 0
    fewer, more = sorted([left[positive], left[~positive]], key=len)
    half = min(len(fewer), count // 2)
    return np.concatenate([fewer[:half], more[: count - half]])
