"""What the tests of this folder share."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def same_draws():
    """A fit without `random_state` asks NumPy's global generator."""
    np.random.seed(0)  # noqa: NPY002


def _frozen(*arrays):
    for a in arrays:
        a.flags.writeable = False  # no test is to change what the next one sees
    return arrays


@pytest.fixture(scope="session")
def two():
    """120 rows of two classes that overlap, the second the rarer."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.7 * rng.standard_normal(120) > 1.0, "yes", "no")
    return _frozen(X, y)


@pytest.fixture(scope="session")
def three():
    """Three classes of 40 rows that overlap."""
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], 40)
    return _frozen(1.2 * rng.standard_normal((3, 4))[y] + rng.standard_normal((120, 4)), y)


@pytest.fixture(scope="session")
def targets():
    """100 rows with targets that are no linear function of them."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((100, 3))
    return _frozen(X, 5.0 + X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.standard_normal(100))


@pytest.fixture(scope="session")
def parts():
    """Rows to learn from and rows held out, of 100 or more."""
    rows = np.random.default_rng(3).permutation(100)
    return np.sort(rows[:75]), np.sort(rows[75:])
