"""When a fit of SVC ends, and how: limits, held-out errors, Ctrl-C, callbacks, earlier answers, slack."""

import re
import signal
import time
from functools import partial

import numpy as np
import pytest
from clock import within
from ctrl_c import interrupt_after
from sklearn.exceptions import ConvergenceWarning

from hinge import SVC
from hinge.kernels import Function, Gaussian
from hinge.problems import KernelRegularized, KernelSlackConstrained
from hinge.solvers import KERNEL_SOLVERS, SBP, ActiveSet, BlockDual, DeviceBlock, choose


@pytest.fixture(scope="module")
def two():
    """400 rows of two overlapping classes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5))
    return X, np.where(X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(400) > 0.2, "yes", "no")


@pytest.fixture(scope="module")
def three(two):
    X, y = two
    return X, np.where(X[:, 2] > 0.9, "perhaps", y)


ENDLESS = {"slack": 0.05, "solver": SBP(4, passes=10**9), "tol": 0}


# --- limits -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
@pytest.mark.parametrize("solver", [BlockDual(), BlockDual(block=8, first=4)], ids=["plain", "subset"])
@pytest.mark.parametrize("share", [0.0, 0.03, 0.1, 0.3, 0.6])
def test_kernel_values_are_never_more_than_allowed(multiclass, solver, share, two, three):
    for X, y in (two, three):
        limit = int(share * len(y) ** 2)
        with pytest.warns(ConvergenceWarning, match="limit on kernel evaluations was reached"):
            model = SVC(C=100.0, gamma=1.0, tol=1e-9, max_kernel_evals=limit, multiclass=multiclass, solver=solver).fit(
                X, y
            )
        assert model.n_kernel_evals_ <= limit
        assert model.stop_reason_ == "max_kernel_evals"
        assert model.fit_status_ == 1
        assert np.isfinite(model.decision_function(X)).all()


def test_a_function_is_not_called_more_often_than_allowed(two):
    X, y = two[0][:60], two[1][:60]
    calls = []

    def counted(x, z):
        calls.append(1)
        return float(np.exp(-np.sum((x - z) ** 2)))

    with pytest.warns(ConvergenceWarning, match="limit on kernel evaluations"):
        SVC(kernel=Function(counted), max_kernel_evals=1500, solver=BlockDual(block=8)).fit(X, y)
    assert 0 < len(calls) <= 1500


def test_a_warm_start_counts_too(two):
    X, y = two
    model = SVC(warm_start=True).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="limit on kernel evaluations"):
        model.set_params(max_kernel_evals=10_000, tol=1e-9).fit(X, y)
    assert model.n_kernel_evals_ <= 10_000


@pytest.mark.slow
def test_time(two, three):
    for X, y in (two, three):
        SVC(slack=0.05, solver=SBP(4, passes=1)).fit(X, y)  # compiled
        model = SVC(max_time=0.3, **ENDLESS)
        with pytest.warns(ConvergenceWarning, match=r"the time limit was reached.*tol=0\)"):
            within(0.2, 1.5, partial(model.fit, X, y))
        assert model.stop_reason_ == "max_time"
        assert np.isfinite(model.decision_function(X)).all()


def test_a_tolerance_out_of_reach_ends_where_nothing_moves(two):
    with pytest.warns(ConvergenceWarning, match="no more progress is possible in floating point"):
        model = SVC(tol=0, gamma=0.5).fit(*two)
    assert model.stop_reason_ == "stalled"
    assert model.gap_ < 1e-6


@pytest.mark.parametrize("max_iter", [0, 1, 3])
def test_iterations(max_iter, two):
    words = rf"Solver terminated early \(max_iter={max_iter}\)\.  Consider .*the iteration limit was reached"
    with pytest.warns(ConvergenceWarning, match=words) as caught:
        model = SVC(solver=BlockDual(block=8), tol=1e-12, max_iter=max_iter, C=100.0).fit(*two)
    np.testing.assert_array_equal(model.n_iter_, [max_iter])
    assert model.history_[-1].iteration == max_iter
    assert model.stop_reason_ == "max_iter"
    assert caught[0].filename == __file__
    assert np.isfinite(model.decision_function(two[0])).all()


def test_iterations_are_those_of_each_run(three):
    X, y = three
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model = SVC(solver=BlockDual(block=4), tol=1e-12, max_iter=2, C=100.0).fit(X, y)
    np.testing.assert_array_equal(model.n_iter_, [2, 2, 2])
    with pytest.warns(ConvergenceWarning, match="max_iter=0"):
        model = SVC(max_iter=0).fit(X, y)
    assert not model.dual_coef_.any()


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_target_error(multiclass, two, three):
    for X, y in (two, three):
        model = SVC(tol=1e-9, target_error=0.45, random_state=0, multiclass=multiclass, solver=BlockDual(block=8)).fit(
            X, y
        )
        assert model.stop_reason_ == "target"
        histories = [model.history_] if len(model.classes_) == 2 else model.history_
        assert all(history[-1].score <= 0.45 for history in histories)
        assert model.fit_status_ == 0


def test_held_out_rows_are_not_trained_on(two, three):
    for X, y in (two, three):
        options = {"tol": 1e-6, "target_error": 0.0, "validation_fraction": 0.3, "random_state": 3}
        model = SVC(gamma=0.5, **options).fit(X, np.random.default_rng(0).permutation(y))
        assert model.stop_reason_ == "converged"
        assert len(model.support_) <= 0.71 * 400
    X, y = two
    s = np.where(np.arange(400) < 100, 0.0, 1.0)
    model = SVC(gamma=0.5, **options).fit(X, y, s)
    assert model.support_.min() >= 100  # held out are rows that would have counted
    assert model.history_[-1].score == pytest.approx(round(90 * model.history_[-1].score) / 90)


# --- Ctrl-C -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The fit ended because .* with no certificate")
@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_interrupted_it_keeps_what_it_has(multiclass, two, three):
    for X, y in (two, three):
        SVC(slack=0.05, solver=SBP(4, passes=1)).fit(X, y)  # compiled
        sent = interrupt_after(0.2)
        model = SVC(on_interrupt="keep", multiclass=multiclass, **ENDLESS).fit(X, y)
        assert time.perf_counter() - sent[0] < 1.5
        assert model.stop_reason_ == "interrupted"
        assert model.fit_status_ == 1
        assert np.isfinite(model.decision_function(X)).all()
        assert set(model.predict(X)) <= set(y)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_interrupted_it_raises(three):
    X, y = three
    SVC(slack=0.05, solver=SBP(4, passes=1)).fit(X, y)
    model = SVC(**ENDLESS)
    sent = interrupt_after(0.2)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert time.perf_counter() - sent[0] < 1.5
    assert not hasattr(model, "support_")


# --- who is told --------------------------------------------------------------------------------


class Watcher:
    """A scikit-learn callback that writes down its calls, and asks to stop after so many looks."""

    def __init__(self, looks=10**9):
        self.looks, self.records, self.fitted, self.ended = looks, [], [], 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        self.ended += 1

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        if context.task_name != "look":
            return False
        self.records.append(context.record)
        self.fitted.append(None if fitted_estimator is None else fitted_estimator.score(X, y))
        return len(self.records) >= self.looks


@pytest.mark.slow
def test_callbacks(two, three):
    watcher = Watcher()
    model = SVC(random_state=0, solver=BlockDual(block=16)).set_callbacks(watcher).fit(*two)
    np.testing.assert_equal(watcher.records, list(model.history_))
    assert watcher.fitted[-1] == model.score(*two)
    assert watcher.ended == 1
    plain = SVC(random_state=0, solver=BlockDual(block=16)).fit(*two)
    np.testing.assert_array_equal(plain.dual_coef_, model.dual_coef_)
    watcher = Watcher()
    model = SVC(random_state=0).set_callbacks(watcher).fit(*three)
    assert len(watcher.records) == sum(map(len, model.history_))
    assert set(watcher.fitted) == {None}
    model = SVC(tol=1e-9, C=100.0, solver=BlockDual(block=8)).set_callbacks(Watcher(looks=2)).fit(*two)
    assert model.stop_reason_ == "callback"
    assert len(model.history_) == 2


def test_lines_on_standard_error(two, three, capfd):
    SVC().fit(*two)
    assert capfd.readouterr() == ("", "")
    model = SVC(verbose=1).fit(*two)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == len(model.history_)
    assert all(re.match(r"\[hinge\] +\d+\.\d\d s, [\d,]+ kernel values", line) for line in lines)
    SVC(verbose=1).fit(*three)
    names = {re.match(r"\[hinge\] (\w+ against \w+): ", line)[1] for line in capfd.readouterr().err.splitlines()}
    assert names == {"no against perhaps", "no against yes", "perhaps against yes"}
    SVC(verbose=1, multiclass="ovr").fit(*three)
    assert "class perhaps: " in capfd.readouterr().err


# --- solvers and slack --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cls", [cls for cls in KERNEL_SOLVERS if cls is not DeviceBlock], ids=lambda cls: cls.__name__)
def test_every_kernel_solver_by_name(cls, two):
    X, y = two
    options = {"solver": cls.__name__.lower(), "tol": 0.1, "max_time": 4.0, "random_state": 0}
    for extra in ({}, {"fit_intercept": False}, {"slack": 0.05}):
        try:
            model = SVC(**options, **extra).fit(X, y)
            break
        except ValueError as error:
            assert str(error).endswith(".")
    assert isinstance(model.solver_, cls)
    assert model.score(X, y) > 0.7


@pytest.mark.parametrize("solver", [DeviceBlock(), "deviceblock"])
def test_blocks_on_a_device_are_refused_without_one(two, solver):
    with pytest.raises(ValueError, match="DeviceBlock is for points on a device"):
        SVC(solver=solver).fit(*two)


def test_the_solver_that_auto_stands_for(two):
    X, y = two[0], np.where(two[1] == "yes", 1, -1)
    assert isinstance(choose(KernelRegularized(X, y, 0.1, Gaussian(0.3))).solver, ActiveSet)
    more = KernelRegularized(np.tile(X, (4, 1)), np.tile(y, 4), 0.1, Gaussian(0.3))
    assert isinstance(choose(more).solver, BlockDual)
    for n, batch in ((100, 2), (400, 2), (1200, 8)):
        problem = KernelSlackConstrained(np.tile(X, (3, 1))[:n], np.tile(y, 3)[:n], 0.1, Gaussian(0.3))
        choice = choose(problem)
        assert isinstance(choice.solver, SBP)
        assert choice.solver.batch_size == batch
        assert choice.solver.rejects(problem) is None


def test_settings_of_solvers_are_parameters():
    model = SVC(solver=BlockDual()).set_params(solver__block=64)
    assert model.get_params()["solver__block"] == 64
    with pytest.raises(ValueError, match="BlockDual has no setting 'blocks'"):
        model.set_params(solver__blocks=3)


@pytest.mark.slow
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_given_slack(fit_intercept, two):
    """The ν of a regularised answer leads back to about its margin, in the same units."""
    X, y = two
    reference = SVC(gamma=0.3, tol=1e-4, fit_intercept=fit_intercept).fit(X, y)
    model = SVC(gamma=0.3, slack=reference.slack_, fit_intercept=fit_intercept, random_state=0).fit(X, y)
    assert model.slack_ == pytest.approx(reference.slack_, rel=1e-6)
    scores, expected = model.decision_function(X), reference.decision_function(X)
    assert np.corrcoef(scores, expected)[0, 1] > 0.95
    signs = np.where(y == "yes", 1, -1)
    loss = np.maximum(0, 1 - signs * scores).mean()
    assert loss * model.objective_ == pytest.approx(reference.slack_, rel=1e-6)  # w/γ has norm 1/γ
    assert np.isnan(model.lam_)
    assert model.objective_ <= reference_margin(reference) * 1.0001


@pytest.mark.parametrize("slack", [0.03272727272727272, 0.04090909090909091, 0.041921172726236036])
def test_an_inaccurate_answer_does_not_decide_the_side_of_a_slack(slack, two):
    """Here the first answers see the root of ν(λ) on the wrong side of λ."""
    model = SVC(gamma=0.3, slack=slack, fit_intercept=False, random_state=0).fit(*two)
    assert model.stop_reason_ == "converged" and sum(model.n_iter_) < 50


def reference_margin(model):
    """γ = 1/‖w‖, from ν = loss/‖w‖ and the objective λ/2‖w‖² + loss."""
    a, b = model.lam_ / 2, model.slack_
    return 1 / ((-b + np.sqrt(b * b + 4 * a * model.objective_)) / (2 * a))


@pytest.mark.slow
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_a_given_slack_for_many_classes(multiclass, three):
    X, y = three
    model = SVC(slack=0.02, gamma=0.5, multiclass=multiclass, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.slack_, 0.02, rtol=1e-6)
    assert model.score(X, y) > 0.8


def test_slack_with_a_target(two):
    model = SVC(slack=0.05, gamma=0.5, target_error=0.4, random_state=0).fit(*two)
    assert model.stop_reason_ == "target"
    assert model.score(*two) > 0.6


@pytest.mark.slow
def test_slacks_that_leave_nothing(two):
    with pytest.raises(ValueError, match="leaves no margin: the kernel does not separate"):
        SVC(slack=0.0, kernel="linear").fit(*two)
    contradiction = np.repeat([[1.0], [-1.0]], 2, axis=0)
    for fit_intercept in (True, False):
        with pytest.raises(ValueError, match=r"0\.3 is too large.*the smaller class"):
            SVC(slack=0.3, kernel="linear", fit_intercept=fit_intercept).fit(contradiction, [0, 1, 0, 1])
    rare = np.arange(400) < 4
    with pytest.raises(ValueError, match="is too large"):
        SVC(slack=1.0, gamma=0.3, solver="sbp").fit(two[0], rare)


@pytest.mark.slow
def test_slack_by_the_papers_method(two):
    X, y = two
    exact = SVC(slack=0.05, gamma=0.3, random_state=0).fit(X, y)
    model = SVC(slack=0.05, gamma=0.3, solver=SBP(batch_size=8), random_state=0).fit(X, y)
    assert exact.stop_reason_ == "converged"
    assert model.stop_reason_ == "finished"
    assert model.objective_ <= exact.objective_ * (1 + exact.gap_)
    assert model.objective_ > 0.8 * exact.objective_
    assert model.slack_ == pytest.approx(0.05, rel=1e-6)


def test_slack_without_time():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    with pytest.warns(ConvergenceWarning, match="the time limit"):
        model = SVC(slack=0.1, max_time=0).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


def test_what_one_pair_leaves_the_next_may_use(three):
    X, y = three
    free = SVC(random_state=0, solver="blockdual").fit(X, y)
    limited = SVC(random_state=0, max_kernel_evals=4 * 400**2).fit(X, y)
    assert limited.n_kernel_evals_ == free.n_kernel_evals_
    assert limited.stop_reason_ == "converged"


@pytest.mark.slow
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_warm_start(multiclass, two, three):
    for X, y in (two, three):
        options = {"tol": 1e-5, "random_state": 0, "multiclass": multiclass, "solver": BlockDual(block=32)}
        model = SVC(C=1.0, warm_start=True, **options).fit(X, y)
        model.set_params(C=1.01).fit(X, y)
        cold = SVC(C=1.01, **options).fit(X, y)
        looks = [
            sum(map(len, np.atleast_1d(m.history_) if len(m.classes_) == 2 else m.history_)) for m in (model, cold)
        ]
        assert looks[0] < looks[1]
        np.testing.assert_allclose(model.objective_, cold.objective_, rtol=2e-5)


@pytest.mark.slow
def test_warm_start_with_other_data(two, three):
    model = SVC(warm_start=True, tol=1e-5)
    X, y = two
    for A, b in ((X, y), (X[:90], y[:90]), (X[:90, :2], y[:90]), three, (X, np.where(y == "yes", "no", "yes"))):
        model.fit(A, b)
        np.testing.assert_allclose(model.objective_, SVC(tol=1e-5).fit(A, b).objective_, rtol=3e-5)
    model.set_params(multiclass="ovr").fit(*three)
    np.testing.assert_allclose(model.objective_, SVC(tol=1e-5, multiclass="ovr").fit(*three).objective_, rtol=3e-5)
