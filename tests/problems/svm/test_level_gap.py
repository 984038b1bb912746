"""The duality gap of ν-SVMs."""

from fractions import Fraction

import numpy as np
import pytest

from hinge.problems.svm.levels import CLASSES, ONE_CLASS, TARGETS, level_gap, level_of, relative_gap


def problem_of(form, seed, n=12):
    """A positive K, and weights with the right sums: all of one sign, either, or two copies of all."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, 4))
    sign = np.ones(n) if form == ONE_CLASS else np.where(np.arange(n) < n // 2, 1.0, -1.0)
    A = A if form != TARGETS else np.vstack([A[: n // 2], A[: n // 2]])
    linear = np.zeros(n) if form != TARGETS else np.tile(rng.standard_normal(n // 2), 2)
    box = rng.uniform(0.5, 2.0, n)
    box = box if form != TARGETS else np.tile(box[: n // 2], 2)
    mass = 0.4 * min(box[sign > 0].sum(), box[sign < 0].sum() or np.inf)
    alpha = rng.uniform(0, 1, n) * box
    for one in (1, -1):
        own = sign == one
        if own.any():
            alpha[own] *= min(1.0, mass / alpha[own].sum())
            alpha[own] += (mass - alpha[own].sum()) * (box - alpha)[own] / (box - alpha)[own].sum()
    return A @ A.T, sign, linear, box, alpha, mass


def exact_slack(sign, linear, box, alpha, r, levels):
    total = Fraction(0)
    for i in range(len(sign)):
        level = Fraction(levels[0] if sign[i] > 0 else levels[-1])
        over = Fraction(sign[i]) * (Fraction(r[i]) - Fraction(linear[i])) - level
        left = Fraction(box[i]) - Fraction(alpha[i])
        total += Fraction(alpha[i]) * over if over > 0 else -left * over
    return total


@pytest.mark.parametrize("form", [ONE_CLASS, CLASSES, TARGETS])
@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_sum_of_its_terms_and_errors_only_widen_it(form, seed):
    K, sign, linear, box, alpha, mass = problem_of(form, seed)
    r, n = K @ (sign * alpha), len(sign)
    levels = np.random.default_rng(seed).standard_normal(2)
    own, none = np.sqrt(np.diagonal(K)), np.zeros(n)
    slack, sq, gain, most, sq_off, least, shift = level_gap(
        form, sign, box, alpha, linear, r, none, own, levels, np.abs(levels).max(), mass
    )
    assert slack == pytest.approx(float(exact_slack(sign, linear, box, alpha, r, levels)), rel=1e-12)
    assert most >= slack and least <= gain - 0.5 * sq and sq_off >= 0 and shift >= 0
    assert sq == pytest.approx((sign * alpha) @ K @ (sign * alpha)) and gain == pytest.approx(linear @ (sign * alpha))
    wider = level_gap(form, sign, box, alpha, linear, r, none + 0.1, own, levels, np.abs(levels).max(), mass)
    for off in (0.1, -0.1):  # all responses wrong by as much
        assert wider[3] >= float(exact_slack(sign, linear, box, alpha, r + off, levels))
    assert wider[5] < least


def test_a_sum_that_is_short_is_made_right_by_points_with_room():
    K, sign, linear, box, alpha, mass = problem_of(CLASSES, 0)
    levels, own, none = np.array([0.3, -0.2]), np.sqrt(np.diagonal(K)), np.zeros(len(sign))
    short = alpha * (1 - 1e-6)
    r = K @ (sign * short)
    most, shift = (level_gap(CLASSES, sign, box, short, linear, r, none, own, levels, 1.0, mass)[k] for k in (3, 6))
    fixed = short + np.where(
        sign > 0, *((mass - short[sign == s].sum()) / (box - short)[sign == s].sum() for s in (1, -1))
    ) * (box - short)
    assert np.sqrt((sign * (fixed - short)) @ K @ (sign * (fixed - short))) <= shift
    assert float(exact_slack(sign, linear, box, fixed, r, levels)) <= most


def test_the_unit_of_each_form():
    assert relative_gap(ONE_CLASS, 0.04, 4.0, 0.0, 0.0, 0.0) == pytest.approx(0.1)
    assert relative_gap(ONE_CLASS, 9.0, 4.0, 0.0, 0.0, 0.0) == 1.0 == relative_gap(ONE_CLASS, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert relative_gap(CLASSES, 0.5, 4.0, 0.0, 0.0, 0.0) == pytest.approx(0.5 / 1.5)
    assert relative_gap(CLASSES, 2.0, 4.0, 0.0, 0.0, 0.0) == np.inf
    assert relative_gap(TARGETS, 0.5, 4.0, 5.0, 0.0, 0.0) == pytest.approx(0.5 / 3.0)
    assert relative_gap(TARGETS, 0.5, 4.0, 1.0, 0.0, 2.0) == pytest.approx(0.25)
    assert relative_gap(TARGETS, 0.0, 0.0, 0.0, 0.0, 0.0) == 0.0


def test_the_level_is_least_and_that_of_the_points_between():
    rng = np.random.default_rng(2)
    m, s = rng.standard_normal(30), rng.uniform(0.5, 1.5, 30)
    mass = 0.3 * s.sum()
    level = level_of(m, s.copy(), s, mass)

    def value(at):
        return -mass * at + s @ np.maximum(0.0, at - m)

    assert all(value(level) <= value(level + step) + 1e-12 for step in (-0.1, -1e-4, 1e-4, 0.1))
    m, s = np.array([1.0, 2.0, 5.0]), np.ones(3)
    assert level_of(m, np.array([1.0, 1.0, 0.0]), s, 2.0) == 3.5  # the middle
    assert level_of(m, np.array([1.0, 0.7, 0.3]), s, 2.0) == 3.5 == (2.0 + 5.0) / 2
    assert level_of(m, np.array([1.0, 0.7, 0.0]), s, 2.0) == 2.0
