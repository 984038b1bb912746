import numpy as np
import pytest
from sklearn.base import clone

from hinge import SVC, NuSVC
from hinge.estimators import one_vs_one

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
def test_probabilities_say_what_to_use_meanwhile(machine):
    assert not hasattr(clone(machine), "predict_proba")
    model = clone(machine).set_params(probability=True).fit(X, THREE)
    for ask in (model.predict_proba, model.predict_log_proba):
        with pytest.raises(NotImplementedError, match=rf"CalibratedClassifierCV\({type(machine).__name__}\(\)"):
            ask(X)


@pytest.mark.parametrize("machine", MACHINES)
def test_ties_are_not_broken_between_pairs(machine):
    model = clone(machine).fit(X, THREE).set_params(decision_function_shape="ovo", break_ties=True)
    with pytest.raises(ValueError, match="break_ties must be False when decision_function_shape is 'ovo'"):
        model.predict(X)
