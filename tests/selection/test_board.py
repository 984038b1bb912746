import numpy as np

from hinge.selection.board import Board
from hinge.selection.scoring import scoring_of


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
