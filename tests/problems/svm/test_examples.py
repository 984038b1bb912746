import numpy as np
import pytest

from hinge.problems.svm import examples as module
from hinge.problems.svm.examples import Examples, sorted_bias


def some(seed, n=41, weighted=False):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1, -1)
    weight = rng.integers(0, 4, n) / 2.0 if weighted else None
    return Examples(n, y, weight), rng.standard_normal(n)


def loss(examples, r, b):
    c = np.broadcast_to(examples.share(), (examples.n,))
    return float(c @ np.maximum(0, 1 - examples.y * (r + b)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("weighted", [False, True])
def test_no_bias_is_better(seed, weighted):
    examples, r = some(seed, weighted=weighted)
    b = examples.best_bias(r)
    least = min(loss(examples, r, kink) for kink in examples.y - r)  # a minimum lies at a kink
    assert loss(examples, r, b) == pytest.approx(least, abs=1e-12)
    assert float(sorted_bias(r, examples.y, examples.share())) == pytest.approx(b, abs=1e-12)


@pytest.mark.parametrize("side", [1, -1])
def test_one_class_alone_has_no_loss(side):
    examples, r = Examples(9, np.full(9, side)), np.linspace(-3, 3, 9)
    assert loss(examples, r, examples.best_bias(r)) == 0.0


def test_many_rows_go_by_blocks(monkeypatch):
    examples, r = some(0, 500, weighted=True)
    expected = examples.best_bias(r), examples.class_mass(np.abs(r)), examples.balanced(np.abs(r))
    monkeypatch.setattr(module, "BLOCK_ROWS", 64)
    assert list(examples.blocks())[-1] == (448, 500)
    assert examples.best_bias(r) == expected[0]
    np.testing.assert_allclose(examples.class_mass(np.abs(r)), expected[1])
    np.testing.assert_allclose(examples.balanced(np.abs(r)), expected[2])
    assert examples.terms == 64 + 8


def test_losses_and_masses():
    examples, r = some(3, weighted=True)
    c = examples.weight / examples.weight.sum()
    assert examples.loss_of(r, 0.3) == pytest.approx(loss(examples, r, 0.3))
    parts = examples.loss_of(r[:20], 0.3, 0, 20) + examples.loss_of(r[20:], 0.3, 20)
    assert parts == pytest.approx(loss(examples, r, 0.3))
    assert examples.loss_of(r, 0.0, error=-1.0) == pytest.approx(c @ np.maximum(0, -examples.y * r))
    alpha = np.random.default_rng(0).random(41)
    up, down = examples.class_mass(alpha)
    assert up == pytest.approx((c * alpha)[examples.y > 0].sum())
    assert down == pytest.approx((c * alpha)[examples.y < 0].sum())
    even = examples.balanced(alpha)
    assert (c * even) @ examples.y == pytest.approx(0, abs=1e-12)
    assert (even <= alpha).all()


def test_weights_are_shares():
    assert Examples(4, [1, -1, 1, 1]).share() == 0.25
    np.testing.assert_allclose(Examples(3, [1, -1, 1], [1, 2, 1]).share(), [0.25, 0.5, 0.25])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((3, [1, -1]), "one label per row"),
        ((0, []), "no rows"),
        ((2, [1, 0]), "-1 and \\+1"),
        ((2, ["a", "b"]), "-1 and \\+1"),
        ((2, [1, -1], [1.0]), "one weight per row"),
        ((2, [1, -1], [1.0, -1.0]), "not negative"),
        ((2, [1, -1], [1.0, np.nan]), "finite"),
        ((2, [1, -1], [0.0, 0.0]), "All weights are zero"),
    ],
)
def test_bad_input(arguments, words):
    with pytest.raises(ValueError, match=words):
        Examples(*arguments)
    with pytest.raises(ValueError, match="not finite"):
        some(0)[0].best_bias(np.full(41, np.nan))
