"""Fits of a linear model along C: folds are weights of zero, and each fit starts from the last one."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from hinge.access import Matrix, as_matrix
from hinge.access.occupied import occupied
from hinge.calibration.left_out import left_out_targets, spread_over
from hinge.calibration.leverage import Squares
from hinge.calibration.linear_spans import linear_spans
from hinge.estimators import LinearSVC, LinearSVR
from hinge.estimators.data import validation as checks
from hinge.estimators.fitting.runs import results_of_members
from hinge.estimators.fitting.tasks import per_class_weights
from hinge.estimators.mixins.probabilities import features_of, without_linear_rows
from hinge.monitoring import Status, Stop
from hinge.monitoring.interrupts import is_over, now
from hinge.problems import L1Regularized, Penalized, Regularized, Solution
from hinge.problems.base import rounding
from hinge.problems.batch import Batch
from hinge.problems.svm.penalized import lam_of
from hinge.selection.certified_choice import FittedPair, FoldRows, PairFit, best_mixing
from hinge.selection.paths import SharedPath
from hinge.selection.scoring import SearchData
from hinge.solvers import Result, Solver, choose, solve
from hinge.solvers.ascent.sdca import best_dual_multiple
from hinge.solvers.choice.switch import Switch
from hinge.solvers.newton.finite_newton import SMALL
from hinge.types import Stored


class LinearRun(NamedTuple):
    """The problem of one class for one C, and its result."""

    problem: Penalized
    result: Result


class LinearPath(SharedPath[LinearRun]):
    """The problems of a `LinearSVC` or `LinearSVR` along C, on all rows or on some.

    The data is never copied: held-out rows have the weight zero, their decision values are computed at the end, and
    norms of rows are computed once. Fits go from small C to large ones; each starts with the best multiple of the last
    dual weights. The classes and folds of few rows are members of one batch.

    Parameters
    ----------
    model : LinearSVC or LinearSVR
    data : SearchData
    """

    def __init__(self, model: LinearSVC | LinearSVR, data: SearchData) -> None:
        self.model, self.data = model, data
        self.matrix = cast(Matrix, occupied(as_matrix(cast(Stored, data.X), checked=True)).matrix)
        self.X: Stored = self.matrix.fork().whole()  # on a counter of its own: these reads are not reported
        self.seed = checks.seed_of(model.random_state)
        self.chosen: dict[tuple[float, float], Solver] = {}
        self.squares: defaultdict[int, Squares] = defaultdict(Squares)
        problems = self._problems(None)
        # A member's step then costs calls of NumPy rather than arithmetic, of which folds that are given up save some.
        few = problems[0].n * max(problems[0].d + 1, 5 * len(problems)) <= SMALL
        self.joint = few and self._solver(problems[0], 1.0, 1e-2).joint

    def _values(self, run: LinearRun, rows: np.ndarray | None) -> np.ndarray:
        problem, (w, b, _) = run.problem, run.result.solution
        if rows is None:
            return problem.responses(w, billed=False) + b
        return problem.matrix.responses_at(rows, w, billed=False) + b

    def _left_out(self, k: int, run: LinearRun, f: np.ndarray) -> np.ndarray:
        problem, (w, b, alpha) = run.problem, run.result.solution
        bound = np.broadcast_to(problem.share() / problem.lam, (problem.n,))
        curved = bool(problem.loss.curvature)
        if alpha is None and not curved:
            raise ValueError(
                "cv='loo' needs dual weights, which this solver does not keep: leave solver='auto', or give a number "
                "of folds."
            )
        if problem.loss.two_sided:
            slopes = problem.loss.slope(self.data.y - f) if curved else alpha
            spans = partial(linear_spans, features_of(self.X, problem), kept=Squares())
            return left_out_targets(
                f, self.data.y, slopes * bound, bound, problem.loss.epsilon, problem.loss.curvature, spans
            )
        a = None if curved or alpha is None else alpha * bound
        one = without_linear_rows(self.X, problem, w, b, a, f=f, kept=self.squares[k])
        return spread_over(f, problem.y, one.rows, one.f)

    def _solved(
        self, trains: Sequence[np.ndarray | None], Cs: Sequence[float], tol: float, ends: float | None
    ) -> Iterator[list[LinearRun]]:
        matrix = self.matrix.fork()
        at_one = [problem for train in trains for problem in self._problems(train, matrix)]

        runs: list[LinearRun] = []
        for C in Cs:
            problems = [with_C(problem, C) for problem in at_one]
            solver = self._solver(problems[0], C, tol)
            some, last, runs = len(problems) if solver.joint else 1, runs, []
            for k in range(0, len(problems), some):
                if is_over(ends):
                    return
                part, options = problems[k : k + some], dict[str, Any]()
                problem: Any = part[0] if len(part) == 1 else Batch(cast(Sequence[Regularized], part))
                before = last[k : k + some]
                if before and before[0].result.solver == solver and before[0].result.state is not None:
                    options["state"] = solver.restart(problem, before[0].result.state)
                elif before:
                    starts = [
                        scaled(old, result.solution, new) for (old, result), new in zip(before, part, strict=True)
                    ]
                    options["start"] = starts[0] if len(part) == 1 else starts
                most = int(self.model.max_iter) * solver.cost(problem).a_pass
                stop = Stop(tol, most, None if ends is None else max(0.0, ends - now()))
                result = solve(problem, solver, stop=stop, seed=self.seed, **options)
                if result.status is Status.MAX_TIME:
                    return
                runs += map(LinearRun, part, [result] if len(part) == 1 else results_of_members(result))
            yield runs

    def _solver(self, problem: Penalized, C: float, tol: float) -> Solver:
        """The solver chosen for this C and gap in the first fold: choosing takes as long as a small fit."""
        if (C, tol) not in self.chosen:
            asked = self.model._solver()
            self.chosen[C, tol] = choose(problem, tol=tol).solver if asked is None else asked
        return self.chosen[C, tol]

    def pairs_of(self, train: np.ndarray, test: np.ndarray, share: np.ndarray) -> tuple[FoldRows, PairFit]:
        """A fold for `certify_choice`, and the function that fits its problems."""
        at_one = self._problems(train)
        first = at_one[0]
        weights = [np.broadcast_to(problem.weight, (problem.n,)) for problem in at_one]
        kept = np.flatnonzero(np.min(weights, axis=0) > 0.0)
        norms = np.sqrt(features_of(self.X, first).sq_norms(np.arange(first.n)).astype(np.float64)) * (1.0 + 1e-6)
        labels = [problem.y[kept].astype(np.float64) for problem in at_one]
        codes = cast(np.ndarray, self.data.codes)[test]
        masses, free = [weight[kept] for weight in weights], first.bias == "free"
        rows = FoldRows(codes, share, norms[test], norms[kept], labels, masses, first.loss, free)

        def fit(C: float, stop: Stop, near: Sequence[Sequence[FittedPair]]) -> list[FittedPair]:
            return [
                one_pair(k, with_C(problem, C), C, stop, [pairs[k] for pairs in near])
                for k, problem in enumerate(at_one)
            ]

        def one_pair(k: int, problem: Penalized, C: float, stop: Stop, near: Sequence[FittedPair]) -> FittedPair:
            start = None
            if near:
                one, other = near[0], near[-1]
                t, u = map(float, best_mixing(one, other, masses[k], problem.loss)[1].shares(C))
                a = (1.0 - u) * one.a + u * other.a
                if one is other:  # at another C, or to a smaller gap
                    a = a * (C / one.C)
                alpha = np.zeros(problem.n)
                alpha[kept] = a / (C * masses[k])
                w = (1.0 - t) * one.w[0] + t * other.w[0]
                b = (1.0 - t) * one.b + t * other.b if free else float(w[-1]) * problem.bias_scale
                start = Solution(w[:-1], b, np.clip(alpha, problem.loss.low, problem.loss.high))
            # Some solvers have a tolerance of their own, which must not be above the tolerance of the run.
            chosen_for = 10.0 ** round(math.log10(C)), 10.0 ** math.floor(math.log10(stop.tol or 1e-10))
            solver = self._solver(problem, *chosen_for)
            if start is not None and isinstance(solver, Switch) and problem.d < problem.n:
                solver = replace(solver, begin="newton")  # what is near the end already is in reach of a few steps
            most = int(self.model.max_iter) * solver.cost(cast(Any, problem)).a_pass
            stop = replace(stop, max_iter=most)
            w, b, alpha = solve(problem, solver, stop=stop, seed=self.seed, start=start).solution
            r = problem.responses(w, billed=False)
            if alpha is None:
                alpha = problem.loss.slope(problem.short_of(r, b))
            alpha = problem.balanced(alpha) if free else alpha
            return self._pair(problem, C, (w, b, alpha), r, kept, test)

        return rows, fit

    def _pair(
        self,
        problem: Penalized,
        C: float,
        answer: tuple[np.ndarray, float, np.ndarray],
        r: np.ndarray,
        kept: np.ndarray,
        test: np.ndarray,
    ) -> FittedPair:
        """An answer with its dual point, and the bounds on their roundings."""
        (w, b, alpha), free, scale = answer, problem.bias == "free", problem.bias_scale
        mass = sum(problem.class_mass(alpha))
        blur = problem.combination_error(mass) / problem.lam
        z = problem.combination(alpha) / problem.lam
        z_b = 0.0
        if problem.bias == "penalized":
            z_b = float(np.sum(problem.share() * alpha * problem.y)) * scale / problem.lam
            blur += scale * rounding(problem.n, mass) / problem.lam
        elif free:
            blur += rounding(problem.n, mass) * problem.largest_norm() / problem.lam
        own, other = np.append(w, 0.0 if free else b / scale), np.append(z, z_b)
        apart = float(np.linalg.norm(own - other)) * (1.0 + 1e-9) + blur
        f = 0.5 * problem.matrix.responses_at(test, w + z, billed=False)
        error = problem.response_error(w, b) + problem.response_error(z, scale * z_b)
        if not free:
            f += 0.5 * (b + scale * z_b)
        a = alpha[kept] * (C * np.broadcast_to(problem.weight, (problem.n,))[kept])
        return FittedPair(
            C, a, problem.short_of(r, b)[kept], f, (own, own), b if free else 0.0, apart, blur, error, 0.0
        )

    def _problems(self, train: np.ndarray | None, matrix: Matrix | None = None) -> list[Penalized]:
        """The problems for C = 1, on this matrix, or on one with a counter of its own."""
        data, rows, per_class = self.data, self.data.weight_of(train), None
        if data.classes is not None:
            per_class = per_class_weights(self.model.class_weight, data.y, data.classes, rows)
        return data.unit_problems(self.model, matrix or self.matrix.fork(), rows, per_class)


def with_C(problem: Penalized, C: float) -> Penalized:
    """The same problem for another C."""
    other = copy(problem)
    other.lam = lam_of(C, problem.total)
    return other


def scaled(before: Penalized, answer: Solution, after: Penalized) -> Solution:
    """An answer as a start for another λ: the same w, and the best multiple of the dual weights.

    If no dual weight was at its bound, this leaves w, and the coefficients of the rows in w, unchanged.
    """
    if answer.alpha is None or isinstance(after, L1Regularized):
        return answer
    norm_sq = (before.lam * before.norm(answer.w, answer.b)) ** 2 / after.lam
    return answer._replace(alpha=answer.alpha * best_dual_multiple(cast(Regularized, after), answer.alpha, norm_sq))
