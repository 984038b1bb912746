"""The jobs of a fit by landmarks: draws and rows of parts, sums over pairs of pieces, and what is certified of them."""

import numpy as np
import pytest

pytest.importorskip("distributed", reason="hinge[dask] is not installed")
from dask_rounds import parts_of, some_rows, task_of

from hinge.dask import landmarks as jobs
from hinge.kernels import Gaussian
from hinge.sampling import draw_units, key_of

X, y = some_rows(300)
KERNEL = Gaussian(0.2)
K = KERNEL(X, X)


def cut(at, count=3):
    """Parts, and what each has of an array with a column for each row."""
    return parts_of(X, y, count, 2), np.array_split(at, count, axis=-1)


def test_draws_are_those_of_all_rows_in_one():
    parts, _ = cut(y)
    key, firsts = key_of(5), [0, 100, 200]
    found = [jobs.drawn(part, first, key, 20) for part, first in zip(parts, firsts, strict=True)]
    units = np.concatenate([one.units for one in found])
    least = np.sort(units)[19]
    rows = np.concatenate([first + one.rows[one.units <= least] for first, one in zip(firsts, found, strict=True)])
    assert sorted(rows) == sorted(np.argsort(draw_units(key, 0, 300))[:20])


def test_rows_that_weigh_nothing_are_not_drawn():
    weight = np.arange(300) % 3 + 0.0
    for k, part in enumerate(parts_of(X, y, 3, 2, weight=weight)):
        drawn = jobs.drawn(part, 100 * k, key_of(0), 1000).rows
        assert (weight[100 * k + drawn] > 0).all() and len(drawn) == np.count_nonzero(weight[100 * k : 100 * k + 100])


def test_rows_come_in_their_order_from_all_chunks():
    parts, _ = cut(y)
    at = np.array([0, 30, 49, 50, 99])
    rows, codes = jobs.rows_at(parts[0], at)
    np.testing.assert_array_equal(rows, X[at])
    np.testing.assert_array_equal(codes, y[at] > 0)


def test_the_variance_is_that_of_all_cells():
    rows = np.where(X > 0.2, X, 0.0)
    found = [jobs.spread_of_cells(part) for part in parts_of(rows, y, 3, 2)]  # one of them is sparse
    assert jobs.variance_of(found) == pytest.approx(rows.var(), rel=1e-12)


@pytest.mark.parametrize("exact", [True, False])
def test_sums_over_pairs_of_pieces_are_the_quadratic_form(exact):
    rng = np.random.default_rng(0)
    beta = rng.standard_normal((2, 300)) * (rng.random((2, 300)) > 0.5)
    parts, betas = cut(beta)
    sizes = np.zeros((2, 2))
    pieces = [
        jobs.support_of(part, jobs.DualPoints(own, sizes, sizes, sizes[0]), lo, min(lo + 40, 100))
        for part, own in zip(parts, betas, strict=True)
        for lo in range(0, 100, 40)
    ]
    found = jobs.add_up(
        [
            jobs.pair_sums(a, b, KERNEL, i == i + k, exact)
            for i, a in enumerate(pieces)
            for k, b in enumerate(pieces[i:])
        ]
    )
    true = np.einsum("ki,ij,kj->k", beta, K, beta)
    assert (np.abs(found.value - true) <= found.off).all() and (found.off < 1e-2).all()
    assert found.evals < 1.1 * 300**2


def test_choices_are_mixed_by_task():
    one, other = (
        jobs.DualChoice(
            np.full((2, 4), k), np.full(2, k), np.full(2, k), np.full((2, 2), k), np.array(value), np.full(2, k)
        )
        for k, value in ((1.0, [1.0, 5.0]), (2.0, [3.0, 4.0]))
    )
    best = jobs.better(one, other)
    assert best.value.tolist() == [3.0, 5.0] and best.b.tolist() == best.widths.tolist() == [2.0, 1.0]
    assert best.w[:, 0].tolist() == best.factors[:, 0].tolist() == [2.0, 1.0]


@pytest.mark.parametrize("bias", ["free", "none"])
def test_bounds_enclose_the_objectives(bias):
    task = task_of(300, 3, bias=bias)
    back = np.linalg.inv(np.linalg.cholesky(K[:40, :40])).T
    basis = jobs.Landmarks(X[:40], back, KERNEL, 1e-9)
    w = np.random.default_rng(1).standard_normal((1, 40))
    answers = jobs.LandmarkAnswers((task,), w, np.array([0.1]), w @ back.T)
    parts, _ = cut(y)
    features = [jobs.featured(part, basis) for part in parts]
    places = jobs.DualPlaces((task,), w, answers.b, jobs.WIDTHS[None])
    sums = [jobs.dual_sums(one, places) for one in features]
    choice = jobs.chosen(jobs.DualSums(*(sum(column) for column in zip(*sums, strict=True))), places)
    points = [jobs.dual_points(part, own, KERNEL, (task,), choice) for part, own in zip(parts, features, strict=True)]
    beta = np.concatenate([one.beta[0] for one in points])
    assert (beta * y >= 0).all() and np.abs(beta).max() <= 1 / (300 * task.lam) * (1 + 1e-12)
    if bias == "free":
        assert abs(beta.sum()) <= 1e-12 * np.abs(beta).sum()
    pieces = [jobs.support_of(part, own, 0, 100) for part, own in zip(parts, points, strict=True)]
    pairs = jobs.add_up(
        [jobs.pair_sums(a, b, KERNEL, k == 0, True) for i, a in enumerate(pieces) for k, b in enumerate(pieces[i:])]
    )
    loss = jobs.add_up([jobs.losses(part, answers, basis) for part in parts])
    sizes = [one[1:] for one in points]
    (found,) = jobs.certificates(answers, jobs.norms_of(answers, basis), loss, sizes, pairs, 300)
    f = K[:, :40] @ answers.coef[0] + 0.1
    coef = answers.coef[0]
    primal = 0.5 * task.lam * coef @ K[:40, :40] @ coef + np.maximum(1 - y * f, 0).mean()
    assert primal <= found.objective <= primal * (1 + 1e-6)
    size, square = np.abs(beta).sum(), beta @ K @ beta
    s = min(size / square, 1 / (np.abs(beta).max() * 300 * task.lam))
    dual = task.lam * (s * size - 0.5 * s * s * square)
    assert dual * (1 - 1e-6) <= found.bound <= dual * (1 + 1e-12)
    assert found.gap >= (primal - dual) / dual * (1 - 1e-9)
