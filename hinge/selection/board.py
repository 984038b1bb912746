"""The scores of a search so far: who leads, and who cannot win any more."""

import numpy as np

from hinge.selection.scoring import Scoring


class Board:
    """One score for each C, γ and fold; nan where there is none.

    Attributes
    ----------
    scores : ndarray of shape (n_Cs, n_gammas, n_folds)
    """

    def __init__(self, n_Cs: int, n_gammas: int, n_folds: int, scoring: Scoring) -> None:
        self.scores = np.full((n_Cs, n_gammas, n_folds), np.nan)
        self.most, self.least = scoring.most, scoring.least

    def in_the_running(self) -> np.ndarray:
        """Whether each C and γ may still be chosen.

        After some folds the mean of a candidate lies between those with the least and the largest score there is in
        all others. Who is at most below what another is at least is out, whatever comes: leaving it out changes
        nothing of the choice.
        """
        missing = np.isnan(self.scores)
        at_most = np.where(missing, self.most, self.scores).mean(axis=2)
        at_least = np.where(missing, self.least, self.scores).mean(axis=2)
        return at_most >= at_least.max()

    def means(self) -> np.ndarray:
        """The mean of each candidate over all folds; nan where one is missing."""
        return self.scores.mean(axis=2)

    def best(self) -> tuple[int, int] | None:
        """Number of the C and of the γ with the best mean, the smallest of both where several have it.

        Where no candidate has all its scores, the search was cut off: then the means of those that there are decide.
        """
        means = self.means()
        if np.isnan(means).all():
            known = ~np.isnan(self.scores)
            with np.errstate(invalid="ignore"):
                means = np.where(known, self.scores, 0.0).sum(axis=2) / known.sum(axis=2)
        if np.isnan(means).all():
            return None
        C, gamma = np.argwhere(means == np.nanmax(means))[0]
        return int(C), int(gamma)
