"""Fits that are watched: objective and error at every evaluation."""

import numpy as np
import pytest
from papers_svc import papers_svc

from hinge import SVC, LinearSVC
from hinge.display.convergence import ConvergenceDisplay, LearningRuntimeDisplay, Watcher, watch

matplotlib = pytest.importorskip("matplotlib", reason="displays draw with matplotlib")
matplotlib.use("Agg")


# --- convergence ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(),
        LinearSVC(loss="hinge"),
        LinearSVC(intercept="free", class_weight="balanced"),
        LinearSVC(penalty="l1"),
        SVC(),
        SVC(kernel="linear"),
    ],
    ids=str,
)
def test_every_step_of_a_default_fit_has_an_objective(model, noisy):
    X, y, _ = noisy
    watcher = Watcher()
    fitted = watch(model, X, y, watcher)
    objectives = [look.objective for look in watcher.looks]
    assert [look.record for look in watcher.looks] == list(fitted.history_)
    assert len(objectives) > 1 and np.isfinite(objectives).all()
    assert objectives[-1] == fitted.objective_ == pytest.approx(min(objectives), rel=1e-6)
    if hasattr(fitted, "coef_") and not isinstance(model, SVC) and model.class_weight is None:
        weights = fitted.coef_[0] if model.intercept == "free" else np.append(fitted.coef_[0], fitted.intercept_)
        slack = np.maximum(0.0, 1.0 - np.where(y == fitted.classes_[1], 1.0, -1.0) * fitted.decision_function(X))
        loss = slack if model.loss == "hinge" else slack**2
        penalty = np.abs(weights).sum() if model.penalty == "l1" else 0.5 * weights @ weights
        assert fitted.objective_ == pytest.approx(penalty / len(y) + loss.mean(), rel=1e-6)


@pytest.mark.parametrize(
    "options", [{}, {"loss": "hinge", "solver": "sdca"}, {"multi_class": "crammer_singer"}], ids=str
)
def test_every_run_of_several_classes_is_a_curve(options):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    y = np.digitize(X[:, 0] + rng.standard_normal(300), [-0.5, 0.5])
    display = ConvergenceDisplay.from_estimator(LinearSVC(**options), X, y, draw=False)
    assert len(display.curves) == (3 if "solver" in options else 1)  # the others are one run for all classes
    for name, looks in display.curves.items():
        assert len(display._series(name, looks, "iterations", "gap").x) > 1


@pytest.mark.slow
@pytest.mark.parametrize("model", [papers_svc(solver="pegasos", max_iter=30), SVC(solver="smo")])
def test_a_watched_fit_is_the_same_fit_and_knows_more(model, noisy):
    X, y, _ = noisy
    watcher = Watcher(X[:50], y[:50])
    fitted = watch(model, X, y, watcher)
    assert not hasattr(model, "classes_")  # left as it is
    assert len(watcher.looks) == len(fitted.history_)
    assert all(np.isfinite(look.objective) for look in watcher.looks)
    assert watcher.looks[-1].error == np.mean(fitted.predict(X[:50]) != y[:50])
    best = min(look.objective for look in watcher.looks)
    assert best >= fitted.objective_ / (1 + fitted.gap_) * (1 - 1e-6)


# --- the Pareto front -----------------------------------------------------------------------------


def test_other_packages_machines_are_turned_away(noisy):
    from sklearn.svm import LinearSVC as Liblinear

    X, y, _ = noisy
    with pytest.raises(TypeError, match="can be watched"):
        ConvergenceDisplay.from_estimator(Liblinear(), X, y)
    with pytest.raises(TypeError, match="can be watched"):
        LearningRuntimeDisplay.from_estimator(Liblinear(), X, y, X, y)


@pytest.mark.slow
@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_frames_are_watched(package, noisy):
    package = pytest.importorskip(package)
    X, y, _ = noisy
    names, words = list("abcde"), np.where(y > 0, "yes", "no")
    table, labels = package.DataFrame(dict(zip(names, X.T, strict=True))), package.Series(words)
    if hasattr(table, "iloc"):
        table.index = labels.index = np.arange(len(y))[::-1] + 7  # not the positions
    model = SVC(random_state=0)
    for display in (ConvergenceDisplay, LearningRuntimeDisplay):
        drawn = display.from_estimator(model, table, labels, X_test=table, y_test=labels, draw=False)
        plain = display.from_estimator(model, X, words, X_test=X, y_test=words, draw=False)
        assert last_error(drawn) == last_error(plain)


def last_error(display):
    if isinstance(display, LearningRuntimeDisplay):
        return [errors[-1] for errors in display.errors]
    return [looks[-1].error for looks in display.curves.values()]
