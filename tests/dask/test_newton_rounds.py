import numpy as np
import pytest

pytest.importorskip("distributed", reason="hinge[dask] is not installed")
from dask_rounds import parts_of, some_rows, task_of

from hinge.dask import newton_rounds
from hinge.dask.cluster import Cluster, ClusterFit
from hinge.dask.newton_rounds import NewtonRounds, PassRequest, found_together, sample_of, started, summed_up
from hinge.monitoring import Status, Stop
from hinge.problems import Regularized
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, epsilon_insensitive
from hinge.solvers import Newton, solve
from hinge.solvers.newton.pass_sums import PassQuery, sums_of


def run(parts, tasks, n, look=lambda record, answers: False, d=6, **limits):
    fit = ClusterFit(Cluster(), parts, tuple(tasks), d, 1.0, Stop(**limits), 0.0, look)
    return NewtonRounds(fit, rows=n, cells=n * d).run(keep=False)


@pytest.mark.sampled
@pytest.mark.parametrize("bias", ["none", "free", "penalized"])
@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE, epsilon_insensitive(0.1)], ids=lambda loss: loss.name)
def test_certificates_are_those_of_the_whole_problem_in_few_passes(loss, bias):
    X, y = some_rows(1200)
    y = X @ np.arange(6.0) + y if loss.two_sided else y
    parts = parts_of(X, y, 4, 2, targets=loss.two_sided)
    outcome = run(parts, [task_of(1200, 4, lam=1e-4, loss=loss, bias=bias)], 1200, tol=1e-3)
    assert outcome.status is Status.CONVERGED and outcome.passes <= 14
    whole = Regularized(X, y, 1e-4, loss=loss, bias=bias)
    (answer,), (certificate,) = outcome.answers, outcome.certificates
    assert whole.objective(answer) <= certificate.objective <= whole.objective(answer) * (1 + 1e-12)
    assert certificate.bound <= solve(whole, Newton(), stop=Stop(1e-6)).certificate.objective
    assert [record.passes for record in outcome.history] == list(range(1, outcome.passes + 1))
    assert outcome.reads >= outcome.passes * X.size and outcome.moved > 0


def test_sums_of_parts_are_those_of_the_whole_for_all_tasks():
    X, y = some_rows()
    tasks = task_of(400, 4), task_of(400, 4, loss=SQUARED_HINGE)
    question = PassQuery(np.full(7, 0.1), np.full(7, 0.2), np.zeros(2), 0.2, 0.2)
    found = found_together(*(summed_up(part, PassRequest(tasks, (question,) * 2)) for part in parts_of(X, y, 3, 2)))
    for sums, loss in zip(found.sums, (HINGE, SQUARED_HINGE), strict=True):
        whole = sums_of(Regularized(X, y, 1e-2, loss=loss), question)
        np.testing.assert_allclose(sums.H, whole.H, rtol=1e-12)
        np.testing.assert_allclose(sums.z, whole.z, rtol=1e-12)
    assert found.cells >= 2 * X.size


def test_a_part_that_weighs_nothing_adds_nothing():
    X, y = some_rows()
    weight = (np.arange(400) < 200).astype(float)
    parts = parts_of(X, y, 2, weight=weight)
    question = PassQuery(np.full(7, 0.1), np.full(7, 0.2), np.zeros(6), 0.2, 0.2)
    asked = PassRequest((task_of(200, 2),), (question,))
    both = found_together(*(summed_up(part, asked) for part in parts))
    np.testing.assert_array_equal(both.sums[0].z, summed_up(parts[0], asked).sums[0].z)


def test_samples_are_of_all_parts():
    X, y = some_rows(3000)
    samples = [sample_of(part, 4) for part in parts_of(X, y, 3, 2)]
    assert [sample.n for sample in samples] == [250] * 3
    task = task_of(3000, 3, lam=1e-2, bias="free")
    best = solve(Regularized(X, y, 1e-2, bias="free"), Newton(), stop=Stop(1e-6)).solution
    np.testing.assert_allclose(started(task, *samples), [*best.w, best.b], atol=0.4)
    alike = [sample_of(part, 1) for part in parts_of(X[y > 0], y[y > 0], 2)]
    assert started(task, *alike) is None


def test_tasks_that_are_done_are_not_asked_again_and_rounding_ends_the_others(monkeypatch):
    X, y = some_rows(1200)
    tasks = [task_of(1200, 2, lam=1e-1, loss=SQUARED_HINGE), task_of(1200, 2, lam=1e-3)]
    asked = []

    def noted(part, message):
        asked.append(len(message.tasks))
        return summed_up(part, message)

    monkeypatch.setattr(newton_rounds, "summed_up", noted)
    assert run(parts_of(X, y, 2), tasks, 1200, tol=1e-4).status is Status.CONVERGED
    assert asked[0] == 2 and asked[-1] == 1
    assert run(parts_of(X, y, 2), tasks[:1], 1200, tol=0.0, max_iter=100).status is Status.STALLED
