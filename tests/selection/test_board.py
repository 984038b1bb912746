"""Which candidates can still win."""

import numpy as np
import pytest

from hinge.selection.scoring import Board, scoring_of


def test_nobody_is_out_before_it_is_certain():
    board = Board(3, 1, 4, scoring_of("accuracy", False))
    assert board.in_the_running().all() and board.best() is None
    board.scores[:, 0, 0] = 0.9, 0.5, 0.1
    board.scores[:, 0, 1] = 0.9, 0.5, 0.1
    assert board.in_the_running()[:, 0].tolist() == [True, True, True]  # 0.1, 0.1, 1, 1 against 0.9, 0.9, 0, 0
    board.scores[:, 0, 2] = 0.9, 0.5, 0.1
    assert board.in_the_running()[:, 0].tolist() == [True, False, False]
    board.scores[0, 0, 3] = 0.9
    assert board.best() == (0, 0)


def test_who_has_all_scores_needs_no_lower_end():
    board = Board(2, 2, 2, scoring_of("r2", True))
    board.scores[:, 0] = [[0.5, 0.5], [0.5, 0.5]]
    assert board.in_the_running().all()
    board.scores[0, 1, 0] = -0.5
    assert board.in_the_running()[:, 1].tolist() == [False, True]
    assert board.best() == (0, 0)  # the smallest C and γ of those with the best mean


@pytest.mark.slow
def test_dropping_changes_no_choice():
    """Random scores: whoever is out has a smaller mean than the one that is chosen with all scores."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        scores = rng.beta(8, 2, (4, 2, 3)).round(1)
        board = Board(4, 2, 3, scoring_of("accuracy", False))
        for g in range(2):
            for k in range(3):
                kept = board.in_the_running()[:, g]
                board.scores[kept, g, k] = scores[kept, g, k]
        means = scores.mean(axis=2)
        assert board.best() == tuple(np.argwhere(means == means.max())[0])


def test_a_search_that_was_cut_off_has_a_best_so_far():
    board = Board(3, 1, 2, scoring_of("accuracy", False))
    board.scores[:2, 0, 0] = 0.6, 0.8
    assert board.best() == (1, 0)


def test_who_is_far_behind_on_the_same_rows_is_given_up():
    """And only then: differences count by the rows on which two candidates differ, not by all."""
    rng, board = np.random.default_rng(0), Board(4, 1, 5, scoring_of("accuracy", False))
    right = rng.random(1000) < 0.9
    worse, other = right & (rng.random(1000) < 0.95), rng.random(1000) < 0.885
    for c, hits in enumerate((right, worse, other)):
        board.keep(c, 0, 0, hits.astype(float), 1000.0)
    assert board.scores[0, 0, 0] == right.mean() and abs(worse.mean() - other.mean()) < 0.04
    assert board.in_the_running()[:, 0].tolist() == [True, False, True, True]  # of the last nothing is known


@pytest.mark.slow
def test_whoever_is_given_up_early_would_not_have_been_chosen():
    """Rows of candidates that are about as good as each other, or not: the choice is that of all folds."""
    rng, dropped, changed = np.random.default_rng(1), 0, 0
    for _ in range(300):
        hard, skill = rng.normal(size=2000), 0.5 + 0.3 * rng.random(6)
        hits = hard + 0.5 * rng.normal(size=(6, 2000)) < skill[:, None] * 2.0
        board = Board(6, 1, 5, scoring_of("accuracy", False))
        for k in range(5):
            for c in np.flatnonzero(board.in_the_running()[:, 0]):
                board.keep(int(c), 0, k, hits[c, k * 400 : (k + 1) * 400].astype(float), 400.0)
        dropped += int(np.isnan(board.scores).any(axis=2).sum())
        right = hits.sum(axis=1)
        changed += right[board.best()[0]] < right.max()
    assert dropped > 600 and changed == 0
