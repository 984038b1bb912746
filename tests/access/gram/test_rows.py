import numpy as np
import pytest

from hinge.access import Gram, as_points
from hinge.access.gram.rows import add_rows, symmetric_sums
from hinge.kernels import Gaussian

X = np.random.default_rng(0).standard_normal((50, 4))
K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(2))


@pytest.fixture
def gram():
    return Gram(as_points(X, Gaussian(0.3), exact=True))


@pytest.mark.parametrize("columns", [np.arange(50), np.array([3, 40, 7, 8, 12])])
def test_sums_over_rows(gram, columns):
    gram.focus(columns)
    rows, coef = gram.rows(np.array([3, 8, 40, 12, 7])), np.array([1.0, -2.0, 0.0, 0.5, 3.0])
    expected = coef @ K[np.ix_([3, 8, 40, 12, 7], columns)]
    np.testing.assert_allclose(rows.combine(coef), expected, atol=1e-10)
    out = np.ones(len(columns))
    rows.add_to(out, coef)
    np.testing.assert_allclose(out, 1 + expected, atol=1e-10)


def test_the_block_of_rows_among_themselves(gram):
    some = np.array([5, 30, 2])
    np.testing.assert_allclose(gram.rows(some).block(), K[np.ix_(some, some)], atol=1e-10)
    block = gram.rows(np.arange(20)).block()
    np.testing.assert_array_equal(block, block.T)
    gram.focus(np.array([5, 2]))
    with pytest.raises(ValueError, match="row 30 is not among the columns"):
        gram.rows(some).block()


def test_more_rows_than_are_kept():
    X = np.random.default_rng(0).standard_normal((300, 4))
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(2))
    gram, some = Gram(as_points(X, Gaussian(0.3), exact=True), 0), np.random.default_rng(1).permutation(300)[:90]
    assert gram.capacity == 64
    for _ in range(2):  # the second time those that are kept are there
        rows, coef, before = gram.rows(some), np.r_[np.ones(80), np.zeros(10)], gram.evals
        np.testing.assert_allclose(rows.block(), K[np.ix_(some, some)], atol=1e-10)
        np.testing.assert_allclose(rows.combine(coef), coef @ K[some], atol=1e-10)
        assert gram.evals - before == 90 * 90 + 16 * 300


@pytest.mark.parametrize("count", range(1, 10))
def test_the_number_of_rows_does_not_change_their_sums(count):
    slab = np.random.default_rng(1).standard_normal((12, 3000))
    coef, slots = np.random.default_rng(2).standard_normal(count), np.arange(count)
    whole, pieces = np.zeros(3000), np.zeros(3000)
    add_rows(slab, 0, slots, coef, whole)
    for k in range(count):
        add_rows(slab, 0, slots[k : k + 1], coef[k : k + 1], pieces)
    np.testing.assert_allclose(whole, coef @ slab[:count], atol=1e-12)
    np.testing.assert_allclose(whole, pieces, atol=1e-12)
    part = np.zeros(100)
    add_rows(slab, 700, slots, coef, part)
    np.testing.assert_array_equal(part, whole[700:800])


def one_after_the_other(span, m, step):
    for lo in range(0, m, step):
        span(lo, min(lo + step, m))


@pytest.mark.parametrize(
    ("size", "width", "shared"), [(700, 900, 600), (300, 40, 0), (530, 530, 530), (5, 3, 2), (0, 4, 0)]
)
def test_the_sums_are_those_of_all_values(size, width, shared):
    """Rows and columns in any order, of which some are the same."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1200, 6))
    points = as_points(X, Gaussian(0.1), exact=True)
    numbers = rng.permutation(1200)
    i = rng.permutation(numbers[:size])
    columns = rng.permutation(np.concatenate([numbers[:shared], numbers[size : size + width - shared]]))
    coef = rng.standard_normal((3, size))
    sums, values = symmetric_sums(points, one_after_the_other, i, coef, columns)
    K = np.exp(-0.1 * ((X[columns, None] - X[None, i]) ** 2).sum(axis=2))
    np.testing.assert_allclose(sums.T, K @ coef.T, atol=1e-11)
    assert values <= size * width
    if shared > 512:
        assert values < 0.85 * size * width


def test_groups_may_be_shared_in_any_way():
    """The bits do not depend on how threads share the groups."""
    rng = np.random.default_rng(1)
    points = as_points(rng.standard_normal((600, 4)), Gaussian(0.5), exact=True)
    every, coef = np.arange(600), rng.standard_normal((2, 600))
    one, _ = symmetric_sums(points, lambda span, m, step: span(0, m), every, coef, every)
    other, _ = symmetric_sums(points, one_after_the_other, every, coef, every)
    np.testing.assert_array_equal(one, other)


def test_sums_over_the_first_points_add_up_to_all():
    rng = np.random.default_rng(2)
    points = as_points(rng.standard_normal((900, 4)), Gaussian(0.5), exact=True)
    order, coef, sums = rng.permutation(900)[:700], rng.standard_normal((2, 700)), np.zeros((2, 700))
    for m in range(300, 701, 200):
        lo = 0 if m == 300 else m - 200
        i = np.concatenate([np.arange(lo, m), np.arange(lo)])
        more, values = symmetric_sums(points, one_after_the_other, order[i], coef[:, i], order[i], m - lo)
        sums[:, i] += more
        assert values <= (m - lo) * m
    every, _ = symmetric_sums(points, one_after_the_other, order, coef, order)
    np.testing.assert_allclose(sums, every, atol=1e-11)
