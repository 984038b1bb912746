import numpy as np
import pytest

pytest.importorskip("distributed", reason="hinge[dask] is not installed")
from dask_rounds import parts_of, some_rows, task_of

from hinge.dask import rounds as file
from hinge.dask.cluster import Cluster, ClusterFit
from hinge.dask.rounds import Place, Report, Rounds
from hinge.monitoring import Status, Stop
from hinge.problems import Regularized, Solution


def run(parts, tasks, look=lambda record, answers: False, d=6, **options):
    limits = {name: options.pop(name) for name in ("tol", "max_iter", "max_time") if name in options}
    settings = dict(cells=1 << 22, centre=0.0, seed=0) | options
    fit = ClusterFit(Cluster(), parts, tuple(tasks), d, 1.0, Stop(**limits), 0.0, look)
    return Rounds(fit, **settings).run(keep=False)


def report_of(dv, rise, apart, du=0.0):
    one = np.ones(1)
    return Report(np.array([dv]), one * du, one * apart, one, one * rise, one, one, one, one)


def test_a_step_that_is_too_long_is_shortened_to_where_the_dual_is_highest():
    task = task_of(100, 4)  # Λ = 1
    place = Place(task, np.zeros(2), 2.0, False)
    place.move(report_of([2.0, 0.0], rise=1.0, apart=1.0), 0, 1.0)
    assert place.step == pytest.approx(0.25)
    np.testing.assert_allclose(place.v, [0.5, 0.0])
    assert place.sigma == pytest.approx(4.0)  # what was needed
    place.move(report_of([0.1, 0.0], rise=1.0, apart=0.01), 0, 1.0)
    assert (place.step, place.sigma) == (1.0, 4.0)  # twice what was too small
    place = Place(task, np.zeros(2), 4.0, False)
    place.move(report_of([0.1, 0.0], rise=1.0, apart=0.01), 0, 1.0)
    assert place.sigma == pytest.approx(2.5)  # halfway to 1


def test_the_bias_multiplier_follows_the_sum_of_all_parts():
    place = Place(task_of(100, 4, bias="free"), np.zeros(2), 1.0, False, kappa=0.5)
    place.move(report_of([0.1, 0.0], rise=1.0, apart=0.02, du=0.4), 0, 1.0)
    assert place.beta == place.b == pytest.approx(0.2)
    place = Place(task_of(100, 4, bias="penalized"), np.zeros(2), 1.0, False, kappa=0.25)
    place.move(report_of([0.1, 0.0], rise=1.0, apart=0.02, du=0.4), 0, 1.0)
    assert place.b == pytest.approx(0.4 * 0.2)
    assert place.beta == pytest.approx(0.8 * place.b)


def test_kappa_grows_while_the_bias_goes_one_way_and_shrinks_when_it_turns():
    place = Place(task_of(100, 4, bias="free"), np.zeros(2), 1.0, False, kappa=0.5)
    found = []
    for du in (0.4, 0.4, -2.0):
        place.move(report_of([0.1, 0.0], rise=1.0, apart=0.02, du=du), 0, 1.0)
        found.append(place.kappa)
    assert found == [0.5, 1.0, 0.25]


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["none", "free", "penalized"])
def test_certificates_are_those_of_the_whole_problem(bias):
    X, y = some_rows()
    parts = parts_of(X, y, 4, 2)
    outcome = run(parts, [task_of(len(y), 4, lam=0.1, bias=bias, kappa=0.1)], tol=1e-3)
    assert outcome.status is Status.CONVERGED
    whole = Regularized(X, y, 0.1, bias=bias)
    (answer,), (certificate,) = outcome.answers, outcome.certificates
    assert whole.objective(answer) <= certificate.objective <= whole.objective(answer) * (1 + 1e-12)
    if bias == "free":  # the bias is near the best one
        best = whole.best_bias(whole.responses(answer.w))
        assert certificate.objective <= whole.objective(Solution(answer.w, best)) * (1 + 1e-6)


def test_alpha_comes_to_the_client_and_changes_nothing(monkeypatch):
    X, y = some_rows()
    parts, answers = parts_of(X, y, 4), []
    for often in (10**6, 2):
        monkeypatch.setattr(file, "KEPT_ROUNDS", often)
        outcome = run(parts, [task_of(len(y), 4, lam=1e-4)], tol=0.0, max_iter=24)
        answers.append(outcome.answers[0].w.tobytes())
        assert outcome.passes == 24
    assert answers[0] == answers[1]


def test_who_looks_on_may_end_it():
    X, y = some_rows()
    seen = []

    def look(record, answers):
        seen.append(record)
        return record.iteration == 2

    outcome = run(parts_of(X, y, 2), [task_of(len(y), 2)], look, tol=0.0)
    assert outcome.status is Status.CALLBACK
    assert [record.iteration for record in seen] == [1, 2]
    assert outcome.history == seen
    assert np.isfinite(outcome.certificates[0].gap)


def test_it_ends_where_no_progress_is_possible():
    X, y = np.eye(4), np.array([1, -1, 1, -1])
    outcome = run(parts_of(X, y, 2), [task_of(4, 2, lam=10.0)], tol=0.0, max_iter=10**4, d=4)
    assert outcome.status is Status.STALLED
    assert outcome.certificates[0].gap <= 1e-13
