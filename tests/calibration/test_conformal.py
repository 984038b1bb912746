import numpy as np
import pytest

from hinge.calibration.conformal import class_nonconformity, conformal_quantile


@pytest.mark.parametrize("n", [1, 4, 9, 10, 19, 20, 99])
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2, 0.5, 0.9])
def test_it_is_the_order_statistic_of_the_theorem(n, alpha):
    scores = np.random.default_rng(n).permutation(n).astype(float)  # the k-th smallest is k - 1
    k = -(-round((1 - alpha) * 100) * (n + 1) // 100)  # the ceiling, in whole numbers
    assert conformal_quantile(scores, np.ones(n), alpha) == (k - 1 if k <= n else np.inf)


def test_a_weight_is_a_number_of_rows():
    rng = np.random.default_rng(0)
    scores, weight = rng.standard_normal(30), rng.integers(0, 4, 30)
    for alpha in (0.05, 0.1, 0.3):
        repeated = np.repeat(scores, weight)
        assert conformal_quantile(scores, weight.astype(float), alpha) == conformal_quantile(
            repeated, np.ones(len(repeated)), alpha
        )
    assert conformal_quantile(scores, np.zeros(30), 0.1) == np.inf


@pytest.mark.slow
def test_coverage_of_exchangeable_rows_is_between_both_bounds():
    rng, n, alpha = np.random.default_rng(0), 19, 0.1
    draws = rng.standard_normal((20000, n + 1))
    hit = [row[-1] <= conformal_quantile(row[:-1], np.ones(n), alpha) for row in draws]
    off = 4 * np.sqrt(alpha / len(draws))
    assert 1 - alpha - off <= np.mean(hit) <= 1 - alpha + 1 / (n + 1) + off


def test_classes_are_compared_with_the_strongest_other_one():
    rest = np.array([[3.0, 1.0, 2.5]])
    np.testing.assert_allclose(class_nonconformity(rest, 3, one_vs_one=False), [[-0.5, 2.0, 0.5]])
    pairs = np.array([[1.0, -2.0, 0.5]])  # 0 against 1, 0 against 2, 1 against 2
    np.testing.assert_allclose(class_nonconformity(pairs, 3, one_vs_one=True), [[2.0, 1.0, 0.5]])
    np.testing.assert_allclose(class_nonconformity(np.array([[0.5]]), 2, one_vs_one=False), [[0.5, -0.5]])
