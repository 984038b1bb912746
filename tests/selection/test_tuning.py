import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, LeaveOneOut, StratifiedKFold, cross_val_predict

from hinge import SVC, SVCCV, SVR, LinearSVC, LinearSVCCV, LinearSVR, tune
from hinge.monitoring.interrupts import is_over
from hinge.selection import tuning

CS = [0.01, 0.1, 1.0, 10.0]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("model", "grid"), [(LinearSVC(), {}), (LinearSVC(loss="hinge"), {}), (SVC(), {"gamma": [0.05, 0.3, 2.0]})]
)
def test_the_scores_are_those_of_a_grid_search(three, model, grid):
    """Within a row or two of a fold, since fits for scores end at a gap of 1e-2."""
    peer = GridSearchCV(model, {"C": CS, **grid}, cv=3).fit(*three)
    found = tune(model, *three, Cs=CS, gammas=grid.get("gamma", "scale"), cv=3)
    theirs = np.stack([peer.cv_results_[f"split{k}_test_score"] for k in range(3)], axis=1).reshape(found.scores.shape)
    known = ~np.isnan(found.scores)
    assert np.abs(found.scores - theirs)[known].max() <= 2.5 / 40
    assert np.abs(found.scores - theirs)[known].mean() < 0.01
    assert peer.best_score_ - theirs.mean(axis=2).reshape(-1)[np.nanargmax(found.scores.mean(axis=2))] < 0.01
    assert found.model.C == found.C and found.model.gap_ <= model.tol
    assert found.best_score == pytest.approx(np.nanmax(found.scores.mean(axis=2)))


@pytest.mark.slow
def test_candidates_that_are_given_up_change_nothing(three):
    """With a score of unknown limits nobody is given up, and the choice is the same."""
    options = {"Cs": CS, "gammas": [0.001, 0.3, 30.0], "cv": 5, "refit": False}
    found = tune(SVC(), *three, **options)
    every = tune(SVC(), *three, **options, scoring=make_scorer(accuracy_score))
    assert np.isnan(found.scores).any() and not np.isnan(every.scores).any()
    assert (found.C, found.gamma) == (every.C, every.gamma) and found.model is None and np.isnan(found.error)
    known = ~np.isnan(found.scores)
    np.testing.assert_array_equal(found.scores[known], every.scores[known])
    assert found.n_fits == known.sum() < every.n_fits == 60


@pytest.mark.slow
@pytest.mark.parametrize("model", [LinearSVC(), SVC(gamma=0.3)])
def test_leave_one_out_is_close_to_as_many_folds(two, model):
    X, y = two
    found = tune(model, X, y, Cs=CS, gammas="scale", cv="loo")
    folds = tune(model, X, y, Cs=CS, gammas="scale", cv=KFold(40), refit=False, scoring=make_scorer(accuracy_score))
    assert found.scores.shape == (4, 1, 1)
    assert np.nanmax(np.abs(found.scores[:, 0, 0] - folds.scores.mean(axis=2)[:, 0])) < 0.035
    assert found.error == pytest.approx(1 - found.best_score, abs=0.02)


def test_leave_one_out_gives_up_who_is_worse_on_its_own_rows(two):
    """By a bound: the choice is the one of all scores, which another name of the same score asks for."""
    X, y = two
    Cs = np.geomspace(1e-4, 10.0, 8)
    for model in (LinearSVC(), SVC()):
        found = tune(model, X, y, Cs=Cs, gammas=[0.02, 0.3], cv="loo", refit=False)
        every = tune(model, X, y, Cs=Cs, gammas=[0.02, 0.3], cv="loo", refit=False, scoring=make_scorer(accuracy_score))
        known = ~np.isnan(found.scores)
        assert (found.C, found.gamma) == (every.C, every.gamma) and found.n_fits == known.sum() < every.n_fits
        np.testing.assert_array_equal(found.scores[known], every.scores[known])


def test_repeated_and_unordered_values(two):
    found = tune(LinearSVC(), *two, Cs=[1.0, 0.01, 1.0], cv=3)
    assert found.Cs.tolist() == [1.0, 0.01, 1.0] and found.n_fits == 6
    np.testing.assert_array_equal(found.scores[0], found.scores[2])
    plain = tune(LinearSVC(), *two, Cs=[0.01, 1.0], cv=3)
    np.testing.assert_array_equal(found.scores[1::-1], plain.scores)


def test_equal_scores_choose_the_smallest_C():
    X = np.repeat([[-3.0], [3.0]], 10, axis=0) + np.linspace(0, 1, 20)[:, None]
    found = tune(LinearSVC(fit_intercept=False), X, np.repeat([0, 1], 10), Cs=[10.0, 0.1, 1.0], cv=2)
    assert found.C == 0.1 and found.best_score == 1.0
    assert found.error == 0.0 and found.error_std > 0


@pytest.mark.slow
def test_weights_sparse_groups_and_threads(two):
    X, y = two
    weight = np.random.default_rng(0).integers(1, 4, 120)
    groups = np.arange(120) % 4
    options = {"Cs": CS, "sample_weight": weight, "groups": groups, "cv": GroupKFold(4), "scoring": "balanced_accuracy"}
    dense, sparse, threads = (
        tune(LinearSVC(), data, y, **options, n_jobs=jobs) for data, jobs in ((X, 1), (sp.csr_array(X), 1), (X, 2))
    )
    assert dense.scores.shape == (4, 1, 4)
    known = ~np.isnan(dense.scores) & ~np.isnan(threads.scores)
    np.testing.assert_allclose(sparse.scores[known], dense.scores[known], atol=0.03)
    np.testing.assert_array_equal(threads.scores[known], dense.scores[known])
    assert dense.C == threads.C
    assert tune(LinearSVC(), X, y, **{**options, "sample_weight": None}).best_score != dense.best_score


@pytest.mark.parametrize("model", [LinearSVC(), SVC()])
def test_a_score_that_needs_probabilities(two, model):
    found = tune(model, *two, Cs=[0.001, 1.0], gammas="scale", cv=3, scoring="neg_log_loss")
    assert (found.scores > -1.0).all() and (found.scores < 0).all() and found.C == 1.0
    with pytest.raises(ValueError, match="cv='loo' is not available for this search"):
        tune(model, *two, Cs=[1.0], cv="loo", scoring="neg_log_loss")


def test_a_function_that_scores_sees_a_model(two):
    found = tune(LinearSVC(), *two, Cs=CS, cv=3, scoring=lambda model, X, y: -float(np.abs(model.coef_).sum()))
    assert found.C == 0.01


@pytest.mark.slow
@pytest.mark.parametrize("model", [LinearSVR(), SVR(gamma=0.3)])
def test_targets(targets, model):
    found = tune(model, *targets, Cs=CS, gammas="scale", cv=4)
    assert found.best_score > 0.3 and found.C > 0.01
    one_by_one = np.mean(np.abs(cross_val_predict(found.model, *targets, cv=LeaveOneOut()) - targets[1]))
    assert found.error == pytest.approx(one_by_one, rel=0.1)
    assert np.mean(np.abs(found.model.predict(targets[0]) - targets[1])) < found.error
    assert 0 < found.error_std < found.error


def test_one_row_of_a_class(three):
    X, y = three
    rows = np.r_[0:80, 80]
    with pytest.warns(UserWarning, match="Class 2 has one row"):
        found = tune(LinearSVC(), X[rows], y[rows], Cs=CS, cv=4)
    assert np.isfinite(found.best_score)
    with pytest.raises(ValueError, match=r"Class 1 has one row, and fold . holds it out.* or cv='loo'"):
        tune(LinearSVC(), X[:41], y[:41], Cs=CS, cv=4)
    with pytest.raises(ValueError, match="Fold 1 of cv leaves rows of one class to learn from"):
        tune(LinearSVC(), X[:80], y[:80], Cs=CS, cv=KFold(2))


def test_a_score_of_probabilities_where_a_fold_lacks_a_class(three):
    with pytest.raises(ValueError, match=r"Fold 1 of cv lacks a class .* scoring='neg_log_loss' has no score then"):
        tune(LinearSVC(), *three, Cs=CS[:1], cv=KFold(3), scoring="neg_log_loss")


def test_one_row_of_a_class_counts_as_an_error_without_it(three):
    X, y = three
    with pytest.warns(UserWarning, match="Class 1 has one row"):
        found = tune(LinearSVC(), X[:41], y[:41], Cs=CS, cv="loo")
    assert found.error >= 1 / 41


@pytest.mark.parametrize("cv", [3, "loo"])
def test_all_scores_equal(cv):
    y = np.arange(60) % 15 < 7
    found = tune(LinearSVC(), np.zeros((60, 4)), y, Cs=CS, cv=cv)
    assert found.C == 0.01 and found.error == pytest.approx(y.mean())


@pytest.mark.filterwarnings("ignore:The fit ended because")
def test_no_time_for_leave_one_out(two):
    with pytest.warns(ConvergenceWarning, match="too short for a single score"):
        found = tune(LinearSVC(), *two, Cs=CS, cv="loo", max_time=1e-9)
    assert found.C in CS and found.n_fits == 0


def test_a_class_that_is_missing_from_a_fold(three):
    X, y = three
    found = tune(SVC(), X, y, Cs=CS, gammas=[0.3], cv=KFold(3), scoring=make_scorer(accuracy_score))
    assert (found.scores == 0.0).all()  # rows are sorted by class: the one that is held out was never seen


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"cv": "five"}, "cv must be a number of folds, a splitter or 'loo'"),
        ({"cv": 200}, "folds need a class of 200 rows|200"),
        ({"cv": [(np.arange(0), np.arange(9))]}, "no rows to learn from"),
        ({"Cs": [0.0]}, "Cs must be positive"),
        ({"max_time": -1.0}, "max_time"),
        ({"scoring": "no such score"}, "scoring"),
    ],
)
def test_what_is_wrong_is_said(two, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        tune(LinearSVC(), *two, **options)


@pytest.mark.slow
def test_time_limits(two):
    with pytest.warns(ConvergenceWarning) as said:
        found = tune(LinearSVC(), *two, Cs=CS, max_time=1e-6)
    assert any("too short for a single score" in str(one.message) for one in said)
    assert found.C in CS and hasattr(found.model, "coef_") and found.model.max_time is None
    folds = StratifiedKFold(3)
    slow = []

    def score(model, X, y):
        import time

        slow.append(time.sleep(0.2))
        return 1.0 - model.C

    with pytest.warns(ConvergenceWarning, match="is the best so far"):
        found = tune(LinearSVC(), *two, Cs=CS, cv=folds, scoring=score, max_time=0.5)
    assert found.C == 0.01 and 0 < found.n_fits < 12


def test_progress_is_told(two, capsys):
    tune(SVC(), *two, Cs=CS, gammas=[0.3], cv=2, verbose=1)
    told = capsys.readouterr().err
    assert "fold 2 of 2" in told and "the best so far is C=" in told


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_the_folds_of_other_threads(monkeypatch):
    """A fold in another thread is called off: else it would go on."""
    monkeypatch.setattr("hinge.threads.cores", lambda: 2)
    met, ended = threading.Barrier(2, timeout=60), threading.Event()

    def score_folds(self, path, g, kept, groups, k):
        met.wait()
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        while not is_over(None):
            time.sleep(0.001)
        ended.set()

    monkeypatch.setattr(tuning._Search, "_score_folds", score_folds)
    X, y = np.random.default_rng(0).standard_normal((40, 2)), np.arange(40) % 2
    with pytest.raises(KeyboardInterrupt):
        tune(LinearSVC(), X, y, Cs=[1.0], cv=2, n_jobs=2)
    assert ended.wait(60)


@pytest.mark.parametrize("search", [LinearSVCCV(Cs=[0.01, 1.0]), SVCCV(Cs=[0.1, 1.0], gammas=[0.1, 1.0])], ids=str)
def test_searches_are_tables_of_their_candidates(search):
    X, y = make_classification(120, random_state=0)
    model = search.fit(X, y)
    table = model.results_
    assert table.C[table.chosen].tolist() == [model.C_] and table.score[table.chosen].tolist() == [model.best_score_]
    assert len(table) == model.mean_scores_.size and len(table[:1]) == 1
    assert np.array_equal(table.score, model.mean_scores_.T.ravel(), equal_nan=True)
    assert ("gamma" in table.columns) == ("gamma" in repr(table)) == ("gammas" in search.get_params())
    if "gammas" in search.get_params():
        assert table.gamma[table.chosen].tolist() == [model.gamma_]


def test_a_search_prints_what_it_chose_above_its_candidates():
    X, y = make_classification(120, random_state=0)
    found = tune(LinearSVC(), X, y, Cs=[0.01, 1.0])
    first, names, *lines = repr(found).splitlines()
    assert f"C={found.C:.4g}" in first and f"{found.best_score:.4g}" in first and len(lines) == 2
    assert names.split() == list(found.table.columns) and found._repr_html_().count("<tr>") == 3
