from itertools import pairwise

import numpy as np
import pytest
from reference.draws import sdca_blocks
from reference.sdca import sdca

from hinge.problems import Regularized
from hinge.solvers.ascent import online_dual
from hinge.solvers.ascent.online_dual import begin, learn, resume

LAM, C = 0.05, 0.4


def pieces(X, y, cuts, weight=None, **options):
    edges = [0, *cuts, len(y)]
    for lo, hi in pairwise(edges):
        s = None if weight is None else weight[lo:hi]
        yield Regularized(X[lo:hi], y[lo:hi], LAM, weight=s, **options)


def learned(X, y, cuts, C=None, **options):
    stream = begin(X.shape[1])
    for piece in pieces(X, y, cuts, **options):
        stream = learn(stream, piece, C, seed=0)
    return stream


def visited(n, cuts):
    """The rows in the order of their visits: each piece's as in an epoch of SDCA."""
    return [lo + i for lo, hi in pairwise([0, *cuts, n]) for i in sdca_blocks(hi - lo, 2, seed=0)]


def last(stream):
    """The present iterate (w, b), before averaging."""
    return stream.v / stream.Lam, stream.kappa * stream.u / stream.Lam


@pytest.fixture
def rows(tiny):
    X, y = tiny
    return X[:24], y[:24]


@pytest.mark.parametrize("cuts", [[], [12], [1, 2, 5, 17], list(range(1, 24))])
def test_with_lam_it_is_the_first_pass_of_the_literal_method(rows, cuts):
    X, y = rows
    w, _, _ = sdca(X, y, LAM, [visited(24, cuts)], first_pass="sgd")
    stream = learned(X, y, cuts)
    np.testing.assert_allclose(last(stream)[0], w, rtol=1e-9, atol=1e-12)
    assert pytest.approx(LAM * 24) == stream.Lam
    assert stream.seen == 24


@pytest.mark.parametrize("cuts", [[], [12], [1, 2, 5, 17], list(range(1, 24))])
def test_with_C_it_is_one_plain_pass_of_the_literal_method(rows, cuts):
    X, y = rows
    w, _, _ = sdca(X, y, 1 / (C * 24), [visited(24, cuts)])
    np.testing.assert_allclose(last(learned(X, y, cuts, C))[0], w, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cuts", [[], [12], [1, 2, 5, 17], list(range(1, 24))])
@pytest.mark.parametrize("C", [None, 0.4])
def test_weights(rows, cuts, C):
    X, y = rows
    s = np.random.default_rng(0).integers(1, 4, 24) / 2.0
    if C is None:
        w, _, _ = sdca(X, y, LAM, [visited(24, cuts)], first_pass="sgd", weight=s)
    else:
        w, _, _ = sdca(X, y, 1 / (C * s.sum()), [visited(24, cuts)], weight=s)
    stream = learned(X, y, cuts, C, weight=s)
    np.testing.assert_allclose(last(stream)[0], w, rtol=1e-9, atol=1e-12)
    assert stream.seen == pytest.approx(s.sum())


@pytest.mark.parametrize("cuts", [[], [12], [1, 2, 5, 17]])
def test_a_penalised_bias_is_a_constant_feature(rows, cuts):
    X, y = rows
    wide = np.column_stack([X, np.full(24, 0.5)])
    w, _, _ = sdca(wide, y, LAM, [visited(24, cuts)], first_pass="sgd")
    here, b = last(learned(X, y, cuts, bias="penalized", bias_scale=0.5))
    np.testing.assert_allclose(here, w[:-1], rtol=1e-9, atol=1e-12)
    assert b == pytest.approx(0.5 * w[-1])


def test_a_free_bias_is_a_constant_feature_of_the_rows_own_size(rows):
    X, y = rows
    kappa = np.median((X[:10] ** 2).sum(axis=1))  # of the first piece
    wide = np.column_stack([X, np.full(24, np.sqrt(kappa))])
    w, _, _ = sdca(wide, y, LAM, [visited(24, [10])], first_pass="sgd")
    stream = learned(X, y, [10], bias="free")
    assert stream.kappa == pytest.approx(kappa)
    here, b = last(stream)
    np.testing.assert_allclose(here, w[:-1], rtol=1e-9, atol=1e-12)
    assert b == pytest.approx(np.sqrt(kappa) * w[-1])


@pytest.mark.parametrize("bias", ["none", "free", "penalized"])
@pytest.mark.parametrize("C", [None, 0.4])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_model_is_the_average_of_the_iterates_with_weights_t(rows, bias, C, weighted):
    X, y = rows
    s = np.random.default_rng(0).integers(1, 4, 24) / 2.0 if weighted else None
    stream, iterates, rho = begin(7), [], []
    for piece in pieces(X, y, [3, 10, 17], weight=s, bias=bias):  # each short enough to be one step of it
        stream = learn(stream, piece, C, seed=0)
        iterates.append(np.append(*last(stream)))
        rho.append(piece.total * stream.seen)
        answer = online_dual.solution(stream)
        mean = np.average(iterates, axis=0, weights=rho)
        np.testing.assert_allclose(np.append(answer.w, answer.b), mean, rtol=1e-9, atol=1e-12)
    assert stream.averaged == pytest.approx(sum(rho))


def test_long_pieces_enter_the_average_in_steps(tiny):
    # Pieces of any length give nearly the same model, where rows are visited in nearly the same order.
    X, y = np.tile(tiny[0], (5, 1)), np.tile(tiny[1], 5)
    whole, cut = (online_dual.solution(learned(X, y, cuts)).w for cuts in ([], range(16, 300, 16)))
    assert np.linalg.norm(whole - cut) < 0.2 * np.linalg.norm(whole)
    one = learned(X, y, [])
    assert np.linalg.norm(one.w - last(one)[0]) > 1e-3


def test_the_average_is_better_than_the_last(adult):
    X, y = adult
    problem = Regularized(X, y, 1e-3)
    stream = begin(X.shape[1])
    for lo in range(0, 2000, 100):
        stream = learn(stream, Regularized(X[lo : lo + 100], y[lo : lo + 100], 1e-3), None, seed=lo)
    average, w = online_dual.solution(stream), last(stream)[0]
    assert problem.objective(average) < problem.objective(average._replace(w=w))


@pytest.mark.parametrize("C", [None, 0.4])
def test_what_is_kept_is_a_feasible_dual_of_all_rows_seen(C):
    # With linearly independent rows the dual can be read off v.
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((30, 50)), np.where(rng.random(30) > 0.5, 1, -1)
    stream = begin(50)
    for k, piece in enumerate(pieces(X, y, [7, 8, 20])):
        stream = learn(stream, piece, C, seed=k)
        seen = int(stream.seen)
        alpha = np.linalg.lstsq((y[:seen, None] * X[:seen]).T, stream.v)[0]
        np.testing.assert_allclose((alpha * y[:seen]) @ X[:seen], stream.v, atol=1e-9)
        assert alpha.min() >= -1e-9
        assert alpha.max() <= 1 + 1e-9
        assert stream.u == pytest.approx(alpha @ y[:seen])
        assert pytest.approx(1 / C if C else LAM * seen) == stream.Lam


def test_every_row_is_read_once(adult):
    X, y = adult
    stream = begin(X.shape[1])
    for lo in range(0, 2000, 500):
        piece = Regularized(X[lo : lo + 500], y[lo : lo + 500], 1e-3)
        stream = learn(stream, piece, None, seed=lo)
        assert piece.matrix.reads == piece.matrix.n_cells


def test_one_pass_is_near_the_optimum(adult):
    from hinge.monitoring import Stop
    from hinge.solvers import SDCA, solve

    X, y = adult
    problem = Regularized(X, y, 1e-2)
    best = solve(problem, SDCA(), stop=Stop(1e-5)).certificate.objective
    stream = begin(X.shape[1])
    for lo in range(0, 2000, 100):
        stream = learn(stream, Regularized(X[lo : lo + 100], y[lo : lo + 100], 1e-2), None, seed=lo)
    assert problem.objective(online_dual.solution(stream)) <= 1.2 * best


def test_the_pieces_are_not_remembered(rows):
    X, y = rows
    X = X.copy()
    stream = learned(X, y, [12])
    v = stream.v.copy()
    X[:] = 0.0
    np.testing.assert_array_equal(stream.v, v)


def test_before_the_first_piece():
    answer = online_dual.solution(begin(3))
    assert answer.w.tolist() == [0, 0, 0]
    assert answer.b == 0


@pytest.mark.parametrize("C", [None, 0.4])
@pytest.mark.parametrize("bias", ["none", "free", "penalized"])
def test_resuming_a_model(rows, C, bias):
    X, y = rows
    w, b = np.linspace(-1, 1, 7), 0.0 if bias == "none" else 0.3
    piece = Regularized(X, y, LAM, bias=bias, bias_scale=0.5)
    stream = resume(w, b, piece, C, 100.0)
    for there in (last(stream), online_dual.solution(stream)[:2]):
        np.testing.assert_allclose(there[0], w)
        assert there[1] == pytest.approx(b)
    assert stream.seen == 100
    later = learn(stream, piece, C, seed=0)
    assert later.seen == 124
    assert pytest.approx(LAM * 124 if C is None else 2.5) == later.Lam
    moved = online_dual.solution(later).w
    assert 0 < np.abs(moved - w).max() < np.abs(last(later)[0] - w).max() < 3
    np.testing.assert_array_equal(w, np.linspace(-1, 1, 7))
