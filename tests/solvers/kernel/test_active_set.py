"""Small kernel problems on their whole Gram matrix."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.svm import SVC as Libsvm

from hinge import SVC, Stop, solve
from hinge.access import Gram, as_points
from hinge.kernels import Gaussian, Linear
from hinge.monitoring import Status
from hinge.problems import Expansion, KernelRegularized, KernelSlackConstrained
from hinge.solvers import ActiveSet, BlockDual, FromLandmarks, choose


@pytest.fixture
def blobs():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((90, 4))
    return X, np.where(X[:, 0] + rng.standard_normal(90) > 0, 1, -1)


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("C", [0.1, 10.0, 1e5])
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(0.3)])
def test_the_same_answer_as_by_blocks(blobs, bias, C, kernel):
    gram = Gram(as_points(blobs[0], kernel, exact=True))
    problem = KernelRegularized.from_C(gram, blobs[1], C, bias=bias)
    tol = 1e-7 if C < 1e5 else 1e-5  # float64 proves no more of coefficients that large
    ours = solve(problem, ActiveSet(), stop=Stop(tol=tol))
    assert ours.status is Status.CONVERGED and ours.certificate.gap <= tol
    theirs = solve(problem, BlockDual(), stop=Stop(tol=1e-6, max_iter=3000))
    assert ours.certificate.objective <= theirs.certificate.objective * (1 + tol)
    assert theirs.certificate.bound <= ours.certificate.objective * (1 + 1e-9)
    lo, hi = problem.limits
    assert ((lo <= ours.solution.beta) & (ours.solution.beta <= hi)).all()
    if bias == "free":
        assert ours.solution.beta.sum() == pytest.approx(0, abs=1e-9 * np.abs(ours.solution.beta).sum())


@pytest.mark.slow
def test_newton_steps_place_what_pairs_are_slow_to():
    """Unscaled features: LIBSVM is not done after a million pairs, and these are some thousands."""
    X, y = load_breast_cancer(return_X_y=True)
    model = SVC(C=10.0, kernel="linear").fit(X, y)
    assert model.gap_ <= 1e-3 and model.n_iter_ < 100
    with pytest.warns(UserWarning):
        peer = Libsvm(C=10.0, kernel="linear", max_iter=100_000).fit(X, y)
    beta = np.zeros(len(y))
    beta[peer.support_] = peer.dual_coef_[0]
    loss = np.maximum(0, 1 - np.where(y == 1, 1, -1) * peer.decision_function(X)).sum()
    theirs = (0.5 * beta @ (X @ (X.T @ beta)) + 10.0 * loss) / (10.0 * len(y))
    assert model.objective_ < theirs


def test_a_start_is_taken_up(blobs):
    gram = Gram(as_points(blobs[0], Gaussian(0.3), exact=True))
    problem = KernelRegularized.from_C(gram, blobs[1], 1.0, bias="free")
    first = solve(problem, ActiveSet(), stop=Stop(tol=1e-8))
    again = solve(problem, ActiveSet(), stop=Stop(tol=1e-6), start=first.solution)
    assert again.n_iter == 1 < first.n_iter


def test_what_it_rejects(blobs):
    X, y = blobs
    assert "use SBP" in ActiveSet().rejects(KernelSlackConstrained(X, y, 0.1, Gaussian(0.3)))
    many = KernelRegularized(np.zeros((6000, 1)), np.resize([1, -1], 6000), 0.1, Gaussian(1.0))
    assert "use BlockDual" in ActiveSet().rejects(many) and isinstance(choose(many).solver, FromLandmarks)
    assert isinstance(choose(KernelRegularized(X, y, 0.1, Gaussian(0.3))).solver, ActiveSet)


@pytest.mark.parametrize("options", [{}, {"multiclass": "ovr"}, {"class_weight": "balanced"}, {"tol": 1e-5}])
def test_problems_together_are_those_one_by_one(options):
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    together = SVC(C=3.0, **options).fit(X, y, weight)
    one_by_one = SVC(C=3.0, solver="activeset", **options).fit(X, y, weight)
    np.testing.assert_allclose(
        together.decision_function(X), one_by_one.decision_function(X), atol=0.02 if not options else 0.05
    )
    np.testing.assert_allclose(together.objective_, one_by_one.objective_, rtol=1e-3)
    np.testing.assert_allclose(together.lam_, one_by_one.lam_)
    assert together.gap_ <= together.tol and len(together.history_) == 3


def test_a_time_limit_leaves_a_model():
    from sklearn.exceptions import ConvergenceWarning

    X, y = load_iris(return_X_y=True)
    SVC().fit(X, y)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model = SVC(max_time=0.0).fit(X, y)
    assert model.stop_reason_ == "max_time" and model.gap_ == np.inf
    assert set(model.predict(X)) <= set(y)


def test_rounding_is_in_the_certificate():
    """Values of 1e4 with C = 100: float32 would claim a gap a hundred times too small."""
    rng = np.random.default_rng(140)
    A, b = 10 * rng.normal(size=(16, 12)), np.where(rng.random(16) < 0.5, 1, -1)
    gram = Gram(as_points(A, Linear()))
    assert gram.dtype == np.float32
    problem = KernelRegularized.from_C(gram, b, 100.0, bias="free")
    exact = KernelRegularized.from_C(Gram(as_points(A, Linear(), exact=True)), b, 100.0, bias="free")
    best = solve(exact, ActiveSet(), stop=Stop(tol=1e-10)).certificate.objective
    for tol in (1e-2, 1e-3, 1e-4):
        result = solve(problem, BlockDual(), stop=Stop(tol=tol, max_iter=300))
        beta = result.solution.beta
        truth = exact.objective(Expansion(beta, result.solution.b, A @ (A.T @ beta)))
        assert (truth - best) / best <= result.certificate.gap


def test_it_goes_on_from_an_answer_for_another_lam(blobs):
    X, y = blobs
    gram = Gram(as_points(X, Gaussian(0.5), exact=True))
    before, after = (KernelRegularized.from_C(gram, y, C, bias="free") for C in (0.2, 1.0))
    first = solve(before, ActiveSet(), stop=Stop(1e-6))
    begun = ActiveSet().restart(after, first.state)
    multiple = after.best_multiple(first.solution)
    np.testing.assert_allclose(ActiveSet().solution(after, begun).responses, multiple.responses, atol=1e-12)
    result = solve(after, ActiveSet(), stop=Stop(1e-6), state=begun)
    best = solve(after, ActiveSet(), stop=Stop(1e-6)).certificate
    assert result.certificate.gap <= 1e-6
    assert result.certificate.objective == pytest.approx(best.objective, rel=1e-5)


def test_an_answer_that_is_not_advanced_has_its_responses(blobs):
    """A run from a start that ends at once still says what its coefficients are worth."""
    X, y = blobs
    problem = KernelRegularized.from_C(Gram(as_points(X, Gaussian(0.5), exact=True)), y, 1.0, bias="free")
    start = solve(problem, ActiveSet(), stop=Stop(1e-3)).solution
    again = solve(problem, ActiveSet(), stop=Stop(1e-9, max_iter=0), start=start)
    np.testing.assert_allclose(again.solution.responses, start.responses, atol=1e-9)
    assert again.certificate.gap == pytest.approx(problem.certificate(again.solution).gap)
