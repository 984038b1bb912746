"""`LinearSVR` on rows that are spread over a Dask cluster."""

import time
from typing import Any

import numpy as np

from hinge.dask.chunks import is_distributed
from hinge.dask.machine import OnCluster
from hinge.estimators import LinearSVR as LocalLinearSVR
from hinge.estimators.fitting.decorators import atomic, with_callbacks
from hinge.estimators.fitting.reports import reports_of
from hinge.estimators.linear.linear_svr import LOSSES


class LinearSVR(OnCluster, LocalLinearSVR):
    """`hinge.LinearSVR` where the rows lie with the workers of a cluster: the same problem, certified in the same way.

    The method, and what is different from the local machine, are those of `hinge.dask.LinearSVC`.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the client of this process, if there is one; else all is done here.
    parts : int, optional
        Parts that are worked on at once; by default as many as the cluster has threads, or as there are chunks.
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
        task = self._task(spread, 0, None, total, LOSSES[self.loss](float(self.epsilon)))
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
