"""Fits of a kernel classifier or regression along C, with kernel values that are computed once for all folds.

On a device all folds, values of C and classes are solved jointly.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from sklearn.base import clone

from hinge.access import Gram, Points, as_points
from hinge.access.arrays import to_host
from hinge.access.gram.device import DeviceGram, import_torch
from hinge.calibration.left_out import SolvedProblem, left_out, left_out_targets, spans_by_kernel, spread_over
from hinge.estimators import SVC, SVR
from hinge.estimators.data import kernel_input
from hinge.estimators.data import validation as checks
from hinge.estimators.data.kernel_input import batch_points, of_items, points_on_host
from hinge.estimators.fitting.tasks import Task, fits_in_batch, pack_tasks, per_class_weights, regression_task, tasks_of
from hinge.kernels import Gaussian, Kernel, Linear
from hinge.monitoring import Status, Stop
from hinge.monitoring.interrupts import now
from hinge.problems import Expansion, KernelRegularized
from hinge.problems.base import rounding
from hinge.problems.batch import BatchCertificate
from hinge.problems.svm.examples import balance, sorted_bias
from hinge.problems.svm.gram_batch import INVERSES, GramBatch
from hinge.problems.svm.kernel_batch import BatchExpansion, KernelBatch, kernel_matrix
from hinge.problems.svm.losses import Loss
from hinge.selection.certified_choice import FittedPair, FoldRows, Mixing, PairFit
from hinge.selection.paths import Refits, SharedPath
from hinge.selection.scoring import SearchData
from hinge.solvers import ActiveSet, BlockDual, FromLandmarks, Solver, choose, solve
from hinge.solvers.kernel.gram_splitting import GramSplitting

if TYPE_CHECKING:
    import torch

MEMORY = 400_000_000
"""Bytes that kernel values may take, unless `cache_size` allows more: 10,000 rows in float32."""


class RoundedPoints(Points):
    """Points whose computed kernel values are taken as exact: certificates do not include their rounding.

    Scores belong to the model with these values. A certificate for exact values would sum responses again in float64
    where coefficients are large, which takes longer than the fits.
    """

    def __init__(self, points: Points) -> None:
        super().__init__(points.n, points.dtype)
        self.nbytes, self.indefinite = points.nbytes, points.indefinite
        self.fill, self.fill_rows, self.diag = points.fill, points.fill_rows, points.diag  # type: ignore[method-assign]


class RunAnswer(NamedTuple):
    """The answer of one binary problem over all rows; rows that do not take part have a coefficient of zero."""

    answer: Expansion
    task: Task
    C: float


class KernelPath(SharedPath[RunAnswer]):
    """The problems of an `SVC` or `SVR` with one kernel, along C, on all rows or on some.

    All kernel values are computed at the start. Held-out rows have a coefficient of zero, and their decision values
    are computed with the others. Fits go from small C to large ones; each starts at the best multiple of the last
    answer.

    Parameters
    ----------
    model : SVC or SVR
    data : SearchData
    gamma : float, optional
        In place of the model's own.
    """

    def __init__(self, model: SVC | SVR, data: SearchData, gamma: float | None) -> None:
        self.model = model if gamma is None else clone(model).set_params(gamma=gamma)
        self.data, self.n = data, len(data.y)
        self.seed = checks.seed_of(model.random_state)
        self.free, self.loss = bool(model.fit_intercept), cast(Loss, model._loss)
        self.ovo = data.classes is not None and len(data.classes) > 2 and model.multiclass == "ovo"
        kernel = kernel_input.kernel_of(self.model, data.X)
        self.kernel, self.held = kernel_input.run_with(kernel, data.X, self._held)

    @staticmethod
    def fits(model: SVC | SVR, data: SearchData) -> bool:
        """Whether the kernel values of all rows may be kept in memory, and the fit is on the CPU without a budget."""
        most = max(MEMORY, float(model.cache_size) * 1e6)
        given = model.max_kernel_evals, model.cache_folder, model.n_components
        plain = model.device in (None, "cpu") and all(value is None for value in given)
        return plain and 4.0 * len(data.y) ** 2 <= most

    def _held(self, kernel: Kernel) -> Any:
        """All kernel values: an array with their points if problems are small, else a Gram that keeps every row."""
        X = self.data.X
        if self.model.solver == "auto" and fits_in_batch(self._tasks(None), self.n, kernel, 2.0 * MEMORY):
            return kernel_matrix(batch_points(X, kernel))[:2]
        points = as_points(points_on_host(X), of_items(kernel))
        if points.dtype == np.float32 and not points.by_value:
            points = RoundedPoints(points)
        item = np.dtype(points.dtype).itemsize
        # Room for all rows twice: they stay in the cache beside the largest block.
        gram = Gram(points, int(2.1 * item * self.n**2) + points.nbytes + (1 << 20))
        gram.rows(np.arange(self.n))
        return gram

    # --- paths ----------------------------------------------------------------------------

    def _values(self, run: RunAnswer, rows: np.ndarray | None) -> np.ndarray:
        return (run.answer.responses if rows is None else run.answer.responses[rows]) + run.answer.b

    def _left_out(self, k: int, run: RunAnswer, f: np.ndarray) -> np.ndarray:
        (beta, *_), task, C = run
        f = f.copy()
        rows = np.arange(self.n) if task.rows is None else task.rows
        bound = C * (np.ones(len(rows)) if task.weight is None else task.weight)
        whole = None if isinstance(self.held, Gram) else self.held[1]

        def values(one: np.ndarray, other: np.ndarray) -> np.ndarray:
            i, j = rows[one], rows[other]
            if whole is not None:
                return whole[np.ix_(i, j)]
            needed = np.union1d(i, j)
            return self.held.rows(needed).block()[np.ix_(np.searchsorted(needed, i), np.searchsorted(needed, j))]

        diag = self.held.diag if whole is None else np.diagonal(whole)
        spans = partial(spans_by_kernel, values, lambda i: diag[rows[i]], self.free)
        if self.loss.two_sided:
            f[rows] = left_out_targets(
                f[rows], task.y, beta[rows], bound, self.loss.epsilon, self.loss.curvature, spans
            )
        else:
            solved = SolvedProblem(f[rows], task.y, np.maximum(beta[rows] * task.y, 0.0), bound)
            found = left_out(solved, spans)
            f[rows] = spread_over(f[rows], task.y, found.rows, found.f)
        return f

    # --- certified choice -----------------------------------------------------------------

    def pairs_of(self, train: np.ndarray, test: np.ndarray, share: np.ndarray) -> tuple[FoldRows, PairFit]:
        """A fold for `certify_choice`, and the function that fits its problems; all kernel values are in float64."""
        tasks, (points, K), free = self._tasks(train), self.held, self.free
        kept = np.arange(self.n) if tasks[0].rows is None else tasks[0].rows
        s = [np.ones(len(kept)) if task.weight is None else task.weight for task in tasks]
        part = np.min(s, axis=0) > 0.0
        gram, kept, s = Gram(points), kept[part], [weight[part] for weight in s]
        y = [task.y[part].astype(np.float64) for task in tasks]
        norms = np.sqrt(np.maximum(np.diagonal(K), 0.0)) * (1.0 + 1e-9)
        codes = cast(np.ndarray, self.data.codes)[test]
        rows = FoldRows(codes, share, norms[test], norms[kept], y, s, self.loss, free)
        some = [Task(kept, labels.astype(np.int8), weight, None) for labels, weight in zip(y, s, strict=True)]

        def fit(C: float, stop: Stop, near: Sequence[Sequence[FittedPair]]) -> list[FittedPair]:
            problem, start = cast(KernelBatch, self._problem(some, C)), None
            if near:
                mixed = [Mixing(*pairs) for pairs in zip(near[0], near[-1], strict=True)]
                beta, r = (np.concatenate(parts) for parts in zip(*map(mix, mixed, y, [C] * len(y)), strict=True))
                start = BatchExpansion(beta, r, np.array([one.b for one in near[0]]))
            solver = ActiveSet(tol=stop.tol or 0.0)
            found: Any = solve(problem, solver, stop=stop, seed=self.seed, start=cast(Any, start)).solution
            return [pair(C, k, found.beta[own]) for k, own in enumerate(problem.parts)]

        def mix(mixing: Mixing, labels: np.ndarray, C: float) -> tuple[np.ndarray, np.ndarray]:
            one, other = mixing.one, mixing.other
            t, scale = float(mixing.shares(C)[1]), C / one.C if one is other else 1.0
            r = (1.0 - t) * (labels * (1.0 - one.g) - one.b) + t * (labels * (1.0 - other.g) - other.b)
            return scale * labels * ((1.0 - t) * one.a + t * other.a), scale * r

        def pair(C: float, k: int, beta: np.ndarray) -> FittedPair:
            a = np.clip(beta * y[k], 0.0, C * s[k])
            if free:
                side, ratio = balance(float(a[y[k] > 0].sum()), float(a[y[k] < 0].sum()))
                a[y[k] == side] *= ratio
            whole = np.zeros(self.n)
            whole[kept] = a * y[k]
            r = whole @ K
            error = float(gram.error(np.abs(whole), self.n + 8).max())
            b = float(sorted_bias(r[kept], y[k], s[k] / s[k].sum())) if free else 0.0
            blur = rounding(self.n, float(a.sum())) * float(norms.max()) if free else 0.0
            g = 1.0 - y[k] * (r[kept] + b)
            error += rounding(0, 1.0 + float(np.abs(g).max()) + abs(b))
            return FittedPair(C, a, g, r[test], (whole, r), b, blur, blur, error, error)

        return rows, fit

    # --- fits -----------------------------------------------------------------------------

    def _tasks(self, train: np.ndarray | None) -> Sequence[Task]:
        data, weight = self.data, self.data.weight_of(train)
        if data.codes is None or data.classes is None:
            return [regression_task(data.y, weight, None)]
        per_class = per_class_weights(self.model.class_weight, data.of_fit(train), data.classes)
        return tasks_of(data.codes, len(data.classes), weight, per_class, None, one_vs_one=self.ovo)

    def _solved(
        self, trains: Sequence[np.ndarray | None], Cs: Sequence[float], tol: float, ends: float | None
    ) -> Iterator[list[Any]]:
        """The answers for each C, until time is up: as one batch, unless problems share a Gram or have own limits."""
        tasks = [task for train in trains for task in self._tasks(train)]
        apart = isinstance(self.held, Gram) or self.model.max_iter != -1
        groups = [[task] for task in tasks] if apart else [tasks]

        states: list[Any] = []
        for C in Cs:
            before, states, runs = states, [], list[RunAnswer]()
            for k, group in enumerate(groups):
                left = None if ends is None else ends - now()
                if left is not None and left <= 0:
                    return
                problem = self._problem(group, C)
                solver = self._solver(problem, tol)
                state = solver.restart(problem, before[k]) if before else None
                most = None if self.model.max_iter == -1 else int(self.model.max_iter)
                result = solve(problem, solver, stop=Stop(tol, most, left), seed=self.seed, state=state)
                if result.status is Status.MAX_TIME:
                    return
                states.append(result.state)
                answers = self._answers(problem, result.solution)
                runs += [RunAnswer(answer, task, C) for answer, task in zip(answers, group, strict=True)]
            yield runs

    def _solver(self, problem: KernelRegularized | KernelBatch, tol: float) -> Solver:
        """The solver of the model's parameter, or the chosen one, with large working sets: rows are known."""
        if isinstance(problem, KernelBatch):
            return ActiveSet(tol=tol)
        given = self.model._solver(1)
        solver = choose(problem).solver if given is None else given
        return BlockDual(block=1024) if given is None and isinstance(solver, BlockDual | FromLandmarks) else solver

    def _problem(self, tasks: Sequence[Task], C: float) -> KernelRegularized | KernelBatch:
        """The problem of a task over all rows, where those that do not take part have the weight zero; or a batch."""
        bias: Any = "free" if self.free else "none"
        if not isinstance(self.held, Gram):
            points, K = self.held
            return KernelBatch(points, *pack_tasks(tasks), C, bias=bias, loss=self.loss, K=K)
        ((rows, y, weight, _),) = tasks
        if rows is not None:
            every, y = y, np.ones(self.n, y.dtype)
            y[rows] = every
            own, weight = weight, np.zeros(self.n)
            weight[rows] = 1.0 if own is None else own
        return KernelRegularized.from_C(self.held, y, C, weight=weight, bias=bias, loss=self.loss)

    def _answers(self, problem: KernelRegularized | KernelBatch, solution: Any) -> list[Expansion]:
        """The answers over all rows."""
        if not isinstance(problem, KernelBatch):
            return [solution]
        beta = np.zeros((len(problem.parts), self.n))
        for own, part in zip(beta, problem.parts, strict=True):
            own[problem.rows[part]] = solution.beta[part]
        each = zip(beta, solution.biases.tolist(), beta @ self.held[1], strict=True)
        return [Expansion(*one, None, self.n) for one in each]


OF_A_CELL = 96
"""Bytes for each point of each problem: the iterate, the answer, and what a step and an evaluation need."""


class DevicePath(KernelPath):
    """The problems of an `SVC` or `SVR` with one kernel on a device, for all values of C and all folds.

    As many as memory holds are solved jointly. Those that do not reach their tolerance there are fitted one by one.

    Parameters
    ----------
    model : SVC or SVR
    data : SearchData
    gamma : float, optional
        In place of the model's own.
    """

    held: "torch.Tensor"

    def groups(self, folds: Sequence[int], threads: int) -> list[list[int]]:
        """All folds: the device has threads of its own."""
        return [list(folds)]

    @staticmethod
    def fits(model: SVC | SVR, data: SearchData) -> bool:
        """Whether the fit is on a device that can hold the kernel values and their inverses."""
        if model.device in (None, "cpu") or model.solver != "auto" or model.n_components is not None:
            return False
        if model.max_kernel_evals is not None or model.max_iter != -1:
            return False
        # Of other kernels it is not known that they are positive semidefinite, or that a device can have them.
        if not (model.kernel in ("linear", "rbf", "poly") or isinstance(model.kernel, Gaussian | Linear)):
            return False
        torch = import_torch(model.device)
        room = torch.cuda.mem_get_info(model.device)[0] if torch.device(model.device).type == "cuda" else 4 << 30
        return 4.0 * (INVERSES + 4) * len(data.y) ** 2 <= 0.7 * room

    def _held(self, kernel: Kernel) -> Any:
        gram = DeviceGram(self.data.X, kernel, self.model.device, self.model.precision)
        return gram.among(gram.array(np.arange(self.n)))

    def _values(self, run: "RunAnswer | np.ndarray", rows: np.ndarray | None) -> np.ndarray:
        assert isinstance(run, np.ndarray)
        return run if rows is None else run[rows]

    def _solved(
        self, trains: Sequence[np.ndarray | None], Cs: Sequence[float], tol: float, ends: float | None
    ) -> Iterator[list[Any]]:
        """The decision values of all rows by each problem, for each C, until time is up."""
        tasks = [self._tasks(train) for train in trains]
        some = max(1, (2 << 30) // (OF_A_CELL * self.n * sum(map(len, tasks))))
        for lo in range(0, len(Cs), some):
            left = None if ends is None else ends - now()
            if left is not None and left <= 0:
                return
            part = Cs[lo : lo + some]
            problem = self._batch([(C, task) for C in part for own in tasks for task in own])
            result = solve(problem, GramSplitting(tol=tol), stop=Stop(tol, None, left), seed=self.seed)
            values = to_host((result.solution.responses + result.solution.biases).T)
            assert isinstance(result.certificate, BatchCertificate)
            gaps = result.certificate.column("gap").reshape(len(part), len(tasks), -1)
            values = values.reshape(len(part), len(tasks), -1, self.n)
            for C, found, reached in zip(part, values, gaps <= tol, strict=True):
                for k in np.flatnonzero(~reached.all(-1)).tolist():
                    train = cast(np.ndarray, trains[k])  # leave-one-out is not for devices
                    refits = Refits(self.model, self.data, None).along([(train, train)], [C], tol, ends)
                    if (alone := next(refits, None)) is None:  # time is up
                        return
                    found[k] = alone[0]._scores(self.data.X).T
                yield list(found.reshape(-1, self.n))

    def _batch(self, members: Sequence[tuple[float, Any]]) -> GramBatch:
        """The problems of these C and tasks: rows that take no part have a box of zero."""
        aims, boxes = np.ones((len(members), self.n)), np.zeros((len(members), self.n))
        for aim, box, (C, (rows, y, weight, _)) in zip(aims, boxes, members, strict=True):
            at: Any = slice(None) if rows is None else rows
            aim[at], box[at] = y, C * (1.0 if weight is None else weight)
        return GramBatch(self.held, self._sent(aims.T), self._sent(boxes.T), self.loss, free=self.free)

    def _sent(self, a: np.ndarray) -> "torch.Tensor":
        return import_torch(str(self.held.device)).as_tensor(np.ascontiguousarray(a), device=self.held.device)
