"""What the tests of this folder share."""

import pytest

from hinge.racing import Course


@pytest.fixture
def course(adult):
    """A thousand rows of adult, and others to measure errors on."""
    X, y = adult
    return Course(X[:1000], y[:1000], X[1500:], y[1500:], 1e-3, name="adult")
