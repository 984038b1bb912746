"""What the tests of this folder share."""

import pytest

from hinge import LinearSVC


@pytest.fixture(scope="module")
def fitted(tiny_csr):
    """A small linear model."""
    X, y = tiny_csr
    return LinearSVC(lam=0.01, random_state=0).fit(X, y)
