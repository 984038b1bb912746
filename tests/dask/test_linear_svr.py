"""`LinearSVR` on a cluster."""

import numpy as np
import pytest

pytest.importorskip("distributed", reason="hinge[dask] is not installed")
da = pytest.importorskip("dask.array")

from dask_rounds import some_rows  # noqa: E402

import hinge  # noqa: E402
from hinge.dask import LinearSVR  # noqa: E402

X, sign = some_rows(500)
t = 100.0 + X @ np.arange(6.0) + 0.3 * sign


@pytest.mark.sampled
@pytest.mark.parametrize("intercept", ["penalized", "free"])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_the_same_optimum_as_the_local_machine(loss, intercept):
    settings = dict(loss=loss, C=0.01, epsilon=0.1, intercept=intercept)
    local = hinge.LinearSVR(tol=1e-7, **settings).fit(X, t)
    dX = da.from_array(X, chunks=(100, 6))
    model = LinearSVR(tol=1e-3, parts=3, **settings).fit(dX, t)
    assert model.gap_ <= 1e-3
    assert local.objective_ * (1 - 1e-7) <= model.objective_ <= local.objective_ * (1 + 1.01e-3)
    predicted = model.predict(dX)
    assert predicted.compute(scheduler="synchronous").tobytes() == model.predict(X).tobytes()
    assert type(model.to_local()) is hinge.LinearSVR


def test_targets_are_numbers():
    with pytest.raises(ValueError, match=r"Part 0: y must hold one finite number for each row|Part 0: .*NaN"):
        LinearSVR().fit(da.from_array(X), np.where(sign > 0, np.nan, t))
