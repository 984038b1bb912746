import numpy as np
from sklearn.isotonic import IsotonicRegression

from hinge.calibration.isotonic import fit_isotonic, isotonic_probabilities


def test_it_is_the_regression_with_a_row_of_the_other_label_beyond_either_end():
    rng = np.random.default_rng(0)
    f = rng.standard_normal(200)
    positive, weight = f + rng.standard_normal(200) > 0, rng.choice([0.0, 1.0, 2.0], 200)
    found = fit_isotonic(f, positive, weight)
    beyond = np.append(f, (-9.0, 9.0)), np.append(positive, (True, False)), np.append(weight, (1.0, 1.0))
    rival = IsotonicRegression().fit(*beyond)
    inside = f[weight > 0]
    np.testing.assert_allclose(isotonic_probabilities(inside, found), rival.predict(inside), atol=1e-12)


def test_ends_say_how_few_rows_they_are_made_of():
    f = np.arange(14.0)
    found = fit_isotonic(f, f >= 5, np.ones(14))
    np.testing.assert_allclose(
        isotonic_probabilities(np.array([-1e9, 0.0, 13.0, 1e9]), found), [1 / 6, 1 / 6, 0.9, 0.9]
    )


def test_equal_scores_and_scores_turned_around_tell_the_share():
    positive = np.arange(30) < 10
    for f in (np.zeros(30), np.arange(30.0)):
        p = isotonic_probabilities(np.array([-1.0, 5.0, 40.0]), fit_isotonic(f, positive, np.ones(30)))
        np.testing.assert_allclose(p, 11 / 32)
