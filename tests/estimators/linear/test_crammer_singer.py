import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from older_sklearn import balanced_by_weight
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from hinge import LinearSVC, model_files
from hinge.access import as_table
from hinge.problems import Multiclass
from hinge.solvers import MulticlassNewton, MulticlassPegasos, MulticlassSDCA, Switch


def machine(**options):
    return LinearSVC(**{"multi_class": "crammer_singer", **options})


def objective(model, X, y, C, weight=None, scaling=1.0):
    """½ Σ‖w‖² + C Σ s max(...) of a fitted model of three classes or more."""
    codes = np.searchsorted(model.classes_, y)
    right = np.arange(len(y)), codes
    R = X @ model.coef_.T + model.intercept_
    R += 1 - R[right][:, None]
    R[right] = 0
    s = np.ones(len(y)) if weight is None else weight
    norm = (model.coef_**2).sum() + np.sum((model.intercept_ / scaling) ** 2)
    return 0.5 * norm + C * s @ R.max(axis=1)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.mark.sampled
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fit_intercept": False},
        {"intercept_scaling": 3.0},
        pytest.param({"class_weight": "balanced"}, marks=balanced_by_weight),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_scikit_learns_model_and_better_by_as_much_as_it_says(options, weighted, iris):
    X, y = iris
    X, y = X[10:], y[10:]  # classes of several sizes
    s = np.random.default_rng(0).uniform(0.5, 2.0, len(y)) if weighted else None
    ours = machine(C=0.3, tol=1e-6, **options).fit(X, y, s)
    theirs = svm.LinearSVC(multi_class="crammer_singer", C=0.3, tol=1e-8, max_iter=10**6, random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # by its order of rows it may miss its own tolerance
        theirs.fit(X, y, s)
    factor = np.ones(len(y)) if s is None else s
    if "class_weight" in options:
        classes, codes = np.unique(y, return_inverse=True)
        mass = np.bincount(codes, factor)
        factor = factor * (mass.sum() / len(classes) / mass)[codes]
    scaling = options.get("intercept_scaling", 1.0)
    mine, best = (objective(model, X, y, 0.3, factor, scaling) for model in (ours, theirs))
    assert mine <= best * (1 + 1e-6)
    assert best <= mine * (1 + 1e-6)
    assert ours.gap_ <= 1e-6
    assert ours.objective_ * 0.3 * factor.sum() == pytest.approx(mine, rel=1e-9)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-2)
    np.testing.assert_allclose(ours.intercept_, np.broadcast_to(theirs.intercept_, 3), atol=1e-2)
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.99


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_two_classes_have_one_row_of_coefficients(iris, fit_intercept):
    X, y = iris
    X, y = X[50:], y[50:]
    ours = machine(tol=1e-7, fit_intercept=fit_intercept).fit(X, y)
    theirs = svm.LinearSVC(multi_class="crammer_singer", tol=1e-8, max_iter=10**6, fit_intercept=fit_intercept).fit(
        X, y
    )
    assert ours.coef_.shape == theirs.coef_.shape == (1, 4)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=5e-3)
    assert ours.dual_coef_.shape == (1, len(ours.support_))
    np.testing.assert_allclose(ours.dual_coef_ @ X[ours.support_], ours.coef_, atol=1e-3)


def test_all_attributes_of_a_fit(iris):
    X, y = iris
    model = machine().fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.coef_.flags.c_contiguous
    assert model.intercept_.shape == (3,)
    assert isinstance(model.objective_, float)
    assert model.stop_reason_ == "converged"
    assert model.solver_ == Switch(1e-4, ascent=MulticlassSDCA(), newton=MulticlassNewton())
    assert model.n_iter_ >= 1
    assert model.n_feature_reads_ > X.size
    assert model.history_[-1].gap == model.gap_ <= 1e-4
    assert model.dual_coef_.shape == (3, len(model.support_))
    np.testing.assert_allclose(model.dual_coef_.sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(model.dual_coef_ @ X[model.support_], model.coef_, atol=1e-3)
    np.testing.assert_array_equal(machine().fit(X, y).coef_, model.coef_)
    assert (machine(random_state=3).fit(X, y).coef_ != model.coef_).any()
    scores = model.decision_function(X)
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert clone(model).multi_class == "crammer_singer"


def test_loss_penalty_and_dual_are_of_no_account(iris):
    X, y = iris
    plain = machine().fit(X, y).coef_
    for options in (
        {"loss": "hinge"},
        {"penalty": "l1"},
        {"dual": False},
        {"loss": "hinge", "dual": False, "penalty": "l1"},
    ):
        np.testing.assert_array_equal(machine(**options).fit(X, y).coef_, plain)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", [np.float32, sp.csr_array, sp.csr_matrix, sp.coo_array])
def test_all_kinds_of_data_give_one_model(kind, iris):
    X, y = iris
    X = np.round(X * 16) / 16
    dense = machine(tol=1e-6).fit(X, y)
    other = machine(tol=1e-6).fit(X.astype(kind) if kind is np.float32 else kind(X), y)
    np.testing.assert_allclose(other.coef_, dense.coef_, atol=1e-6)
    np.testing.assert_array_equal(other.predict(X), dense.predict(X))


def test_pegasos(iris):
    X, y = iris
    model = machine(solver="pegasos", lam=0.05, tol=0.05, max_iter=5000).fit(X, y)
    assert model.solver_ == MulticlassPegasos()
    assert model.gap_ <= 0.05
    best = machine(lam=0.05, tol=1e-8).fit(X, y)
    assert best.objective_ * (1 - 1e-8) <= model.objective_ <= best.objective_ * 1.05
    last = machine(solver=MulticlassPegasos(output="last"), lam=0.05, tol=0.0, max_iter=10)
    with pytest.warns(ConvergenceWarning):
        last.fit(X, y)
    assert last.n_iter_ == 10
    assert last.gap_ >= (last.objective_ - best.objective_) / best.objective_


def test_sdca_by_its_name(iris):
    X, y = iris
    np.testing.assert_array_equal(machine(solver="sdca").fit(X, y).coef_, machine().fit(X, y).coef_)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e5])
def test_columns_of_all_sizes_need_no_more_than_the_default(C):
    X, y = load_wine(return_X_y=True)  # columns of 0.1 to 1000
    model = machine(C=C).fit(X * 10.0 ** np.linspace(-2, 2, X.shape[1]), y)
    assert model.stop_reason_ == "converged"
    assert model.gap_ <= 1e-4


def test_the_solver_that_was_chosen_can_be_given(iris):
    X, y = iris
    chosen = machine(C=1e4).fit(X, y)
    np.testing.assert_array_equal(machine(C=1e4, solver=chosen.solver_).fit(X, y).coef_, chosen.coef_)
    by_name = machine(C=1e4, solver="newton").fit(X, y)
    assert by_name.solver_ == MulticlassNewton()
    assert by_name.objective_ == pytest.approx(chosen.objective_, rel=2e-4)


def test_a_warm_start_goes_on(iris):
    X, y = iris
    model = machine(warm_start=True, C=0.5, tol=1e-5).fit(X, y)
    cold = machine(C=0.6, tol=1e-5).fit(X, y)
    warm = model.set_params(C=0.6).fit(X, y)
    assert warm.n_iter_ < cold.n_iter_
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=0.02)
    model.set_params(multi_class="ovr").fit(X, y)  # another problem: from zero
    assert model.coef_.shape == (3, 4)
    assert machine(warm_start=True).fit(X, y).fit(X[:70], y[:70]).coef_.shape == (1, 4)
    model.set_params(multi_class="crammer_singer").fit(X, y)
    assert model.gap_ <= 1e-5


def test_limits(iris):
    X, y = iris
    with pytest.warns(ConvergenceWarning, match="the iteration limit was reached"):
        model = machine(max_iter=1, tol=1e-9).fit(X, y)
    assert model.n_iter_ == 1
    with pytest.warns(ConvergenceWarning, match="the read limit was reached"):
        model = machine(max_reads=5 * X.size, tol=1e-9).fit(X, y)
    assert 0 < model.n_feature_reads_ <= 5 * X.size
    with pytest.warns(ConvergenceWarning):
        machine(max_time=0.0, tol=1e-12).fit(X, y)
    model = machine(target_error=0.2, tol=0.0, random_state=0).fit(X, y)
    assert model.stop_reason_ == "target"


def test_held_out_rows_take_no_part(iris):
    X, y = iris
    seen = machine(target_error=0.0, validation_fraction=0.3, tol=1e-6, random_state=0).fit(X, y)
    assert len(seen.support_) <= 0.71 * len(y)


def test_a_model_goes_through_a_file(iris, tmp_path):
    X, y = iris
    model = machine(solver=MulticlassPegasos(False), tol=0.1, max_iter=10000).fit(X, y)
    model_files.save(model, tmp_path / "m.hinge")
    again = model_files.load(tmp_path / "m.hinge")
    assert again.get_params() == model.get_params()
    assert again.gap_ == model.gap_
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_what_needs_other_data_or_rows_in_pieces_is_refused(iris):
    X, y = iris
    with pytest.raises(AttributeError) as caught:
        machine().partial_fit(X, y, classes=np.unique(y))
    assert "partial_fit learns one class against the rest: give multi_class='ovr'" in str(caught.value.__cause__)
    assert not hasattr(machine(), "partial_fit") and hasattr(LinearSVC(), "partial_fit")
    with pytest.raises(ValueError, match="reads whole rows in memory: give an array"):
        machine().fit(as_table(X), y)
    with pytest.raises(ValueError, match="The rows with a positive weight are of one class"):
        machine().fit(X, y, (y == "setosa").astype(float))


def test_the_problem_is_that_of_the_papers_with_lam(iris):
    X, y = iris
    model = machine(lam=0.02, tol=1e-7).fit(X, y)
    codes = np.searchsorted(model.classes_, y)
    problem = Multiclass(X, codes, 0.02, bias_scale=1.0)
    W = np.vstack([model.coef_.T, model.intercept_])
    R = X @ model.coef_.T + model.intercept_
    right = np.arange(len(y)), codes
    R += 1 - R[right][:, None]
    R[right] = 0
    assert model.objective_ == pytest.approx(0.01 * (W**2).sum() + R.max(axis=1).mean(), rel=1e-9)
    assert problem.lam == 0.02
