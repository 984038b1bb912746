import numpy as np
import pytest

from hinge.problems import Regularized, Solution
from hinge.problems.batch import Batch, BatchSolution

X = np.random.default_rng(0).standard_normal((30, 4))
ONE, OTHER = (np.where(X[:, k] > 0, 1, -1) for k in (0, 1))


def test_tasks_add_up_and_the_worst_gap_counts():
    first = Regularized(X, ONE, 0.1)
    both = Batch([first, Regularized(first.matrix, OTHER, 0.2)])
    answers = BatchSolution(tuple(Solution(np.full(4, 0.1), 0.0, np.full(30, a)) for a in (0.5, 0.2)))
    every = [task.certificate(answer) for task, answer in zip(both.members, answers.members, strict=True)]
    found = both.certificate(answers)
    for own, alone in zip(found.members, every, strict=True):
        assert own == pytest.approx(alone, rel=1e-13, nan_ok=True)  # sums are made in another order
    assert found.objective == sum(c.objective for c in found.members)
    assert found.gap == max(c.gap for c in found.members)
    assert both.objective(answers) == pytest.approx(found.objective, rel=1e-9)
    assert both.final_answer(answers, found).members[0].w is answers.members[0].w
    assert both.reads == first.matrix.reads > 0 and both.pass_cells == 120


def test_they_have_the_same_rows():
    with pytest.raises(ValueError, match="the same matrix"):
        Batch([Regularized(X, ONE, 0.1), Regularized(X.copy(), OTHER, 0.1)])
