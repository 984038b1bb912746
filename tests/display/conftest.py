"""What the tests of this folder share."""

import numpy as np
import pytest


@pytest.fixture
def ax():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


@pytest.fixture(autouse=True)
def no_figures_left():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="module")
def noisy():
    """400 rows of two clusters, of which 20 have the wrong label."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(400) < 0.5, 1, -1)
    X = rng.standard_normal((400, 5)) + 1.5 * y[:, None]
    noise = np.zeros(400, bool)
    noise[rng.choice(400, 20, replace=False)] = True
    return X, np.where(noise, -y, y), noise
