"""`SVC` in the span of landmarks, on rows that are spread over a Dask cluster."""

import copy
from collections.abc import Sequence
from operator import attrgetter, itemgetter
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from scipy.linalg import solve_triangular

from hinge.access import Gram, as_points
from hinge.constraints import choice, count, declares, parameter
from hinge.dask import landmarks as jobs
from hinge.dask import machine
from hinge.dask.cluster import Cluster, ClusterFit, LoopResult, bytes_of, same
from hinge.dask.machine import ClassifierOnCluster, report_to
from hinge.dask.newton_rounds import DualPlace, NewtonRounds
from hinge.dask.parts import ClusterTask
from hinge.estimators import SVC
from hinge.estimators.data import kernel_input
from hinge.estimators.data import validation as checks
from hinge.estimators.fitting.attributes import Answers, expanded
from hinge.estimators.fitting.decorators import atomic, with_callbacks
from hinge.estimators.fitting.parameters import is_linear
from hinge.estimators.fitting.reports import reports_of
from hinge.estimators.kernel.kernel_machine import FLOAT64_POINTS
from hinge.kernels import Kernel
from hinge.monitoring import Status, Stop
from hinge.problems import Certificate
from hinge.problems.svm.losses import HINGE
from hinge.problems.svm.penalized import lam_of
from hinge.sampling import key_of
from hinge.solvers import Nystroem
from hinge.solvers.kernel.features import eigenvalue_error, independent
from hinge.solvers.kernel.nystroem import SHARE
from hinge.solvers.newton.systems import MOST_DIRECT
from hinge.types import Items

NOT_HERE = machine.NOT_HERE | {
    "max_kernel_evals": (None, "give n_components, max_time or max_iter"),
    "max_memory": (None, "features take 4 bytes for each row and landmark, which workers hold"),
    "cache_folder": (None, "kernel values are not kept"),
}
"""What `hinge.SVC` has and this one does not, with what to do."""
SMOOTH_PASSES = 12
"""Limit of the passes that improve the dual weights."""
BLUR = 0.1
"""Share of the gap that may be rounding, before kernel values are computed again in float64."""


class Certified(NamedTuple):
    """The certificates of all tasks, the kernel values that they took, and the bytes that the client received."""

    certificates: list[Certificate]
    evals: int
    moved: int


@declares
class DaskSVC(ClassifierOnCluster, SVC):
    """`hinge.SVC` with landmarks where the rows lie with the workers of a cluster, certified for the exact kernel.

    Rows are cut into parts, which stay where they are. Landmarks are drawn from all rows; every part makes the features
    of its own rows from them, which it keeps; and the linear problem in these is solved by Newton's method, as by
    `hinge.dask.LinearSVC`, one pass a round. In the end the answer is certified as by `hinge.SVC(n_components=...)`:
    one more pass over pairs of pieces of parts sums up exact kernel values. When a worker is lost, what it had is
    computed again, and the model is the same, bit for bit.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the client of this process, if there is one; else all is done here.
    parts : int, optional
        Parts that are worked on in parallel, of neighbouring chunks each; by default the number of the cluster's
        threads when the fit begins, or of chunks, if these are fewer. The model depends on it by rounding, and on
        nothing else of the cluster. A part of several chunks is a copy of them.
    n_components : int, default=1000
        The number of landmarks, at most 2,048. With the same `random_state` `hinge.SVC` has the same ones.
    tol : float, default=1e-3
        The linear problem is solved to a fifth of this relative gap. What more landmarks would gain is not in it:
        `gap_`, of the exact kernel, tells that.
    max_iter : int, default=-1
        Limit of the passes over the features; -1 for none.
    max_time : float, optional
        Limit of the seconds until the last pass over the features; the certificate comes after it.
    others
        As for `hinge.SVC`. There is no ``multiclass="ovo"``, ``kernel="linear"`` or "precomputed", no kernel that is a
        function, no `slack`, `solver`, `probability`, `target_error`, `max_kernel_evals`, `max_memory`,
        `cache_folder`, `device` or `warm_start`; `n_jobs` and `cache_size` are not looked at.

    Attributes
    ----------
    gap_ : float
        The certified relative gap, of the exact kernel; the largest of all classes.
    support_ : ndarray
        Numbers of the landmarks among the rows of all parts.
    history_ : list of RoundRecord
        One record for each pass over the features, with the gap of the linear problem.
    bytes_moved_ : int
        What the client sent and received.
    others
        As for `hinge.SVC`.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import make_moons
    >>> from hinge.dask import SVC
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> rows, labels = da.from_array(X, chunks=(100, 2)), da.from_array(y, chunks=100)
    >>> model = SVC(n_components=60).fit(rows, labels)  # without a cluster all is done here
    >>> bool(model.gap_ <= 0.05), len(model.to_local().support_) <= 60
    (True, True)
    """

    n_components: int = parameter(1000, count())
    multiclass: Literal["ovr"] = parameter("ovr", choice("ovr"))

    _not_here = NOT_HERE
    _fitted = "support_"

    @atomic
    @with_callbacks
    def fit(self, X: object, y: object, sample_weight: object = None) -> "DaskSVC":
        """Fit the model.

        Parameters
        ----------
        X : dask array, dask DataFrame, or list of delayed parts or futures
            Chunks are arrays, SciPy's sparse matrices or frames, of any number of rows.
        y, sample_weight : dask array or Series, or list of parts
            In the same chunks. An array that lies here will do where X knows the lengths of its chunks.

        Returns
        -------
        self
        """
        spread, classes, per_class, totals = self._spread_classes(X, y, sample_weight)
        cluster, rows = spread.cluster, [fact.rows for fact in spread.facts]
        bias: Literal["free", "none"] = "free" if self.fit_intercept else "none"
        tasks = tuple(
            ClusterTask(k, per_class, lam_of(self.C, total), total, HINGE, bias, 1.0, 0.0, len(rows))
            for k, total in totals.items()
        )
        parts = spread.parts(classes)
        kernel = self._kernel(cluster, parts)
        landmarks, numbers, codes = self._landmarks(cluster, parts, rows, kernel)
        sent = cluster.submit("landmarks", same, landmarks)
        features = cluster.map("features", jobs.featured, parts, shared=(sent,))
        inside = cluster.map("rows", itemgetter(0), features)
        m, n = len(numbers), sum(rows)
        stop = Stop(SHARE * self.tol, None if self.max_iter == -1 else int(self.max_iter), self.max_time)
        report = report_to(reports_of(self, cast(Items, X), cast(Any, y), [], None))
        run = ClusterFit(cluster, inside, tasks, m, 1.0, stop, spread.began, report)
        outcome = NewtonRounds(run, n, n * m).run(self.on_interrupt == "keep")
        w, b = (np.array([getattr(answer, name) for answer in outcome.answers]) for name in ("w", "b"))
        answers = jobs.LandmarkAnswers(tasks, w, b, w @ landmarks.back.T)
        found = Certified([Certificate.unknown()] * len(tasks), 0, 0)
        if outcome.status is not Status.INTERRUPTED:
            choice = self._dual_of(run, n, features, outcome, answers)
            found = _certified(cluster, parts, features, rows, answers, choice, landmarks, float(self.tol))
        expansions = Answers(answers.coef.ravel(), np.tile(np.arange(m), len(b)), np.arange(len(b) + 1) * m, b, b[:0])
        made = expanded(expansions, landmarks.points, codes, len(classes), kernel, one_vs_one=False)
        self.__dict__.update(made, classes_=classes, kernel_=kernel, shape_fit_=(n, self.n_features_in_))
        self.support_ = numbers[self.support_].astype(np.int64)
        self.class_weight_ = np.ones(len(classes)) if per_class is None else per_class
        self._forget_probabilities()
        self._keep_outcome(outcome, found._replace(evals=found.evals + m * (n + m)), tasks)
        return self

    # --- parts of fit ---------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if is_linear(self.kernel):
            raise ValueError("kernel='linear' needs no landmarks: use hinge.dask.LinearSVC.")
        if kernel_input.is_precomputed(self.kernel) or kernel_input.is_function(self.kernel):
            raise ValueError("hinge.dask.SVC needs a kernel with a name, or one of hinge.kernels that takes rows.")
        if self.n_components > MOST_DIRECT:
            raise ValueError(
                f"n_components={self.n_components} is more than {MOST_DIRECT:,}: a round sends its square of numbers."
            )

    def _kernel(self, cluster: Cluster, parts: Sequence[Any]) -> Kernel:
        """The kernel, with gamma='scale' by the variance over all parts."""
        model, width = self, self.n_features_in_
        if self.gamma == "scale" and isinstance(self.kernel, str):
            found = cluster.gather(cluster.map("cells", jobs.spread_of_cells, parts))
            variance = jobs.variance_of(found)
            model = copy.copy(self)
            model.gamma = 1.0 / (width * variance) if variance > 0.0 else 1.0
        return kernel_input.kernel_of(model, np.empty((1, width)))

    def _landmarks(
        self, cluster: Cluster, parts: Sequence[Any], rows: Sequence[int], kernel: Kernel
    ) -> tuple[jobs.Landmarks, np.ndarray, np.ndarray]:
        """The landmarks, their numbers among all rows, and their codes: the rows with the least random numbers."""
        key, firsts = key_of(checks.seed_of(self.random_state)), np.cumsum([0, *rows])
        found = cluster.gather(
            cluster.map("draw", jobs.drawn, parts, firsts[:-1].tolist(), shared=(key, self.n_components))
        )
        units = np.concatenate([one.units for one in found])
        least = np.sort(units)[: self.n_components][-1]
        chosen = [np.sort(one.rows[one.units <= least]) for one in found]
        points, codes = zip(*cluster.gather(cluster.map("points", jobs.rows_at, parts, chosen)), strict=True)
        stack = jobs.stacked(points)
        few = sum(rows) <= FLOAT64_POINTS  # as of the local machine, which drops as many as rounding makes dependent
        gram = Gram(as_points(stack, kernel, exact=few), int(float(self.cache_size) * 1e6))
        if gram.indefinite:
            raise ValueError("Landmarks need a positive semidefinite kernel, which this one is not: use another one.")
        kept, L = independent(gram, np.arange(gram.n))
        back = solve_triangular(L, np.eye(len(L)), lower=True).T
        numbers = np.concatenate([first + at for first, at in zip(firsts[:-1], chosen, strict=True)])
        landmarks = jobs.Landmarks(stack[kept], back, kernel, eigenvalue_error(gram, gram.n))
        return landmarks, numbers[kept], np.concatenate(codes)[kept]

    def _dual_of(
        self, run: ClusterFit, rows: int, features: Sequence[Any], outcome: LoopResult, answers: jobs.LandmarkAnswers
    ) -> jobs.DualChoice:
        """Dual weights of the answers; of a smoothed loss, if the answers' own are too far from what features allow."""
        tasks, cluster, m = answers.tasks, run.cluster, run.d
        widths = np.broadcast_to(jobs.WIDTHS, (len(tasks), len(jobs.WIDTHS)))
        choice = _chosen(cluster, features, jobs.DualPlaces(tasks, answers.w, answers.b, widths))
        primal = np.array([one.objective for one in outcome.certificates])
        left = primal - choice.value - choice.lost
        if (left <= SHARE * np.maximum(choice.lost, self.tol * primal)).all():
            return choice
        starts = [
            DualPlace(np.append(w, b), float(h), -np.inf)
            for w, b, h in zip(answers.w, answers.b, choice.widths, strict=True)
        ]
        tol = max(SHARE * self.tol, 0.5 * SHARE * float((choice.lost / primal).min()))
        smooth = run._replace(stop=Stop(tol, SMOOTH_PASSES), report=report_to([]))
        rounds = NewtonRounds(smooth, rows, rows * m, starts)
        rounds.run(False)
        u = np.array([place.u for place in rounds.duals])
        near = np.array([[place.mu] for place in rounds.duals]) * 2.0 ** np.arange(-2.0, 3.0)
        return jobs.better(choice, _chosen(cluster, features, jobs.DualPlaces(tasks, u[:, :-1], u[:, -1], near)))

    def _keep_outcome(self, outcome: LoopResult, found: Certified, tasks: Sequence[ClusterTask]) -> None:
        """Set the attributes that describe the fit."""
        lam, gap = np.array([task.lam for task in tasks]), max(one.gap for one in found.certificates)
        self.lam_ = lam if len(tasks) > 1 else float(lam[0])
        self.solver_ = Nystroem(int(self.n_components))
        self.n_iter_ = np.full(len(tasks), max(1, outcome.passes), np.int32)
        self.n_kernel_evals_ = self.n_kernel_asked_ = found.evals
        self.bytes_moved_ = outcome.moved + found.moved
        status = outcome.status
        if status in (Status.CONVERGED, Status.STALLED) and np.isfinite(gap):
            status = Status.CONVERGED if gap <= self.tol else Status.FINISHED
        self.fit_status_ = int(not status.is_success)
        self._answers = None
        self.__dict__.pop("slack_", None)
        self._end_fit(outcome, found.certificates, status)


def _chosen(cluster: Cluster, features: Sequence[Any], places: jobs.DualPlaces) -> jobs.DualChoice:
    """The best of the dual weights of some places, by sums over all parts."""
    sent = cluster.submit("places", same, places)
    sums = cluster.gather(cluster.map("dual", jobs.dual_sums, features, shared=(sent,)))
    return jobs.chosen(jobs.DualSums(*(sum(column[1:], column[0]) for column in zip(*sums, strict=True))), places)


def _certified(
    cluster: Cluster,
    parts: Sequence[Any],
    features: Sequence[Any],
    rows: Sequence[int],
    answers: jobs.LandmarkAnswers,
    choice: jobs.DualChoice,
    landmarks: jobs.Landmarks,
    tol: float,
) -> Certified:
    """The certificates of all tasks: see :mod:`hinge.dask.landmarks`."""
    sent = cluster.submit("answers", same, answers)
    basis = cluster.submit("landmarks", same, landmarks)
    points = cluster.map("points", jobs.dual_points, parts, features, shared=(landmarks.kernel, answers.tasks, choice))
    sizes = cluster.gather(cluster.map("sizes", attrgetter("size", "length", "largest"), points))
    loss = jobs.add_up(cluster.gather(cluster.map("losses", jobs.losses, parts, shared=(sent, basis))))
    norms = jobs.norms_of(answers, landmarks)
    pieces = [
        cluster.submit("support", jobs.support_of, part, own, lo, min(lo + jobs.PIECE, n))
        for part, own, n in zip(parts, points, rows, strict=True)
        for lo in range(0, n, jobs.PIECE)
    ]
    evals, found = loss.evals + norms.evals, []
    for exact in (False, True):
        pairs = jobs.add_up(
            cluster.gather(
                [
                    cluster.submit("pair", jobs.pair_sums, first, second, landmarks.kernel, i == k, exact)
                    for i, first in enumerate(pieces)
                    for k, second in enumerate(pieces[i:], i)
                ]
            )
        )
        evals += pairs.evals
        found = jobs.certificates(answers, norms, loss, sizes, pairs, sum(rows))
        if all(one.gap - one.unrounded <= BLUR * one.gap or one.gap <= tol for one in found):
            break
    moved = bytes_of(answers) + bytes_of(landmarks) + sum(map(bytes_of, sizes))
    return Certified(found, evals, moved)
