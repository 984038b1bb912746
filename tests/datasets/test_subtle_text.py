"""The stand-ins for CCAT and astro-ph: frozen, and as hard for cutting planes as real text of the same shape."""

from itertools import count

import numpy as np
import pytest

from hinge.datasets import make_subtle_text
from hinge.problems import Regularized
from hinge.solvers import CuttingPlane, trace

GENUINE = {
    "rcv1-small": ((1000, 47_236, 78), 85),
    "news20, unigrams": ((11_314, 44_654, 135), 96),
    "imdb": ((25_000, 44_800, 140), 80),
}
"""Shapes of real text, and the passes of cutting planes over it to a gap of 0.001 at λ = 1e-4."""


def passes(made):
    for now in trace(Regularized(made.X_train, made.y_train, 1e-4), CuttingPlane(), count(1)):
        if now.state.primal - now.state.dual <= 1e-3:
            return now.iteration


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [next(iter(GENUINE)), *(pytest.param(name, marks=pytest.mark.slow) for name in list(GENUINE)[1:])]
)
def test_cutting_planes_take_as_many_passes_as_on_real_text(name):
    shape, genuine = GENUINE[name]
    assert passes(make_subtle_text(*shape)) == pytest.approx(genuine, rel=0.25)


def test_it_is_what_it_says():
    made = make_subtle_text(2000, 5000, 30, n_test=500)
    X, y = made.X_train, made.y_train
    assert X.shape == (2000, 5000) and made.X_test.shape == (500, 5000)
    assert X.dtype == np.float32 and X.indices.dtype == np.int32 and set(np.unique(y)) == {-1, 1}
    assert X.nnz / 2000 == pytest.approx(30, rel=0.1)
    np.testing.assert_allclose(np.asarray(X.multiply(X).sum(axis=1)), 1.0, rtol=1e-5)
    assert X.has_sorted_indices and not (np.diff(X.indices[: X.indptr[1]]) <= 0).any()
    assert 0.3 < (y > 0).mean() < 0.7


@pytest.mark.slow
def test_rows_are_the_same_each_time_and_do_not_depend_on_test_rows():
    one, more = make_subtle_text(300, 1000, 20), make_subtle_text(300, 1000, 20, n_test=50)
    assert (one.X_train != more.X_train).nnz == 0
    np.testing.assert_array_equal(one.y_train, more.y_train)
    assert (one.X_train != make_subtle_text(300, 1000, 20, seed=1).X_train).nnz > 0


def test_sizes_are_checked():
    with pytest.raises(ValueError, match="nnz_per_row"):
        make_subtle_text(10, d=100, nnz_per_row=60)
    with pytest.raises(ValueError, match="training row"):
        make_subtle_text(0)
