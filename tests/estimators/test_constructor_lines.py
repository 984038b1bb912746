"""Lines of public code run with our classes, and give the models that scikit-learn's give."""

import warnings

import numpy as np
import pytest
from estimators import constructor_lines
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise

import hinge

KERNELS = ("rbf_kernel", "linear_kernel", "polynomial_kernel", "laplacian_kernel")
CLASSES = ("SVC", "LinearSVC", "LinearSVR", "OneClassSVM", "SVR", "NuSVC", "NuSVR")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((61, 4))  # a number of which no ν takes a whole share, so that ρ is determined
TWO = (X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.5 * RNG.standard_normal(61) > 0.3).astype(int)
THREE = np.digitize(X[:, 0] + 0.3 * RNG.standard_normal(61), [-0.4, 0.4])
NUMBERS = X @ [2.0, -1.0, 0.5, 0.0] + 0.3 * RNG.standard_normal(61) + 1.0
APART = np.where(TWO, 3.0, -3.0)[:, None] + 0.5 * X

LINES = [
    *((line, X, TWO) for line in constructor_lines.FITS),
    *((line, APART, TWO) for line in constructor_lines.FITS_APART),
    *((line, X + 3.0, TWO) for line in constructor_lines.FITS_ALONE),
    *((line, X, THREE) for line in constructor_lines.FITS_THREE),
    *((line, X @ X.T, TWO) for line in constructor_lines.FITS_KERNEL),
    *((line, X, NUMBERS) for line in constructor_lines.FITS_NUMBERS),
]


def made(line, package):
    """The model that a line makes of the classes of a package."""
    names = {name: getattr(package, name) for name in CLASSES if line.startswith(f"{name}(")}
    return eval(line, {"np": np, **names, **{name: getattr(pairwise, name) for name in KERNELS}})


def fitted(model, X, y):
    """The model after a fit, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return model, [warning.category for warning in caught]


def answers(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.mark.sampled(40)
@pytest.mark.parametrize(("line", "X", "y"), LINES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_line_gives_the_same_model(line, X, y):
    ours, said = fitted(made(line, hinge), X, y)
    assert ConvergenceWarning not in said
    theirs, cut_off = fitted(made(line, svm), X, y)
    mine, yours = answers(ours, X), answers(theirs, X)
    assert mine.shape == yours.shape
    indefinite = UserWarning in said  # which says so, and then there is more than one answer
    if ConvergenceWarning not in cut_off and not indefinite and line not in constructor_lines.OFF:
        np.testing.assert_allclose(mine, yours, atol=0.05 * np.abs(yours).max())
    if getattr(ours, "probability", False):
        p = ours.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_array_equal(ours.classes_[p.argmax(axis=1)], ours.predict(X))


@pytest.mark.parametrize("line", constructor_lines.REFUSED)
def test_what_scikit_learn_refuses_is_refused(line):
    for package in (svm, hinge):
        with pytest.raises(ValueError, match=r"."):
            made(line, package).fit(X, TWO)


def test_there_are_many_lines():
    lines = [line for line, _, _ in LINES]
    assert len(lines) >= 150
    for part in (
        constructor_lines.FITS,
        constructor_lines.FITS_APART,
        constructor_lines.FITS_ALONE,
        constructor_lines.FITS_THREE,
        constructor_lines.FITS_KERNEL,
        constructor_lines.FITS_NUMBERS,
        constructor_lines.REFUSED,
    ):
        assert len(part) == len(set(part))
