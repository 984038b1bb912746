import numpy as np
import pytest
from papers_svc import papers_svc

from hinge import SVC
from hinge.display.pareto import FrontPoint, ParetoFrontDisplay, front_figure, least_loss, pareto_points, spread_lams

matplotlib = pytest.importorskip("matplotlib", reason="displays draw with matplotlib")
matplotlib.use("Agg")


# --- the Pareto front -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["none", "free"])
def test_the_front_is_monotone_and_convex_and_its_bound_holds(bias, noisy):
    X, y, _ = noisy
    tol = 1e-6
    points = list(pareto_points(X, y, spread_lams(X, y, 12), tol=tol, bias=bias))
    norms, losses = (np.array([getattr(p, name) for p in points]) for name in ("norm", "loss"))
    assert max(p.gap for p in points) <= tol
    assert (np.diff(norms) > -tol).all() and (np.diff(losses) < tol).all()
    apart = np.append(True, np.diff(norms) > tol)  # from some λ on the answer is the same
    assert apart.sum() > 8
    r, least = norms[apart], losses[apart]
    share = (r[1:-1] - r[:-2]) / (r[2:] - r[:-2])
    chords = (1 - share) * least[:-2] + share * least[2:]
    assert (least[1:-1] <= chords + tol).all()  # the least loss within a ball is convex in its radius
    assert (least[1:-1] < chords - 0.01).any()
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
    model = papers_svc(lam=1e-2, fit_intercept=False, tol=1e-6).fit(X[:300], y[:300])
    assert point.margin == pytest.approx(1 / np.linalg.norm(model.coef_), rel=0.05)
    assert point.nu == pytest.approx(point.loss * point.margin)
    assert point.test_error == pytest.approx(1 - model.score(X[300:], y[300:]), abs=0.03)
    assert point.train_error == pytest.approx(1 - model.score(X[:300], y[:300]), abs=0.02)
    assert point.reads >= 1500 and point.status == "converged"


def test_the_front_is_drawn(noisy, ax):
    X, y, _ = noisy
    told = []
    display = ParetoFrontDisplay.from_estimator(
        papers_svc(fit_intercept=False), X, np.where(y > 0, "yes", "no"), points=4, ax=ax, tell=told.append
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
        ParetoFrontDisplay.from_estimator(papers_svc(), X, np.arange(400) % 3)
    with pytest.raises(TypeError, match="LinearSVC, not SVC"):
        ParetoFrontDisplay.from_estimator(SVC(), X, y)
    with pytest.raises(ValueError, match="lams is empty"):
        ParetoFrontDisplay.from_estimator(papers_svc(), X, y, lams=[])
    with pytest.raises(ValueError, match="NaN"):
        ParetoFrontDisplay.from_estimator(papers_svc(), np.full((400, 2), np.nan), y)
