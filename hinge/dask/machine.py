"""What all machines on a Dask cluster share: their parameters, how rows become parts, predictions of chunks."""

import time
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from dask.delayed import delayed
from distributed import Client
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from hinge.constraints import count, declares, parameter
from hinge.dask.cluster import Cluster, LoopResult, RoundRecord, cluster_of, placed
from hinge.dask.parts import Facts, chunks_of, is_distributed, part_of, prepared, row_chunks
from hinge.estimators.data import validation as checks
from hinge.estimators.fitting.reports import Report, how_all_ended
from hinge.estimators.fitting.tasks import class_weights, per_class_weights, positive_classes
from hinge.monitoring import Status
from hinge.problems import Certificate, Solution

OWN = ("client", "parts")
"""Parameters that the local machines do not have."""
NOT_HERE: dict[str, tuple[Any, str]] = {
    "target_error": (None, "give tol, max_time or max_iter"),
    "device": (None, "workers compute on their processors"),
    "warm_start": (False, "a fit keeps no dual weights: they stay with the rows"),
}
"""What all local machines have and these do not: the value that stands for none, and what to do."""


class Spread(NamedTuple):
    """Rows that are spread over a cluster: jobs that give parts with rows, what is known of each, and when it began."""

    cluster: Cluster
    loaded: list[Any]
    facts: list[Facts]
    began: float

    def parts(self, classes: np.ndarray | None) -> list[Any]:
        """Jobs that give the parts; what they are made from is not held here any longer."""
        made = self.cluster.map("part", part_of, self.loaded, shared=(classes,))
        self.loaded.clear()
        return made

    @property
    def width(self) -> float:
        """The loss of rows before anything is learned: the spread of targets, 1 for labels."""
        return max(fact.spread for fact in self.facts)


@declares
class OnCluster(BaseEstimator):
    """Mixed into a local machine: `fit` takes rows in chunks, and predictions of chunks are made where they are."""

    client: Client | None = parameter(None)
    parts: int | None = parameter(None, count() | None)

    _not_here: ClassVar[dict[str, tuple[Any, str]]]
    """What the local machine has and this one does not, as `NOT_HERE`."""
    _fitted: ClassVar[str] = "coef_"
    """An attribute that a fitted machine has."""

    def to_local(self) -> Any:
        """The plain estimator, fitted: it needs no Dask, and `hinge.save` keeps it.

        Returns
        -------
        hinge.LinearSVC, hinge.LinearSVR or hinge.SVC
        """
        check_is_fitted(self, self._fitted)
        settings = {name: value for name, value in self.get_params(deep=False).items() if name not in OWN}
        made = _local_of(type(self))(**settings)
        made.__dict__.update({name: value for name, value in vars(self).items() if name not in (*settings, *OWN)})
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}  # a connection stays where it is

    def __sklearn_clone__(self) -> Self:
        settings = self.get_params(deep=False)
        return type(self)(**{k: v if k == "client" else clone(v, safe=False) for k, v in settings.items()})

    # --- parts of fit ---------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Raise if a parameter is wrong, or asks for something that these machines do not do."""
        super()._check_parameters()
        for name, (default, instead) in self._not_here.items():
            if getattr(self, name, default) != default:
                raise ValueError(f"{name}={getattr(self, name)!r} is not for hinge.dask: {instead}.")

    def _spread(self, X: Any, y: Any, sample_weight: Any, targets: bool) -> Spread:
        """Check the parameters, make one part of the chunks for each thread, and check that they are consistent."""
        began = time.perf_counter()
        self._check_parameters()
        chunks, cluster = chunks_of(X, y, sample_weight), cluster_of(self.client)
        threads = cluster.threads()
        groups = chunks.grouped(self.parts or sum(threads.values()))
        held = iter(cluster.holders(chunks.Xs))
        where = placed([[next(held) for _ in group.Xs] for group in groups], threads)
        loaded = cluster.load(prepared, [(k, targets, *group) for k, group in enumerate(groups)], where)
        facts = cluster.gather([cluster.submit("facts", itemgetter(1), job) for job in loaded])
        self._check_columns(facts)
        used = [(job, fact) for job, fact in zip(loaded, facts, strict=True) if fact.rows]
        return Spread(cluster, [job for job, _ in used], [fact for _, fact in used], began)

    def _check_columns(self, facts: Sequence[Facts]) -> None:
        first = facts[0]
        for k, fact in enumerate(facts):
            if fact.columns != first.columns:
                raise ValueError(
                    f"Part {k} has {fact.columns} columns where part 0 has {first.columns}: all need the same ones."
                )
            if fact.names != first.names:
                raise ValueError(
                    f"Part {k} has the columns {_some(fact.names)} where part 0 has {_some(first.names)}: all need "
                    "the same ones, in the same order."
                )
        if not any(fact.rows for fact in facts):
            raise ValueError("There are no rows to learn from: all parts are empty, or all weights are zero.")
        self.n_features_in_ = first.columns
        self.__dict__.pop("feature_names_in_", None)
        if first.names is not None:
            self.feature_names_in_ = np.array(first.names, dtype=object)

    def _end_fit(self, outcome: LoopResult, certificates: Sequence[Certificate], status: Status) -> None:
        """Set the attributes that all machines have, and warn if the fit was cut off."""
        self.gap_ = float(max(certificate.gap for certificate in certificates))
        objectives = np.array([certificate.objective for certificate in certificates])
        self.objective_ = float(objectives[0]) if len(objectives) == 1 else objectives
        self.history_, self.stop_reason_ = outcome.history, how_all_ended([status], self.gap_, self.tol).name.lower()
        if getattr(self, "_skl_callbacks", None):
            self._callback_fit_ctx.call_on_fit_task_end(estimator=self)

    def predict(self, X: object, **limits: object) -> Any:
        """The class or the target of each row; of chunks, to be computed: a dask array, or a list.

        Parameters
        ----------
        X : as for `fit`, or {array-like, sparse matrix} of shape (n_samples, n_features)
        **limits
            What the local machine takes for rows that are here, such as `confidence` and `max_cost`.

        Returns
        -------
        array of shape (n_samples,)
        """
        if not is_distributed(X):
            return super().predict(X, **limits)
        return self._lazily(X, "predict", self.classes_.dtype if hasattr(self, "classes_") else np.float64, 1)

    def _lazily(self, X: Any, method: str, dtype: Any, columns: int) -> Any:
        """What a method of the local machine gives for chunks, when these are computed."""
        check_is_fitted(self, self._fitted)
        local, function = delayed(self.to_local()), getattr(_local_of(type(self)), method)
        chunks, rows = row_chunks(X)
        made = [delayed(function)(local, chunk) for chunk in chunks]
        if isinstance(X, list | tuple):
            return made
        import dask.array as da

        sizes = [np.nan] * len(made) if rows is None else rows
        shapes = [(size,) if columns == 1 else (size, columns) for size in sizes]
        return da.concatenate(
            [da.from_delayed(job, shape, dtype=dtype) for job, shape in zip(made, shapes, strict=True)],
            allow_unknown_chunksizes=True,
        )


class ClassifierOnCluster(OnCluster):
    """What classifiers have besides."""

    def _spread_classes(
        self, X: object, y: object, sample_weight: object
    ) -> tuple[Spread, np.ndarray, np.ndarray | None, dict[int, float]]:
        """Rows, classes, the weights of classes; and of each positive class, what the rows of its problem weigh."""
        spread = self._spread(X, y, sample_weight, targets=False)
        classes, codes = checks.encoded_labels(np.concatenate([fact.labels for fact in spread.facts]))
        masses = np.bincount(codes, np.concatenate([fact.masses for fact in spread.facts]), len(classes))
        per_class, totals = per_class_weights(self.class_weight, classes, classes, masses), {}
        for k in positive_classes(len(classes)):
            positive = np.arange(len(classes)) == k
            mass = class_weights(positive, masses, per_class, k)
            assert mass is not None
            if min(mass[positive].sum(), mass[~positive].sum()) <= 1e-12 * mass.sum():
                raise ValueError("The rows with a positive weight are of one class: 2 classes are needed.")
            totals[k] = float(mass.sum())
        return spread, classes, per_class, totals

    def decision_function(self, X: object) -> Any:
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
        return self._lazily(X, "decision_function", np.float64, len(self.intercept_))


def report_to(reports: Sequence[Report]) -> Callable[[RoundRecord, list[Solution]], bool]:
    """A function that calls all of them after a round, and says whether one of them ends the fit."""

    def report_round(record: RoundRecord, answers: list[Solution]) -> bool:
        asked = [report(0, None, record, answers[0]) for report in reports]  # type: ignore[arg-type]
        return any(asked)

    return report_round


def _local_of(machine: type) -> Any:
    """The machine that does the same in this process."""
    return next(base for base in machine.__mro__ if base.__module__.startswith("hinge.estimators"))


def _some(names: tuple[str, ...] | None) -> str:
    return "without names" if names is None else f"{', '.join(names[:8])}{', ...' if len(names) > 8 else ''}"
