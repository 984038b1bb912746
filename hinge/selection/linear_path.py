"""Fits of a linear machine along C: folds are weights of zero, and each fit begins where the last one ended."""

import time
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from hinge.access import Matrix, as_matrix
from hinge.estimators import checks, weights
from hinge.estimators.leave_one_out import without_linear_rows
from hinge.estimators.one_vs_rest import Plan, run_one
from hinge.monitoring import Status, Stop
from hinge.problems import L1Regularized, Penalized, Solution
from hinge.selection.scoring import with_values
from hinge.selection.settled import until_settled
from hinge.selection.training import Training
from hinge.selection.without_rows import row_spans, spread_over, without_targets
from hinge.solvers import Result, Solver, choose
from hinge.types import Stored

FULL = 1e-9
"""Share of its bound that a dual weight may lack and still count as at it."""


class _AtC(NamedTuple):
    """The problems of a C, and what was found."""

    problems: list[Penalized]
    results: list[Result]


class LinearPath:
    """The problems of a `LinearSVC` or `LinearSVR` along C, on all rows or on some.

    The data is never copied: rows that are held out have the weight zero, their decision values are asked for at the
    end, and the norms of rows are computed once. From small C to large ones the dual weights of the last answer,
    scaled to their best multiple, are the start of the next.

    Parameters
    ----------
    model : LinearSVC or LinearSVR
    data : Training
    """

    def __init__(self, model: Any, data: Training) -> None:
        self.model, self.data = model, data
        self.matrix: Matrix = as_matrix(cast(Stored, data.X), checked=True)
        self.seed = checks.seed_of(model.random_state)
        self.chosen: dict[tuple[int, float], Solver] = {}

    def along(
        self, train: np.ndarray, test: np.ndarray, Cs: Sequence[float], tol: float, ends: float | None
    ) -> Iterator[Any]:
        """For each C a model of the rows `train` that knows its decision values on `test`; fewer if time is up.

        Parameters
        ----------
        train, test : ndarray of int
        Cs : sequence of float
            In ascending order.
        tol : float
            Certified relative gap of each fit.
        ends : float, optional
            When to stop, by `time.perf_counter`.
        """
        for problems, results in self._solved(train, Cs, tol, ends):
            values = np.stack(
                [
                    problem.matrix.responses_at(test, result.solution.w, billed=False) + result.solution.b
                    for problem, result in zip(problems, results, strict=True)
                ],
                axis=1,
            )
            yield with_values(self.model, self.data, values)

    def without(self, Cs: Sequence[float], tol: float, ends: float | None) -> Iterator[Any]:
        """For each C a model that knows the decision values of all rows by machines trained without them."""
        for problems, results in self._solved(None, Cs, tol, ends):
            found = [self._left_out(*one) for one in zip(problems, results, strict=True)]
            yield with_values(self.model, self.data, np.stack(found, axis=1))

    def _left_out(self, problem: Penalized, result: Result) -> np.ndarray:
        w, b, alpha = result.solution
        X, f = cast(Stored, self.data.X), problem.responses(w, billed=False) + b
        bound = np.broadcast_to(problem.share() / problem.lam, (problem.n,))
        curved = bool(problem.loss.curvature)
        if alpha is None and not curved:
            raise ValueError(
                "cv='loo' needs dual weights, which this solver does not keep: leave solver='auto', or give a number "
                "of folds."
            )
        if problem.loss.two_sided:
            slopes = problem.loss.slope(self.data.y - f) if curved else alpha
            return without_targets(
                f, self.data.y, slopes * bound, bound, problem.loss, row_spans(X, cast(Any, problem))
            )
        one = without_linear_rows(X, problem, w, b, None if curved or alpha is None else alpha * bound)
        return spread_over(f, problem.y, one.rows, one.f)

    def _solved(self, train: np.ndarray | None, Cs: Sequence[float], tol: float, ends: float | None) -> Iterator[_AtC]:
        """The problems of each C with their answers."""
        matrix = self.matrix.fork()

        def solved(C: float, last: _AtC | None) -> _AtC | None:
            problems, results = self._problems(matrix, train, C), []
            for k, problem in enumerate(problems):
                left = None if ends is None else ends - time.perf_counter()
                if left is not None and left <= 0:
                    return None
                start = [scaled(last.problems[k], last.results[k].solution, problem)] if last else []
                plan = Plan(
                    self._solver(problem, (k, C), tol),
                    Stop(tol, None, left),
                    int(self.model.max_iter),
                    self.seed,
                    "raise",
                    starts=[None] * k + start,
                )
                result = run_one(problem, k, plan)
                if result.status is Status.MAX_TIME:
                    return None
                results.append(result)
            return _AtC(problems, results)

        def as_for(at: _AtC, C: float) -> _AtC:
            problems = self._problems(matrix, train, C)
            return _AtC(problems, [_rescaled(*one) for one in zip(at.problems, at.results, problems, strict=True)])

        yield from until_settled(Cs, solved, _holds_back, as_for)

    def _solver(self, problem: Penalized, which: tuple[int, float], tol: float) -> Solver:
        """The solver that was asked for, or that of the first fold for this C: to choose takes as long as some fits."""
        asked = self.model._solver()
        if asked is not None:
            return asked
        if which not in self.chosen:
            self.chosen[which] = choose(problem, tol=tol).solver
        return self.chosen[which]

    def _problems(self, matrix: Matrix, train: np.ndarray | None, C: float) -> list[Penalized]:
        data, rows = self.data, self.data.weight_of(train)
        model = copy(self.model)
        model.C = C
        if data.codes is None:
            return [model._problem(matrix, data.y, rows)]
        assert data.classes is not None
        per_class = weights.per_class_weights(model.class_weight, data.y, data.classes, rows)
        targets = [1] if len(data.classes) == 2 else range(len(data.classes))
        return [model._problem(matrix, data.codes == k, rows, per_class, k) for k in targets]


def _holds_back(at: _AtC, C: float) -> bool:
    """Whether a dual weight would be at the bound that C is, or beyond; always, if bounds are not what holds them."""
    for problem, result in zip(at.problems, at.results, strict=True):
        alpha = result.solution.alpha
        if alpha is None or problem.loss.curvature or isinstance(problem, L1Regularized):
            return True
        if float(np.abs(alpha).max(initial=0.0)) >= (1.0 - FULL) * C * problem.lam * problem.total:
            return True
    return False


def _rescaled(before: Penalized, result: Result, after: Penalized) -> Result:
    """The same w and b, with their dual weights in the units of another λ."""
    w, b, alpha = result.solution
    assert alpha is not None
    return replace(result, solution=Solution(w, b, alpha * (after.lam / before.lam)))


def scaled(before: Penalized, answer: Solution, after: Penalized) -> Solution:
    """An answer as a start for another λ: its w as it is, and the best multiple of its dual weights.

    Along the ray through α the dual is a parabola, whose top is at

    .. math:: \\sum_ic_i(t_i\\alpha_i - \\varepsilon|\\alpha_i|) \\Big/
              \\big(\\|z\\|^2/\\lambda + q\\sum_ic_i\\alpha_i^2\\big), \\qquad z = \\lambda_0w_0.

    Where no dual weight was at its bound this leaves w, and the dual
    weights in units of w, as they are.
    """
    if answer.alpha is None or isinstance(after, L1Regularized):
        return answer
    linear, _, square = after.conjugates(answer.alpha)  # type: ignore[attr-defined]
    quadratic = (before.lam * before.norm(answer.w, answer.b)) ** 2 / after.lam + after.loss.curvature * square
    largest = float(np.abs(answer.alpha).max(initial=0.0))
    most = after.loss.high / largest if largest > 0 else 1.0
    factor = min(linear / quadratic, most) if quadratic > 0 and linear > 0 else 1.0
    return answer._replace(alpha=answer.alpha * factor)
