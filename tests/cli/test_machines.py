"""Options become estimators with Python's own defaults."""

import numpy as np
import pytest

import hinge
from hinge.cli.machines import (
    CLASSES,
    broken_off,
    check_learned,
    class_weight_of,
    gamma_of,
    implied_loss,
    machine,
    plain_name,
)
from hinge.solvers import registry


@pytest.mark.parametrize("name", CLASSES)
def test_defaults_are_those_of_python(name):
    plain = getattr(hinge, CLASSES[name])().get_params()
    assert {**plain, "on_interrupt": "keep"} == machine(name, {}).get_params()


def test_settings_of_others_are_refused():
    with pytest.raises(ValueError, match="--nu is no setting of svc; it is one of nusvc, nusvr, oneclass"):
        machine("svc", {"nu": 0.1})


def test_the_loss_that_a_solver_wants():
    for name in registry.names("linear", "cells"):
        given = implied_loss({"solver": name})
        assert given.get("loss") == (None if registry.BY_NAME[name].load().any_loss else "hinge")
    assert implied_loss({"slack": 0.1})["loss"] == "hinge"
    assert implied_loss({"solver": "pegasos", "loss": "squared_hinge"})["loss"] == "squared_hinge"


def test_solvers_have_one_name_however_spelled():
    assert {plain_name(one) for one in ("Cutting-Plane", "cutting_plane", "cuttingplane")} == {"cuttingplane"}


def test_values_in_words():
    assert gamma_of("0.5") == 0.5 and gamma_of("scale") == "scale" and gamma_of(None) is None
    with pytest.raises(ValueError, match="scale or auto"):
        gamma_of("big")
    y = np.array([1, 2, 2])
    assert class_weight_of('{"2": 3}', y) == {2: 3.0} and class_weight_of("balanced", y) == "balanced"
    for text, words in (("{", "JSON"), ("[1]", "a number for each class"), ('{"7": 1}', "the classes are 1, 2")):
        with pytest.raises(ValueError, match=words):
            class_weight_of(text, y)


def test_folds_are_broken_off():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    kept = machine("svc", {"C": 3.0})
    assert broken_off(kept).get_params() == {**kept.get_params(), "on_interrupt": "raise"}
    assert broken_off(make_pipeline(StandardScaler(), kept)).get_params()["svc__on_interrupt"] == "raise"
    assert kept.on_interrupt == "keep"


@pytest.mark.parametrize("name", ["LinearSVC", "SVC"])
def test_what_was_interrupted_before_anything_was_learned_is_no_model(name, tiny):
    model = getattr(hinge, name)().fit(*tiny)
    model.stop_reason_ = "interrupted"
    check_learned(model)
    if name == "LinearSVC":
        model.coef_ = np.zeros_like(model.coef_)
    else:
        model.support_ = model.support_[:0]
    with pytest.raises(KeyboardInterrupt):
        check_learned(model)
    model.stop_reason_ = "converged"
    check_learned(model)
