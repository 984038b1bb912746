"""One answer for all training rows is said, and nothing else is."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from hinge import SVC, ConstantPredictionWarning, LinearSVC
from hinge.estimators.fitting.reports import FEW_ROWS, rules_out_constant, warn_if_constant


def rare(n=2000, share=0.01):
    """Classes that lie in each other, one of them rare."""
    rng = np.random.default_rng(0)
    y = (np.arange(n) < share * n).astype(int)
    return rng.normal(size=(n, 4)) + 0.3 * y[:, None], np.array(["no", "yes"])[y]


@pytest.mark.sampled
@pytest.mark.parametrize("model", [LinearSVC(), LinearSVC(loss="hinge"), SVC()], ids=str)
@pytest.mark.parametrize("sparse", [False, True])
def test_a_class_that_is_never_predicted(model, sparse):
    X, y = rare()
    X = sp.csr_matrix(X) if sparse else X
    with pytest.warns(ConstantPredictionWarning, match="class 'no' for all of its 2,000 .* 20 are of other") as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__
    assert set(model.predict(X)) == {"no"}


@pytest.mark.parametrize("model", [LinearSVC(class_weight="balanced"), SVC(class_weight="balanced")], ids=str)
def test_what_the_warning_advises(model):
    X, y = rare()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(model.fit(X, y).predict(X)) == {"no", "yes"}


def test_several_classes():
    X, y = rare()
    y[-5:] = "perhaps"
    with pytest.warns(ConstantPredictionWarning, match="25 are of other classes"):
        LinearSVC().fit(X, y)


def test_all_rows_are_looked_at_before_anything_is_said():
    codes = np.zeros(1000, int)
    codes[:100] = 1
    answers = np.zeros(1000, int)
    answers[77] = 1  # a row that the first look misses
    asked = []

    def predicted(rows):
        asked.append(rows)
        return answers[rows]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_constant(codes, np.array([0, 1]), predicted, of_each_kind=32)
    assert len(asked) == 4 and asked[3] == slice(None)
    assert len(asked[2]) == 2 * 32 and 77 not in asked[2]
    assert (codes[asked[2]] == 1).sum() == 32


def test_few_rows_and_fits_that_were_cut_off_are_no_news():
    X, y = rare()
    few = np.r_[0:3, 100 : 100 + FEW_ROWS - 4]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConstantPredictionWarning)
        LinearSVC().fit(X[few], y[few])
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", ConstantPredictionWarning)
        LinearSVC(max_iter=1, solver="pegasos", loss="hinge").fit(X, y)


def test_a_small_loss_rules_one_answer_out():
    codes = np.repeat([0, 1], [70, 30])
    assert rules_out_constant(codes, 0.29) and rules_out_constant(1 - codes, 0.29)
    assert not rules_out_constant(codes, 0.3)  # which all rows of the rare class on the wrong side would cost
    three = np.repeat([0, 1, 2], [2, 3, 5])  # five rows of other classes than the last cost two each
    assert rules_out_constant(three, np.array([0.3, 0.3, 0.39]))
    assert not rules_out_constant(three, np.array([0.3, 0.3, 0.4]))
