import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import hinge
from hinge import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from hinge.display import CalibrationDisplay, ConformalDisplay, HardRowsDisplay
from hinge.estimators.pipelines import unwrap
from hinge.explain import feature_table, influential_rows, removable_rows, row_table, suspicious_rows


@pytest.fixture(scope="module")
def classes():
    X, y = make_classification(300, flip_y=0.2, random_state=0)
    return 10.0 * X + 3.0, y


@pytest.fixture(scope="module")
def pair(classes):
    """A pipeline, and the same machine fitted to the rows that the pipeline makes."""
    X, y = classes
    model = make_pipeline(StandardScaler(), LinearSVC(C=0.1, loss="hinge")).fit(X, y)
    rows = model[:-1].transform(X)
    return model, LinearSVC(C=0.1, loss="hinge").fit(rows, y), rows


TAKERS = {
    "feature_table": lambda model, X, y: feature_table(model, X).weight,
    "row_table": lambda model, X, y: row_table(model, X, y).without,
    "influential_rows": lambda model, X, y: influential_rows(model, X, y, top=5).row,
    "choose_threshold": lambda model, X, y: hinge.choose_threshold(model, X, y, cost_fn=5.0),
    "held-out threshold": lambda model, X, y: hinge.choose_threshold(model, X, y, held_out=True),
    "calibrate": lambda model, X, y: hinge.calibrate(model, X, y, method="venn_abers").predict_proba(X),
    "calibration": lambda model, X, y: CalibrationDisplay.from_estimator(model, X, y, draw=False).bins.upper,
    "hard rows": lambda model, X, y: HardRowsDisplay.from_estimator(model, X, y, draw=False).ranking,
    "predict_set": lambda model, X, y: hinge.predict_set(model, X),
    "conformalize": lambda model, X, y: hinge.predict_set(hinge.conformalize(model, X, y), X, 0.2, True),
    "coverage_score": lambda model, X, y: hinge.coverage_score(model, X, y),
    "conformal": lambda model, X, y: ConformalDisplay.from_estimator(model, X, y, draw=False).coverage,
}


@pytest.mark.parametrize("name", TAKERS)
def test_whatever_takes_a_machine_takes_a_pipeline(name, pair, classes):
    model, machine, rows = pair
    X, y = classes
    if name == "calibration":
        hinge.calibrate(model, X, y, method="venn_abers"), machine.calibrate(rows, y, method="venn_abers")
    np.testing.assert_array_equal(TAKERS[name](model, X, y), TAKERS[name](machine, rows, y))


def test_pipelines_in_pipelines_and_of_one_step(classes):
    X, y = classes
    model = Pipeline([("outer", StandardScaler()), ("inner", make_pipeline(StandardScaler(), SVC()))]).fit(X, y)
    assert hinge.predict_set(model, X).shape == (300, 2)
    machine = LinearSVC()
    found, rows = unwrap(make_pipeline(machine).fit(X, y), X)
    assert found is machine and rows is X


@pytest.mark.parametrize("machine", [LinearSVC(), SVC(), LinearSVR(), SVR()], ids=str)
def test_coverage_in_folds(machine, classes):
    X, y = classes if hasattr(machine, "predict_set") else make_regression(300, 5, noise=20.0, random_state=0)
    scores = cross_val_score(make_pipeline(StandardScaler(), machine), X, y, scoring=hinge.coverage_score, cv=3)
    assert abs(scores.mean() - 0.9) < 4 * np.sqrt(2 * 0.09 / 300)


def test_the_rows_of_the_fit_need_not_be_given(classes):
    model = make_pipeline(StandardScaler(), LinearSVC(C=0.1)).fit(*classes)
    wanted = hinge.predict_set(hinge.conformalize(model, *classes), classes[0])
    np.testing.assert_array_equal(hinge.predict_set(hinge.conformalize(model), classes[0]), wanted)


def test_other_models_are_refused_in_a_sentence(classes):
    model = make_pipeline(RidgeClassifier()).fit(*classes)
    for function, whose in ((hinge.predict_set, "classifiers"), (hinge.predict_interval, "regressions")):
        with pytest.raises(TypeError, match=f"sklearn's RidgeClassifier has no {function.__name__}.* hinge's {whose}"):
            function(model, classes[0])
    with pytest.raises(TypeError, match="hinge's SVC has no predict_interval, which is for hinge's regressions"):
        hinge.predict_interval(SVC().fit(*classes), classes[0])


@pytest.mark.parametrize("model", [LinearSVC(), SVC(), NuSVC(), LinearSVR(), SVR(), NuSVR(), OneClassSVM()], ids=str)
def test_names_of_columns_are_not_missed_where_rows_were_given_with_them(model):
    X, y = make_classification(80, 4, random_state=0)
    frame = pytest.importorskip("pandas").DataFrame(X, columns=["a", "b", "c", "d"])
    fitted = clone(model).fit(frame, y)
    calls = [lambda: fitted.predict(frame)]
    if hasattr(fitted, "calibrate"):
        calls += [lambda: fitted.calibrate(frame, y), lambda: suspicious_rows(fitted, frame, y)]
    if hasattr(fitted, "conformalize"):
        calls += [lambda: fitted.conformalize(frame, y), lambda: clone(model).fit(frame, y).conformalize()]
    if hasattr(fitted, "compress"):
        calls += [lambda: fitted.compress(frame, n_support=10)]
    if isinstance(model, LinearSVC | LinearSVR | SVC | SVR):
        calls += [lambda: removable_rows(fitted, frame, y)]
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*valid feature names")
        for call in calls:
            call()
