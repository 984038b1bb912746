"""The scores of a search so far: which candidate leads, and which can no longer win, or almost certainly will not."""

import numpy as np

from hinge.selection.scoring import Scoring

SURE = 4.0
"""Standard deviations of the predicted difference at which a candidate is given up: a probability of 1 in 30,000."""


class Board:
    """One score for each C, γ and fold; nan where it is not known.

    Attributes
    ----------
    scores : ndarray of shape (n_Cs, n_gammas, n_folds)
    """

    def __init__(self, n_Cs: int, n_gammas: int, n_folds: int, scoring: Scoring) -> None:
        self.scores = np.full((n_Cs, n_gammas, n_folds), np.nan)
        self.most, self.least = scoring.most, scoring.least
        self._shares: dict[tuple[int, int, int], np.ndarray] = {}

    def keep(self, C: int, gamma: int, fold: int, marks: np.ndarray, total: float) -> None:
        """Store a score that is a mean over the held-out rows: their marks, and the divisor of the sum of marks."""
        self._shares[C, gamma, fold] = marks / total
        self.scores[C, gamma, fold] = marks.sum() / total  # equal counts of right rows give exactly equal scores

    def in_the_running(self) -> np.ndarray:
        """Whether each C and γ may still be chosen.

        After some folds the mean of a candidate lies between those with the smallest and the largest possible score in
        all other folds. A candidate whose upper bound is below the lower bound of another is out: this never changes
        the choice.

        If scores are sums over rows, so is the difference D of a candidate from the leader. From k of K folds, with the
        sum of squares V over their rows, the difference over all folds is predicted: with ρ = (K - k)/k the other folds
        add ρD, with a variance of ρV of their own and of ρ²V from the uncertainty of D. A candidate that is behind by
        more than four standard deviations, :math:`D^2(1 + \\rho) > 16\\rho V`, is out, too. This is very rarely wrong,
        and then between candidates that are about equally good.
        """
        missing = np.isnan(self.scores)
        at_most = np.where(missing, self.most, self.scores).mean(axis=2)
        at_least = np.where(missing, self.least, self.scores).mean(axis=2)
        possible = at_most >= at_least.max()
        place = self.best()
        if place is not None and self._shares:
            for C, gamma in np.argwhere(possible & missing.any(axis=2) & ~missing.all(axis=2)):
                possible[C, gamma] = not self._far_behind((int(C), int(gamma)), place)
        return possible

    def _far_behind(self, one: tuple[int, int], leader: tuple[int, int]) -> bool:
        """Whether a candidate is so far behind another that the other folds are very unlikely to make up for it."""
        folds = self.scores.shape[2]
        both = [k for k in range(folds) if (*one, k) in self._shares and (*leader, k) in self._shares]
        if not both or len(both) == folds:
            return False
        apart = [self._shares[*leader, k] - self._shares[*one, k] for k in both]
        behind, square = sum(float(d.sum()) for d in apart), sum(float(d @ d) for d in apart)
        rho = (folds - len(both)) / len(both)
        return behind > 0.0 and behind**2 * (1.0 + rho) > SURE**2 * rho * square

    def means(self) -> np.ndarray:
        """The mean of each candidate over all folds; nan where one is missing."""
        return self.scores.mean(axis=2)

    def best(self) -> tuple[int, int] | None:
        """Indices of the C and the γ with the best mean; of several, the smallest C, then the smallest γ.

        If the search was cut off before any candidate had all its scores, means over the known scores are compared.
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
