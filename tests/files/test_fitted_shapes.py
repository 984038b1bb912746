"""Fitted attributes of a model file that contradict each other."""

import numpy as np
import pytest

from hinge import SVC, LinearSVC
from hinge.files.machines import check_kernel_machine, check_linear, check_sigmoids, check_steps


def linear(classes=2, features=3, **changes):
    rows = 1 if classes == 2 else classes
    parts = {
        "classes_": np.arange(classes),
        "coef_": np.zeros((rows, features)),
        "intercept_": np.zeros(rows),
        "n_features_in_": features,
    }
    return {**parts, **changes}


def test_linear_models_fit_together(tiny):
    check_linear(**linear())
    check_linear(**linear(4))
    model = LinearSVC(random_state=0).fit(*tiny)
    check_linear(model.coef_, model.intercept_, model.n_features_in_, model.classes_)


@pytest.mark.parametrize(
    "changes",
    [
        {"classes_": np.arange(1)},
        {"coef_": np.zeros((2, 3))},
        {"coef_": np.zeros((1, 4))},
        {"intercept_": np.zeros(2)},
        {"n_features_in_": 5},
        {"classes_": np.arange(3)},
    ],
)
def test_those_that_do_not_are_refused(changes):
    with pytest.raises(ValueError, match="are not those of"):
        check_linear(**linear(**changes))
    with pytest.raises(ValueError, match="floating-point"):
        check_linear(**linear(coef_=np.zeros((1, 3), int)))


NAMES = ("classes_", "intercept_", "n_features_in_", "kernel_", "shape_fit_", "support_", "support_vectors_")
NAMES += ("n_support_", "dual_coef_")


@pytest.fixture(scope="module")
def machine(tiny):
    X, y = tiny
    model = SVC(random_state=0).fit(X, np.where(X[:, 0] > 0.5, 2, y))
    return {name: getattr(model, name) for name in NAMES}


def test_a_fitted_machine_fits_together(machine):
    check_kernel_machine(**machine)


def test_each_part_that_does_not_is_refused(machine):
    changed = {
        "classes_": machine["classes_"][:2],
        "intercept_": machine["intercept_"][:1],
        "n_features_in_": 9,
        "kernel_": "rbf",
        "shape_fit_": (60, 8),
        "support_": machine["support_"] + 1000,
        "support_vectors_": machine["support_vectors_"][1:],
        "n_support_": machine["n_support_"][::-1] + 1,
        "dual_coef_": machine["dual_coef_"][:, 1:],
    }
    for name, value in changed.items():
        with pytest.raises(ValueError, match="do not belong to one model"):
            check_kernel_machine(**{**machine, name: value})
    with pytest.raises(ValueError, match="not numbers"):
        check_kernel_machine(**{**machine, "dual_coef_": machine["dual_coef_"].astype(complex)})


def test_sigmoids_are_one_for_each_run():
    fine = -np.ones(3)
    check_sigmoids(fine, fine, 3)
    for A, B, n in (
        (None, fine, 3),
        (fine, None, 3),
        (fine, fine, 2),
        (fine[:, None], fine, 3),
        (fine, fine.astype(int), 3),
    ):
        with pytest.raises(ValueError, match="one for each decision value"):
            check_sigmoids(A, B, n)
    with pytest.raises(ValueError, match="would decrease"):
        check_sigmoids(-fine, fine, 3)


def test_steps_are_one_function_for_each_run():
    cuts, scores, values = np.array([0, 2, 5]), np.array([0.0, 1.0, -1.0, 0.5, 2.0]), np.linspace(0, 1, 5)
    check_steps(cuts, scores, values, 2)
    check_steps(cuts, scores, np.stack([values, values], 1), 2)
    for wrong, match in (
        ((None, scores, values, 2), "three arrays"),
        ((cuts.astype(float), scores, values, 2), "three arrays"),
        ((cuts, scores, values, 3), "not 3 functions"),
        ((cuts[::-1], scores, values, 2), "not 2 functions"),
        ((np.array([0, 0, 5]), scores, values, 2), "not 2 functions"),
        ((cuts, scores[1:], values, 2), "not 2 functions"),
        ((cuts, scores, values[1:], 2), "one probability for each score"),
        ((cuts, scores, 2 * values, 2), "one probability for each score"),
        ((cuts, scores, np.stack(3 * [values], 1), 2), "one probability for each score"),
        ((cuts, scores[::-1], values, 2), "not in order"),
    ):
        with pytest.raises(ValueError, match=match):
            check_steps(*wrong)
