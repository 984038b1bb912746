"""Fewer support vectors: what is said of the changes is true, and the layout stays LIBSVM's."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import NotFittedError

import hinge
from hinge import SVC, SVR, NuSVC, OneClassSVM

X, y = make_moons(300, noise=0.3, random_state=0)
DIGITS = tuple(part[:400] for part in load_digits(return_X_y=True))


@pytest.mark.parametrize("rows", [X, sp.csr_array(X), X.astype(np.float32)], ids=["dense", "sparse", "single"])
def test_changes_are_as_stated(rows):
    model = SVC().fit(rows, y)
    small = model.compress(rows, n_support=12)
    found = small.compression_
    change = np.abs(small.decision_function(rows) - model.decision_function(rows))
    assert len(small.support_) == small.support_vectors_.shape[0] == found["n_support"] == 12
    assert change.max() == pytest.approx(found["largest_change"], rel=1e-6, abs=1e-6)
    assert found["changed"] == np.mean(small.predict(rows) != model.predict(rows))
    assert sp.issparse(small.dual_coef_) == sp.issparse(rows)
    assert len(model.support_) > 80 and not hasattr(model, "compression_")  # which is as it was
    assert small.gap_ == np.inf


def test_the_bound_for_all_rows_holds():
    model = SVC(gamma=1.0).fit(X, y)
    small = model.compress(X[:50], n_support=30)
    others = np.random.default_rng(0).uniform(-3, 3, (2000, 2))
    change = np.abs(small.decision_function(others) - model.decision_function(others)).max()
    assert change <= small.compression_["norm_change"] * (1 + 1e-9)  # K(x, x) = 1
    assert change > 0.05 * small.compression_["norm_change"]


@pytest.mark.parametrize("tol", [0.5, 0.01])
def test_as_many_vectors_as_a_tolerance_takes(tol):
    model = SVC().fit(X, y)
    small = model.compress(X, tol=tol)
    assert np.abs(small.decision_function(X) - model.decision_function(X)).max() <= tol * (1 + 1e-9)
    assert len(small.support_) < len(model.support_)


@pytest.mark.parametrize("model", [SVC(), SVC(multiclass="ovr"), NuSVC(nu=0.1)], ids=["ovo", "ovr", "nu"])
def test_several_classes(model):
    digits, labels = DIGITS
    model.fit(digits, labels)
    small = model.compress(digits, n_support=100)
    assert small.n_support_.sum() == 100 and small.dual_coef_.shape == (len(model.dual_coef_), 100)
    assert np.array_equal(labels[small.support_], np.sort(labels[small.support_]))
    assert np.mean(small.predict(digits) != model.predict(digits)) == small.compression_["changed"] < 0.03


def test_vectors_of_a_gaussian_are_moved_on_dense_rows_alone():
    few = {}
    for name, rows in (("dense", X), ("sparse", sp.csr_array(X)), ("single", X.astype(np.float32))):
        model = SVC(gamma=1.0, C=10.0).fit(rows, y)
        small = few[name] = model.compress(rows, n_support=12)
        stays = (rows[small.support_] != small.support_vectors_).sum() == 0
        assert stays == (name == "sparse") and small.support_vectors_.dtype == model.support_vectors_.dtype
    dense, sparse = (few[name].compression_ for name in ("dense", "sparse"))
    assert dense["norm_change"] < sparse["norm_change"] and dense["changed"] <= sparse["changed"]
    cubic = SVC(kernel="poly").fit(X, y).compress(X, n_support=9)
    assert np.array_equal(cubic.support_vectors_, X[cubic.support_])


def test_regression_and_outliers():
    regression = SVR().fit(X, X[:, 0]).compress(X, n_support=20)
    assert "changed" not in regression.compression_ and regression.compression_["largest_change"] < 0.1
    outliers = OneClassSVM(nu=0.3).fit(X).compress(X, n_support=20)
    assert outliers.compression_["changed"] < 0.1


def test_items_that_are_no_vectors():
    words = ["stone", "notes", "onset", "apple", "pepla", "papel", "tones", "leapp"] * 3

    def common(a, b):
        return len(set(a) & set(b)) / len(set(a) | set(b))

    model = SVC(C=0.1, kernel=common).fit(words, [0, 0, 0, 1, 1, 1, 0, 1] * 3)
    small = model.compress(words, n_support=2)
    assert len(small.support_vectors_) <= 2 and small.compression_["changed"] == 0.0


def test_it_is_kept_in_files(tmp_path):
    small = SVC().fit(X, y).compress(X, n_support=12)
    hinge.save(small, tmp_path / "small")
    again = hinge.load(tmp_path / "small")
    assert again.compression_ == small.compression_
    assert np.array_equal(again.decision_function(X), small.decision_function(X))
    with pytest.raises(ValueError, match="held_out=True"):
        again.calibrate(X, y)
    assert again.calibrate(X, y, held_out=True).predict_proba(X).shape == (300, 2)


def test_what_does_not_work_is_said():
    model = SVC().fit(X, y)
    for options in ({}, {"n_support": 3, "tol": 0.1}):
        with pytest.raises(ValueError, match="Give n_support or tol"):
            model.compress(X, **options)
    with pytest.raises(ValueError, match="n_support must be"):
        model.compress(X, n_support=0)
    with pytest.raises(ValueError, match="nothing to compress"):
        SVC(kernel="linear").fit(X, y).compress(X, n_support=3)
    with pytest.raises(ValueError, match="precomputed"):
        SVC(kernel="precomputed").fit(X @ X.T, y).compress(X @ X.T, n_support=3)
    with pytest.raises(NotFittedError):
        SVC().compress(X, n_support=3)
