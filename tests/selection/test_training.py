"""The data of a search."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC as Theirs

from hinge import SVC, LinearSVC, LinearSVR
from hinge.selection.scoring import training_of


def test_labels_and_targets(two, targets):
    data = training_of(LinearSVC(), *two, None)
    assert data.classes.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(data.classes[data.codes], two[1])
    data = training_of(LinearSVR(), *targets, np.arange(100))
    assert data.codes is None and data.weight[3] == 3.0


def test_rows_that_are_held_out_weigh_nothing(two):
    data = training_of(SVC(), *two, np.full(120, 2.0))
    weight = data.weight_of(np.array([1, 5]))
    assert weight.sum() == 4.0 and weight[[1, 5]].tolist() == [2.0, 2.0]
    assert data.weight_of(None) is data.weight
    assert data.of_fit(np.array([1, 5])).tolist() == two[1][[1, 5]].tolist()


def test_a_class_can_be_missing(two):
    data = training_of(SVC(), *two, None)
    only = np.flatnonzero(two[1] == "no")
    assert data.lacks_a_class(only) and not data.lacks_a_class(np.arange(120))
    weighted = training_of(SVC(), *two, (two[1] == "no").astype(float))
    assert weighted.lacks_a_class(np.arange(120))


@pytest.mark.parametrize(
    ("model", "sentence"),
    [(LinearSVC(lam=0.1), "lam replaces C"), (SVC(slack=0.1), "slack replaces C"), (SVC(tol=-1.0), "tol")],
)
def test_what_leaves_no_C_to_choose(two, model, sentence):
    with pytest.raises(ValueError, match=sentence):
        training_of(model, *two, None)


def test_other_estimators_are_sent_elsewhere(two):
    with pytest.raises(TypeError, match="GridSearchCV"):
        training_of(Theirs(), *two, None)
