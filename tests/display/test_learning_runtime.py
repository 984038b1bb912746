"""`LearningRuntimeDisplay`: test error against seconds, for several numbers of training rows."""

import numpy as np
import pytest
from papers_svc import papers_svc

from hinge.display.convergence import LearningRuntimeDisplay

matplotlib = pytest.importorskip("matplotlib", reason="displays draw with matplotlib")
matplotlib.use("Agg")


# --- learning runtime -----------------------------------------------------------------------------


@pytest.mark.slow
def test_learning_runtime(noisy, ax):
    X, y, _ = noisy
    model = papers_svc(lam=1e-2, solver="pegasos", max_iter=20, random_state=0)
    display = LearningRuntimeDisplay.from_estimator(
        model, X[:300], y[:300], X[300:], y[300:], sizes=[20, 300, 100], ax=ax
    )
    assert display.sizes == [20, 100, 300]
    assert [line.get_label() for line in ax.lines] and len(ax.lines) == 3
    assert all(len(at) == len(errors) > 1 for at, errors in zip(display.seconds, display.errors, strict=True))
    assert display.errors[-1][-1] <= 0.15
    assert display.seconds_to(-1.0) == [None] * 3
    first = display.seconds_to(0.5)
    assert all(at is not None and at >= times[0] for at, times in zip(first, display.seconds, strict=True))
    runtime = display.plot(kind="runtime", targets=[0.5])
    assert runtime.ax_.lines[0].get_xdata().tolist() == [20, 100, 300]
    assert runtime.ax_.get_ylabel() == "seconds to the error"


def test_what_learning_runtime_refuses(noisy):
    X, y, _ = noisy
    with pytest.raises(ValueError, match="between 2 and the number of rows"):
        LearningRuntimeDisplay.from_estimator(papers_svc(), X, y, X, y, sizes=[10, 500])
    with pytest.raises(ValueError, match="two classes"):
        LearningRuntimeDisplay.from_estimator(papers_svc(), X, np.arange(400) % 3, X, y)
    with pytest.raises(ValueError, match="kind is"):
        LearningRuntimeDisplay([1], [[1.0]], [[0.5]]).plot(kind="lines")
