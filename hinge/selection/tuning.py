"""`tune`: choose C, and γ, by cross-validation or leave-one-out, in the time of a few fits."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import BaseCrossValidator, check_cv
from sklearn.utils.metaestimators import _safe_split

from hinge.access.arrays import on_host
from hinge.calibration.left_out import Z
from hinge.column_table import ColumnTable, Tabled
from hinge.constraints import number
from hinge.estimators import LinearSVC, LinearSVR
from hinge.estimators.data.any_arrays import brought
from hinge.estimators.fitting.parameters import Gamma
from hinge.estimators.mixins.probabilities import only_row, warn_of_one_row
from hinge.monitoring.interrupts import called_off_by, left_of, now
from hinge.selection.certified_choice import ErrorBounds, certify_choice
from hinge.selection.kernel_path import DevicePath, KernelPath
from hinge.selection.linear_path import LinearPath
from hinge.selection.paths import Fold, Refits, SharedPath
from hinge.selection.scoring import (
    Board,
    Grid,
    Scorer,
    Scoring,
    SearchData,
    Tunable,
    grid_of_C,
    grid_of_gamma,
    scoring_of,
    training_of,
    with_values,
)
from hinge.selection.without_rows import Estimate, Fitted, estimate, left_out_scores
from hinge.threads import each, threads_of
from hinge.types import Items

CV: TypeAlias = int | Literal["loo"] | BaseCrossValidator | Iterable[tuple[np.ndarray, np.ndarray]] | None
"""A number of folds, a splitter, pairs of row indices; or "loo" for leave-one-out."""

HELD_OUT = "where it is held out it counts as an error"
"""End of the warning about a class with a single row."""

CERTIFY_TIMES = 10.0
"""How long a proof may take, in times of the search, or of a second: a share of milliseconds would be one of chance."""


@dataclass(frozen=True, eq=False, repr=False)
class SearchTable(ColumnTable):
    """A line for each candidate, in the order of γ and C.

    Attributes
    ----------
    C, gamma : ndarray of float
        The candidate; `gamma` is nan, and not shown, if there is none to choose.
    score : ndarray of float
        The mean score of its folds; nan if it was given up before it had all of them.
    deviation : ndarray of float
        Standard deviation of the scores of its folds.
    folds : ndarray of int
        Number of folds that were scored.
    chosen : ndarray of bool
    """

    C: np.ndarray
    gamma: np.ndarray
    score: np.ndarray
    deviation: np.ndarray
    folds: np.ndarray
    chosen: np.ndarray

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """The columns by name, without γ if there is none to choose."""
        return {name: one for name, one in super().columns.items() if name != "gamma" or np.isfinite(one).any()}

    @classmethod
    def of_scores(
        cls, Cs: np.ndarray, gammas: Sequence[float | None], scores: np.ndarray, C: float, gamma: float | None
    ) -> SearchTable:
        """From scores of shape (n_Cs, n_gammas, n_folds), and the values that were chosen."""
        each_gamma = np.repeat(np.array(gammas, np.float64), len(Cs))
        each_C = np.tile(Cs, len(gammas))
        lines = scores.transpose(1, 0, 2).reshape(len(each_C), -1)
        chosen = (each_C == C) & (True if gamma is None else each_gamma == gamma)
        folds = np.isfinite(lines).sum(axis=1)
        return cls(each_C, each_gamma, lines.mean(axis=1), lines.std(axis=1), folds, chosen)


@dataclass(frozen=True, eq=False, repr=False)
class Tuned(Tabled):
    """The result of a search, which prints as a table of its candidates.

    Attributes
    ----------
    model : estimator, optional
        The chosen one, fitted to all rows; None without `refit`.
    C, gamma : float
        The chosen values; `gamma` is None if there is none to choose.
    Cs, gammas : ndarray
        The values tried.
    scores : ndarray of shape (n_Cs, n_gammas, n_folds)
        The score of each fold; nan if the candidate was given up, or time was up.
    best_score : float
        The mean score of the chosen values.
    error, error_std : float
        The error to expect of the chosen model on new rows, by leave-one-out, and its standard error: the error rate,
        or the mean absolute error of a regression. nan if not known.
    n_fits : int
        Number of scores that were computed.
    error_bounds : list of ErrorBounds, optional
        For each γ bounds on the error of every C, if `certify` was given.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hinge import LinearSVC, tune
    >>> X, y = load_iris(return_X_y=True)
    >>> found = tune(LinearSVC(), X, y, Cs=[0.01, 1.0, 100.0])
    >>> found.C in found.Cs, found.scores.shape, bool(found.best_score > 0.9)
    (True, (3, 1, 5), True)
    """

    model: Any
    C: float
    gamma: float | None
    Cs: np.ndarray
    gammas: list[float | None]
    scores: np.ndarray
    best_score: float
    error: float
    error_std: float
    n_fits: int
    error_bounds: list[ErrorBounds] | None = None

    @property
    def table(self) -> SearchTable:
        """The candidates and their scores."""
        return SearchTable.of_scores(self.Cs, self.gammas, self.scores, self.C, self.gamma)

    @property
    def _headline(self) -> str:
        chosen = f"C={self.C:.4g}" + ("" if self.gamma is None else f", gamma={self.gamma:.4g}")
        known = np.isfinite(self.error)
        error = f"; error to expect on new rows: {self.error:.4g} ± {Z * self.error_std:.2g}" if known else ""
        return f"{chosen} of mean score {self.best_score:.4g}{error}."


def tune(
    estimator: Tunable,
    X: Items,
    y: ArrayLike,
    *,
    Cs: Grid = 10,
    gammas: Grid | Gamma = 5,
    cv: CV = 5,
    scoring: str | Scorer | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    refit: bool = True,
    certify: float | None = None,
    n_jobs: int | None = None,
    max_time: float | None = None,
    verbose: int = 0,
) -> Tuned:
    """Choose C, and γ of a kernel, and fit the chosen model.

    For each γ all kernel values are computed once, for all folds; for linear models folds are weights of zero. Along C
    each fit starts from the last one, and ends at a relative gap of 1e-2, or less with fewer than a thousand rows,
    which is accurate enough for its score; with many rows, kernel values are in single precision, and the gap is that
    for these values. A candidate is given up as soon as its scores so far imply that it cannot be chosen, whatever the
    scores of the other folds; or, by the accuracy, that it would take a deviation of four standard deviations. With
    ``cv="loo"`` there is one fit for each C and γ, on all rows, and scores come from leave-one-out values that are
    computed from the solution; a candidate whose training score is below another's leave-one-out score is given up.

    Parameters
    ----------
    estimator : LinearSVC, LinearSVR, SVC or SVR
        Its other parameters are used in every fit; `tol` applies to the fit of the chosen model.
    X, y, sample_weight
        As for its ``fit``. Scores are weighted, too.
    Cs : int or sequence of float, default=10
        The values of C to try, or their number: then they range from the smallest C at which anything is learned to one
        at which C no longer bounds any dual weight, see `hinge.selection.scoring.bounds`. Repeated values are solved
        once.
    gammas : int, sequence of float, "scale" or "auto", default=5
        The values of γ to try, or their number: then they range from 1/16 to 16 times "scale". Not used by kernels
        without γ.
    cv : int, splitter, iterable or "loo", default=5
        Number of folds, stratified by class; a splitter of scikit-learn; pairs of training and held-out row indices; or
        "loo" for leave-one-out.
    scoring : str or callable, optional
        The score to choose by, larger is better; by default the accuracy, or R² of a regression. For scores that need
        probabilities, and for functions, every model is fitted separately.
    groups : array-like of shape (n_samples,), optional
        For splitters that need groups.
    refit : bool, default=True
        Whether to fit the chosen model to all rows.
    certify : float, optional
        Prove that no C between the smallest and the largest, with none of the γ, has a cross-validation error more than
        this below that of the chosen ones: see `hinge.selection.certified_choice`. It takes up to ten times as long as
        the search.
    n_jobs : int, optional
        Threads, over which folds are spread.
    max_time : float, optional
        Time limit of the whole search in seconds: the best candidate so far is then chosen, with a warning.
    verbose : int, default=0
        Write a line for each γ and fold to standard error.

    Returns
    -------
    Tuned

    Notes
    -----
    Among candidates with the same mean score the smallest C is chosen, and among these the smallest γ.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hinge import LinearSVC, tune
    >>> X, y = load_iris(return_X_y=True)
    >>> found = tune(LinearSVC(), X, y, Cs=[0.01, 0.1, 1.0, 10.0])
    >>> found.scores.shape
    (4, 1, 5)
    >>> bool(found.best_score > 0.9), bool(found.model.score(X, y) > 0.9)
    (True, True)
    """
    began = now()
    (number(above=0) | None).check("max_time", max_time)
    (number(above=0, most=1) | None).check("certify", certify)
    model = clone(estimator)
    X, y, sample_weight = brought(model, X), on_host(y), on_host(sample_weight)
    data = training_of(model, X, y, sample_weight)
    scores = scoring_of(scoring, data.codes is None)
    asked_gammas = grid_of_gamma(model, data, gammas)
    asked_Cs = grid_of_C(model, data, Cs, asked_gammas)
    folds = _folds(cv, data, groups)
    # A fifth of the time is left for fitting the chosen model.
    ends = None if max_time is None else began + 0.8 * max_time
    search = _Search(model, data, scores, np.unique(asked_Cs), _distinct(asked_gammas), folds, ends, verbose)
    if certify is not None:
        search.check_certifiable()
    search.run(threads_of(n_jobs))
    place = search.board.best()
    n_fits = int(np.count_nonzero(~np.isnan(search.board.scores)))
    if search.cut_off:
        _warn_of_time(search, place, max_time, n_fits)
    elif place is None:
        raise ValueError(f"No candidate has a score that is a number: scoring={scoring!r} gave nan for each of them.")
    best_C, best_gamma = place if place is not None else (len(search.Cs) // 2, len(search.gammas) // 2)
    C, gamma = float(search.Cs[best_C]), search.gammas[best_gamma]
    best = np.nan if place is None else float(np.nanmean(search.board.scores[place]))
    proofs = None
    if certify is not None:
        seconds = CERTIFY_TIMES * max(1.0, now() - began)
        proofs = search.certify(best_C, best_gamma, certify, now() + seconds)
    known = Estimate(np.nan, np.nan)
    chosen = None
    if refit:
        chosen = clone(estimator).set_params(C=C, **({} if gamma is None else {"gamma": gamma}))
        own = chosen.max_time
        left = own if max_time is None else left_of(max_time, began)
        chosen.set_params(max_time=left).fit(X, y, sample_weight=sample_weight).set_params(max_time=own)
        known = search.error_of(chosen, place, X)
    board = search.board.scores[np.searchsorted(search.Cs, asked_Cs)]
    board = board[:, [search.gammas.index(one) for one in asked_gammas]]
    return Tuned(chosen, C, gamma, asked_Cs, asked_gammas, board, best, known.error, known.std, n_fits, proofs)


@dataclass
class _Search:
    """The state of one call of `tune`."""

    model: Tunable
    data: SearchData
    scoring: Scoring
    Cs: np.ndarray
    gammas: list[float | None]
    folds: list[Fold] | None
    ends: float | None
    verbose: int
    cut_off: bool = False
    left_out: tuple[tuple[int, int], Any] | None = None  # the best candidate so far, with its left-out values

    def __post_init__(self) -> None:
        n_folds = 1 if self.folds is None else len(self.folds)
        self.board = Board(len(self.Cs), len(self.gammas), n_folds, self.scoring)
        self.linear = isinstance(self.model, LinearSVC | LinearSVR)
        if self.folds is None and not self._shares(None):
            raise ValueError(
                "cv='loo' is not available for this search: scores that need more than decision values, "
                "multi_class='crammer_singer', a GPU, or more rows than kernel values can be kept for, need a number "
                "of folds."
            )

    def run(self, threads: int) -> None:
        """Fill the board: one γ after the other, with several folds in parallel.

        It begins with the γ in the middle of the grid: the sooner a good candidate is known, the sooner others are out.
        """
        middle = len(self.gammas) // 2
        for g in sorted(range(len(self.gammas)), key=lambda g: abs(g - middle)):
            gamma = self.gammas[g]
            if self._late():
                return
            path = self._path(gamma)
            if self.folds is None:
                self._score_without(path, g)
                continue
            groups = self._groups(path, threads)
            for first in range(0, len(groups), threads):
                kept = np.flatnonzero(self.board.in_the_running()[:, g])
                if len(kept) == 0 or self._late():
                    break
                some, off = groups[first : first + threads], threading.Event()
                with called_off_by(off):  # Ctrl-C ends the folds of other threads, too
                    each(partial(self._score_folds, path, g, kept, some), len(some), threads, off.set)

    def _late(self) -> bool:
        self.cut_off |= self.ends is not None and now() >= self.ends
        return self.cut_off

    def _shares(self, fold: Fold | None) -> bool:
        """Whether the fits can share data: decision values suffice for the score, and no class is missing."""
        if not self.scoring.values or self.model.target_error is not None:
            return False
        if fold is not None and self.data.lacks_a_class(fold[0]):
            return False
        if self.linear:
            return self.model.max_reads is None and getattr(self.model, "multi_class", "ovr") == "ovr"
        jointly = self.folds is not None and DevicePath.fits(self.model, self.data)
        return jointly or KernelPath.fits(self.model, self.data)

    def _path(self, gamma: float | None) -> Any:
        """The object that fits all C of one γ; None if fits share nothing."""
        if not self._shares(None):
            return None
        if self.linear:
            return LinearPath(self.model, self.data)
        if self.folds is not None and DevicePath.fits(self.model, self.data):
            return DevicePath(self.model, self.data, gamma)
        return KernelPath(self.model, self.data, gamma)

    def _score_without(self, path: LinearPath | KernelPath, g: int) -> None:
        """Leave-one-out scores of all C: from the middle of the grid upwards as they are fitted, then downwards.

        The sooner a good candidate is known, the more others are given up by their bounds.
        """
        waiting: list[tuple[int, Fitted]] = []
        done = 0
        # Leave-one-out needs more accurate dual weights than the scores of folds.
        for c, fitted in enumerate(path.without(self.Cs.tolist(), 1e-3, self.ends)):
            done += 1
            if c < len(self.Cs) // 2:
                waiting.append((c, fitted))
            else:
                self._score_left_out(c, g, fitted)
        self.cut_off |= done < len(self.Cs)
        for c, fitted in reversed(waiting):
            if self._late() and self.board.best() is not None:
                return
            self._score_left_out(c, g, fitted)

    def _score_left_out(self, c: int, g: int, fitted: Fitted) -> None:
        """The leave-one-out score of one C, unless its training score shows that it is not the best.

        A row that is misclassified with its own help is misclassified without it, too.
        """
        rows, data, leader = np.arange(len(self.data.y)), self.data, self.board.best()
        marks = self.scoring.marks(fitted.model, rows, data.y, data.weight)
        if leader is not None and marks is not None and marks[0].sum() / marks[1] < self.board.scores[leader].mean():
            return
        model = fitted.left_out()
        self._judge((c, g, 0), model, rows, rows)
        if self.board.best() == (c, g):
            self.left_out = (c, g), model
        self._say(g, "leave-one-out", [c])

    def _groups(self, path: SharedPath | None, threads: int) -> list[list[int]]:
        """The folds that are fitted together; those that cannot share data each alone."""
        assert self.folds is not None
        shares = [path is not None and self._shares(fold) for fold in self.folds]
        apart = [[k] for k, shared in enumerate(shares) if not shared]
        return apart if path is None else path.groups(np.flatnonzero(shares).tolist(), threads) + apart

    def _score_folds(self, path: SharedPath | None, g: int, kept: np.ndarray, groups: list[list[int]], k: int) -> None:
        """The scores of the folds of group k for the C that are in the running."""
        assert self.folds is not None
        data, own = self.data, groups[k]
        folds = [self.folds[j] for j in own]
        inputs: list[Any] = [test for _, test in folds]
        runs: SharedPath | Refits | None = path if self._shares(folds[0]) else None
        if runs is None:
            runs = Refits(self.model, data, self.gammas[g], self.scoring.likely)
            inputs = [_safe_split(self.model, data.X, data.y, test, train)[0] for train, test in folds]
        # A gap of 1% changes fewer predictions than the sampling error of 1,000 rows; of fewer rows each counts more.
        done, tol = 0, 1e-2 * min(1.0, len(data.y) / 1000)
        for c, models in zip(kept, runs.along(folds, self.Cs[kept].tolist(), tol, self.ends), strict=False):
            for j, model, X, (_, test) in zip(own, models, inputs, folds, strict=True):
                self._judge((int(c), g, j), model, X, test)
            done += 1
        self.cut_off |= done < len(kept)
        for j in own:
            self._say(g, f"fold {j + 1} of {len(self.folds)}", kept[:done])

    def _judge(self, place: tuple[int, int, int], model: Tunable, X: Items | np.ndarray, rows: np.ndarray) -> None:
        """Put the score of a model on some rows on the board."""
        y, weight = self.data.y[rows], None if self.data.weight is None else self.data.weight[rows]
        marks = self.scoring.marks(model, X, y, weight)
        if marks is not None:
            self.board.keep(*place, *marks)
            return
        try:
            self.board.scores[place] = self.scoring.score_of(model, X, y, weight)
        except ValueError as error:
            count = len(getattr(model, "classes_", ()))
            if self.data.classes is None or count == len(self.data.classes) == len(np.unique(y)):
                raise
            raise ValueError(
                f"Fold {place[2] + 1} of cv lacks a class among the rows to learn from or those held out, and "
                f"scoring={self.scoring.name!r} has no score then: shuffle and stratify, by "
                "cv=StratifiedKFold(shuffle=True) for instance, or give fewer folds."
            ) from error

    def _say(self, g: int, what: str, done: Sequence[int] | np.ndarray) -> None:
        if not self.verbose or len(done) == 0:
            return
        place = self.board.best()
        best = "" if place is None else f"; the best so far is C={self.Cs[place[0]]:.4g}"
        gamma = "" if self.gammas[g] is None else f"gamma={self.gammas[g]:.4g}, "
        if place is not None and self.gammas[place[1]] is not None:
            best += f", gamma={self.gammas[place[1]]:.4g}"
        sys.stderr.write(f"[hinge] {gamma}{what}: {len(done)} {'value' if len(done) == 1 else 'values'} of C{best}\n")

    def check_certifiable(self) -> None:
        """Raise if errors cannot be bounded between the C that are tried."""
        model, many = self.model, self.data.classes is not None and len(self.data.classes) > 2
        if self.data.codes is None or self.scoring.name != "accuracy" or self.folds is None:
            why = "bounds the error rate of classes in folds: leave scoring and give cv a number of folds or a splitter"
        elif self.linear and (model.penalty != "l2" or model.multi_class != "ovr"):
            why = "needs the strong convexity of penalty='l2', with multi_class='ovr'"
        elif not self.linear and many and model.multiclass == "ovo":
            why = "follows decision values, not votes, of more than two classes: set multiclass='ovr'"
        elif not self.linear and isinstance(model.kernel, str) and model.kernel == "sigmoid":
            why = "needs a positive semidefinite kernel, and 'sigmoid' is none"
        elif not all(self._shares(fold) for fold in self.folds):
            why = "needs all classes among the training rows of each fold, and fits without a budget"
        elif not self.linear and (
            DevicePath.fits(model, self.data) or not isinstance(self._path(self.gammas[0]).held, tuple)
        ):
            why = "needs all kernel values in float64, which are kept for few rows: take fewer, or LinearSVCCV"
        else:
            return
        raise ValueError(f"certify {why}; or leave certify=None.")

    def certify(self, best_C: int, best_gamma: int, epsilon: float, ends: float) -> list[ErrorBounds]:
        """Bounds on the error of every C, for each γ, the chosen one first."""
        assert self.folds is not None
        ends = ends if self.ends is None else min(ends, self.ends)
        proofs: dict[int, ErrorBounds] = {}
        order = [best_gamma, *(g for g in range(len(self.gammas)) if g != best_gamma)]
        for turn, g in enumerate(order):
            path, pairs = self._path(self.gammas[g]), []
            for train, test in self.folds:
                weight = np.ones(len(test)) if self.data.weight is None else self.data.weight[test]
                pairs.append(path.pairs_of(train, test, weight / (weight.sum() * len(self.folds))))
            rows, fits = zip(*pairs, strict=True)
            own = {"chosen": float(self.Cs[best_C])} if turn == 0 else {"most": proofs[best_gamma].chosen}
            until = now() + (ends - now()) / (len(order) - turn)
            proofs[g] = certify_choice(rows, fits, self.Cs.tolist(), epsilon, until, **own)
        gap = max(proof.gap for proof in proofs.values())
        if gap > epsilon:
            warnings.warn(
                f"certify={epsilon:g} was not proven in the time allowed: some C may have an error up to {gap:.4g} "
                "below that of the chosen one. Give more Cs, which may have a better one, or a larger certify.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return [proofs[g] for g in range(len(self.gammas))]

    def error_of(self, chosen: Tunable, place: tuple[int, int] | None, X: Items) -> Estimate:
        """The error of the model fitted to X by leave-one-out; by its folds if that is not available."""
        data = self.data
        if self.left_out is not None and self.left_out[0] == place:
            model = self.left_out[1]
            return estimate(model, data.y, model._scores(None), data.weight)
        shares = self._shares(None) and (self.linear or KernelPath.fits(self.model, data))
        if shares and chosen.stop_reason_ != "max_time":
            values = left_out_scores(chosen, X, data.y, data.weight)
            return estimate(with_values(chosen, data, values), data.y, values, data.weight)
        if place is None or self.scoring.name != "accuracy":
            return Estimate(np.nan, np.nan)
        error = 1.0 - float(np.nanmean(self.board.scores[place]))
        return Estimate(error, float(np.sqrt(max(error * (1.0 - error), 0.0) / len(data.y))))


def _distinct(gammas: Sequence[float | None]) -> list[float | None]:
    return [None] if gammas[0] is None else np.unique(np.array(gammas, np.float64)).tolist()


def _folds(cv: CV, data: SearchData, groups: ArrayLike | None) -> list[Fold] | None:
    """The training and held-out rows of each fold; None for leave-one-out."""
    y, counts = data.y, None if data.codes is None else np.bincount(data.codes)
    alone = None if data.codes is None or data.classes is None else only_row(data.codes, data.classes)
    if isinstance(cv, str):
        if cv != "loo":
            raise ValueError(f"cv must be a number of folds, a splitter or 'loo', got {cv!r}.")
        if alone is not None:
            warn_of_one_row(alone, HELD_OUT)
        return None
    if counts is not None and isinstance(cv, int | np.integer) and 2 <= cv <= len(y) and counts.max() < cv:
        raise ValueError(
            f"cv={cv} folds need a class of {cv} rows or more, and the largest has {counts.max()}: give fewer folds, "
            "or cv='loo'."
        )
    splitter = check_cv(5 if cv is None else cv, y, classifier=counts is not None)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")  # checked below, by our own rules
        folds = [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(np.zeros((len(y), 1)), y, groups)]
    for k, (train, test) in enumerate(folds):
        if len(train) == 0 or len(test) == 0:
            raise ValueError(f"Fold {k + 1} of cv has no rows to learn from, or none held out.")
        if data.codes is not None and len(np.unique(data.codes[train])) < 2:
            if alone is not None:
                raise ValueError(
                    f"Class {alone!r} has one row, and fold {k + 1} holds it out: nothing is left to learn it "
                    "from. Give two rows of each class or more, or cv='loo', which counts it as an error."
                )
            raise ValueError(
                f"Fold {k + 1} of cv leaves rows of one class to learn from: shuffle and stratify, by "
                "cv=StratifiedKFold(shuffle=True) for instance, or give more rows of the other class."
            )
    if alone is not None:
        warn_of_one_row(alone, HELD_OUT)
    return folds


def _warn_of_time(search: _Search, place: tuple[int, int] | None, max_time: float | None, n_fits: int) -> None:
    every = search.board.scores.size
    if place is None:
        why = (
            f"max_time={max_time:g} was too short for a single score: C={search.Cs[len(search.Cs) // 2]:.4g}, from the "
            "middle of those to try, is a guess. Allow more time."
        )
    else:
        gamma = "" if search.gammas[place[1]] is None else f" and gamma={search.gammas[place[1]]:.4g}"
        why = (
            f"The search ended because max_time={max_time:g} was up, after {n_fits} of {every} scores: "
            f"C={search.Cs[place[0]]:.4g}{gamma} is the best so far. Allow more time, or fewer candidates."
        )
    warnings.warn(why, ConvergenceWarning, stacklevel=4)
