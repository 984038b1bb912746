"""What the tests of this folder share."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def same_draws():
    """A fit without `random_state` asks NumPy's global generator."""
    np.random.seed(0)  # noqa: NPY002


@pytest.fixture(autouse=True)
def scipy_agrees(monkeypatch):
    """scikit-learn asks for this before it takes arrays of other libraries, as some of its checks do."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@pytest.fixture(scope="session")
def two():
    """200 rows whose classes no line separates."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    return _frozen(X), _frozen(np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(200) > 0, 1, -1))


@pytest.fixture(scope="session")
def three():
    """Three classes of 30 rows."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    return _frozen(2.0 * rng.standard_normal((3, 4))[y] + rng.standard_normal((90, 4))), _frozen(y)


@pytest.fixture(scope="session")
def many():
    """Five overlapping classes of unequal size, with names."""
    rng = np.random.default_rng(1)
    codes = rng.choice(5, 250, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    X = 1.3 * rng.standard_normal((5, 3))[codes] + rng.standard_normal((250, 3))
    return _frozen(X), _frozen(np.array(["ash", "birch", "cedar", "elm", "fir"])[codes])


def _frozen(a):
    a.flags.writeable = False  # no test is to change what the next one sees
    return a
