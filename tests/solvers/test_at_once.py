import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from hinge import LinearSVC, LinearSVR, Regularized, Solution, Stop, solve
from hinge.monitoring import Status
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, epsilon_insensitive
from hinge.solvers import SDCA, Newton, SubspaceSDCA, at_once, choose
from hinge.solvers.at_once import Attempt, solve_at_once

LOSSES = [HINGE, SQUARED_HINGE, epsilon_insensitive(0.1)]


def problem(n=200, d=8, lam=1e-2, loss=HINGE, bias="penalized", kind=np.asarray, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    score = X @ rng.standard_normal(d) + rng.standard_normal(n)
    return Regularized(kind(X), score if loss.two_sided else np.where(score > 0, 1, -1), lam, loss=loss, bias=bias)


@pytest.mark.parametrize("bias", ["none", "penalized"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize(("n", "d"), [(200, 8), (40, 60)])
def test_the_optimum_is_that_of_the_driver(n, d, loss, kind, bias):
    made = problem(n, d, loss=loss, kind=kind, bias=bias)
    result = solve_at_once(made, Stop(tol=1e-5)).result
    other = solve(made, SDCA(), stop=Stop(tol=1e-5, max_iter=10**7))
    assert result.status is Status.CONVERGED and result.certificate.gap <= 1e-5
    assert result.certificate.objective == pytest.approx(other.certificate.objective, rel=2e-5)
    assert made.certificate(result.solution).gap <= 1e-5
    assert result.history[-1].feature_reads == result.n_iter <= made.reads
    assert isinstance(result.solver, Newton | SubspaceSDCA)


@pytest.mark.parametrize(
    ("made", "stop"),
    [
        (problem(30_000, 20), Stop()),
        (problem(bias="free"), Stop()),
        (
            Regularized(sp.eye_array(20_000, 90_000, format="csr"), np.resize([1, -1], 20_000), 1e-2),
            Stop(),
        ),  # like text
        (problem(), Stop(max_reads=10**6)),
        (problem(), Stop(max_iter=10**6)),
        (problem(), Stop(tol=1e-8)),
    ],
)
def test_the_rest_is_left_to_the_driver(made, stop):
    assert solve_at_once(made, stop) == Attempt()
    assert made.reads == 0


def like_text(n, lam=1e-3, bias="none"):
    rng = np.random.default_rng(0)
    X = sp.random_array((n, 9000), density=20 / 9000, rng=rng, format="csr")
    return Regularized(X, np.where(X @ rng.standard_normal(9000) > 0, 1, -1), lam, bias=bias)


@pytest.mark.parametrize("bias", ["none", "penalized", "free"])
@pytest.mark.parametrize("lam", [1e-2, 1e-5])
def test_text_is_solved_by_the_ascent_of_auto(lam, bias):
    made = like_text(1000, lam, bias)
    result = solve_at_once(made, Stop(tol=1e-4)).result
    assert result.status is Status.CONVERGED and len(result.history) == 1
    assert made.certificate(result.solution).gap <= 1e-4 and type(result.solution) is Solution
    assert type(result.solver) is type(choose(made, tol=1e-4).solver)
    other = solve(made, SDCA(), stop=Stop(tol=1e-5, max_iter=10**7))
    assert result.certificate.objective == pytest.approx(other.certificate.objective, rel=2e-4)


def test_text_that_somebody_watches_has_a_history_unless_it_is_short():
    made = like_text(3000)
    assert solve_at_once(made, Stop()).result is not None
    assert solve_at_once(like_text(3000), Stop(), watched=True) == Attempt()
    assert solve_at_once(like_text(300), Stop(), watched=True).result is not None


def test_an_ascent_that_takes_long_is_handed_on(monkeypatch):
    monkeypatch.setattr(at_once, "MOST_PASSES", 2)
    attempt = solve_at_once(like_text(1000, 1e-6), Stop(tol=1e-5))
    assert attempt.result is None and np.count_nonzero(attempt.answer.alpha) > 500
    assert solve_at_once(like_text(1000), Stop(max_time=0.0)) == Attempt()


def test_few_passes_are_left_to_the_driver_who_warns():
    assert solve_at_once(problem(), Stop(), passes=20) == Attempt()
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="iteration limit"):
        LinearSVC(loss="hinge", C=1e4, max_iter=3).fit(X, y)


def test_an_answer_that_is_not_certified_is_a_start():
    made = problem(200, 20, lam=1e-7)
    attempt = solve_at_once(made, Stop(tol=1e-5), passes=100)
    assert attempt.result is None and attempt.answer.alpha.shape == (200,)
    cold = made.certificate(attempt.answer._replace(w=np.zeros(20), alpha=np.zeros(200)))
    assert made.certificate(attempt.answer).objective < cold.objective


def test_no_time_is_no_attempt():
    assert solve_at_once(problem(), Stop(max_time=0.0)) == Attempt()


def test_estimators_use_it():
    X, y = load_iris(return_X_y=True)
    model = LinearSVC().fit(X, y)
    assert [len(history) for history in model.history_] == [1, 1, 1]
    assert model.gap_ <= model.tol and model.n_iter_ > 1 and model.stop_reason_ == "converged"
    other = LinearSVC(solver="newton").fit(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=2e-2)
    assert len(LinearSVR().fit(X, y).history_) == 1
