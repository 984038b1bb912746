"""What a worker does in a round of `hinge.dask.rounds`."""

import pickle

import numpy as np
import pytest
from dask_rounds import message_of, parts_of, some_rows, task_of

from hinge.dask.rounds import Kept, add_reports, apply_step, ascend, first_kept, kept_from
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, epsilon_insensitive


def dual_of(task, y, alpha, v, u):
    """D in sums over rows, by hand."""
    loss = task.loss
    rows = (y * alpha if loss.two_sided else alpha) - loss.epsilon * np.abs(alpha) - 0.5 * loss.curvature * alpha**2
    return rows.sum() - (v @ v + task.kappa * u**2) / (2 * task.Lam)


@pytest.mark.sampled
@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE, epsilon_insensitive(0.1)], ids=lambda loss: loss.name)
@pytest.mark.parametrize("chunks", [1, 3])
def test_changes_are_those_of_alpha_and_the_dual_rises(loss, chunks):
    X, y = some_rows()
    targets = loss.two_sided
    y = X[:, 0] + 0.3 * y if targets else y
    sign = np.ones(len(y)) if targets else y
    parts = parts_of(X, y, 4, chunks, targets)
    task = task_of(len(y), 4, loss=loss, bias="penalized", kappa=0.5)
    kept, v, u, last = [first_kept(part, 1) for part in parts], np.zeros(6), 0.0, 0.0
    for number in range(6):
        message = message_of(task, 6, sigma=4, v=v, u=u, number=number)
        done = [ascend(part, before, message) for part, before in zip(parts, kept, strict=True)]
        report, kept = add_reports(*(one.report for one in done)), [one.kept for one in done]
        v, u = v + report.dv[0], u + report.du[0]
        alpha = np.concatenate([one.after[0] for one in kept])
        np.testing.assert_allclose(v, X.T @ (alpha * sign), atol=1e-9)
        assert u == pytest.approx((alpha * sign).sum(), abs=1e-9)
        dual = dual_of(task, y, alpha, v, u)
        assert dual >= last - 1e-9
        assert report.conjugates[0] + report.rise[0] == pytest.approx(
            dual + (v @ v + task.kappa * u * u) / (2 * task.Lam)
        )
        last = dual
    assert last > 0.0
    assert 0 < report.cells.sum() <= 2 * X.size


def test_a_round_writes_to_nothing_that_it_was_given_and_can_be_done_again():
    X, y = some_rows()
    part = parts_of(X, y, 2, 2)[0]
    task = task_of(len(y), 2)
    message = message_of(task, 6, sigma=2)
    kept = first_kept(part, 1)
    first = ascend(part, kept, message)
    assert not kept.after.any()
    message = message_of(task, 6, sigma=2, v=first.report.dv[0], number=1)
    before = pickle.dumps(first.kept)
    again = [ascend(pickle.loads(pickle.dumps(part)), first.kept, message) for _ in range(2)]
    assert pickle.dumps(first.kept) == before
    assert pickle.dumps(again[0]) == pickle.dumps(again[1])


def test_parts_and_rounds_draw_apart():
    X, y = some_rows()
    part = parts_of(X, y, 1)[0]
    task, kept = task_of(len(y), 1), first_kept(part, 1)
    message = message_of(task, 6, sigma=1, passes=1)
    first = ascend(part, kept, message).report.dv
    assert not np.array_equal(first, ascend(part._replace(number=1), kept, message).report.dv)
    assert not np.array_equal(first, ascend(part, kept, message_of(task, 6, sigma=1, passes=1, number=1)).report.dv)


def test_one_part_alone_solves_the_problem():
    X, y = some_rows()
    part = parts_of(X, y, 1, 3)[0]
    task = task_of(len(y), 1)
    done = ascend(part, first_kept(part, 1), message_of(task, 6, sigma=1, passes=60))
    v, alpha = done.report.dv[0], done.kept.after[0]
    primal = np.maximum(0, 1 - y * (X @ v) / task.Lam).sum() + v @ v / (2 * task.Lam)
    assert primal - dual_of(task, y, alpha, v, 0.0) <= 1e-3 * primal


def test_part_of_a_step():
    before, after = np.array([[0.0, 1.0, 0.3], [0.1, 0.2, 0.3]]), np.array([[1.0, 0.0, 0.3], [0.4, 0.5, 0.6]])
    alpha = apply_step(Kept(before, after), np.array([0.25, 1.0]))
    np.testing.assert_allclose(alpha, [[0.25, 0.75, 0.3], [0.4, 0.5, 0.6]])
    assert apply_step(kept_from(alpha), np.array([0.5, 0.5])).tobytes() == alpha.tobytes()


def test_a_part_that_weighs_nothing_changes_nothing():
    X, _ = some_rows(20)
    part = parts_of(X, np.resize([-1, 1], 20), 1)[0]
    part = part._replace(y=np.zeros(20, np.uint8))
    task = task_of(20, 2)._replace(per_class=np.array([0.0, 1.0]))
    report = ascend(part, first_kept(part, 1), message_of(task, 6, sigma=2)).report
    assert not report.dv.any()
    assert (report.gap[0], report.cells[0]) == (0.0, 0)
