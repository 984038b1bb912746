"""The Displays: what they measure, what they draw, and what they refuse."""

import numpy as np
import pytest

from hinge import SVC, LinearSVC
from hinge.display.convergence import ConvergenceDisplay
from hinge.display.hard_rows import HardRowsDisplay
from hinge.display.learning_runtime import LearningRuntimeDisplay
from hinge.display.pareto import (
    FrontPoint,
    ParetoFrontDisplay,
    front_figure,
    least_loss,
    pareto_points,
    spread_lams,
)
from hinge.display.watched import Watcher, objective_of, watch
from hinge.problems import Regularized
from hinge.solvers import SDCA, solve

matplotlib = pytest.importorskip("matplotlib", reason="displays draw with matplotlib")
matplotlib.use("Agg")


@pytest.fixture
def ax():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


@pytest.fixture(autouse=True)
def no_figures_left():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="module")
def noisy():
    """400 rows of two clusters, of which 20 have the wrong label."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(400) < 0.5, 1, -1)
    X = rng.standard_normal((400, 5)) + 1.5 * y[:, None]
    noise = np.zeros(400, bool)
    noise[rng.choice(400, 20, replace=False)] = True
    return X, np.where(noise, -y, y), noise


# --- hard rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [LinearSVC(lam=1e-2, solver="sdca"), LinearSVC(), SVC(gamma=0.1)])
def test_mislabelled_rows_rank_high(model, noisy):
    X, y, noise = noisy
    display = HardRowsDisplay.from_estimator(model.fit(X, y), X, y, draw=False)
    assert noise[display.ranking[:20]].mean() >= 0.9
    assert display.weights.max() == 1.0
    assert sorted(display.ranking) == list(range(400))
    at_bound = display.ranking[display.weights[display.ranking] > 1 - 1e-6]
    assert (np.diff(display.margins[at_bound]) >= 0).all()


def test_hard_rows_are_drawn_with_their_noise(noisy, ax):
    X, y, noise = noisy
    model = LinearSVC(lam=1e-2).fit(X, y)
    display = HardRowsDisplay.from_estimator(model, X, y, top=7, noise=noise, ax=ax)
    assert display.ax_ is ax and display.figure_ is ax.figure
    assert len(ax.patches) == 7
    widths = sorted(bar.get_width() for bar in ax.patches)
    assert widths == pytest.approx(sorted(display.margins[display.ranking[:7]]))
    assert ax.get_yticklabels()[0].get_text().startswith(f"row {display.ranking[0]:,}")
    assert "label known to be wrong" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(display.plot(top=3).ax_.patches) == 3


def test_what_hard_rows_refuse(noisy):
    X, y, _ = noisy
    with pytest.raises(ValueError, match="not fitted"):
        HardRowsDisplay.from_estimator(LinearSVC(), X, y)
    with pytest.raises(ValueError, match="Perceptron has no dual weights"):
        HardRowsDisplay.from_estimator(LinearSVC(solver="perceptron", fit_intercept=False).fit(X, y), X, y)
    with pytest.raises(ValueError, match="not the rows"):
        HardRowsDisplay.from_estimator(LinearSVC().fit(X, y), X[:10], y[:10])
    with pytest.raises(ValueError, match="not in their order"):
        HardRowsDisplay.from_estimator(LinearSVC().fit(X, y), X[::-1], y[::-1])
    for top in (0, -3):
        with pytest.raises(ValueError, match="at least 1"):
            HardRowsDisplay.from_estimator(LinearSVC().fit(X, y), X, y, top=top)
    with pytest.raises(ValueError, match="two classes"):
        HardRowsDisplay.from_estimator(LinearSVC().fit(X, np.arange(400) % 3), X, y)
    with pytest.raises(ValueError, match="noise has shape"):
        HardRowsDisplay([1.0, 0.5], [0.0, 1.0], [True])
    with pytest.raises(ValueError, match="-1 and \\+1"):
        HardRowsDisplay.from_predictions([0, 1], [0.5, 1.0])


# --- convergence ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [LinearSVC(lam=1e-2, solver="sdca"), SVC(C=0.7, gamma=0.2)])
def test_the_objective_of_a_model_is_the_one_it_says(model, noisy):
    X, y, _ = noisy
    model.fit(X, y)
    assert objective_of(model, X, y) == pytest.approx(model.objective_, rel=1e-5)


@pytest.mark.parametrize("model", [LinearSVC(solver="pegasos", max_iter=30), SVC(solver="smo")])
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


@pytest.mark.parametrize("against", ["seconds", "iterations", "reads"])
@pytest.mark.parametrize("quantity", ["objective", "gap", "error"])
def test_convergence_is_drawn(against, quantity, noisy, ax):
    X, y, _ = noisy
    model = LinearSVC(lam=1e-2, solver="sdca", tol=1e-4)
    display = ConvergenceDisplay.from_estimator(
        model, X, y, X_test=X, y_test=y, ax=ax, against=against, quantity=quantity
    )
    assert list(display.curves) == ["sdca"]
    line = ax.lines[0]
    assert len(line.get_xdata()) > 1
    assert (np.diff(line.get_xdata()) >= 0).all()
    if quantity == "gap":
        assert line.get_ydata()[-1] <= 1e-4 < line.get_ydata()[0]
        assert ax.get_yscale() == "log"


def test_convergence_of_a_history_alone(noisy, ax):
    X, y, _ = noisy
    result = solve(Regularized(X, y, 1e-2), SDCA())
    display = ConvergenceDisplay.from_history(result.history, name="mine", ax=ax, quantity="objective")
    assert display.ax_.lines[0].get_ydata()[-1] == result.certificate.objective
    fitted = SVC(gamma=0.1).fit(X, y)
    drawn = ConvergenceDisplay.from_estimator(fitted, against="kernel_evals")
    assert list(drawn.curves) == ["activeset"]
    assert drawn.ax_.get_xlabel() == "kernel evaluations"


def test_convergence_of_several_classes(noisy):
    X, _, _ = noisy
    three = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-1.0, 1.0])]
    model = LinearSVC(tol=1e-2).fit(X, three)
    display = ConvergenceDisplay.from_estimator(model)
    assert [name.split(", ")[1] for name in display.curves] == ["a", "b", "c"]
    again = ConvergenceDisplay.from_estimator(LinearSVC(tol=1e-2), X, three, draw=False)
    assert list(again.curves) == list(display.curves)


def test_what_convergence_refuses(noisy):
    X, y, _ = noisy
    with pytest.raises(ValueError, match="not fitted"):
        ConvergenceDisplay.from_estimator(LinearSVC())
    with pytest.raises(ValueError, match="without labels"):
        ConvergenceDisplay.from_estimator(LinearSVC(), X)
    fitted = LinearSVC().fit(X, y)
    with pytest.raises(ValueError, match="quantity is one of"):
        ConvergenceDisplay.from_estimator(fitted, quantity="loss")
    with pytest.raises(ValueError, match="knows its error"):
        ConvergenceDisplay.from_estimator(fitted, quantity="error")


# --- learning runtime -----------------------------------------------------------------------------


def test_learning_runtime(noisy, ax):
    X, y, _ = noisy
    model = LinearSVC(lam=1e-2, solver="pegasos", max_iter=20, random_state=0)
    display = LearningRuntimeDisplay.from_estimator(
        model, X[:300], y[:300], X[300:], y[300:], sizes=[20, 300, 100], ax=ax
    )
    assert display.sizes == [20, 100, 300]
    assert [line.get_label() for line in ax.lines] and len(ax.lines) == 3
    assert all(len(at) == len(errors) > 1 for at, errors in zip(display.seconds, display.errors, strict=True))
    assert display.errors[-1][-1] <= 0.15
    assert display.seconds_to(-1.0) == [None] * 3
    first = display.seconds_to(0.5)
    assert all(at is not None and at >= times[0] for at, times in zip(first, display.seconds, strict=True))
    runtime = display.plot(kind="runtime", targets=[0.5])
    assert runtime.ax_.lines[0].get_xdata().tolist() == [20, 100, 300]
    assert runtime.ax_.get_ylabel() == "seconds to the error"


def test_what_learning_runtime_refuses(noisy):
    X, y, _ = noisy
    with pytest.raises(ValueError, match="between 2 and the number of rows"):
        LearningRuntimeDisplay.from_estimator(LinearSVC(), X, y, X, y, sizes=[10, 500])
    with pytest.raises(ValueError, match="two classes"):
        LearningRuntimeDisplay.from_estimator(LinearSVC(), X, np.arange(400) % 3, X, y)
    with pytest.raises(ValueError, match="kind is"):
        LearningRuntimeDisplay([1], [[1.0]], [[0.5]]).plot(kind="lines")


# --- the Pareto front -----------------------------------------------------------------------------


@pytest.mark.parametrize("bias", ["none", "free"])
def test_the_front_is_monotone_and_convex_and_its_bound_holds(bias, noisy):
    X, y, _ = noisy
    tol = 1e-6
    points = list(pareto_points(X, y, spread_lams(X, y, 12), tol=tol, bias=bias))
    norms, losses = (np.array([getattr(p, name) for p in points]) for name in ("norm", "loss"))
    assert max(p.gap for p in points) <= tol
    assert (np.diff(norms) > 0).all() and (np.diff(losses) < 0).all()
    share = (norms[1:-1] - norms[:-2]) / (norms[2:] - norms[:-2])
    chords = (1 - share) * losses[:-2] + share * losses[2:]
    assert (losses[1:-1] <= chords + tol).all()  # the least loss within a ball is convex in its radius
    assert (losses[1:-1] < chords - 0.01).any()
    bound = least_loss(points, norms)
    assert (bound <= losses + 1e-12).all()
    values = np.array([0.5 * p.lam * p.norm**2 + p.loss for p in points])
    assert (losses - bound <= 1.01 * tol * values).all()
    # No other answer is below: try random ones, and multiples of those found.
    rng = np.random.default_rng(0)
    for w in rng.standard_normal((50, X.shape[1])) * np.geomspace(0.01, 10, 50)[:, None]:
        loss = np.mean(np.maximum(0.0, 1.0 - y * (X @ w)))
        assert loss >= least_loss(points, float(np.linalg.norm(w))) - 1e-12


def test_the_grid_begins_where_all_rows_are_within_the_margin(noisy):
    X, y, _ = noisy
    lams = spread_lams(X, y, 5)
    assert (np.diff(lams) < 0).all() and len(lams) == 5
    (point,) = pareto_points(X, y, lams[:1], tol=1e-9)
    mean = (y[:, None] * X).mean(axis=0)
    assert point.norm == pytest.approx(np.linalg.norm(mean) / lams[0], rel=1e-3)


def test_points_know_their_errors_and_margins(noisy):
    X, y, _ = noisy
    (point,) = pareto_points(X[:300], y[:300], [1e-2], X_test=X[300:], y_test=y[300:])
    model = LinearSVC(lam=1e-2, fit_intercept=False, tol=1e-6).fit(X[:300], y[:300])
    assert point.margin == pytest.approx(1 / np.linalg.norm(model.coef_), rel=0.05)
    assert point.nu == pytest.approx(point.loss * point.margin)
    assert point.test_error == pytest.approx(1 - model.score(X[300:], y[300:]), abs=0.03)
    assert point.train_error == pytest.approx(1 - model.score(X[:300], y[:300]), abs=0.02)
    assert point.reads >= 1500 and point.status == "converged"


def test_the_front_is_drawn(noisy, ax):
    X, y, _ = noisy
    told = []
    display = ParetoFrontDisplay.from_estimator(
        LinearSVC(fit_intercept=False), X, np.where(y > 0, "yes", "no"), points=4, ax=ax, tell=told.append
    )
    assert display.ax_ is ax and told == display.points
    assert len(display.points) == 4
    assert len(ax.collections) == 1  # the region that is proved empty
    assert "margin" in ax.get_xlabel()


def test_a_front_of_nothing_is_no_error():
    point = FrontPoint(1.0, 0.0, np.inf, 1.0, np.inf, 0.5, np.nan, 0, 0.0, 1.0, "converged")
    assert front_figure([point], "x").panels[0].series[0].x == []
    assert least_loss([], 3.0) == 0.0


def test_what_the_front_refuses(noisy):
    X, y, _ = noisy
    with pytest.raises(ValueError, match="two classes"):
        ParetoFrontDisplay.from_estimator(LinearSVC(), X, np.arange(400) % 3)
    with pytest.raises(ValueError, match="free bias"):
        ParetoFrontDisplay.from_estimator(LinearSVC(intercept="penalized"), X, y)
    with pytest.raises(TypeError, match="LinearSVC, not SVC"):
        ParetoFrontDisplay.from_estimator(SVC(), X, y)
    with pytest.raises(ValueError, match="lams is empty"):
        ParetoFrontDisplay.from_estimator(LinearSVC(), X, y, lams=[])
    with pytest.raises(ValueError, match="NaN"):
        ParetoFrontDisplay.from_estimator(LinearSVC(), np.full((400, 2), np.nan), y)


def test_other_packages_machines_are_turned_away(noisy):
    from sklearn.svm import LinearSVC as Liblinear

    X, y, _ = noisy
    with pytest.raises(TypeError, match="can be watched"):
        ConvergenceDisplay.from_estimator(Liblinear(), X, y)
    with pytest.raises(TypeError, match="can be watched"):
        LearningRuntimeDisplay.from_estimator(Liblinear(), X, y, X, y)
