"""`LinearSVC` and `LinearSVR` on rows that are spread over a Dask cluster, and what both share."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hinge.constraints import declares
from hinge.dask import machine
from hinge.dask.cluster import ClientLoop, ClusterFit, LoopResult
from hinge.dask.machine import ClassifierOnCluster, OnCluster, Spread, report_to
from hinge.dask.newton_rounds import NewtonRounds
from hinge.dask.parts import ClusterTask, Facts
from hinge.dask.rounds import Rounds, first_kappa
from hinge.estimators import LinearSVC, LinearSVR
from hinge.estimators.data import validation as checks
from hinge.estimators.fitting.decorators import atomic, with_callbacks
from hinge.estimators.fitting.reports import Report, reports_of
from hinge.estimators.linear.linear_machine import LinearMachine
from hinge.estimators.linear.linear_svc import LOSSES as HINGES
from hinge.estimators.linear.linear_svr import LOSSES as TUBES
from hinge.monitoring import Stop
from hinge.problems import Solution
from hinge.problems.svm.linear import Bias
from hinge.problems.svm.losses import Loss
from hinge.problems.svm.penalized import checked_lam, lam_of
from hinge.solvers import BlockNewton, CoCoA
from hinge.solvers.choice.cost_model import block_costs
from hinge.solvers.newton.block_newton import ROWS
from hinge.solvers.newton.systems import MOST_DIRECT

MOST_BYTES = 1 << 26
"""Of the sums that a part sends, of all classes: more are better left with the rows."""
NOT_HERE = machine.NOT_HERE | {
    "penalty": ("l2", "the 1-norm wants all columns at once"),
    "multi_class": ("ovr", "classes are told from the rest one by one"),
    "slack": (None, "give C or lam"),
    "max_reads": (None, "give max_time or max_iter"),
}
"""What the local machines have and these do not, with what to do."""


class LinearOnCluster(OnCluster, LinearMachine):
    """The rounds of `LinearSVC` and `LinearSVR`."""

    _not_here = NOT_HERE

    # --- parts of fit ---------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not (isinstance(self.solver, CoCoA | BlockNewton) or self.solver in ("auto", "cocoa", "blocknewton")):
            raise ValueError(f"solver={self.solver!r} is not for hinge.dask: give 'auto', 'cocoa' or 'blocknewton'.")

    def _task(self, spread: Spread, code: int, per_class: np.ndarray | None, total: float, loss: Loss) -> ClusterTask:
        """The task of a class, by C or by λ."""
        bias: Bias = self.intercept if self.fit_intercept else "none"
        lam = lam_of(self.C, total) if self.lam is None else checked_lam(self.lam)
        typical = float(np.median([fact.typical for fact in spread.facts]))
        kappa, parts = 0.0 if bias == "none" else first_kappa(lam, typical, spread.width), len(spread.facts)
        return ClusterTask(code, per_class, lam, total, loss, bias, float(self.intercept_scaling), kappa, parts)

    def _run(
        self, spread: Spread, parts: Sequence[Any], tasks: Sequence[ClusterTask], reports: Sequence[Report]
    ) -> LoopResult:
        """The rounds."""
        facts = spread.facts
        masses = np.array([fact.masses.sum() for fact in facts])
        centre = float(np.average([fact.centre for fact in facts], weights=masses)) if masses.any() else 0.0
        stop, d = Stop(self.tol, int(self.max_iter), self.max_time), facts[0].columns
        fit = ClusterFit(spread.cluster, parts, tuple(tasks), d, spread.width, stop, spread.began, report_to(reports))
        rounds: ClientLoop
        if self._by_newton(facts, tasks, len(parts)):
            rows, cells = (sum(counts) for counts in zip(*((fact.rows, fact.cells) for fact in facts), strict=True))
            rounds = NewtonRounds(fit, rows, cells)
        else:
            most, seed = max(fact.cells for fact in facts), checks.seed_of(self.random_state)
            rounds = Rounds(fit, most, centre, seed)
        self.solver_ = BlockNewton() if isinstance(rounds, NewtonRounds) else CoCoA()
        return rounds.run(self.on_interrupt == "keep")

    def _by_newton(self, facts: Sequence[Facts], tasks: Sequence[ClusterTask], parts: int) -> bool:
        """Whether Newton's method should be the sooner done: sums of d² numbers, in rounds that are few in any case.

        At worst, parts that ascend in parallel converge as if R²/Λ were multiplied by their number.
        """
        rows, cells, d = sum(fact.rows for fact in facts), sum(fact.cells for fact in facts), facts[0].columns
        if self.solver == "auto":
            if d > MOST_DIRECT or rows < ROWS * d or 8 * len(tasks) * (d + 1) ** 2 > MOST_BYTES:
                return False
            typical = float(np.median([fact.typical for fact in facts]))
            stiff = max((typical + task.constant_sq) / (task.Lam * facts[0].spread) for task in tasks)
            prices = block_costs(d, cells / rows, 2 * cells < rows * d, stiff * parts, self.tol, read=0.0)
            return prices.newton < prices.ascent
        return isinstance(self.solver, BlockNewton) or self.solver == "blocknewton"

    def _keep_outcome(self, outcome: LoopResult, total: float) -> None:
        """Set the attributes of a fit."""
        self.coef_ = np.array([answer.w for answer in outcome.answers])
        self.intercept_ = np.array([answer.b for answer in outcome.answers])
        self.n_iter_, self.n_feature_reads_ = max(1, outcome.passes), outcome.reads
        self.bytes_moved_, self._mass = outcome.moved, total
        for name in ("dual_coef_", "support_", "_streams", "_answers"):
            self.__dict__.pop(name, None)
        self._end_fit(outcome, outcome.certificates, outcome.status)


@declares
class DaskLinearSVC(ClassifierOnCluster, LinearOnCluster, LinearSVC):
    """`hinge.LinearSVC` where the rows lie with the workers of a cluster: the same problem, certified in the same way.

    Rows are cut into parts, which stay where they are. Where there are many rows for each feature a round is a Newton
    step: every part sums up gradient and Hessian over its rows, in one pass for all classes, and some rounds suffice
    whatever C is (:mod:`hinge.dask.newton_rounds`). Else every part ascends the dual on its own rows, for some passes,
    and what the parts changed of w is added up (CoCoA+, :mod:`hinge.dask.rounds`); a round then sends one vector a
    class each way. When a worker is lost, what it had is computed again, and the model is the same, bit for bit.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the client of this process, if there is one; else all is done here.
    parts : int, optional
        Parts that are worked on in parallel, of neighbouring chunks each; by default the number of the cluster's
        threads when the fit begins, or of chunks, if these are fewer. The model depends on it, within `tol`, and on
        nothing else of the cluster; more parts need more rounds of CoCoA+. A part of several chunks is a copy of them.
    solver : {"auto", "cocoa", "blocknewton"}
        CoCoA+, or Newton's method; by default as sizes and λ tell.
    others
        As for `hinge.LinearSVC`. There is no ``penalty="l1"``, ``multi_class="crammer_singer"``, `slack`, `max_reads`,
        `target_error` or `warm_start`; `n_jobs` is not looked at.

    Attributes
    ----------
    history_ : list of RoundRecord
        One record for each round, of all classes, with passes and bytes moved.
    bytes_moved_ : int
        What the client sent and received.
    others
        As for `hinge.LinearSVC`. There is no `dual_coef_` and no `support_`: dual weights stay with the rows.

    Notes
    -----
    Data is read again where a worker was lost: what the chunks are made from must be there still, and give the same.

    References
    ----------
    C. Ma, V. Smith, M. Jaggi, M. I. Jordan, P. Richtárik, M. Takáč, *Adding vs. Averaging in Distributed Primal-Dual
    Optimization*, 2015. O. Chapelle, *Training a Support Vector Machine in the Primal*, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> import dask.array as da
    >>> from hinge.dask import LinearSVC
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> rows, labels = da.from_array(X, chunks=(50, 3)), da.from_array(X[:, 0] > 0, chunks=50)
    >>> model = LinearSVC(lam=0.1).fit(rows, labels)  # without a cluster all is done here
    >>> bool(model.gap_ <= 1e-4), model.to_local().coef_.shape
    (True, (1, 3))
    """

    @atomic
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "DaskLinearSVC":
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
        tasks = [self._task(spread, k, per_class, total, HINGES[self.loss]) for k, total in totals.items()]
        parts = spread.parts(classes)

        def rebuilt(answer: Solution) -> dict[str, Any]:
            return {"classes_": classes, "coef_": answer.w[None], "intercept_": np.array([answer.b])}

        reports = reports_of(self, X, y, [], rebuilt if len(tasks) == 1 else None)
        outcome = self._run(spread, parts, tasks, reports)
        self.classes_ = classes
        self._forget_probabilities()
        self._keep_outcome(outcome, tasks[0].total)
        return self


@declares
class DaskLinearSVR(LinearOnCluster, LinearSVR):
    """`hinge.LinearSVR` where the rows lie with the workers of a cluster: the same problem, certified in the same way.

    The method, and the differences from the local estimator, are the same as for `hinge.dask.LinearSVC`.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the client of this process, if there is one; else all is done here.
    parts : int, optional
        Parts that are worked on in parallel; by default the number of the cluster's threads, or of chunks.
    others
        As for `hinge.LinearSVR`. There is no `max_reads`, `target_error` or `warm_start`.

    Attributes
    ----------
    history_ : list of RoundRecord
        One record for each round, with passes and bytes moved.
    bytes_moved_ : int
        What the client sent and received.
    others
        As for `hinge.LinearSVR`, but for `dual_coef_` and `support_`.

    Examples
    --------
    >>> import numpy as np
    >>> import dask.array as da
    >>> from hinge.dask import LinearSVR
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> rows, targets = da.from_array(X, chunks=(50, 3)), da.from_array(X[:, 0], chunks=50)
    >>> model = LinearSVR(lam=0.1).fit(rows, targets)  # without a cluster all is done here
    >>> bool(model.gap_ <= 1e-4), model.to_local().coef_.shape
    (True, (3,))
    """

    @atomic
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "DaskLinearSVR":
        """Fit the model.

        Parameters
        ----------
        X : dask array, dask DataFrame, or list of delayed parts or futures
        y, sample_weight : dask array or Series, or list of parts
            In the same chunks. An array that lies here will do where X knows the lengths of its chunks.

        Returns
        -------
        self
        """
        spread = self._spread(X, y, sample_weight, targets=True)
        total = float(sum(fact.masses.sum() for fact in spread.facts))
        task = self._task(spread, 0, None, total, TUBES[self.loss](float(self.epsilon)))
        reports = reports_of(self, X, y, [], lambda answer: {"coef_": answer.w, "intercept_": np.array([answer.b])})
        outcome = self._run(spread, spread.parts(None), [task], reports)
        self._keep_outcome(outcome, total)
        self.coef_ = self.coef_.ravel()
        return self
