import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from hinge.sampling import draw_unit, find, group_total, key_of, resum, set_leaf, sum_tree

SIZES = (1, 2, 127, 128, 129, 1000, 16384, 16385, 40_000)


def some(n, groups=3, seed=0):
    rng = np.random.default_rng(seed)
    leaves = rng.exponential(size=n) * (rng.random(n) < 0.7)
    leaves[rng.integers(n)] = 1.0
    tree = sum_tree(leaves, rng.integers(0, groups, n).astype(np.uint8), groups)
    tree.scale[:] = rng.exponential(size=groups) + 0.1
    return tree


def value(tree):
    return tree.leaves * tree.scale[tree.group]


@pytest.mark.slow
@pytest.mark.parametrize("n", SIZES)
def test_it_is_the_inverse_of_the_cumulative_sum(n):
    tree = some(n)
    total = sum(group_total(tree, g) for g in range(3))
    assert total == pytest.approx(value(tree).sum())
    cumulative = np.cumsum(value(tree))
    for unit in np.random.default_rng(1).random(300):
        i = find(tree, unit * total)
        assert tree.leaves[i] > 0
        assert cumulative[i] - value(tree)[i] <= unit * total + 1e-9 * total
        assert unit * total <= cumulative[i] + 1e-9 * total
    assert find(tree, 0.0) == np.flatnonzero(tree.leaves)[0]


@pytest.mark.slow
@pytest.mark.parametrize("n", SIZES)
def test_changed_leaves_change_the_sums(n):
    tree = some(n)
    rng = np.random.default_rng(2)
    for i in rng.integers(0, n, 500):
        set_leaf(tree, i, tree.group[i], rng.random())
    fine, coarse = tree.fine.copy(), tree.coarse.copy()
    resum(tree)
    np.testing.assert_allclose(fine, tree.fine, atol=1e-11)
    np.testing.assert_allclose(coarse, tree.coarse, atol=1e-9)


def test_draws_are_in_proportion():
    tree = some(12, seed=3)
    key, total = key_of(0), value(tree).sum()
    drawn = np.bincount([find(tree, draw_unit(key, c) * total) for c in range(20_000)], minlength=12)
    assert (drawn[tree.leaves == 0] == 0).all()
    assert chisquare(drawn[tree.leaves > 0], 20_000 * value(tree)[tree.leaves > 0] / total).pvalue > 1e-3


@pytest.mark.slow
@given(st.lists(st.sampled_from([0.0, 0.0, 1.0, 1e-300]), min_size=1, max_size=300), st.floats(0, 2))
def test_a_zero_leaf_is_never_drawn_wherever_the_target_is(leaves, target):
    tree = sum_tree(np.array(leaves))
    i = find(tree, target)
    assert (i == -1) if not any(leaves) else leaves[i] > 0


@pytest.mark.slow
def test_sums_that_have_drifted_lead_to_a_leaf():
    tree = sum_tree(np.zeros(300))
    set_leaf(tree, 7, 0, 1.0)
    tree.fine[2, 0] += 1e-3  # of nothing
    tree.coarse[0, 0] += 1e-3
    assert find(tree, 1.0005) == 7
