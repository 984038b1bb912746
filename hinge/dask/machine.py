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
from hinge.dask.cluster import Cluster, cluster_of, placed
from hinge.dask.parts import Facts, chunks_of, part_of, prepared, row_chunks
from hinge.estimators.data import validation as checks
from hinge.estimators.fitting.parameters import ClassWeight
from hinge.estimators.fitting.tasks import class_weights, per_class_weights, positive_classes

OWN = ("client", "parts")
"""Parameters that the local machines do not have."""


class Spread(NamedTuple):
    """Rows that are spread over a cluster: jobs that give parts, what is known of each, and when the fit began."""

    cluster: Cluster
    loaded: list[Any]
    facts: list[Facts]
    began: float

    def parts(self, classes: np.ndarray | None) -> list[Any]:
        """Jobs that give the parts that have rows; what they are made from is not held here any longer."""
        made = [self.cluster.submit("part", part_of, self.loaded[k], classes) for k in self.used]
        self.loaded.clear()
        return made

    @property
    def used(self) -> list[int]:
        """The parts that have rows."""
        return [k for k, fact in enumerate(self.facts) if fact.rows]

    @property
    def width(self) -> float:
        """The loss of rows before anything is learned: the spread of targets, 1 for labels."""
        return max(self.facts[k].spread for k in self.used)


@declares
class OnCluster(BaseEstimator):
    """Mixed into a local machine: `fit` takes rows in chunks, and predictions of chunks are made where they are."""

    client: Client | None = parameter(None)
    parts: int | None = parameter(None, count() | None)

    _not_here: ClassVar[dict[str, tuple[Any, str]]]
    """What the local machine has and this one does not: the value that stands for none, and what to do."""
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
        return Spread(cluster, loaded, facts, began)

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

    def _classes(self, spread: Spread) -> tuple[np.ndarray, np.ndarray]:
        """The classes of all parts, and what the rows of each weigh together."""
        facts = [spread.facts[k] for k in spread.used]
        classes, codes = checks.encoded_labels(np.concatenate([fact.labels for fact in facts]))
        return classes, np.bincount(codes, np.concatenate([fact.masses for fact in facts]), len(classes))

    def _lazily(self, X: Any, function: Callable[[Any, Any], np.ndarray], dtype: Any, columns: int) -> Any:
        """What a function of the local machine and of rows gives for chunks, when these are computed."""
        check_is_fitted(self, self._fitted)
        local = delayed(self.to_local())
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


def against_the_rest(
    class_weight: ClassWeight, classes: np.ndarray, masses: np.ndarray
) -> tuple[np.ndarray | None, dict[int, float]]:
    """The weights of classes; and of each positive class, what the rows of its problem weigh together."""
    per_class, totals = per_class_weights(class_weight, classes, classes, masses), {}
    for k in positive_classes(len(classes)):
        positive = np.arange(len(classes)) == k
        mass = class_weights(positive, masses, per_class, k)
        assert mass is not None
        if min(mass[positive].sum(), mass[~positive].sum()) <= 1e-12 * mass.sum():
            raise ValueError("The rows with a positive weight are of one class: 2 classes are needed.")
        totals[k] = float(mass.sum())
    return per_class, totals


def _local_of(machine: type) -> Any:
    """The machine that does the same in this process."""
    return next(base for base in machine.__mro__ if base.__module__.startswith("hinge.estimators"))


def _some(names: tuple[str, ...] | None) -> str:
    return "without names" if names is None else f"{', '.join(names[:8])}{', ...' if len(names) > 8 else ''}"
