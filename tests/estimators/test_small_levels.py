import numpy as np
import pytest

from hinge import NuSVC, NuSVR
from hinge.estimators import small_levels
from hinge.estimators.small_tasks import Wanted
from hinge.kernels import Gaussian, Sigmoid
from hinge.monitoring import Status


def made_up(classes, n=120):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    score = X[:, 0] + 0.4 * rng.standard_normal(n)
    return X, np.digitize(score, np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1])), score


@pytest.fixture
def used(monkeypatch):
    """What came back of the compiled calls."""
    found = []
    for name in ("run_nu_classes", "run_nu_targets"):
        whole = getattr(small_levels, name)

        def kept(*args, whole=whole):
            found.append(whole(*args))
            return found[-1]

        monkeypatch.setattr(f"hinge.estimators.{'nu_svc' if 'classes' in name else 'nu_svr'}.{name}", kept)
    return found


@pytest.mark.sampled
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_classes_together_are_what_they_are_one_by_one(used, classes, weighted):
    X, y, _ = made_up(classes)
    weight = np.random.default_rng(1).integers(0, 3, len(y)) + (np.arange(len(y)) % 3 == 0) if weighted else None
    options = dict(nu=0.2, gamma=0.4, tol=1e-7)
    together = NuSVC(**options).fit(X, y, weight)
    assert len(used) == 1 and used[0] is not None
    alone = NuSVC(**options, solver="levelblocks").fit(X, y, weight)
    for name in ("decision_function", "predict"):
        np.testing.assert_allclose(getattr(together, name)(X), getattr(alone, name)(X), atol=1e-3)
    np.testing.assert_array_equal(together.support_, alone.support_)
    for name in ("objective_", "lam_", "slack_", "intercept_"):
        np.testing.assert_allclose(getattr(together, name), getattr(alone, name), rtol=1e-3, atol=1e-3)
    assert together.gap_ <= 1e-7 and together.stop_reason_ == "converged"
    assert np.ndim(together.lam_) == (classes > 2) and together.n_iter_.shape == alone.n_iter_.shape


@pytest.mark.parametrize("weighted", [False, True])
def test_targets_are_what_they_are_by_blocks(used, weighted):
    X, _, t = made_up(2)
    t = 100.0 + t
    weight = np.random.default_rng(1).uniform(0.0, 2.0, len(t)) * (np.arange(len(t)) % 4 > 0) if weighted else None
    options = dict(nu=0.3, C=3.0, gamma=0.4, tol=1e-7)
    together = NuSVR(**options).fit(X, t, weight)
    assert len(used) == 1 and used[0] is not None
    alone = NuSVR(**options, solver="levelblocks").fit(X, t, weight)
    np.testing.assert_allclose(together.predict(X), alone.predict(X), atol=2e-3)
    assert together.objective_ == pytest.approx(alone.objective_, rel=1e-6)
    assert (together.lam_, together.gap_ <= 1e-7) == (pytest.approx(alone.lam_), True)


@pytest.mark.filterwarnings("ignore:The fit ended", "ignore:The kernel is not positive")
def test_what_cannot_be_certified_is_left_to_the_other_solver(used):
    X, y, t = made_up(2)
    NuSVC(nu=0.2, kernel="sigmoid").fit(X, y)
    NuSVR(nu=0.2, kernel="sigmoid").fit(X, t)
    assert used == [None, None]


def test_a_run_that_is_cut_off_has_the_answer_so_far():
    X, y, t = made_up(3)
    wanted = Wanted(1.0, True, 1e-9, 0.0, "raise")  # it ended long ago
    for runs in (
        small_levels.run_nu_classes(X, Gaussian(0.4), y, 3, None, 0.2, wanted),
        small_levels.run_nu_targets(X, Gaussian(0.4), t, None, 0.2, wanted),
    ):
        assert set(runs.statuses) == {Status.MAX_TIME} and np.isinf(runs.gap).all()
        assert np.isfinite(runs.objective).all() and np.isfinite(runs.answers.b).all()
        assert np.isfinite(runs.answers.beta).all()
    assert small_levels.run_nu_classes(X, Sigmoid(0.1, 0.0), y, 3, None, 0.2, wanted) is None
