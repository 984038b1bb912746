import numpy as np
import pytest
from sklearn.base import clone

from hinge import SVC, LinearSVC
from hinge.selection.paths import Refits
from hinge.selection.scoring import training_of


@pytest.mark.parametrize(("model", "gamma"), [(LinearSVC(), None), (SVC(), 0.5), (SVC(kernel="precomputed"), None)])
def test_they_are_plain_fits(two, parts, model, gamma):
    X, y = two
    train, test = parts
    values = X @ X.T if model.get_params().get("kernel") == "precomputed" else X
    data = training_of(clone(model), values, y, None)
    found = [one for (one,) in Refits(model, data, gamma, likely=True).along([parts], [0.1, 1.0], 1e-3, None)]
    assert [one.C for one in found] == [0.1, 1.0]
    held_out = values[np.ix_(test, train)] if values is not X else X[test]
    for one in found:
        assert len(one.predict(held_out)) == len(test)
        np.testing.assert_allclose(one.predict_proba(held_out).sum(axis=1), 1.0)
    if gamma is not None:
        assert found[0].kernel_.gamma == gamma


def test_a_class_that_is_missing_is_never_predicted(three):
    X, y = three
    data = training_of(LinearSVC(), X, y, None)
    fold = np.flatnonzero(y != 2), np.flatnonzero(y == 2)
    ((found,),) = Refits(LinearSVC(), data, None).along([fold], [1.0], 1e-2, None)
    assert found.classes_.tolist() == [0, 1]


def test_the_clock(two):
    data = training_of(LinearSVC(), *two, None)
    assert list(Refits(LinearSVC(), data, None).along([(np.arange(100), np.arange(100, 120))], [1.0], 1e-2, 0.0)) == []
