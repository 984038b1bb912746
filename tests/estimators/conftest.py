"""What the tests of this folder share."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def same_draws():
    """A fit without `random_state` asks NumPy's global generator."""
    np.random.seed(0)  # noqa: NPY002
