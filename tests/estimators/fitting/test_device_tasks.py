"""Pairs of classes on a device: jointly, unless callbacks or starts need each alone, and then the same answers."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hinge import SVC
from hinge.solvers import DeviceBlock

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def three():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4)).astype(np.float32)
    return X, (X[:, 0] > 0).astype(int) + (X[:, 1] + 0.5 * rng.standard_normal(300) > 0.3)


@pytest.fixture
def counted(monkeypatch):
    """How many problems each batch had."""
    seen, real = [], DeviceBlock.init

    def init(solver, problem, *options):
        seen.append(len(getattr(problem, "members", [problem])))
        return real(solver, problem, *options)

    monkeypatch.setattr(DeviceBlock, "init", init)
    return seen


FREE_OF_LIMITS = [{}, {"class_weight": "balanced"}, {"fit_intercept": False}, {"on_interrupt": "keep"}]
WIDE_LIMITS = [{"max_time": 60}, {"max_iter": 50}, {"max_kernel_evals": 10**8}]


@pytest.mark.parametrize("options", [*FREE_OF_LIMITS, *WIDE_LIMITS])
def test_all_pairs_are_solved_jointly(three, counted, options):
    X, y = three
    model = SVC(device="cpu:0", solver="deviceblock", **options).fit(X, y)
    other = SVC(tol=1e-4, **{name: options[name] for name in ("class_weight", "fit_intercept") if name in options})
    other.fit(X, y)
    assert counted == [3] and model.stop_reason_ == "converged" and model.gap_ <= 1e-3
    np.testing.assert_allclose(model.objective_, other.objective_, rtol=1.2e-3)
    assert (model.predict(X) == other.predict(X)).mean() > 0.99
    assert model.solver_ == DeviceBlock(tol=1e-3) and model.n_kernel_evals_ > 0 and len(model.history_) == 3


@pytest.mark.parametrize("options", [{"max_iter": 1}, {"max_kernel_evals": 10**5}])
def test_limits_end_all_pairs(three, counted, options):
    X, y = three
    with pytest.warns(ConvergenceWarning):
        model = SVC(device="cpu:0", solver=DeviceBlock(block=16), C=100.0, tol=1e-6, **options).fit(X, y)
    assert counted == [3] and model.stop_reason_ == next(iter(options)) and model.gap_ > 1e-6
    assert (model.n_iter_ <= options.get("max_iter", 100)).all()


def test_pairs_that_need_many_rounds_go_on_alone(three, counted):
    X, y = three
    model = SVC(device="cpu:0", C=100.0, tol=1e-5).fit(X, y)
    assert counted[0] == 3 and set(counted[1:]) == {1}
    assert model.stop_reason_ == "converged" and model.gap_ <= 1e-5


def test_a_second_fit_begins_with_the_answers_of_the_first(three, counted):
    X, y = three
    model = SVC(device="cpu:0", solver=DeviceBlock(block=16, most=64), warm_start=True).fit(X, y)
    assert (model.n_iter_ > 1).any() and (model.fit(X, y).n_iter_ == 1).all() and counted == [3, 1, 1, 1]
