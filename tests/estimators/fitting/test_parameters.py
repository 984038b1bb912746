from typing import Literal, get_args, get_origin, get_type_hints

import pytest

from hinge import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

ESTIMATORS = (LinearSVC, LinearSVR, SVC, SVR, NuSVC, NuSVR, OneClassSVM)
ELSEWHERE = {"class_weight", "random_state", "verbose"}
"""Parameters that are checked where they are used, as scikit-learn does."""


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_each_parameter_has_a_constraint_which_its_default_meets(estimator):
    defaults, constraints = estimator().get_params(), estimator._constraints.by_name
    assert set(constraints) == set(defaults) - ELSEWHERE
    for name, constraint in constraints.items():
        constraint.check(name, defaults[name])


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_names_that_the_signature_lists_are_those_that_are_accepted(estimator):
    constraints = estimator._constraints.by_name
    hints = {name: hint for name, hint in get_type_hints(estimator.__init__).items() if name in constraints}
    listed = {name: get_args(hint) for name, hint in hints.items() if get_origin(hint) is Literal}
    assert "on_interrupt" in listed
    for name, values in listed.items():
        assert all(map(constraints[name].allows, values))
        assert not constraints[name].allows("".join(values))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("value", [-2, -0.5, float("nan"), "some", 1j, [1], (), object, b"x"], ids=repr)
def test_no_parameter_may_be_just_anything(estimator, value):
    for name, constraint in estimator._constraints.by_name.items():
        path = name in ("checkpoint", "cache_folder") and value == "some"
        flag = constraint.describe(value).startswith("True or False") and value == -2
        if path or flag or (name == "coef0" and value in (-2, -0.5)):
            assert constraint.allows(value)
            continue
        with pytest.raises(ValueError, match=f"^{name} must be .*, got "):
            constraint.check(name, value)
