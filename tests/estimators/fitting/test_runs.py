"""More than two classes: one problem for each, over threads or not, with limits for all together."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from clock import within
from joblib import parallel_config
from papers_svc import papers_svc
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info, threadpool_limits

from hinge.estimators.fitting import runs
from hinge.solvers import SDCA, CoCoA, Newton


def clouds(n_classes, n=120, d=4, seed=0):
    """Overlapping clouds around random centres, each class with some rows."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    return 1.5 * rng.standard_normal((n_classes, d))[y] + rng.standard_normal((n, d)), y


def objective(w, b, X, y, lam, s=None):
    """λ/2 ‖w‖² + the weighted mean of the hinge losses, by NumPy."""
    loss = np.maximum(0, 1 - y * (X @ w + b))
    return lam / 2 * w @ w + np.average(loss, weights=s)


# --- the answer ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3, 4, 5])
def test_shapes_and_objectives_of_every_class(n_classes):
    X, y = clouds(n_classes)
    model = papers_svc(C=0.5, tol=1e-5, random_state=0).fit(X, y)
    rows = 1 if n_classes == 2 else n_classes
    assert model.coef_.shape == (rows, 4)
    assert model.intercept_.shape == (rows,)
    assert model.classes_.tolist() == list(range(n_classes))
    assert model.decision_function(X).shape == ((len(y),) if n_classes == 2 else (len(y), n_classes))
    assert model.stop_reason_ == "converged"
    assert model.gap_ <= 1e-5
    lam = 1 / (0.5 * len(y))
    for k in range(rows):
        signs = np.where(y == (1 if n_classes == 2 else k), 1, -1)
        value = objective(model.coef_[k], model.intercept_[k], X, signs, lam)
        reported = np.atleast_1d(model.objective_)[k]
        assert reported == pytest.approx(value, rel=1e-9)
        alone = papers_svc(C=0.5, tol=1e-7).fit(X, signs)
        assert alone.objective_ * (1 - 1e-7) <= reported <= alone.objective_ * (1 + 1e-5)
    assert model.score(X, y) > 0.6
    if n_classes > 2:
        assert isinstance(model.objective_, np.ndarray)
        assert len(model.history_) == n_classes
        np.testing.assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))


def test_a_class_is_fitted_as_it_is_alone():
    X, y = clouds(4)
    names = np.array(["ash", "birch", "cedar", "elm"])
    model = papers_svc(random_state=5).fit(X, names[y])
    for k in range(4):
        alone = papers_svc(random_state=5).fit(X, y == k)
        np.testing.assert_array_equal(model.coef_[[k]], alone.coef_)
        assert model.objective_[k] == alone.objective_
    assert set(model.predict(X)) <= set(names)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "sdca", "pegasos"])
def test_threads_change_nothing(solver):
    X, y = clouds(5)
    one, two, all_of_them = (
        papers_svc(solver=solver, tol=0.1, n_jobs=n_jobs, random_state=0).fit(X, y) for n_jobs in (1, 2, -1)
    )
    for other in (two, all_of_them):
        np.testing.assert_array_equal(other.coef_, one.coef_)
        np.testing.assert_array_equal(other.intercept_, one.intercept_)
        np.testing.assert_array_equal(other.objective_, one.objective_)
        assert other.n_feature_reads_ == one.n_feature_reads_
        assert other.n_iter_ == one.n_iter_
        assert other.gap_ == one.gap_
        assert [[r.feature_reads for r in h] for h in other.history_] == [
            [r.feature_reads for r in h] for h in one.history_
        ]


@pytest.mark.slow
def test_threads_of_a_slack_path():
    X, y = clouds(3)
    one, two = (papers_svc(slack=0.4, n_jobs=n_jobs, random_state=0).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.n_feature_reads_ == two.n_feature_reads_


def test_class_weights_weigh_the_positive_side_against_ones():
    X, y = clouds(3)
    s = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    model = papers_svc(class_weight={1: 5.0}, random_state=0, tol=1e-6).fit(X, y, s)
    for k, factor in enumerate((1.0, 5.0, 1.0)):
        alone = papers_svc(random_state=0, tol=1e-6).fit(X, y == k, s * np.where(y == k, factor, 1.0))
        np.testing.assert_array_equal(model.coef_[[k]], alone.coef_)
    balanced = papers_svc(class_weight="balanced", random_state=0, tol=1e-6).fit(X[:70], y[:70])
    counts = np.bincount(y[:70])
    given = papers_svc(class_weight=dict(enumerate(70 / (3 * counts))), random_state=0, tol=1e-6)
    np.testing.assert_array_equal(balanced.coef_, given.fit(X[:70], y[:70]).coef_)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blas_has_one_thread_where_classes_have_several(n_jobs, monkeypatch):
    seen, run_each = set(), runs.run_each

    def seen_each(*args):
        seen.update(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return run_each(*args)

    monkeypatch.setattr(runs, "run_each", seen_each)
    with threadpool_limits(2, user_api="blas"):
        papers_svc(n_jobs=n_jobs).fit(*clouds(3))
    assert seen <= {1 if n_jobs == 2 else 2}


@pytest.mark.slow
def test_dual_coefficients_give_every_class():
    X, y = clouds(4)
    model = papers_svc(solver="sdca", tol=1e-6, random_state=0).fit(X, y)
    assert model.dual_coef_.shape == (4, len(model.support_))
    assert (np.diff(model.support_) > 0).all()
    assert (model.dual_coef_ != 0).any(axis=0).all()
    np.testing.assert_allclose(model.dual_coef_ @ X[model.support_], model.coef_, rtol=1e-8, atol=1e-10)
    signs = np.where(y[model.support_] == np.arange(4)[:, None], 1, -1)
    assert (model.dual_coef_ * signs >= 0).all()
    assert (np.abs(model.dual_coef_) <= 1.0 + 1e-12).all()  # C


@pytest.mark.slow
def test_history_of_every_class_is_monotone():
    X, y = clouds(3)
    model = papers_svc(solver="sdca", tol=1e-6).fit(X, y)
    for history in model.history_:
        for name in ("iteration", "seconds", "feature_reads"):
            assert (np.diff(history.column(name)) >= 0).all()
    assert model.n_feature_reads_ == sum(history[-1].feature_reads for history in model.history_)


@pytest.mark.slow
def test_warm_start_of_every_class():
    X, y = clouds(4)
    model = papers_svc(solver="sdca", C=1.0, tol=1e-6, warm_start=True, random_state=0).fit(X, y)
    model.set_params(C=1.02).fit(X, y)
    cold = papers_svc(solver="sdca", C=1.02, tol=1e-6, random_state=0).fit(X, y)
    assert model.n_feature_reads_ < cold.n_feature_reads_
    np.testing.assert_allclose(model.objective_, cold.objective_, rtol=2e-6)
    fewer = model.fit(X[y < 3], y[y < 3])  # other classes: from the beginning, without a word
    assert fewer.coef_.shape == (3, 4)


# --- limits count for all classes together ------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_time_of_all_classes_together(n_jobs):
    X, y = clouds(4, n=4000)
    papers_svc(solver="pegasos", tol=10.0).fit(X[:200], y[:200])  # compiled
    model = papers_svc(solver="pegasos", tol=0, max_time=0.4, max_iter=10**8, n_jobs=n_jobs)
    with pytest.warns(ConvergenceWarning, match=r"the time limit was reached, with a certified relative gap"):
        within(0.3, 0.9, lambda: model.fit(X, y))
    assert model.stop_reason_ == "max_time"
    assert all(history[-1].iteration > 0 for history in model.history_)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The fit ended because .* with no certificate")  # of some cells
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_cells_that_are_kept_serve_all_classes(n_jobs):
    X, y = clouds(4)
    model = papers_svc(max_reads=2 * X.size, n_jobs=n_jobs, random_state=0).fit(X, y)
    alone = papers_svc(max_reads=2 * X.size, random_state=0).fit(X, y == model.classes_[0])
    assert model.n_feature_reads_ == model.n_distinct_reads_ <= X.size
    assert alone.n_feature_reads_ <= model.n_feature_reads_
    assert model.score(X, y) > papers_svc().fit(X, y).score(X, y) - 0.05


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("passes", [0, 3, 20])
def test_reads_of_all_classes_together(n_jobs, passes):
    X, y = clouds(4)
    limit = passes * X.size
    with pytest.warns(ConvergenceWarning, match="the read limit was reached"):
        model = papers_svc(solver="sdca", tol=0, max_reads=limit, n_jobs=n_jobs).fit(X, y)
    assert model.stop_reason_ == "max_reads"
    assert limit / 2 <= model.n_feature_reads_ <= limit
    assert np.isfinite(model.coef_).all()


def test_target_error_of_every_class():
    X, y = clouds(3, n=300)
    model = papers_svc(solver="sdca", tol=1e-9, target_error=0.4, random_state=0).fit(X, y)
    assert model.stop_reason_ == "target"
    assert all(history[-1].score <= 0.4 for history in model.history_)


# --- Ctrl-C -------------------------------------------------------------------------------

OBEYED = 10.0
"""Seconds within which Ctrl-C has ended the process, on a machine that may have much else to do; the fit takes 60."""

SCRIPT = """
import json, sys
import numpy as np
from hinge import LinearSVC

rng = np.random.default_rng(0)
X = rng.standard_normal((20_000, 30))
y = rng.integers(0, int(sys.argv[1]), len(X))
options = json.loads(sys.argv[2])
model = LinearSVC(loss="hinge", solver="pegasos", tol=1e-9, max_iter=10**8, max_time=60, verbose=1, **options).fit(X, y)
histories = model.history_ if int(sys.argv[1]) > 2 else [model.history_]
print(json.dumps({
    "reason": model.stop_reason_, "finite": bool(np.isfinite(model.coef_).all()),
    "shape": model.coef_.shape, "gap": model.gap_, "iterations": [h[-1].iteration for h in histories],
}), flush=True)
"""


NO_CERTIFICATE = "ignore:The fit ended because it was interrupted"


def interrupted(n_classes, **options):
    """What a fit in another process says to Ctrl-C, its exit code, and the seconds to its end."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-W", NO_CERTIFICATE, "-c", SCRIPT, str(n_classes), json.dumps(options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        looks = 0
        while looks < 3:  # each look writes a line
            line = process.stderr.readline()
            assert line, "the fit ended before it was interrupted"
            looks += line.startswith("[hinge]")
        time.sleep(0.2)
        assert process.poll() is None
        sent = time.perf_counter()
        os.kill(process.pid, signal.SIGINT)
        line = process.stdout.readline() if options.get("on_interrupt") == "keep" else ""
        if not line:
            process.wait(20)
        seconds = time.perf_counter() - sent
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    return line + out, err, process.returncode, seconds


@pytest.mark.slow
@pytest.mark.parametrize(("n_classes", "options"), [(2, {}), (3, {"n_jobs": 2})], ids=["binary", "three-jobs"])
def test_interrupted_fit_keeps_the_best_model_so_far(n_classes, options):
    out, err, code, seconds = interrupted(n_classes, on_interrupt="keep", **options)
    assert code == 0, err
    assert seconds < OBEYED
    answer = json.loads(out)
    assert answer["reason"] == "interrupted"
    assert answer["finite"]
    assert answer["shape"] == [1 if n_classes == 2 else 3, 30]
    assert answer["iterations"][0] > 0


@pytest.mark.slow
def test_interrupted_fit_raises():
    out, err, code, seconds = interrupted(3, n_jobs=2)
    assert code in (-signal.SIGINT, 130)
    assert seconds < OBEYED
    assert out == ""
    assert any(line.startswith("KeyboardInterrupt") for line in err.splitlines())  # a thread may still say where it is


@pytest.fixture
def large(monkeypatch):
    """Rows that are worth two threads, as the rule is bent here."""
    from hinge.solvers.choice import auto

    monkeypatch.setattr(auto, "PART_CELLS", 1000)
    return clouds(3, 400)


@pytest.mark.parametrize(("lam", "begin"), [(1e-1, "ascent"), (1e-6, "newton")])
def test_several_threads_work_on_one_binary_problem(lam, begin, large):
    X, y = large
    one, two, again = (
        papers_svc(lam=lam, tol=1e-4, n_jobs=n_jobs, random_state=0).fit(X, y > 0) for n_jobs in (1, 2, 2)
    )
    assert one.solver_.parts == 1
    newton = getattr(two.solver_, "newton", two.solver_)
    assert isinstance(newton, Newton) and newton.parts == 2
    assert newton is two.solver_ or two.solver_.begin == begin
    assert two.gap_ <= 1e-4
    assert two.objective_ == pytest.approx(one.objective_, rel=2e-4)
    np.testing.assert_array_equal(two.coef_, again.coef_)
    assert (two.n_feature_reads_, two.n_iter_) == (again.n_feature_reads_, again.n_iter_)


@pytest.mark.slow
def test_threads_left_over_by_the_classes_share_them(large):
    for n_jobs, parts in ((3, 1), (6, 2), (8, 2)):
        model = papers_svc(lam=1e-1, n_jobs=n_jobs, random_state=0).fit(*large)
        assert model.solver_.parts == parts


def test_a_solver_by_name_has_a_part_for_each_thread_and_one_with_settings_keeps_them(large):
    X, y = large
    for solver, n_jobs, parts in (("cocoa", 2, 2), ("newton", 3, 3), ("cocoa", None, 1), (CoCoA(3), 1, 3)):
        model = papers_svc(lam=1e-1, solver=solver, n_jobs=n_jobs).fit(X, y > 0)
        assert model.solver_.parts == parts
    with parallel_config(n_jobs=2):
        found = papers_svc(lam=1e-1).fit(X, y > 0).solver_
        assert getattr(found, "newton", found).parts == 2
    assert papers_svc(lam=1e-1, solver="sdca", n_jobs=2).fit(X, y > 0).solver_ == SDCA()


def test_a_limit_of_reads_is_kept_by_one_thread(large):
    X, y = large
    model = papers_svc(lam=1e-1, tol=1e-9, max_reads=20 * X.size, n_jobs=2).fit(X, y > 0)
    assert model.solver_.parts == 1
    assert model.n_feature_reads_ <= 20 * X.size
