"""Parameters, labels and weights: what is refused, with which words, and what comes of the rest."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from hinge import SVC, LinearSVC, LinearSVCCV, LinearSVR, OneClassSVM, Oracle
from hinge.estimators.data.validation import WIDE, encoded_labels, held_out
from hinge.solvers import SDCA, Pegasos

# --- parameters ---------------------------------------------------------------------------

WRONG = [
    *[({"C": value}, "C must be a number") for value in (-1, 0, np.nan, np.inf, "1", None, True)],
    *[({"lam": value}, "lam must be a number") for value in (-1, 0, np.nan, np.inf, "small")],
    *[({"slack": value}, "slack must be a number") for value in (-0.1, 0, 1.1, np.nan, "half")],
    ({"lam": 0.1, "slack": 0.1}, "lam and slack both"),
    *[({"tol": value}, "tol must be a number") for value in (-1e-3, np.nan, np.inf, "tight", None)],
    *[({"max_iter": value}, "max_iter must be") for value in (-1, np.nan, "many", None)],
    *[({"max_time": value}, "max_time must be a number") for value in (-1, np.nan, "1 s")],
    *[({"max_reads": value}, "max_reads must be a number") for value in (-1, np.nan, "all")],
    *[({"target_error": value}, "target_error must be a number") for value in (-0.1, np.nan, "low")],
    *[({"validation_fraction": value}, "validation_fraction must") for value in (0, 1, -0.5, 1.5, "x", None)],
    *[({"intercept": value}, "intercept must be one of 'penalized', 'free'") for value in ("none", None, 0)],
    *[({"intercept_scaling": value}, "intercept_scaling must be") for value in (0, -1, np.nan, "1")],
    *[({"on_interrupt": value}, "on_interrupt must be one of 'raise', 'keep'") for value in ("stop", None)],
    *[({"solver": value}, "solver must be") for value in ("sdcaa", "SDCA", "", None, 3, frozenset(), Pegasos)],
    ({"class_weight": "even"}, "class_weight"),
    ({"class_weight": {7: 1.0}}, "class"),
    ({"class_weight": {1: -1.0}}, "class_weight of 1 must be a number of at least 0"),
    ({"class_weight": {1: np.nan}}, "class_weight of 1 must be a number of at least 0, got nan"),
    ({"random_state": "seed"}, "seed"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("parameters", "words"), WRONG, ids=lambda v: str(v) if isinstance(v, dict) else "")
def test_a_wrong_parameter_is_named(parameters, words, tiny):
    model = LinearSVC(**parameters)  # as scikit-learn wants it, nothing is checked before fit
    with pytest.raises(ValueError, match=words):
        model.fit(*tiny)
    assert not hasattr(model, "coef_")


def test_half_a_pass_is_not_taken_for_none(tiny):
    with pytest.raises(ValueError, match="max_iter"):
        LinearSVC(max_iter=0.5).fit(*tiny)


def test_threads_are_a_number(tiny):
    with pytest.raises((TypeError, ValueError), match="n_jobs"):
        LinearSVC(n_jobs="two").fit(*tiny)


def test_an_unknown_solver_is_answered_with_the_known_ones(tiny):
    with pytest.raises(ValueError, match="got 'newtom'") as caught:
        LinearSVC(solver="newtom").fit(*tiny)
    for name in ("auto", "pegasos", "sdca", "newton", "norma", "sgd", "perceptron", "amplified"):
        assert f"'{name}'" in str(caught.value)


def test_partial_fit_checks_the_same_parameters(tiny):
    X, y = tiny
    with pytest.raises(ValueError, match="lam must be"):
        LinearSVC(lam=-1).partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(ValueError, match="slack needs all rows"):
        LinearSVC(slack=0.1, loss="hinge").partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(ValueError, match=r"'balanced' needs all rows"):
        LinearSVC(class_weight="balanced").partial_fit(X, y, classes=[-1, 1])


def test_all_parameters_survive_cloning():
    model = LinearSVC(C=2.0, lam=0.1, solver=Pegasos(4), class_weight={1: 2.0}, n_jobs=2, on_interrupt="keep")
    assert clone(model).get_params(deep=False).keys() == model.get_params(deep=False).keys()
    for name, value in clone(model).get_params(deep=False).items():
        assert value == model.get_params(deep=False)[name]


# --- labels -------------------------------------------------------------------------------


def test_labels_become_numbers_in_the_order_of_the_classes():
    classes, codes = encoded_labels(np.array(["b", "a", "c", "a"]))
    assert classes.tolist() == ["a", "b", "c"]
    assert codes.tolist() == [1, 0, 2, 0]
    assert encoded_labels(np.array([1, 1]), np.array([0, 1]))[1].tolist() == [1, 1]


@pytest.mark.parametrize("label", [5, -5, 1])
def test_a_label_outside_the_known_classes(label):
    with pytest.raises(ValueError, match=r"y has the label .*, which is not among the classes \[0, 2\]"):
        encoded_labels(np.array([0, label, 2]), np.array([0, 2]))


@pytest.mark.parametrize("label", [3, "yes"])
def test_sentences_show_labels_as_people_write_them(label):
    with pytest.raises(ValueError, match=f"y has one class only, {label!r}: "):
        encoded_labels(np.array([label, label]))
    known = np.array([0, 1]) if label == 3 else np.array(["no", "other"])
    with pytest.raises(ValueError, match=f"y has the label {label!r}, "):
        encoded_labels(np.array([label]), known)


# --- rows held out ------------------------------------------------------------------------


@pytest.mark.parametrize("fraction", [0.1, 0.25, 0.5])
def test_held_out_rows_are_a_share_of_every_class(fraction):
    codes = np.repeat([0, 1, 2], [400, 80, 20])
    rows = held_out(codes, fraction, seed=3)
    assert rows.dtype == np.int64
    assert (np.diff(rows) > 0).all()
    assert np.bincount(codes[rows]).tolist() == [400 * fraction, 80 * fraction, 20 * fraction]
    assert held_out(codes, fraction, seed=3).tolist() == rows.tolist()
    assert held_out(codes, fraction, seed=4).tolist() != rows.tolist()


def test_held_out_leaves_a_row_of_each_class():
    codes = np.array([0, 1, 1, 1, 1])
    rows = held_out(codes, 0.99, seed=0)
    assert set(codes[np.setdiff1d(np.arange(5), rows)]) == {0, 1}


def test_nothing_to_hold_out():
    with pytest.raises(ValueError, match=r"validation_fraction=0\.1 of 2 rows leaves none to measure"):
        held_out(np.array([0, 1]), 0.1, seed=0)


COMBINATIONS = [
    (LinearSVC, {"penalty": "l1", "loss": "hinge", "dual": False}, "loss='squared_hinge'"),
    (LinearSVC, {"penalty": "l1", "dual": True}, "dual='auto' or dual=False"),
    (LinearSVC, {"loss": "hinge", "dual": False}, "dual='auto' or dual=True"),
    (LinearSVC, {"loss": "hinge", "dual": np.False_}, "dual='auto' or dual=True"),
    (LinearSVR, {"loss": "epsilon_insensitive", "dual": False}, "dual='auto' or dual=True"),
]


@pytest.mark.parametrize(("machine", "parameters", "fix"), COMBINATIONS)
def test_what_scikit_learn_refuses_together_is_refused(machine, parameters, fix, tiny):
    with pytest.raises(ValueError, match=f"Unsupported set of arguments: penalty='l[12]', loss=.* dual=.*{fix}"):
        machine(**parameters).fit(*tiny)
    with pytest.raises(ValueError, match="Unsupported set of arguments"):
        getattr(svm, machine.__name__)(**parameters).fit(*tiny)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"slack": 0.1}, "slack is that of two classes: give C or lam"),
        ({"intercept": "free"}, "intercept='free' is for one class against the rest: give 'penalized'"),
        ({"solver": "cocoa"}, "solver='cocoa' is for two classes: give 'auto', 'sdca', 'newton' or 'pegasos'"),
        ({"solver": "frugal", "max_reads": 10}, "solver='frugal' is for two classes"),
        ({"solver": SDCA()}, "SDCA is for two classes: give one of hinge.solvers whose name has Multiclass"),
    ],
)
def test_what_does_not_go_with_all_classes_at_once_is_refused(parameters, words, tiny):
    with pytest.raises(ValueError, match=f"{words}.*, where multi_class='crammer_singer'"):
        LinearSVC(multi_class="crammer_singer", **parameters).fit(*tiny)


def test_no_passes_at_all_are_a_limit_like_any_other(tiny):
    for machine in (LinearSVC, LinearSVR):
        with pytest.warns(ConvergenceWarning, match="the iteration limit was reached"):
            model = machine(max_iter=0).fit(*tiny)
        assert not model.coef_.any()


@pytest.mark.parametrize(
    "y",
    [
        np.array([1, -1, 1], np.int8),
        np.array([2, 7, 7, 3], np.uint8),
        np.array([-(2**63), 2**63 - 1]),
        np.array([5.0, -3.0, 5.0]),
        np.array([4, 4, 1_000_000, 0]),
        np.array([True, False]),
        np.resize(np.array([-128, 127, 0, 127], np.int8), 400),
        np.resize(np.array([2**63 + 5, 2**63, 2**63 + 1], np.uint64), 400),
        np.array(["b", "a", "b"]),
    ],
)
def test_labels_are_found_as_numpy_finds_them(y):
    classes, codes = encoded_labels(y)
    expected, inverse = np.unique(y, return_inverse=True)
    assert classes.dtype == expected.dtype
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(codes, inverse)


def test_two_measurements_are_not_labels():
    with pytest.raises(ValueError, match="continuous"):
        encoded_labels(np.array([0.5, 1.5, 0.5]))


@pytest.mark.parametrize("y", ["abc", None, np.ones(3), np.full(4, np.nan), np.ones((4, 2))])
def test_labels_that_are_none_are_refused_beside_plain_rows(y):
    for model in (LinearSVC(), SVC()):
        with pytest.raises((ValueError, TypeError), match=r"."):
            model.fit(np.eye(4), y)


@pytest.mark.parametrize("model", [LinearSVC(), SVC(), LinearSVR(), OneClassSVM()], ids=lambda m: type(m).__name__)
def test_vectors_that_do_not_fit_are_not_asked_for(model, monkeypatch):
    """A wrong index in a text file makes rows that are small, and weights that are not."""
    wide = sp.csr_array(([1.0, 2.0], ([0, 1], [0, WIDE])), shape=(2, WIDE + 1))
    monkeypatch.setattr("hinge.estimators.data.validation.free_memory", lambda: 3 << 30)
    with pytest.raises(ValueError, match=r"X has 134,217,729 columns.*takes 1\.1 GB, of which 4 .* 3\.2 GB are free"):
        model.fit(wide, [0, 1])


@pytest.mark.parametrize("model", [SVC(), LinearSVR(), OneClassSVM(), LinearSVCCV()], ids=lambda m: type(m).__name__)
def test_who_cannot_buy_cells_says_who_can(model):
    class Seller:
        shape = (2, 2)
        row = column = staticmethod(lambda k: [k, 1.0])

    for table in (Seller(), Oracle(Seller())):
        with pytest.raises(TypeError, match="not a table of which some cells are read, as LinearSVC does"):
            model.fit(table, [0, 1])
    assert Oracle(Seller()).block(np.arange(2), np.arange(2)).tolist() == [[0, 1], [1, 1]]


@pytest.mark.parametrize("model", [SVC(), OneClassSVM(), LinearSVC()], ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("form", [str, "S", list, "foreign"])
def test_numbers_in_other_forms_are_the_same_numbers(model, form, tiny):
    """As text, and as CSR in another byte order; scikit-learn's kernel machines take both."""
    X, y = tiny
    if form == "foreign":
        other = sp.csr_array(X)
        other.data = other.data.astype(X.dtype.newbyteorder())
        X = sp.csr_array(X)
    else:
        other = X.astype(str).tolist() if form is list else X.astype(str).astype(form)
    fitted = clone(model).fit(other, y)
    np.testing.assert_array_equal(fitted.predict(other), clone(model).fit(X, y).predict(X))


def test_text_that_is_no_number_is_named():
    with pytest.raises(ValueError, match=r"X must be a table of numbers.*could not convert string to float: .*'a'"):
        SVC().fit([["1", "a"], ["2", "3"]], [0, 1])
