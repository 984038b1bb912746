"""All problems of a small kernel fit as one batch."""

import numpy as np
import pytest
from sklearn.base import clone

from hinge import SVC, SVR, NuSVC, NuSVR
from hinge.estimators.fitting import runs
from hinge.estimators.fitting.tasks import fits_in_batch, tasks_of
from hinge.estimators.kernel import kernel_machine
from hinge.kernels import Function, Gaussian
from hinge.solvers import ActiveSet
from hinge.solvers.kernel import active_batch
from hinge.solvers.kernel.active_rounds import MOST


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["ovo", "ovr"])
@pytest.mark.parametrize("weighted", [False, True])
def test_together_they_are_what_they_are_one_by_one(shape, weighted):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 3))
    y = np.digitize(X[:, 0] + 0.4 * rng.standard_normal(90), [-0.5, 0.5])
    weight = rng.integers(0, 3, 90) + (np.arange(90) % 5 == 0) if weighted else None
    options = dict(gamma=0.4, C=2.0, tol=1e-6, decision_function_shape=shape, random_state=0)
    together = SVC(**options).fit(X, y, weight)
    alone = SVC(**options, solver="blockdual").fit(X, y, weight)
    np.testing.assert_allclose(together.decision_function(X), alone.decision_function(X), atol=2e-2)
    np.testing.assert_allclose(together.intercept_, alone.intercept_, atol=2e-2)
    assert (together.predict(X) == alone.predict(X)).mean() > 0.98
    assert together.gap_ <= 1e-6


def small(sizes, memory=1e9, one_vs_one=True, kernel=None, rounded=False):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    tasks = tasks_of(codes, len(sizes), None, None, None, one_vs_one=one_vs_one and len(sizes) > 2)
    return fits_in_batch(tasks, len(codes), kernel or Gaussian(1.0), memory, rounded=rounded)


def test_what_counts_as_small():
    half = MOST // 2
    assert small([half, half, 10])
    assert not small([half, half + 1, 10])  # the two largest meet
    assert small([half, half]) and not small([half, half, 10], one_vs_one=False)
    assert not small([half, half], memory=8.0 * MOST**2 - 1)
    assert not small([5, 5], kernel=Function(lambda x, z: 1.0))
    assert small([MOST, MOST, 10, 10, 10])  # of many classes pairs may be larger
    assert not small([MOST, MOST + 1, 10, 10, 10]) and not small([MOST, MOST, 10, 10])
    assert small([2 * MOST, 2 * MOST, 10, 10, 10], rounded=True)  # and yet larger in single precision
    assert not small([2 * MOST, 2 * MOST + 1, 10, 10, 10], rounded=True)


def test_large_pairs_whose_steps_are_slow_are_left_to_the_other_solver(monkeypatch):
    """Points of five classes in one place, for a large C: the batch is given up, and its kernel values are counted."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 3)), np.arange(200) % 5
    monkeypatch.setattr(active_batch, "LARGEST_PAIR", 50)
    model, alone = (SVC(1e4, gamma=1.0, tol=0.1, solver=solver).fit(X, y) for solver in ("auto", ActiveSet()))
    assert model.solver_ == ActiveSet() and model.gap_ <= 0.1  # of a batch it has a tolerance
    assert model.n_kernel_evals_ == alone.n_kernel_evals_ + 200 * 201 // 2
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))


def made_up(classes, n=120):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    score = X[:, 0] + 0.4 * rng.standard_normal(n)
    return X, np.digitize(score, np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1])), score


@pytest.fixture
def used(monkeypatch):
    """What the batches gave."""
    found, run_in_batch = [], runs.run_in_batch

    def noted(*args, **options):
        found.append(run_in_batch(*args, **options))
        return found[-1]

    monkeypatch.setattr(kernel_machine, "run_in_batch", noted)
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


@pytest.mark.filterwarnings("ignore:The fit ended", "ignore:Solver terminated early")
@pytest.mark.parametrize("limit", [{"max_time": 0.0}, {"max_iter": 0}], ids=str)
@pytest.mark.parametrize("model", [SVC(gamma=0.4, tol=1e-9), NuSVC(nu=0.2, gamma=0.4), NuSVR(nu=0.2)], ids=repr)
def test_a_run_that_is_cut_off_has_the_answer_so_far(model, limit, used):
    X, y, t = made_up(3)
    clone(model).set_params(**limit).fit(X, t if isinstance(model, NuSVR) else y)
    ((ends, answers, *_),) = used
    assert {status.name.lower() for status in ends.statuses} == set(limit)
    assert (ends.gaps > 1e-3).all() and (ends.rounds == 0).all()
    assert np.isfinite(ends.objectives).all()
    assert np.isfinite(answers.b).all() and np.isfinite(answers.beta).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [SVC(), NuSVC(nu=0.2)], ids=repr)
def test_a_limit_of_the_rounds_holds_for_each_class_pair(model, used):
    """It chooses no other solver, and what no limit cuts off is what the batch of all pairs gives."""
    X, y, _ = made_up(3)
    whole = clone(model).fit(X, y)
    limited = clone(model).set_params(max_iter=1).fit(X, y)
    enough = clone(model).set_params(max_iter=int(whole.n_iter_.max())).fit(X, y)
    assert len(used) == 3 and None not in used
    assert type(limited.solver_) is type(enough.solver_) is ActiveSet
    assert limited.n_iter_.max() == 1 < whole.n_iter_.max()
    np.testing.assert_array_equal(enough.n_iter_, whole.n_iter_)
    np.testing.assert_allclose(enough.decision_function(X), whole.decision_function(X), atol=1e-9)
    assert (enough.stop_reason_, limited.stop_reason_) == ("converged", "max_iter")


@pytest.mark.parametrize(
    "model", [SVC(), SVC(multiclass="ovr"), SVC(kernel="linear"), NuSVC(nu=0.1), SVR(), NuSVR()], ids=repr
)
def test_the_reported_solver_ran(model, monkeypatch):
    """`solver_` is the object whose `advance` ran, and rounds, records and kernel values are those of its run."""
    X, y, t = made_up(3)
    ran, results = [], []
    advance, run = ActiveSet.advance, runs.solve
    monkeypatch.setattr(ActiveSet, "advance", lambda self, *args: ran.append(self) or advance(self, *args))
    monkeypatch.setattr(runs, "solve", lambda *args, **kw: results.append(run(*args, **kw)) or results[-1])
    model.fit(X, t if isinstance(model, SVR | NuSVR) else y)
    (result,) = results
    assert ran and all(solver is model.solver_ for solver in ran) and model.solver_ is result.solver
    assert np.sum(model.n_iter_) == result.n_iter
    histories = model.history_ if len(np.atleast_1d(model.n_iter_)) > 1 else [model.history_]
    assert [history[-1].iteration for history in histories] == np.atleast_1d(model.n_iter_).tolist()
    assert max(history[-1].gap for history in histories) == model.gap_ <= 1e-3
    assert {history[-1].kernel_evals for history in histories} == {model.n_kernel_evals_}
