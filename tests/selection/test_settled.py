"""Answers that no longer change along C."""

import pytest

from hinge.selection.paths import until_settled


def run(Cs, weight, fails=None):
    """The weights that a problem of one row has, which wants `weight`; and the C that it was solved for."""
    asked = []

    def solved(C, last):
        asked.append(C)
        return None if fails == C else (C, min(C, weight))

    answers = until_settled(Cs, solved, lambda one, C: one[1] >= C, lambda one, C: (C, one[1]))
    return list(answers), asked


@pytest.mark.parametrize(
    ("weight", "asked"), [(0.5, [1, 8]), (1.5, [1, 2, 8]), (3.0, [1, 2, 4, 8]), (9.0, [1, 2, 4, 8]), (1.0, [1, 2, 8])]
)
def test_what_is_solved(weight, asked):
    answers, solved = run([1, 2, 4, 8], weight)
    assert answers == [(C, min(C, weight)) for C in (1, 2, 4, 8)]
    assert solved == asked


def test_an_answer_for_the_largest_that_is_too_large_for_others():
    """Weights that grow although none was at its bound: those between are solved for, and the last is not again."""
    asked = []

    def solved(C, last):
        asked.append(C)
        return C, {1: 0.5, 2: 1.2, 4: 2.0, 8: 3.0}[C]

    answers = list(until_settled([1, 2, 4, 8], solved, lambda one, C: one[1] >= C, lambda one, C: (C, one[1])))
    assert asked == [1, 8, 2] and answers == [(1, 0.5), (2, 1.2), (4, 3.0), (8, 3.0)]


def test_time_that_is_up():
    assert run([1, 2, 4], 9.0, fails=2) == ([(1, 1)], [1, 2])
    assert run([1, 2, 4], 0.5, fails=4) == ([(1, 0.5)], [1, 4])
