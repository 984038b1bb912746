import numpy as np
import pytest
from sklearn.metrics import accuracy_score, make_scorer

from hinge import SVC, LinearSVC, LinearSVR
from hinge.selection.scoring import scoring_of, training_of, with_values


def test_what_scores_ask_for():
    plain, squared, likely = (scoring_of(name, False) for name in (None, "r2", "neg_log_loss"))
    assert plain.name == "accuracy" and plain.values and (plain.least, plain.most) == (0.0, 1.0)
    assert squared.values and (squared.least, squared.most) == (-np.inf, 1.0)
    assert likely.likely and not likely.values and likely.most == 0.0
    assert scoring_of("roc_auc", False).values
    own = scoring_of(make_scorer(accuracy_score), False)
    assert own.values and own.most == np.inf  # nobody knows what it can be
    assert not scoring_of(lambda model, X, y: 0.0, False).values
    with pytest.raises(ValueError, match="one number"):
        scoring_of(["accuracy", "f1"], False)
    for name in ("neg_log_loss", "roc_auc"):
        with pytest.raises(ValueError, match=f"'{name}' is for classifiers"):
            scoring_of(name, True)


@pytest.mark.parametrize("model", [LinearSVC(), SVC(), SVC(multiclass="ovr"), SVC(decision_function_shape="ovo")])
def test_a_model_by_its_values_predicts_as_the_one_they_are_of(three, model):
    data = training_of(model, *three, None)
    fitted = model.fit(*three)
    known = with_values(model, data, fitted._scores(three[0]))
    np.testing.assert_array_equal(known.predict(None), fitted.predict(three[0]))
    np.testing.assert_array_equal(known.decision_function(None), fitted.decision_function(three[0]))


def test_scores_are_weighted(targets):
    model = LinearSVR()
    known = with_values(model, training_of(model, *targets, None), np.r_[0.0, 2.0][:, None])
    y, scoring = np.array([1.0, 2.0]), scoring_of("neg_mean_absolute_error", True)
    assert scoring.score_of(known, None, y, None) == -0.5
    assert scoring.score_of(known, None, y, np.array([3.0, 1.0])) == -0.75
    assert scoring_of(lambda model, X, y: 7.0, True).score_of(known, None, y, np.ones(2)) == 7.0
