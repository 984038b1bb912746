"""Pairs of classes on a device: at once where that is all that is asked for, and the same answers if not."""

import numpy as np
import pytest

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
    """How many problems were solved at once."""
    from hinge.solvers.kernel import device_pairs

    seen, real = [], device_pairs.solve_pairs

    def solve_pairs(problems, *options):
        seen.append(len(problems))
        return real(problems, *options)

    monkeypatch.setattr(device_pairs, "solve_pairs", solve_pairs)
    return seen


@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}, {"fit_intercept": False}, {"max_time": 60}])
def test_all_pairs_are_solved_at_once(three, counted, options):
    X, y = three
    model = SVC(device="cpu:0", solver="deviceblock", **options).fit(X, y)
    other = SVC(tol=1e-4, **options).fit(X, y)
    assert counted == [3] and model.stop_reason_ == "converged" and model.gap_ <= 1e-3
    np.testing.assert_allclose(model.objective_, other.objective_, rtol=1.2e-3)
    assert (model.predict(X) == other.predict(X)).mean() > 0.99
    assert isinstance(model.solver_, DeviceBlock) and model.n_kernel_evals_ > 0 and len(model.history_) == 3


@pytest.mark.parametrize(
    "options", [{"max_iter": 50}, {"on_interrupt": "keep"}, {"max_kernel_evals": 10**8, "solver": DeviceBlock()}]
)
def test_not_where_more_is_asked_for(three, counted, options):
    X, y = three
    SVC(device="cpu:0", **options).fit(X, y)
    assert counted == []


def test_a_pair_that_is_not_done_goes_on_alone(three, counted, monkeypatch):
    from hinge.solvers.kernel import device_pairs

    monkeypatch.setattr(device_pairs, "ROUNDS", 1)
    X, y = three
    model = SVC(device="cpu:0", solver=DeviceBlock(block=32), C=10.0).fit(X, y)
    assert counted == [3] and model.stop_reason_ == "converged" and model.gap_ <= 1e-3


def test_a_second_fit_begins_with_the_answers_of_the_first(three, counted):
    X, y = three
    model = SVC(device="cpu:0", warm_start=True).fit(X, y)
    assert (model.n_iter_ > 1).any() and (model.fit(X, y).n_iter_ == 1).all() and counted == [3]
