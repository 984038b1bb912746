"""The base class of estimators that choose their own C by `hinge.tune`."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from hinge.constraints import FLAG
from hinge.estimators.fitting.decorators import atomic
from hinge.estimators.fitting.parameters import Gamma
from hinge.selection.grids import Grid
from hinge.selection.scoring import Scorer
from hinge.selection.tuning import CV, tune
from hinge.types import Items

OF_THE_SEARCH = ("max_time", "n_jobs", "verbose")
"""Parameters that here belong to the search, not to the fits of the plain estimator."""


class Searching:
    """An estimator that is fitted by `hinge.tune`, and predicts like the plain estimator that was chosen."""

    Cs: Grid
    cv: CV
    scoring: str | Scorer | None
    refit: bool
    n_jobs: int | None
    max_time: float | None
    verbose: int
    gammas: Grid | Gamma

    C_: float
    gamma_: float | None
    _plain_class: Any
    """The plain estimator class whose C is chosen."""

    @property
    def C(self) -> float:
        """The chosen C, under its name in the plain estimator; 1 before fit."""
        return getattr(self, "C_", 1.0)

    @property
    def partial_fit(self) -> Any:
        """Not available, since choosing C needs all rows."""
        own, plain = type(self).__name__, self._plain_class.__name__
        raise AttributeError(f"{own} chooses C by all rows, and has no partial_fit: use {plain}(C=...) for that.")

    @atomic
    def fit(
        self, X: Items, y: ArrayLike, sample_weight: ArrayLike | None = None, *, groups: ArrayLike | None = None
    ) -> Self:
        """Choose C, and γ if the kernel has one, and fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            For kernels, also a sequence of items that the kernel takes, or kernel values of shape (n_samples,
            n_samples) if the kernel is precomputed.
        y : array-like of shape (n_samples,)
            Labels, or targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, in fits and in scores.
        groups : array-like of shape (n_samples,), optional
            For splitters that need groups.

        Returns
        -------
        self
        """
        FLAG.check("refit", self.refit)
        own = self.get_params(deep=False)  # type: ignore[attr-defined]
        names = set(self._plain_class._get_param_names())
        plain = self._plain_class(**{k: v for k, v in own.items() if k in names and k not in OF_THE_SEARCH})
        options = {"gammas": self.gammas} if "gammas" in own else {}
        found = tune(
            plain,
            X,
            y,
            Cs=self.Cs,
            cv=self.cv,
            scoring=self.scoring,
            sample_weight=sample_weight,
            groups=groups,
            refit=self.refit,
            n_jobs=self.n_jobs,
            max_time=self.max_time,
            verbose=self.verbose,
            **options,
        )
        earlier = {name for name in vars(self) if name.endswith("_")} | set(
            vars(getattr(self, "best_estimator_", plain))
        )
        for name in earlier - set(own):
            self.__dict__.pop(name, None)
        scores = found.scores if "gammas" in own else found.scores[:, 0]
        self.C_, self.Cs_, self.scores_ = found.C, found.Cs, scores
        if "gammas" in own:
            self.gamma_, self.gammas_ = found.gamma, np.array([g for g in found.gammas if g is not None])
        self.mean_scores_, self.best_score_ = scores.mean(axis=-1), found.best_score
        self.error_, self.error_std_ = found.error, found.error_std
        if found.model is not None:
            self.best_estimator_ = found.model
            told = {k: v for k, v in vars(found.model).items() if k not in names and "callback" not in k}
            self.__dict__.update(told)
        return self
