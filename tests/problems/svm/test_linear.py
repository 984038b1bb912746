import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hinge.access.matrix as access
from hinge.problems import LinearProblem, Regularized, Solution

numbers = st.integers(-40, 40).map(lambda k: k / 8)


@st.composite
def responses(draw, weighted):
    n = draw(st.integers(1, 12))
    r = np.array(draw(st.lists(numbers, min_size=n, max_size=n)))
    y = np.array(draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n)))
    s = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), float)
    if not weighted:
        return r, y, None
    s[draw(st.integers(0, n - 1))] += 1
    return r, y, s


def mean_hinge(r, y, s, b):
    s = np.ones(len(y)) if s is None else s
    return np.maximum(0, 1 - y * (r + b)) @ s / s.sum()


def test_criteria_by_hand():
    problem = LinearProblem([[3.0, 4.0], [0.0, 1.0]], [1, -1])
    norm, loss = problem.criteria(np.array([0.1, 0.2]))  # margins 1.1 and -0.2
    assert norm == pytest.approx(np.sqrt(0.05))
    assert loss == pytest.approx(0.6)
    assert problem.criteria(np.array([0.1, 0.2]), b=-1.0)[1] == pytest.approx((0.9 + 0.2) / 2)
    assert problem.matrix.reads == 0


def test_weights_are_relative():
    X, y, s = np.eye(3), np.array([1, 1, -1]), np.array([1.0, 0.0, 3.0])
    problem = LinearProblem(X, y, weight=s)
    w = np.array([0.5, 9.0, 0.5])
    assert problem.criteria(w)[1] == pytest.approx((0.5 * 1 + 1.5 * 3) / 4)
    assert LinearProblem(X, y, weight=10 * s).criteria(w)[1] == pytest.approx(problem.criteria(w)[1])
    np.testing.assert_allclose(problem.share(), s / 4)
    assert LinearProblem(X, y).share() == pytest.approx(1 / 3)


def test_penalised_bias_is_a_constant_feature(tiny):
    X, y = tiny
    wide = np.column_stack([X, np.full(60, 0.7)])
    problem, plain = LinearProblem(X, y, bias="penalized", bias_scale=0.7), LinearProblem(wide, y)
    w = np.linspace(-1, 1, 8)
    assert problem.criteria(w[:7], 0.7 * w[7]) == pytest.approx(plain.criteria(w))
    assert problem.constant_sq == pytest.approx(0.49)
    assert LinearProblem(X, y, bias="free", bias_scale=0.7).constant_sq == 0


def check_best_bias(r, y, s):
    problem = LinearProblem(np.zeros((len(y), 1)), y, weight=s, bias="free")
    before = r.copy()
    b = problem.best_bias(r)
    losses = [mean_hinge(r, y, s, kink) for kink in y - r]
    assert mean_hinge(r, y, s, b) <= min(losses) + 1e-12
    np.testing.assert_array_equal(r, before)


@pytest.mark.slow
@given(responses(weighted=False))
def test_best_bias(case):
    check_best_bias(*case)


@pytest.mark.slow
@given(responses(weighted=True))
def test_best_bias_with_weights(case):
    check_best_bias(*case)


@pytest.mark.slow
@given(responses(weighted=True))
def test_a_row_of_weight_k_is_k_rows(case):
    r, y, s = case
    times = s.astype(int)
    once = LinearProblem(np.zeros((len(y), 1)), y, weight=s, bias="free")
    repeated = LinearProblem(np.zeros((times.sum(), 1)), np.repeat(y, times), bias="free")
    b, c = once.best_bias(r), repeated.best_bias(np.repeat(r, times))
    assert mean_hinge(r, y, s, b) == pytest.approx(mean_hinge(r, y, s, c), abs=1e-12)
    assert once.loss_of(r, 0.3) == pytest.approx(repeated.loss_of(np.repeat(r, times), 0.3))


def test_best_bias_is_the_middle_of_the_best():
    problem = LinearProblem(np.zeros((2, 1)), [1, -1], bias="free")
    assert problem.best_bias(np.array([2.0, -4.0])) == pytest.approx(1.0)  # without loss on [-1, 3]


@pytest.mark.parametrize("weighted", [False, True])
def test_balanced_is_feasible(tiny, weighted):
    X, y = tiny
    rng = np.random.default_rng(0)
    s = rng.random(60) if weighted else None
    problem = LinearProblem(X, y, weight=s, bias="free")
    c = np.broadcast_to(problem.share(), 60)
    for _ in range(20):
        alpha = rng.random(60) * rng.integers(0, 2, 60)
        positive, negative = problem.class_mass(alpha)
        assert positive == pytest.approx((c * alpha)[y > 0].sum())
        assert negative == pytest.approx((c * alpha)[y < 0].sum())
        balanced = problem.balanced(alpha)
        assert (c * balanced) @ y == pytest.approx(0, abs=1e-15)
        assert (balanced >= 0).all()
        assert (balanced <= alpha).all()
        lighter = 1 if positive <= negative else -1
        np.testing.assert_array_equal(balanced[y == lighter], alpha[y == lighter])
    np.testing.assert_array_equal(problem.balanced(np.zeros(60)), 0)


@pytest.mark.parametrize("weighted", [False, True])
def test_combination_reads_only_rows_with_a_dual(tiny_csr, weighted):
    S, y = tiny_csr
    s = np.random.default_rng(1).random(60) if weighted else None
    problem = LinearProblem(S, y, weight=s)
    alpha = np.where(np.arange(60) % 3 == 0, 0.4, 0.0)
    expected = (alpha * y * problem.share()) @ S.toarray()
    np.testing.assert_allclose(problem.combination(alpha), expected, atol=1e-12)
    assert problem.matrix.reads == np.diff(S.indptr)[::3].sum()


def test_passes_in_blocks_change_nothing(tiny, monkeypatch):
    X, y = tiny
    s = np.random.default_rng(2).random(60)
    w, alpha = np.linspace(-1, 1, 7), np.linspace(0, 1, 60)

    def all_of_it():
        problem = Regularized(X, y, 0.1, weight=s, bias="free")
        return np.hstack(
            [
                problem.certificate(Solution(w, 0.0, alpha)),
                problem.criteria(w, 0.5),
                problem.responses(w),
                problem.combination(alpha),
                problem.class_mass(alpha),
                problem.matrix.reads,
            ]
        )

    whole = all_of_it()
    monkeypatch.setattr(access, "ROW_BLOCK_CELLS", 50)
    np.testing.assert_allclose(all_of_it(), whole, rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"y": [1, -1]}, "X has 3 rows but y has shape"),
        ({"y": [[1], [1], [-1]]}, "one label per row"),
        ({"y": [0, 1, 1]}, "-1 and"),
        ({"y": [1.5, 1, -1]}, "-1 and"),
        ({"X": np.zeros((0, 2)), "y": []}, "no rows"),
        ({"bias": "both"}, "'none', 'free' or 'penalized', not 'both'"),
        ({"weight": [1, 2]}, "one weight per row"),
        ({"weight": [1, 2, -1]}, "not negative"),
        ({"weight": [1, 2, np.nan]}, "finite"),
        ({"weight": [1, np.inf, 1]}, "finite"),
        ({"weight": [0, 0, 0]}, "nothing to learn"),
    ],
)
def test_errors_are_sentences(arguments, says):
    arguments = {"X": np.eye(3), "y": [1, 1, -1], **arguments}
    with pytest.raises(ValueError, match=says) as caught:
        LinearProblem(arguments.pop("X"), arguments.pop("y"), **arguments)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("bias_scale", [0.0, np.nan, np.inf])
def test_the_constant_feature_has_a_value(bias_scale):
    with pytest.raises(ValueError, match="bias_scale"):
        LinearProblem(np.eye(2), [1, -1], bias="penalized", bias_scale=bias_scale)


def test_read_only_weights_do_not_ask_for_other_compiled_code(tiny):
    from numba import typeof

    X, y = tiny
    plain, frozen = np.ones(60), np.ones(60)
    frozen.flags.writeable = False
    types = {typeof(LinearProblem(X, y, weight=s).weight) for s in (plain, frozen, None)}
    assert len(types) == 1


def test_labels_of_any_type(tiny):
    X, y = tiny
    for labels in (y, y.astype(float), y.astype(np.int64), y.tolist()):
        problem = LinearProblem(X, labels)
        assert problem.y.dtype == np.int8
        np.testing.assert_array_equal(problem.y, y)
