"""`LinearSVC` and `LinearSVR` on rows that are spread over a Dask cluster."""

import time
from typing import Any

import numpy as np

from hinge.dask.machine import OnCluster, Spread
from hinge.dask.parts import is_distributed
from hinge.estimators import LinearSVC as LocalLinearSVC
from hinge.estimators import LinearSVR as LocalLinearSVR
from hinge.estimators.data import validation as checks
from hinge.estimators.fitting.decorators import atomic, with_callbacks
from hinge.estimators.fitting.reports import reports_of
from hinge.estimators.fitting.tasks import class_weights, per_class_weights
from hinge.estimators.linear.linear_svc import LOSSES as HINGES
from hinge.estimators.linear.linear_svr import LOSSES as TUBES
from hinge.problems import Solution


class LinearSVC(OnCluster, LocalLinearSVC):
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
        nothing else of the cluster; more parts need more rounds of CoCoA+.
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LinearSVC":
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
        began = time.perf_counter()
        self._check_parameters()
        self._refuse()
        spread = self._spread(X, y, sample_weight, targets=False)
        classes, masses = self._classes(spread)
        per_class = per_class_weights(self.class_weight, classes, classes, masses)
        tasks = []
        for k in [1] if len(classes) == 2 else range(len(classes)):
            positive = np.arange(len(classes)) == k
            mass = class_weights(positive, masses, per_class, k)
            assert mass is not None
            if min(mass[positive].sum(), mass[~positive].sum()) <= 1e-12 * mass.sum():
                raise ValueError("The rows with a positive weight are of one class: 2 classes are needed.")
            tasks.append(self._task(spread, k, per_class, float(mass.sum()), HINGES[self.loss]))
        parts = spread.parts(classes)

        def rebuilt(answer: Solution) -> dict[str, Any]:
            return {"classes_": classes, "coef_": answer.w[None], "intercept_": np.array([answer.b])}

        reports = reports_of(self, X, y, [], rebuilt if len(tasks) == 1 else None)
        outcome = self._run(spread, parts, tasks, reports, began)
        self.classes_ = classes
        self._forget_probabilities()
        self._keep_outcome(outcome, tasks[0].total)
        return self

    def decision_function(self, X: Any) -> Any:
        """Signed distances in units of the margin; of chunks, those to be computed: a dask array, or a list.

        Parameters
        ----------
        X : as for `fit`, or {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        if not is_distributed(X):
            return super().decision_function(X)
        return self._lazily(X, LocalLinearSVC.decision_function, np.float64, self.coef_.shape[0])

    def predict(self, X: Any, *, confidence: float | None = None, max_cost: float | None = None) -> Any:
        """The class of each row; of chunks, to be computed: a dask array, or a list.

        Parameters
        ----------
        X : as for `fit`, or {array-like, sparse matrix} of shape (n_samples, n_features)
        confidence, max_cost : float, optional
            Limits of what is read of rows that are here: see `hinge.LinearSVC`.

        Returns
        -------
        array of shape (n_samples,)
        """
        if not is_distributed(X):
            return super().predict(X, confidence=confidence, max_cost=max_cost)
        return self._lazily(X, LocalLinearSVC.predict, self.classes_.dtype, 1)

    # --- parts of fit ---------------------------------------------------------------------

    def _classes(self, spread: Spread) -> tuple[np.ndarray, np.ndarray]:
        """The classes of all parts, and what the rows of each weigh together."""
        facts = [spread.facts[k] for k in spread.used]
        classes, codes = checks.encoded_labels(np.concatenate([fact.labels for fact in facts]))
        return classes, np.bincount(codes, np.concatenate([fact.masses for fact in facts]), len(classes))


class LinearSVR(OnCluster, LocalLinearSVR):
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LinearSVR":
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
        began = time.perf_counter()
        self._check_parameters()
        self._refuse()
        spread = self._spread(X, y, sample_weight, targets=True)
        total = float(sum(spread.facts[k].masses.sum() for k in spread.used))
        task = self._task(spread, 0, None, total, TUBES[self.loss](float(self.epsilon)))
        reports = reports_of(self, X, y, [], lambda answer: {"coef_": answer.w, "intercept_": np.array([answer.b])})
        outcome = self._run(spread, spread.parts(None), [task], reports, began)
        self._keep_outcome(outcome, total)
        self.coef_ = self.coef_.ravel()
        return self

    def predict(self, X: Any) -> Any:
        """The target of each row; of chunks, to be computed: a dask array, or a list.

        Parameters
        ----------
        X : as for `fit`, or {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        if not is_distributed(X):
            return super().predict(X)
        return self._lazily(X, LocalLinearSVR.predict, np.float64, 1)
