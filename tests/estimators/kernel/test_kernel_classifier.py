import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from hinge import SVC, NuSVC
from hinge.estimators.fitting import tasks as one_vs_one

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
THREE = np.digitize(X[:, 0] + 0.3 * RNG.standard_normal(60), [-0.4, 0.4])
MACHINES = [SVC(), NuSVC(nu=0.3)]


@pytest.mark.parametrize("machine", MACHINES)
def test_classes_are_those_of_the_decision_values(machine):
    model = clone(machine).fit(X, THREE)
    pairs = clone(machine).set_params(decision_function_shape="ovo").fit(X, THREE).decision_function(X)
    assert pairs.shape == (60, 3)
    np.testing.assert_array_equal(model.decision_function(X), one_vs_one.per_class(pairs, 3))
    np.testing.assert_array_equal(model.predict(X), one_vs_one.votes(pairs, 3).argmax(axis=1))
    ties = clone(machine).set_params(break_ties=True).fit(X, THREE)
    np.testing.assert_array_equal(ties.predict(X), ties.decision_function(X).argmax(axis=1))
    two = clone(machine).fit(X, THREE > 0)
    assert two.decision_function(X).shape == (60,)
    np.testing.assert_array_equal(two.predict(X), two.decision_function(X) > 0)


@pytest.mark.parametrize("machine", MACHINES)
def test_probabilities_are_there_where_they_were_asked_for(machine):
    with pytest.raises(AttributeError, match="predict_proba") as error:
        clone(machine).predict_proba  # noqa: B018
    assert "predict_proba is not available when probability=False" in str(error.value.__cause__)
    model = clone(machine).fit(X, THREE)
    assert not hasattr(model, "predict_proba") and not hasattr(model, "predict_log_proba")
    model.probability = True
    with pytest.raises(NotFittedError, match="predict_proba is not available when fitted with probability=False"):
        model.predict_proba(X)
    model.fit(X, THREE)
    assert model.probA_.shape == model.probB_.shape == (3,)
    model.set_params(probability=False).fit(X, THREE)
    assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("y", [THREE, THREE > 0], ids=["three", "two"])
def test_calibration_after_a_fit_is_that_of_the_fit(machine, y):
    at_once = clone(machine).set_params(probability=True, tol=1e-6).fit(X, y)
    later = clone(machine).set_params(tol=1e-6).fit(X, y).calibrate(X, y)
    np.testing.assert_allclose(later.predict_proba(X), at_once.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(np.exp(later.predict_log_proba(X)), later.predict_proba(X), rtol=1e-12)
    again = clone(at_once).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), at_once.predict_proba(X))  # the same bits


def test_rows_that_are_not_of_the_fit_are_refused():
    model = SVC().fit(X, THREE)
    for rows in (X[::-1], X[:50]):
        with pytest.raises(ValueError, match="Leave-one-out needs the rows of the fit"):
            model.calibrate(rows, THREE[: len(rows)])
    with pytest.raises(ValueError, match="not among"):
        model.calibrate(X, THREE + 5)
    model.calibrate(X[:50], THREE[:50], held_out=True)
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))


def test_kernel_values_of_a_calibration_are_counted():
    plain, likely = SVC().fit(X, THREE), SVC(probability=True).fit(X, THREE)
    assert plain.n_kernel_evals_ < likely.n_kernel_evals_ <= plain.n_kernel_evals_ + 3 * 60**2


@pytest.mark.parametrize("machine", MACHINES)
def test_ties_are_not_broken_between_pairs(machine):
    model = clone(machine).fit(X, THREE).set_params(decision_function_shape="ovo", break_ties=True)
    with pytest.raises(ValueError, match="break_ties must be False when decision_function_shape is 'ovo'"):
        model.predict(X)
