"""Weights of rows and of classes, validated as in scikit-learn."""

import numpy as np
import pytest

from hinge import SVC
from hinge.estimators.fitting.tasks import class_weights, per_class_weights, row_weights

# --- weights ------------------------------------------------------------------------------


def test_no_weights_are_none():
    X, y = np.ones((3, 1)), np.array([0, 1, 1])
    assert row_weights(None, X) is None
    assert per_class_weights(None, y, np.array([0, 1])) is None
    assert class_weights(y == 1, None, None, 1) is None


def test_class_weights_of_a_binary_problem_weigh_both_sides():
    positive, rows = np.array([True, False, True]), np.array([1.0, 2.0, 3.0])
    assert class_weights(positive, None, np.array([0.5, 4.0]), 1).tolist() == [4.0, 0.5, 4.0]
    assert class_weights(positive, rows, np.array([0.5, 4.0]), 1).tolist() == [4.0, 1.0, 12.0]
    assert class_weights(positive, rows, None, 1) is rows


def test_class_weights_of_many_classes_weigh_the_positive_side():
    positive, per_class = np.array([True, False, True]), np.array([0.5, 4.0, 3.0])
    assert class_weights(positive, None, per_class, 0).tolist() == [0.5, 1.0, 0.5]
    assert class_weights(positive, np.array([1.0, 2.0, 2.0]), per_class, 2).tolist() == [3.0, 2.0, 6.0]


def test_balanced_counts_the_sample_weights():
    X, y, classes = np.ones((4, 1)), np.array([0, 0, 0, 1]), np.array([0, 1])
    plain = per_class_weights("balanced", y, classes)
    np.testing.assert_allclose(plain, [4 / (2 * 3), 4 / (2 * 1)])
    rows = row_weights([1.0, 1.0, 0.0, 2.0], X)
    weighted = per_class_weights("balanced", y, classes, rows)
    assert rows.tolist() == [1.0, 1.0, 0.0, 2.0]
    np.testing.assert_allclose(weighted, [4 / (2 * 2), 4 / (2 * 2)])


def test_a_number_weighs_all_rows():
    rows = row_weights(2.0, np.ones((3, 1)))
    assert rows.tolist() == [2.0, 2.0, 2.0]


def test_rows_of_negative_weight_take_no_part():
    rows = row_weights([1.0, -2.0, 0.0, 3.0], np.ones((4, 1)))
    assert rows.tolist() == [1.0, 0.0, 0.0, 3.0]


@pytest.mark.parametrize(("value", "words"), [(np.inf, "contains infinity, in 1 of 3 .*such as 1e10"), (np.nan, "NaN")])
def test_an_infinite_weight_is_answered_with_one_that_means_it(value, words):
    with pytest.raises(ValueError, match=words):
        row_weights([1.0, value, 1.0], np.ones((3, 1)))
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1])
    kept = SVC(kernel="linear", C=0.1).fit(X, y, sample_weight=[1e10, 1.0, 1.0, 1e10])
    np.testing.assert_allclose(kept.decision_function(X[[0, 3]]), [-1.0, 1.0], atol=1e-6)
