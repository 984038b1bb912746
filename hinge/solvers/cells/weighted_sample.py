"""A sample of rows, each with the inverse of its probability as weight: the problem it makes, its answer."""

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from hinge.access.structure import only_columns
from hinge.calibration.sigmoid import fit_sigmoid, probabilities
from hinge.monitoring import Status, Stop
from hinge.problems import Regularized, Solution
from hinge.problems.base import Cost
from hinge.problems.svm.penalized import lam_of
from hinge.solvers.ascent.sdca import SDCA
from hinge.solvers.base import Solver
from hinge.solvers.driver import solve

READING_TOL, LAST_TOL = 1e-2, 1e-3
"""Gaps to which problems of a sample, and the problem of all rows, are solved: a sample is far less accurate."""
LEAST_OF_CLASS = 10
"""Rows of a rare class that a first sample has at least: fewer often miss the class."""


S = TypeVar("S", bound=Any)


@dataclass(frozen=True)
class SampleLearner(Solver[Regularized, S]):
    """A learner of classes that reads rows in batches, the present one in the `queue` of its state, and keeps them."""

    reads = "kept cells"
    any_loss = True
    solves, instead = Regularized, "Simba for a slack bound"

    def _limits(self, problem: Regularized) -> str | None:
        if problem.loss.two_sided:
            return f"{type(self).__name__} learns classes, not numbers: use SDCA or Newton for regression."
        return None

    def cost(self, problem: Regularized, state: S | None = None) -> Cost:
        return Cost(rows=1, certificate=0, a_pass=problem.n)

    def pause(self, problem: Regularized, state: S) -> int:
        s = state.s
        return 0 if s.over else max(1, int(s.queued - s.done))  # 1 after Ctrl-C before it had learned


def cost_of_a_row(problem: Regularized) -> float:
    """C, the weight of one row's loss against ½‖w‖²."""
    return 1.0 / (problem.lam * problem.total)


def sample_problem(
    problem: Regularized, rows: np.ndarray, share: np.ndarray, columns: np.ndarray | None = None
) -> Regularized:
    """The problem of these rows at the same C, with what was read of them and weights 1/share."""
    weight, held = 1.0 / share, problem.table.held(rows)
    weight *= problem.weight[rows] if len(problem.weight) > 1 else 1.0
    if columns is not None and not columns.all():
        held = only_columns(held, columns)
    sample = problem.with_rows(held, rows, weight)
    sample.lam = lam_of(cost_of_a_row(problem), sample.total)
    return sample


def coefficients(problem: Regularized, rows: np.ndarray, alpha: np.ndarray, pi: np.ndarray) -> np.ndarray:
    """What rows of the sample have as factor in w, without sign: C α / π times the row's weight."""
    own = cost_of_a_row(problem) * alpha[rows] / pi[rows]
    return own * problem.weight[rows] if len(problem.weight) > 1 else own


def solve_sample(inner: Regularized, start: Solution, tol: float) -> Solution:
    """Its answer; it costs nothing, since all cells are held.

    Rows that come and go leave rounding errors in columns that no support vector has. These are made zero:
    a column of w is one to read. Where time ran out before each row was visited, the start is the better answer.
    """
    if inner.bias == "free" and abs(int(inner.y.sum())) == inner.n:
        # Of one class, w = 0 has no loss: the optimum is 0, to which no gap is relative, and an ascent would not end.
        return Solution(np.zeros(inner.d), float(inner.y[0]), np.zeros(inner.n))
    stop = Stop(max(tol, 1e-9), max_iter=1000 * inner.n)
    result = solve(inner, SDCA(), stop=stop, start=start)
    if result.status is Status.MAX_TIME and result.n_iter < inner.n and start.w.any():
        return start
    answer = result.solution
    size = np.abs(answer.w)
    return answer._replace(w=np.where(size > 1e-12 * size.max(initial=0.0), answer.w, 0.0))


def solve_for_all(problem: Regularized, rows: np.ndarray, start: Solution) -> Solution:
    """The answer of whole rows, weighted so that each class has its total weight in all rows."""
    return solve_sample(sample_problem(problem, rows, shares_of_classes(problem.y, rows)), start, READING_TOL)


def shares_of_classes(y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The share of each row's class that was taken."""
    taken = y[rows]
    share = np.ones(len(rows))
    for side in (1, -1):
        share[taken == side] = np.sum(taken == side) / max(1, np.sum(y == side))
    return share


def shares_at_C(y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The same, scaled to a mean weight of one: then C is the cost of one row, and few rows are not overfitted."""
    share = shares_of_classes(y, rows)
    return share * np.mean(1.0 / share)


def with_rare(y: np.ndarray, order: np.ndarray, count: int) -> np.ndarray:
    """The first `count` of these rows, and further ones of a class that has fewer than `LEAST_OF_CLASS` among them."""
    positive = y[order] > 0
    rare = [np.flatnonzero(side)[:LEAST_OF_CLASS] for side in (positive, ~positive)]
    return order[np.unique(np.concatenate([np.arange(count), *rare]))]


def alike(y: np.ndarray, left: np.ndarray, count: int) -> np.ndarray:
    """The first of the rows that are left, in turn, the classes in the ratio of the roots of their sizes.

    Half-way between random rows and equal classes: what is rare is seen early, and a class that is
    easy does not lose the rows that hold its margin.
    """
    sides = [left[y[left] > 0], left[y[left] < 0]]
    roots = np.sqrt([np.sum(y > 0), np.sum(y < 0)])
    few = [min(LEAST_OF_CLASS, count // 2, len(side)) for side in sides]
    size = np.clip(round(count * roots[0] / roots.sum()), few[0], count - few[1])
    size = int(np.clip(size, count - len(sides[1]), len(sides[0])))
    sides = [sides[0][:size], sides[1][: count - size]]
    turns = np.concatenate([(np.arange(len(side)) + 0.5) / max(1, len(side)) for side in sides])
    return np.concatenate(sides)[np.argsort(turns, kind="stable")]


def expected_gain(inner: Regularized, old: np.ndarray, new: np.ndarray, fresh: np.ndarray) -> tuple[float, float]:
    """The share of errors that the new responses are expected to have less than the old ones, and its standard error.

    Where both agree nothing is gained; elsewhere as much as the label of the new one is more probable than the other,
    by Platt's sigmoid of the old responses to rows that were new to it. Errors that are counted tell less: most rows
    that change their class lie near the boundary, where labels are nearly even, and what they gain is a small
    difference of large numbers.
    """
    weight = inner.weight * fresh
    sure = 2.0 * probabilities(new, fit_sigmoid(old, inner.y > 0, weight)) - 1.0
    each = inner.weight * ((new > 0) * 1.0 - (old > 0)) * sure
    return float(each.sum() / inner.weight.sum()), float(np.linalg.norm(each) / inner.weight.sum())


def changed(inner: Regularized, old: np.ndarray, new: np.ndarray) -> float:
    """The share of predictions that changed; infinite as long as nearly all rows get the same label."""
    positive, predicted = np.average([inner.y > 0, new], axis=1, weights=inner.weight)
    if min(predicted, 1 - predicted) < 0.25 * min(positive, 1 - positive):
        return np.inf  # nothing was learned yet that could change
    return float(np.average(old != new, weights=inner.weight))
