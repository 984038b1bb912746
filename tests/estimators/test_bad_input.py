"""Input at the edge and beyond it: a model that is finite and certified, or a sentence; never nonsense."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from papers_svc import papers_svc
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, NotFittedError

from hinge import LinearSVC

SOLVERS = ("auto", "sdca", "newton", "pegasos")
every_solver = pytest.mark.parametrize("solver", SOLVERS)


def objective(model, X, y, lam, s, scaling=None):
    """λ/2 ‖w‖² + the weighted mean hinge loss of a binary model, by NumPy."""
    X = X.toarray() if sp.issparse(X) else X
    w, b = model.coef_.ravel(), float(model.intercept_[0])
    signs = np.where(y == model.classes_[1], 1, -1)
    loss = np.average(np.maximum(0, 1 - signs * (X.astype(np.float64) @ w + b)), weights=s)
    return lam / 2 * (w @ w + ((b / scaling) ** 2 if scaling else 0.0)) + loss


# --- data ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("where", ["X", "csr", "predict", "sample_weight", "partial_fit"])
@pytest.mark.parametrize(("value", "words"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_nan_and_infinity_are_named(where, value, words, tiny):
    X, y = tiny
    bad = X.copy()
    bad[7, 3] = value
    model = papers_svc()
    with pytest.raises(ValueError, match=f"contains {words}"):
        if where == "predict":
            model.fit(X, y).predict(bad)
        elif where == "sample_weight":
            model.fit(X, y, sample_weight=bad[:, 3])
        elif where == "partial_fit":
            model.partial_fit(bad, y, classes=[-1, 1])
        else:
            model.fit(sp.csr_array(bad) if where == "csr" else bad, y)
    assert hasattr(model, "coef_") == (where == "predict")


WRONG_DATA = {
    "no rows": (np.empty((0, 3)), np.empty(0), "0 sample"),
    "no features": (np.empty((4, 0)), [0, 1, 0, 1], "0 feature"),
    "one row": (np.ones((1, 3)), [1], "one class only"),
    "one class": (np.ones((4, 3)), [1, 1, 1, 1], "one class only, .*needs 2 classes"),
    "fewer labels": (np.ones((4, 3)), [0, 1, 0], "inconsistent numbers of samples"),
    "more labels": (np.ones((4, 3)), [0, 1, 0, 1, 0], "inconsistent numbers of samples"),
    "no labels": (np.ones((4, 3)), None, "requires y|y cannot be None"),
    "continuous labels": (np.ones((4, 3)), [0.1, 0.2, 0.3, 0.4], "continuous"),
    "two labels a row": (np.ones((4, 3)), np.ones((4, 2)), "1d array|multioutput|shape"),
    "a label missing": (np.ones((4, 3)), [0, 1, np.nan, 1], "NaN"),
    "one dimension": (np.ones(4), [0, 1, 0, 1], "Expected 2D array"),
    "three dimensions": (np.ones((4, 2, 2)), [0, 1, 0, 1], "dim 3"),
    "complex": (np.ones((4, 3)) * 1j, [0, 1, 0, 1], "Complex data not supported"),
    "strings": (np.full((4, 3), "a", object), [0, 1, 0, 1], "could not convert string|string"),
    "ragged": ([[1.0], [1.0, 2.0]], [0, 1], "inhomogeneous|sequence"),
    "a word": ("rows", [0, 1], "no file or folder rows"),
}


@pytest.mark.parametrize("case", WRONG_DATA)
def test_wrong_data(case):
    X, y, words = WRONG_DATA[case]
    model = papers_svc()
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=words):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(np.ones((1, 3)))


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (-1.0, "[Nn]egative"),
        (np.zeros(60), "zero or negative weights: there is nothing to learn from"),
        (np.ones(59), "one number for each of the 60 rows"),
        (np.ones((60, 2)), "one number for each of the 60 rows"),
        (["heavy"] * 60, "could not convert"),
    ],
    ids=["negative", "zero", "fewer", "2-d", "words"],
)
def test_wrong_weights(weight, words, tiny):
    with pytest.raises(ValueError, match=words):
        papers_svc().fit(*tiny, sample_weight=weight)


def test_weights_that_leave_one_class(tiny):
    X, y = tiny
    for model in (papers_svc(), papers_svc(class_weight={1: 0.0}), papers_svc(class_weight="balanced")):
        s = None if isinstance(model.class_weight, dict) else (y > 0).astype(float)
        with pytest.raises(ValueError, match=r"one class|2 classes|no row of the class"):
            model.fit(X, y, s)
    three = np.where(X[:, 2] > 0.8, 0, y)
    with pytest.raises(ValueError, match=r"class"):
        papers_svc().fit(X, three, (three != 0).astype(float))


def test_a_column_of_labels_is_taken_with_a_warning(tiny):
    X, y = tiny
    with pytest.warns(DataConversionWarning):
        model = papers_svc(random_state=0).fit(X, y[:, None])
    np.testing.assert_array_equal(model.coef_, papers_svc(random_state=0).fit(X, y).coef_)


def test_other_features_at_predict(tiny):
    X, y = tiny
    model = papers_svc()
    for method in ("predict", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(model, method)(X)
    model.fit(X, y)
    for wrong in (X[:, :6], np.hstack([X, X]), sp.csr_array(X[:, :6])):
        with pytest.raises(ValueError, match="features, but LinearSVC is expecting 7 features"):
            model.predict(wrong)
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.predict(X[0])
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(X[:0])


# --- strange but fine ---------------------------------------------------------------------


@pytest.mark.slow
@every_solver
def test_rows_of_zeros(solver, tiny):
    X, y = tiny
    X = X.copy()
    X[::5] = 0.0
    tol = 0.2 if solver == "pegasos" else 1e-6
    for A in (X, sp.csr_array(X.astype(np.float32))):
        model = papers_svc(C=0.1, solver=solver, tol=tol).fit(A, y)
        assert model.objective_ == pytest.approx(objective(model, A, y, 1 / 6, None), rel=1e-9)
        best = papers_svc(C=0.1, tol=1e-9, solver="newton").fit(X, y).objective_
        assert best * (1 - 1e-7) <= model.objective_ <= best * (1 + model.gap_ + 1e-7)


@pytest.mark.slow
@every_solver
@pytest.mark.parametrize("options", [{}, {"intercept": "penalized"}, {"fit_intercept": False}], ids=str)
def test_nothing_but_zeros(solver, options):
    """No feature says anything: the larger class is predicted for good, where a bias may say so."""
    y = np.array([0, 1, 1, 1, 0, 1, 1, 1])
    for X in (np.zeros((8, 3)), sp.csr_array((8, 3), dtype=np.float32)):
        model = papers_svc(solver=solver, tol=0.2, max_iter=10**4, **options).fit(X, y)
        assert not model.coef_.any()
        assert 0 <= model.gap_ <= 0.2
        if options.get("fit_intercept", True):
            assert model.predict(X).tolist() == [1] * 8
            assert model.intercept_[0] > 0
        else:
            assert np.abs(model.decision_function(X)).max() <= 1e-12
            assert model.objective_ == pytest.approx(1.0, abs=1e-13)


@pytest.mark.slow
@every_solver
def test_one_row_of_each_class(solver):
    X, tol = np.array([[1.0, 2.0], [-3.0, 0.5]]), 0.3 if solver == "pegasos" else 1e-9
    for A, y in ((X, [5, 7]), (X[:1].repeat(2, 0) * [[1], [2]], ["a", "b"])):
        model = papers_svc(solver=solver, tol=tol).fit(A, y)
        assert model.gap_ <= tol
        assert np.isfinite(model.coef_).all()
        if y == [5, 7] and solver != "pegasos":  # the maximum margin between two points
            between = X[1] - X[0]
            np.testing.assert_allclose(model.coef_[0], 2 * between / (between @ between), rtol=1e-3)
            np.testing.assert_allclose(model.decision_function(A), [-1, 1], atol=1e-3)


@every_solver
def test_rows_that_contradict_each_other(solver):
    X, y = np.repeat([[1.0, 2.0], [-1.0, 0.5]], 2, axis=0), [0, 1, 0, 1]
    model = papers_svc(solver=solver, tol=0.05, max_iter=10**4).fit(X, y)
    assert model.objective_ == pytest.approx(1.0, rel=0.06)  # nothing is better than w = 0
    tight = papers_svc(tol=1e-9).fit(X, y)
    assert tight.objective_ == pytest.approx(1.0, rel=1e-8)
    np.testing.assert_allclose(tight.coef_, 0, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "sdca", "newton"])
@pytest.mark.parametrize("shape", [(40, 1), (5, 60), (300, 3), (2, 1)])
def test_thin_and_wide(solver, shape):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape)
    y = np.arange(shape[0]) % 2
    model = papers_svc(solver=solver, tol=1e-6, max_iter=10**5).fit(X, y)
    assert model.coef_.shape == (1, shape[1])
    assert model.objective_ == pytest.approx(objective(model, X, y, 1 / len(y), None), rel=1e-9)
    assert model.gap_ <= 1e-6


@pytest.mark.slow
def test_more_features_than_newton_factors():
    """Between 256 and 1024 features Newton goes by conjugate gradients."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 300)).astype(np.float32)
    y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    best = papers_svc(lam=0.1, solver="sdca", tol=1e-7).fit(X, y).objective_
    model = papers_svc(lam=0.1, solver="newton", tol=1e-4).fit(X, y)
    assert best * (1 - 1e-6) <= model.objective_ <= best * (1 + 1.1e-4)


# --- sizes --------------------------------------------------------------------------------


@pytest.mark.slow
@every_solver
@pytest.mark.parametrize("options", [{}, {"intercept": "penalized"}, {"fit_intercept": False}], ids=str)
@pytest.mark.parametrize("size", [1e200, 1e80])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_huge_values(solver, options, size, tiny):
    """A sentence about X, or a finite model whose certificate is true."""
    X, y = tiny[0] * size, tiny[1]
    try:
        model = papers_svc(solver=solver, max_iter=50, **options).fit(X, y)
    except ValueError as error:
        assert "X" in str(error) or "scale" in str(error)  # not only some array deep inside
        return
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert model.gap_ >= 0
    if np.isfinite(model.gap_):
        scaling = 1.0 if "intercept" in options else None
        assert model.objective_ == pytest.approx(objective(model, X, y, 1 / 60, None, scaling), rel=1e-6)
        zero = 1.0  # the objective of w = 0, b = 0
        assert model.objective_ / (1 + model.gap_) <= zero * (1 + 1e-9)
    assert set(model.predict(X)) <= {-1, 1}


@pytest.mark.slow
@every_solver
@pytest.mark.parametrize("size", [1e-20, 1e-160, 1e-200, 1e-310])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_tiny_values(solver, size, tiny):
    """At C=1 nothing can be made of them: the best is a bias, of objective 2 × the smaller class's share."""
    X, y = tiny[0] * size, tiny[1]
    model = papers_svc(solver=solver, max_iter=200).fit(X, y)
    assert np.isfinite(model.coef_).all()
    smaller = min(np.mean(y > 0), np.mean(y < 0))
    assert model.objective_ == pytest.approx(2 * smaller, rel=1e-6)
    assert model.gap_ < 0.2
    assert len(set(model.predict(X))) == 1


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["sdca", "newton"])
@pytest.mark.parametrize("size", [2.0**-80, 2.0**-30, 2.0**30, 2.0**80])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_scale_does_not_matter_if_C_follows(solver, fit_intercept, size, tiny):
    X, y = tiny
    options = {"solver": solver, "tol": 1e-6, "random_state": 0, "fit_intercept": fit_intercept}
    base = papers_svc(**options).fit(X, y)
    model = papers_svc(C=1 / size**2, **options).fit(X * size, y)
    assert model.objective_ == pytest.approx(base.objective_, rel=2e-6)
    np.testing.assert_array_equal(model.predict(X * size), base.predict(X))


@pytest.mark.parametrize("solver", ["sdca", "newton"])
@pytest.mark.parametrize("C", [1e-12, 1e12])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_extreme_C(solver, C, tiny):
    X, y = tiny
    model = papers_svc(C=C, solver=solver, max_iter=300).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.objective_ == pytest.approx(objective(model, X, y, 1 / (60 * C), None), rel=1e-6)
    if C < 1:
        assert model.gap_ <= 1e-3


def test_float32_at_its_limits(tiny):
    X, y = tiny
    for size in (1e38 / 16, 1e-38, 1e-42):
        A = (X * size).astype(np.float32)
        assert np.isfinite(A).all()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                model = papers_svc(solver="sdca", max_iter=50).fit(A, y)
            except ValueError as error:
                assert "X" in str(error)
                continue
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.decision_function(A)).all()


@pytest.mark.parametrize("slack", [0.01, 0.3, 0.6])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_slack_where_no_hyperplane_separates(slack, fit_intercept):
    """The slack is all the margin there is, at w = 0."""
    for X in ([[1.0], [1.0], [-1.0], [-1.0]], np.zeros((4, 2))):
        model = papers_svc(slack=slack, max_time=5, fit_intercept=fit_intercept).fit(X, [0, 1, 0, 1])
        assert model.objective_ == pytest.approx(slack, rel=1e-3)
        assert model.gap_ <= 1e-3
        assert np.ptp(model.decision_function(X)) <= 1e-10


def test_slack_knows_no_penalized_bias(tiny):
    free, penalized = (LinearSVC(loss="hinge", slack=0.3, intercept=kind).fit(*tiny) for kind in ("free", "penalized"))
    np.testing.assert_array_equal(free.coef_, penalized.coef_)


# --- anything at all ----------------------------------------------------------------------

MODERATE = st.sampled_from([0.0, 0.0, 1.0, -1.0, 0.5, -2.0, 3.0, 1e-8, 1e4, -1e4, 7.0])
EXTREME = st.sampled_from([0.0, 1.0, -1.0, 1e-310, 1e-200, 1e-160, 1e30, -1e60, 5e69, 1e155, -1e300, np.nan, np.inf])


@st.composite
def problems(draw, cells):
    n, d = draw(st.sampled_from([*range(10), 4, 6, 8])), draw(st.integers(1, 4))
    X = np.array(draw(st.lists(cells, min_size=n * d, max_size=n * d)), float).reshape(n, d)
    labels = draw(st.sampled_from([[0, 1], [-1, 1], ["a", "b"], [True, False], [0.0, 2.0], [3]]))
    y = [draw(st.sampled_from(labels)) for _ in range(n)]
    if len(labels) == 2 and draw(st.integers(0, 9)):
        y[:2] = labels[: len(y)]
    kind = draw(st.sampled_from(["dense", "dense", "csr", "fortran"]))
    with np.errstate(over="ignore", under="ignore"):
        if kind == "csr":
            X = sp.csr_array(X.astype(np.float32))
        elif kind == "fortran":
            X = np.asfortranarray(X)
    weight = draw(st.none() | st.lists(st.sampled_from([0.0, 1.0, 2.5, 1e-3, 100.0]), min_size=n, max_size=n))
    options = {
        "solver": draw(st.sampled_from([*SOLVERS, "norma", "perceptron"])),
        "fit_intercept": draw(st.booleans()),
        "intercept": draw(st.sampled_from(["free", "penalized"])),
        "intercept_scaling": draw(st.sampled_from([1.0, 0.1, 10.0])),
        "class_weight": draw(st.sampled_from([None, None, "balanced"])),
        "tol": draw(st.sampled_from([1e-3, 0.5, 0.0])),
        "max_reads": draw(st.sampled_from([None, None, None, 100])),
        "warm_start": draw(st.booleans()),
    }
    options[draw(st.sampled_from(["C", "lam"]))] = draw(st.sampled_from([1.0, 1e-3, 0.1, 100.0]))
    if options["solver"] in ("norma", "perceptron"):
        options["fit_intercept"] = draw(st.sampled_from([False, False, True]))
        weight = None if draw(st.booleans()) else weight
    if weight is not None and options["class_weight"] == "balanced":
        weight = [w or 1.0 for w in weight]  # to balance a class of no weight is another test's question
    return X, y, weight, options


def check(X, y, weight, options):
    """A sentence, or a finite model with a true certificate; twice, in case it starts warm."""
    model = papers_svc(max_iter=40, max_time=5, random_state=0, **options)
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # and any other warning is an error
            try:
                model.fit(X, y, weight)
            except (ValueError, TypeError) as error:
                assert len(str(error).split()) >= 4
                return
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.intercept_).all()
        assert model.gap_ >= 0
        assert model.stop_reason_ in ("converged", "finished", "max_iter", "max_reads", "max_time")
        assert (model.gap_ <= options["tol"]) or model.stop_reason_ != "converged"
        assert len(model.predict(X)) == len(y)
        if np.isnan(model.objective_):  # no certificate was affordable
            assert model.gap_ == np.inf
            assert options["max_reads"] is not None
            continue
        y = np.asarray(y)
        s = np.ones(len(y)) if weight is None else np.asarray(weight)
        if options["class_weight"] == "balanced":
            positive = y == model.classes_[1]
            mass = s.sum() / 2
            s = s * np.where(positive, mass / s[positive].sum(), mass / s[~positive].sum())
        lam = options["lam"] if "lam" in options else 1 / (options["C"] * s.sum())
        penalized = options["fit_intercept"] and options["intercept"] == "penalized"
        scaling = options["intercept_scaling"] if penalized else None
        assert model.objective_ == pytest.approx(objective(model, X, y, lam, s, scaling), rel=1e-6, abs=1e-12)
        # The bound from the dual holds for every point, w = 0 and the last answer among them.
        bound = model.objective_ / (1 + model.gap_)
        assert bound <= 1 + 1e-9
        tight = papers_svc(**{**options, "solver": "newton", "tol": 1e-9, "max_reads": None}, max_iter=300)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            tight.set_params(random_state=0, max_time=5).fit(X, y, weight)
        assert bound <= tight.objective_ * (1 + 1e-7) + 1e-12


@pytest.mark.slow
@settings(max_examples=150)
@given(problems(MODERATE))
def test_odd_problems(problem):
    check(*problem)


@pytest.mark.slow
@settings(max_examples=100)
@given(problems(EXTREME))
@example(
    (
        np.array([[1e200], [-1e200]]),
        [0, 1],
        None,
        {
            "solver": "sdca",
            "fit_intercept": True,
            "intercept": "free",
            "intercept_scaling": 1.0,
            "class_weight": None,
            "tol": 1e-3,
            "max_reads": None,
            "C": 1.0,
        },
    )
)
def test_extreme_problems(problem):
    X, y, weight, options = problem
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = papers_svc(max_iter=40, max_time=5, random_state=0, **options).fit(X, y, weight)
    except (ValueError, TypeError) as error:
        assert len(str(error).split()) >= 4
        return
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert model.gap_ >= 0
    assert not (np.isfinite(model.gap_) and not np.isfinite(model.objective_))
