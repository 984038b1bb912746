import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from hinge import SVC, SVCCV, LinearSVC, LinearSVCCV
from hinge.selection.searching import OF_THE_SEARCH

CS = [0.01, 1.0]


@pytest.mark.parametrize("model", [LinearSVCCV(Cs=CS, cv=3), SVCCV(Cs=CS, gammas=[0.3], cv=3)])
def test_it_is_the_plain_model_that_was_chosen(two, model):
    X, y = two
    model = clone(model).fit(X, y)
    plain = model.best_estimator_
    assert plain.C == model.C_ == model.C
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))
    assert {name for name in vars(plain) if name.endswith("_")} <= set(vars(model))
    np.testing.assert_array_equal(model.calibrate(X, y).predict_proba(X), plain.calibrate(X, y).predict_proba(X))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_without_a_last_fit_there_are_scores_alone(two):
    model = LinearSVCCV(Cs=CS, cv=3, refit=False).fit(*two)
    assert model.C_ in CS and model.scores_.shape == (2, 3)
    with pytest.raises(NotFittedError):
        model.predict(two[0])
    with pytest.raises(ValueError, match="refit"):
        LinearSVCCV(Cs=CS, refit="yes").fit(*two)


def test_nothing_of_an_earlier_fit_stays(two, three):
    model = LinearSVCCV(Cs=CS, cv=3).fit(*three)
    model.calibrate(*three)
    model.fit(*two)
    assert not hasattr(model, "probA_") and len(model.classes_) == 2


def test_other_parameters_reach_the_fits(two):
    model = SVCCV(Cs=CS, gammas=[0.3], cv=3, class_weight="balanced", tol=1e-5, probability=True).fit(*two)
    plain = SVC(C=model.C_, gamma=0.3, class_weight="balanced", tol=1e-5).fit(*two)
    np.testing.assert_array_equal(model.decision_function(two[0]), plain.decision_function(two[0]))
    assert model.predict_proba(two[0]).shape == (120, 2)


@pytest.mark.parametrize("kind", [LinearSVCCV, SVCCV])
def test_every_parameter_of_the_plain_one_is_there_or_fixed(kind):
    plain = {SVCCV: SVC, LinearSVCCV: LinearSVC}[kind]
    for name in set(plain().get_params()) - set(kind().get_params()) - {"C", "gamma"}:
        assert getattr(kind, name) == plain().get_params()[name]
    shared = set(plain().get_params()) & set(kind().get_params()) - set(OF_THE_SEARCH)
    assert all(getattr(kind(), name) == getattr(plain(), name) for name in shared)
