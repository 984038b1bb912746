import numpy as np
import pytest
from papers_svc import papers_svc

from hinge import SVC
from hinge.display.convergence import ConvergenceDisplay
from hinge.display.learning_runtime import LearningRuntimeDisplay
from hinge.display.watched import Watcher, objective_of, watch

matplotlib = pytest.importorskip("matplotlib", reason="displays draw with matplotlib")
matplotlib.use("Agg")


# --- convergence ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [papers_svc(lam=1e-2, solver="sdca"), SVC(C=0.7, gamma=0.2)])
def test_the_objective_of_a_model_is_the_one_it_says(model, noisy):
    X, y, _ = noisy
    model.fit(X, y)
    assert objective_of(model, X, y) == pytest.approx(model.objective_, rel=1e-5)


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
