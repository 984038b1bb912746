"""Kernels of SVC that are not names: functions, sequences of anything, and matrices of values."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from estimators.made_up import SIDES, WORDS, bigrams, half_gaussian
from sklearn import svm
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score

from hinge import SVC
from hinge.kernels import Function, Gaussian, Polynomial, Precomputed


def one_value(x, z):
    return float(np.exp(-0.5 * np.sum((x - z) ** 2)))


# --- functions ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_a_function_of_blocks_is_scikit_learns(multiclass, three):
    X, y = three
    named = SVC(gamma=0.5, tol=1e-6, multiclass=multiclass).fit(X, y)
    for kernel in (half_gaussian, Function(half_gaussian, on="blocks"), Function(one_value)):
        model = SVC(kernel=kernel, tol=1e-6, multiclass=multiclass).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), named.decision_function(X), atol=1e-3)
        np.testing.assert_allclose(model.support_vectors_, X[model.support_])
        assert model.n_features_in_ == 4
    theirs = svm.SVC(kernel=half_gaussian, tol=1e-6).fit(X, y)
    np.testing.assert_array_equal(named.predict(X), theirs.predict(X))


@pytest.mark.slow
def test_a_function_of_sparse_rows(three):
    X, y = three
    model = SVC(kernel=half_gaussian, tol=1e-6).fit(sp.csr_array(X), y)
    dense = SVC(kernel=half_gaussian, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(model.decision_function(sp.csr_array(X)), dense.decision_function(X), atol=1e-6)


def test_a_function_is_called_for_what_is_needed(three):
    X, y = three
    calls = []

    def counted(x, z):
        calls.append(1)
        return one_value(x, z)

    model = SVC(kernel=Function(counted), C=0.1).fit(X, y)
    assert len(calls) == model.n_kernel_evals_
    assert len(calls) < 3 * 60 * 60  # three pairs of classes, by symmetry less
    calls.clear()
    model.predict(X[:7])
    assert len(calls) == 7 * len(model.support_)  # support vectors only


@pytest.mark.slow
def test_words():
    model = SVC(kernel=bigrams, tol=1e-6).fit(WORDS, SIDES)
    assert model.predict(["abb", "ddc", ""]).tolist() == ["left", "right", "none"]
    assert isinstance(model.support_vectors_, list)
    assert model.support_vectors_ == [WORDS[i] for i in model.support_]
    assert not hasattr(model, "n_features_in_")
    assert model.shape_fit_ == (14,)
    K = np.array([[bigrams(s, t) for t in WORDS] for s in WORDS])
    given = SVC(kernel="precomputed", tol=1e-6).fit(K, SIDES)
    np.testing.assert_allclose(model.decision_function(WORDS), given.decision_function(K), atol=1e-4)
    for form in (tuple(WORDS), np.array(WORDS), np.array(WORDS, object), pd.Series(WORDS, index=range(7, 21))):
        again = SVC(kernel=bigrams, tol=1e-6, random_state=0).fit(form, SIDES)
        np.testing.assert_allclose(again.decision_function(form), model.decision_function(WORDS), atol=1e-4)


def test_words_with_weights_and_folds():
    s = np.ones(14)
    s[-2:] = 0.5
    s[0] = 0.0
    model = SVC(kernel=bigrams, class_weight="balanced", multiclass="ovr").fit(WORDS, SIDES, s)
    assert 0 not in model.support_
    assert model.score(WORDS, SIDES) > 0.8
    scores = cross_val_score(SVC(kernel=bigrams), WORDS[:12], SIDES[:12], cv=3)
    assert scores.mean() > 0.8
    search = GridSearchCV(SVC(kernel=bigrams), {"C": [0.1, 1.0]}, cv=2).fit(WORDS[:12], SIDES[:12])
    assert search.best_estimator_.predict(["abab"]).tolist() == ["left"]


def test_items_of_other_kinds():
    sets = [{1, 2}, {1, 2, 3}, {2, 3}, {7, 8}, {8, 9}, {7, 9}]
    model = SVC(kernel=lambda a, b: float(len(a & b)), C=10.0).fit(sets, [0, 0, 0, 1, 1, 1])
    assert model.predict([{1, 3}, {9}]).tolist() == [0, 1]
    ragged = [[1.0], [1.0, 2.0], [5.0], [5.0, 6.0, 7.0]]
    model = SVC(kernel=lambda a, b: min(len(a), len(b)) + (a[0] == b[0])).fit(ragged, [0, 0, 1, 1])
    assert len(model.predict(ragged)) == 4
    images = np.random.default_rng(0).random((6, 3, 3))
    model = SVC(kernel=lambda a, b: float((a * b).sum())).fit(images, [0, 1] * 3)
    assert model.support_vectors_[0].shape == (3, 3)
    numbers = SVC(kernel=lambda a, b: float(np.exp(-abs(a - b)))).fit(np.arange(6.0), [0, 0, 0, 1, 1, 1])
    assert numbers.predict(np.array([0.2, 4.9])).tolist() == [0, 1]


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_values_in_a_folder_are_not_computed_again(multiclass, tmp_path):
    options = {"kernel": bigrams, "cache_folder": tmp_path, "multiclass": multiclass, "random_state": 0}
    first = SVC(**options).fit(WORDS, SIDES)
    assert first.n_kernel_evals_ > 0
    again = SVC(C=1.0, **options).fit(WORDS, SIDES)
    assert again.n_kernel_evals_ == 0
    np.testing.assert_array_equal(again.dual_coef_, first.dual_coef_)
    assert SVC(**{**options, "cache_folder": None}).fit(WORDS, SIDES).n_kernel_evals_ == first.n_kernel_evals_


def test_a_function_of_blocks_of_items():
    def block(s, t):
        return np.array([[bigrams(a, b) for b in t] for a in s])

    pairs = SVC(kernel=bigrams, tol=1e-6).fit(WORDS, SIDES)
    blocks = SVC(kernel=Function(block, on="blocks"), tol=1e-6).fit(WORDS, SIDES)
    np.testing.assert_allclose(blocks.decision_function(WORDS), pairs.decision_function(WORDS), atol=1e-4)


def test_a_function_of_numbers_of_items():
    """X holds the numbers, so that folds and pairs of classes are called with the right ones."""
    kernel = Function(lambda i, j: bigrams(WORDS[i], WORDS[j]), on="indices")
    direct = SVC(kernel=bigrams, tol=1e-6).fit(WORDS, SIDES)
    for X in (np.arange(14), np.arange(14)[:, None], list(range(14))):
        model = SVC(kernel=kernel, tol=1e-6).fit(X, SIDES)
        np.testing.assert_allclose(model.decision_function(X), direct.decision_function(WORDS), atol=1e-4)
    with pytest.raises(ValueError, match=r"X must hold them, whole numbers of\s+shape"):
        SVC(kernel=kernel).fit(WORDS, SIDES)


# --- what functions may get wrong ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (lambda A, B: np.ones((2, 2)), "asked for a block of .* and gave shape"),
        (lambda A, B: 1.0, r"gave\s+shape \(\)"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "kernel gave .*nan"),
        (Function(lambda x, z: np.inf), "kernel gave .*inf"),
        (Function(lambda x, z: -float(x @ z)), "kernel is not positive"),
    ],
    ids=["shape", "number", "nan", "inf", "negative"],
)
def test_functions_that_are_no_kernels(kernel, words, three):
    with pytest.raises(ValueError, match=words):
        SVC(kernel=kernel, max_iter=20).fit(*three)


@pytest.mark.slow
def test_a_function_that_fails_only_later(three):
    X, y = three
    for kernel, words in (
        (lambda A, B: rbf_kernel(A, B)[:, : 50 if (A > 99).any() else None][:, :1000], None),
        (lambda A, B: np.where(A[:, :1] > 99, np.nan, rbf_kernel(A, B)), "not finite"),
        (lambda A, B: rbf_kernel(A, B) if (A < 99).all() else np.ones(3), "and gave shape"),
    ):
        model = SVC(kernel=kernel).fit(X, y)
        if words is not None:
            with pytest.raises(ValueError, match=words):
                model.predict(X + 100)


def test_an_error_of_the_function_is_the_users(three):
    def faulty(A, B):
        raise RuntimeError("my own")

    with pytest.raises(RuntimeError, match="my own"):
        SVC(kernel=faulty).fit(*three)


# --- matrices of kernel values ------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["precomputed", Precomputed()], ids=str)
def test_precomputed(kernel, three):
    X, y = three
    K = rbf_kernel(X, gamma=0.5)
    for options in ({}, {"multiclass": "ovr"}, {"decision_function_shape": "ovo"}):
        named = SVC(gamma=0.5, tol=1e-6, **options).fit(X, y)
        given = SVC(kernel=kernel, tol=1e-6, **options).fit(K, y)
        np.testing.assert_allclose(given.decision_function(K), named.decision_function(X), atol=1e-3)
        np.testing.assert_array_equal(given.predict(K[:9]), named.predict(X[:9]))
        assert given.support_vectors_.shape == (0, 0)
    theirs = svm.SVC(kernel="precomputed", tol=1e-6, decision_function_shape="ovo").fit(K, y)
    np.testing.assert_allclose(given.decision_function(K), theirs.decision_function(K), atol=1e-2)
    np.testing.assert_array_equal(given.support_, theirs.support_)


def test_precomputed_of_other_types(three):
    X, y = three
    K = np.round(4 * (X @ X.T)) + 40 * np.eye(90)
    plain = SVC(kernel="precomputed", tol=1e-4).fit(K, y)
    for dtype in (np.float32, np.int64):
        other = SVC(kernel="precomputed", tol=1e-4).fit(K.astype(dtype), y)
        np.testing.assert_allclose(other.decision_function(K.astype(dtype)), plain.decision_function(K), atol=0.05)


def test_precomputed_in_folds(three):
    X, y = three
    K = rbf_kernel(X, gamma=0.5)
    given = cross_val_score(SVC(kernel="precomputed"), K, y, cv=3)
    named = cross_val_score(SVC(gamma=0.5), X, y, cv=3)
    np.testing.assert_allclose(given, named)


# --- kernels of hinge, and the parameters of names ----------------------------------------------


def test_kernels_of_hinge_are_used_as_they_are(three):
    X, y = three
    pairs = {"poly": Polynomial(2, 0.3, 1.0), "rbf": Gaussian(0.3)}
    for name, kernel in pairs.items():
        named = SVC(kernel=name, degree=2, gamma=0.3, coef0=1.0, random_state=0).fit(X, y)
        given = SVC(kernel=kernel, gamma=77.0, random_state=0).fit(X, y)
        np.testing.assert_array_equal(named.decision_function(X), given.decision_function(X))
        assert named.kernel_ == given.kernel_ == kernel


def test_laplacian(three):
    X, y = three
    named = SVC(kernel="laplacian", gamma=0.3, tol=1e-6).fit(X, y)
    given = SVC(kernel="precomputed", tol=1e-6).fit(laplacian_kernel(X, gamma=0.3), y)
    np.testing.assert_allclose(
        named.decision_function(X), given.decision_function(laplacian_kernel(X, gamma=0.3)), atol=1e-3
    )
    sparse = SVC(kernel="laplacian", gamma=0.3, tol=1e-6).fit(sp.csr_array(X), y)
    for A in (X, sp.csr_array(X)):
        np.testing.assert_allclose(sparse.decision_function(A), named.decision_function(X), atol=1e-3)
        np.testing.assert_allclose(named.decision_function(A), named.decision_function(X), atol=1e-9)


# --- answers of other kinds -------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_array, sp.coo_matrix, np.ndarray.tolist])
def test_a_function_may_give_sparse_blocks(form, three):
    X, y = three
    odd = SVC(kernel=lambda A, B: form(np.asarray(A @ B.T)), random_state=0).fit(X, y)
    plain = SVC(kernel=lambda A, B: A @ B.T, random_state=0).fit(X, y)
    assert np.array_equal(odd.decision_function(X), plain.decision_function(X))


@pytest.mark.parametrize("given", ["x", None, [[1, 2], [3]], [[10**400]]])
def test_a_function_that_gives_no_numbers(given, three):
    with pytest.raises((TypeError, ValueError), match=r"The kernel (gave|was asked)"):
        SVC(kernel=lambda A, B: given).fit(*three)


@pytest.mark.parametrize("labels", [2, 3])
def test_coefficients_are_not_for_writing(labels, three):
    X, y = three
    model = SVC(kernel="linear").fit(X, y % labels)
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0, 0] = 9


@pytest.mark.parametrize("own", [0.0, 1.0])
def test_given_values_of_which_many_are_zero(own):
    """As scikit-learn has it: nothing to tell classes apart by, or each point by itself."""
    y = np.array([0, 1, 1, 0, 1, 0, 1])
    K = own * np.eye(7)
    ours, theirs = SVC(kernel="precomputed", tol=1e-8).fit(K, y), svm.SVC(kernel="precomputed").fit(K, y)
    assert np.allclose(ours.decision_function(K), theirs.decision_function(K), atol=1e-3)


@pytest.mark.parametrize("setting", [{"gamma": -1.0}, {"gamma": np.nan}, {"gamma": 1e300}, {"gamma": "wide"}])
def test_settings_of_kernel_objects_are_checked(setting, three):
    with pytest.raises(ValueError, match="gamma must"):
        SVC(kernel=Gaussian(**setting)).fit(*three)
