"""Values of expensive kernels, each evaluated once."""

import numpy as np
import pytest
from access.gram.made_up import KINDS, X, agree, block, counted, gaussian, value

from hinge.access import Gram, as_points
from hinge.kernels import Function

BY_VALUE = ("pairs", "blocks", "indices")


@pytest.mark.slow
@pytest.mark.parametrize("kind", BY_VALUE)
def test_no_pair_is_evaluated_twice(kind):
    data, kernel, K = KINDS[kind]
    points = as_points(data, kernel)
    seen = counted(points)
    gram = Gram(points, 37 * 37 * 8)
    assert gram.capacity == 37
    rng = np.random.default_rng(1)
    for step in range(30):
        i, columns = rng.permutation(37)[:6], rng.permutation(37)[: rng.integers(1, 37)]
        if step == 10:
            np.testing.assert_allclose(gram.diag, np.diag(K))
        gram.focus(columns if step % 3 else None)
        agree(gram, K, i, rng.standard_normal(6))
        coef = rng.standard_normal(6)
        np.testing.assert_allclose(gram.pass_over(i, coef, columns), coef @ K[np.ix_(i, columns)])
    gram.focus(None)
    gram.rows(np.arange(37))
    counts = np.zeros((37, 37), int)
    for rows, columns in seen:
        for a in rows:
            for b in columns:
                counts[min(a, b), max(a, b)] += 1
    assert counts.max() <= 2 and (counts == 2).sum() == 8  # for symmetry
    assert (counts[np.triu_indices(37)] >= 1).all()
    assert gram.evals == counts.sum() == 37 * 38 // 2 + 8


def test_blocks_are_asked_for_in_few_calls():
    calls = []

    def f(x, z):
        calls.append((len(x), len(z)))
        return block(x, z)

    gram = Gram(as_points(X, Function(f, on="blocks")))
    gram.rows(np.arange(10))
    # All rows against the other columns; each row against those after it; some pairs exchanged.
    assert calls[0] == (10, 27) and calls.pop(3) == (8, 1)
    assert calls[1:] == [(1, k) for k in range(10, 0, -1)]
    calls.clear()
    gram.rows(np.array([20]))
    assert calls == [(1, 27)]
    calls.clear()
    gram.rows(np.arange(21))
    gram.pass_over(np.arange(37), np.ones(37), np.arange(21))
    assert calls[0] == (10, 16) and len(calls) == 11


# --- interruptions ----------------------------------------------------------------------------


def test_values_before_an_exception_are_kept():
    calls = []

    def f(x, z):
        if len(calls) == 100:
            raise RuntimeError("no licence left")
        calls.append(1)
        return value(x, z)

    gram = Gram(as_points(X, Function(f)))
    with pytest.raises(RuntimeError, match="licence"):
        gram.rows(np.arange(10))
    assert gram.evals == 100
    calls[:] = []
    agree(gram, gaussian(X), np.arange(2), np.ones(2))
    assert len(calls) == 0
    assert gram.evals == 100


# --- refusals ---------------------------------------------------------------------------------


def test_an_asymmetric_kernel_is_refused():
    calls = []

    def f(x, z):
        calls.append(1)
        return value(x, z) + 0.01 * float(x[0])

    gram = Gram(as_points(X, Function(f)))
    expected = r"not symmetric: it gave 0\.\d+ for the points of rows 4 and \d+, and 0\.\d+ for"
    with pytest.raises(ValueError, match=expected):
        gram.rows(np.array([3, 4]))
    assert gram.evals == len(calls) <= 2 * 37
    with pytest.raises(ValueError, match="not symmetric"):  # and nothing was kept
        gram.rows(np.array([3, 4]))


@pytest.mark.slow
def test_rounding_is_not_asymmetry():
    A = np.eye(37, 500, dtype=np.float32) + np.random.default_rng(0).standard_normal((37, 500), np.float32) / 30
    gram = Gram(as_points(A, Function(lambda x, z: x @ z.T, on="blocks")))
    np.testing.assert_allclose(gram.rows(np.arange(37)).block(), A @ A.T, atol=1e-5)


@pytest.mark.parametrize("on", ["pairs", "indices", "blocks"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_name_their_pair(on, bad):
    def f(i, j):
        return bad if {i, j} == {2, 6} else 1.0

    def blocks(i, j):
        return [[f(a, b) for b in j] for a in i]

    gram = Gram(as_points(range(9), Function(blocks if on == "blocks" else f, on=on)))
    with pytest.raises(ValueError, match=rf"gave {bad} for the points of rows (2 and 6|6 and 2); it must"):
        gram.rows(np.arange(8))
    with pytest.raises(ValueError, match="finite"):
        gram.pass_over(np.array([2]), np.ones(1), np.array([6]))


@pytest.mark.parametrize("budget", [0, 10**6])
def test_negative_own_values_name_their_row(budget):
    def f(i, j):
        return -1.0 if i == j == 4 else 0.5

    for ask in (lambda gram: gram.diag, lambda gram: gram.rows(np.arange(6))):
        with pytest.raises(ValueError, match=r"K\(x, x\) is -1 for the point of row 4"):
            ask(Gram(as_points(range(9), Function(f, on="indices")), budget))


def test_what_is_no_number_names_its_pair():
    for answer in (None, "much", 1j, [1.0, 2.0]):
        gram = Gram(as_points(range(5), Function(lambda i, j, a=answer: a, on="indices")))
        with pytest.raises(TypeError, match=r"in place of a number for the points of rows 1 and 0"):
            gram.rows(np.array([1]))
