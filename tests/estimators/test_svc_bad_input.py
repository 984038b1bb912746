"""Input that SVC cannot use, and the sentence it gets for it."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from hinge import SVC
from hinge.kernels import Gaussian
from hinge.solvers import SBP, BlockDual

PARAMETERS = [
    ({"C": 0}, "C must be a number greater than 0"),
    ({"C": -np.inf}, "C must be a number greater than 0"),
    ({"C": "1"}, "C must be a number greater than 0, or infinite, got '1'"),
    ({"slack": -0.1}, "slack must be a number from 0 to 1, or None"),
    ({"slack": 1.1}, "slack must be a number from 0 to 1, or None"),
    ({"kernel": "rbff"}, "kernel must be one of 'linear', 'rbf', .*, got 'rbff'"),
    ({"kernel": 3}, "kernel must be one of .* or one of hinge.kernels, got 3"),
    ({"kernel": Gaussian}, "kernel must be one of .* or one of hinge.kernels"),
    ({"degree": 1.5}, "degree must be a whole number"),
    ({"degree": -1}, "degree must be a whole number"),
    ({"gamma": "wide"}, "gamma must be one of 'scale', 'auto'"),
    ({"gamma": -1.0}, "gamma must be one of 'scale', 'auto', or a number of at least 0"),
    ({"coef0": np.nan}, r"coef0 must be a number from -1e\+100 to 1e\+100, got nan"),
    ({"solver": "libsvm"}, "solver must be one of 'auto', .*'blockdual'"),
    ({"solver": BlockDual}, "solver must be one of .*, or a hinge Solver, got <class"),
    ({"tol": -1}, "tol must be a number of at least 0"),
    ({"max_iter": -2}, "max_iter must be a whole number of at least 0, or -1"),
    ({"max_iter": 0.5}, "max_iter must be a whole number of at least 0, or -1"),
    ({"shrinking": None}, "shrinking must be True or False"),
    ({"probability": "yes"}, "probability must be True or False"),
    ({"max_time": -1}, "max_time must be a number of at least 0"),
    ({"max_kernel_evals": "all"}, "max_kernel_evals must be a number of at least 0"),
    ({"target_error": -0.1}, "target_error must be a number of at least 0"),
    ({"validation_fraction": 1.0}, "validation_fraction must be a number greater than 0 and less than 1"),
    ({"cache_size": 0}, "cache_size must be a number greater than 0"),
    ({"multiclass": "all"}, "multiclass must be one of 'ovo', 'ovr'"),
    ({"decision_function_shape": None}, "decision_function_shape must be one of 'ovo', 'ovr'"),
    ({"decision_function_shape": "ovo", "multiclass": "ovr"}, "needs multiclass='ovo'"),
    ({"device": "gpu"}, "device must be 'cpu' or 'cuda', got 'gpu'"),
    ({"precision": "float16"}, "precision must be one of 'float32', 'tf32', 'bf16'"),
    ({"n_jobs": 0}, "n_jobs must be a whole number of at least 1"),
    ({"on_interrupt": "ask"}, "on_interrupt must be one of 'raise', 'keep'"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("parameters", "words"), PARAMETERS, ids=lambda p: str(p)[:40])
def test_wrong_parameters(parameters, words, tiny):
    model = SVC(**parameters)
    with pytest.raises(ValueError, match=words) as caught:
        model.fit(*tiny)
    assert str(caught.value).endswith(".")
    with pytest.raises(NotFittedError):
        model.predict(tiny[0])


WRONG_DATA = {
    "no rows": (np.empty((0, 3)), np.empty(0), "0 sample"),
    "no features": (np.empty((4, 0)), [0, 1, 0, 1], "0 feature"),
    "one class": (np.ones((4, 3)), [1, 1, 1, 1], "one class only, .*needs 2 classes"),
    "fewer labels": (np.ones((4, 3)), [0, 1, 0], "inconsistent numbers of samples"),
    "no labels": (np.ones((4, 3)), None, "requires y|y cannot be None"),
    "continuous labels": (np.ones((4, 3)), [0.1, 0.2, 0.3, 0.4], "continuous"),
    "a label missing": (np.ones((4, 3)), [0, 1, np.nan, 1], "NaN"),
    "one dimension": (np.ones(4), [0, 1, 0, 1], "Expected 2D array"),
    "complex": (np.ones((4, 3)) * 1j, [0, 1, 0, 1], "Complex data not supported"),
    "strings": (np.full((4, 3), "a", object), [0, 1, 0, 1], "could not convert string|string"),
    "words": (["a", "b", "c", "d"], [0, 1, 0, 1], "array|string|float"),
    "huge": (np.full((4, 3), 1e200), [0, 1, 0, 1], "X has values above .*scale the features down"),
}


@pytest.mark.parametrize("case", WRONG_DATA)
def test_wrong_data(case):
    X, y, words = WRONG_DATA[case]
    model = SVC()
    with pytest.raises((ValueError, TypeError), match=words):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(np.ones((1, 3)))


@pytest.mark.parametrize("where", ["X", "csr", "predict", "sample_weight", "precomputed"])
@pytest.mark.parametrize(("value", "words"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_nan_and_infinity_are_named(where, value, words, tiny):
    X, y = tiny
    bad = X.copy()
    bad[7, 3] = value
    with pytest.raises(ValueError, match=f"contains {words}"):
        if where == "predict":
            SVC().fit(X, y).predict(bad)
        elif where == "sample_weight":
            SVC().fit(X, y, bad[:, 3])
        elif where == "precomputed":
            K = X @ X.T
            K[3, 4] = value
            SVC(kernel="precomputed").fit(K, y)
        else:
            SVC().fit(sp.csr_array(bad) if where == "csr" else bad, y)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (-np.ones(60), "zero or negative weights: there is nothing to learn from"),
        (np.zeros(60), "zero or negative weights: there is nothing to learn from"),
        (np.ones(59), "one number for each of the 60 rows"),
        (np.ones((60, 2)), "one number for each of the 60 rows"),
        (["heavy"] * 60, "could not convert"),
    ],
    ids=["negative", "zero", "fewer", "2-d", "words"],
)
def test_wrong_weights(weight, words, tiny):
    with pytest.raises(ValueError, match=words):
        SVC().fit(*tiny, sample_weight=weight)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_weights_that_leave_no_row_of_a_class(multiclass, tiny):
    X, y = tiny
    three = np.where(X[:, 2] > 0.8, 0, y)
    for labels, left_out in ((y, 1), (three, 0), (three, -1)):
        for model, weight in (
            (SVC(multiclass=multiclass), (labels != left_out).astype(float)),
            (SVC(multiclass=multiclass, class_weight={left_out: 0.0}), None),
        ):
            words = f"No row of class {left_out} has a positive weight: 2 classes"
            if labels is y:
                words = "all samples with positive weights belong to the same class: .* 1 has none"
            with pytest.raises(ValueError, match=words):
                model.fit(X, labels, weight)
    with pytest.raises(ValueError, match=r"belong to the same class: .* 1 has none"):
        SVC(class_weight="balanced").fit(X, y, (y < 0).astype(float))


def test_wrong_class_weights(tiny):
    with pytest.raises(ValueError, match=r"class_weight|classes"):
        SVC(class_weight={7: 1.0}).fit(*tiny)
    with pytest.raises(ValueError, match=r"class_weight|balanced"):
        SVC(class_weight="heavy").fit(*tiny)


def test_other_data_at_predict(tiny):
    X, y = tiny
    model = SVC()
    for method in ("predict", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(model, method)(X)
    model.fit(X, y)
    for wrong in (X[:, :6], sp.csr_array(X[:, :6])):
        with pytest.raises(ValueError, match="features, but SVC is expecting 7 features"):
            model.predict(wrong)
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(X[:0])
    model.set_params(decision_function_shape="ovo", break_ties=True)
    with pytest.raises(ValueError, match="break_ties must be False"):
        model.predict(X)


def test_solvers_and_problems_that_do_not_meet(tiny):
    with pytest.raises(ValueError, match="SBP solves KernelSlackConstrained problems"):
        SVC(solver=SBP()).fit(*tiny)
    with pytest.raises(ValueError, match=r"BlockDual solves KernelRegularized problems, .*; use SBP"):
        SVC(slack=0.0, solver="blockdual").fit(*tiny)  # no λ has this slack


def test_sequences_that_are_none():
    def kernel(a, b):
        return 1.0

    for X in (5, "words", iter(["a", "b"])):
        with pytest.raises(ValueError, match="X must be a sequence of items for the kernel"):
            SVC(kernel=kernel).fit(X, [0, 1])
    with pytest.raises(ValueError, match="X has no items"):
        SVC(kernel=kernel).fit([], [])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SVC(kernel=kernel).fit(["a", "b", "c"], [0, 1])
    with pytest.raises(ValueError, match="requires y to be passed"):
        SVC(kernel=kernel).fit(["a", "b"], None)
    with pytest.raises(ValueError, match="one class only"):
        SVC(kernel=kernel).fit(["a", "b"], [1, 1])


def has_gpu():
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


@pytest.mark.skipif(has_gpu(), reason="it is there")
def test_a_device_that_is_not_there(tiny):
    with pytest.raises((ImportError, RuntimeError), match='device="cuda"'):
        SVC(device="cuda").fit(*tiny)
