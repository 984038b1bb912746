"""Options become estimators with Python's own defaults."""

import inspect
import subprocess
import sys
from enum import Enum

import numpy as np
import pytest
from command_line import run, said, sentence

import hinge
import hinge.estimators
from hinge.cli.machines import (
    NOT_OPTIONS,
    SOURCES,
    broken_off,
    check_learned,
    class_weight_of,
    declared,
    estimator_classes,
    gamma_of,
    given_settings,
    implied_loss,
    machine,
    parameter_help,
    plain_name,
    settings,
)
from hinge.constraints import count, declares, parameter
from hinge.solvers import registry


@pytest.mark.parametrize("name", SOURCES)
def test_defaults_are_those_of_python(name):
    plain = getattr(hinge, SOURCES[name][1])().get_params()
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
    assert gamma_of("0.5") == 0.5 and gamma_of("scale") == "scale"
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


# --- options from the estimators -------------------------------------------------------------------


def test_every_parameter_of_every_estimator_is_an_option_with_help():
    parameters = {name for cls in estimator_classes().values() for name in inspect.signature(cls).parameters}
    options = {one.name: one.annotation.__metadata__[0] for one in settings()}
    assert options.keys() == parameters - NOT_OPTIONS and parameters > NOT_OPTIONS
    assert all(len(option.help) > 10 and "`" not in option.help for option in options.values())
    assert options["nu"].help.endswith("(nusvc, nusvr, oneclass; default 0.5)")
    assert parameter_help(inspect.getdoc(hinge.SVC))["coef0"] == "Constant term of the polynomial and sigmoid kernels."


@pytest.mark.parametrize("name", SOURCES)
def test_what_the_source_declares_is_what_python_has(name):
    parameters = inspect.signature(estimator_classes()[name]).parameters
    assert {one: found.default for one, found in declared(name).items()} == {
        one: found.default for one, found in parameters.items()
    }
    constraints = estimator_classes()[name]._constraints.by_name
    kinds = {one.name: one.annotation.__args__[0].__args__[0] for one in settings() if one.default is not False}
    for one, kind in ((one, kinds[one]) for one in parameters if one in kinds):
        if isinstance(kind, type) and issubclass(kind, Enum):
            assert set(constraints[one].names) <= {member.value for member in kind}


def test_help_imports_no_estimator():
    """They take seconds to import."""
    code = """
import sys
from hinge.cli.app import application
try:
    application()(["train", "--help"])
except SystemExit:
    print({"sklearn", "numba", "scipy"} & set(sys.modules))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "--max-kernel-evals" in found and found.endswith("set()\n")


def test_what_is_typed_becomes_what_python_takes():
    empty = {one.name: one.default for one in settings()}
    assert given_settings(empty) == {"random_state": 0}
    types = {one.name: one.annotation.__args__[0].__args__[0] for one in settings() if one.default is not False}
    kernel = types["kernel"]("poly")
    typed = empty | {"kernel": kernel, "fit_intercept": True, "intercept": True, "max_memory": "2G", "gamma": "0.5"}
    assert given_settings(typed) == {
        "kernel": "poly",
        "fit_intercept": False,
        "intercept": "free",
        "max_memory": 2.0 * 1024**3,
        "gamma": 0.5,
        "random_state": 0,
    }
    assert (types["C"], types["max_reads"], types["break_ties"], types["solver"]) == (float, int, bool, str)


@declares
class Patient(hinge.LinearSVC):
    """A classifier with one parameter more.

    Parameters
    ----------
    patience : int, default=7
        Rounds without progress before it gives up. Then it ends.
    """

    patience: int = parameter(7, count())


def test_a_new_parameter_becomes_an_option_by_itself(monkeypatch):
    monkeypatch.setattr(hinge.estimators, "Patient", Patient, raising=False)
    monkeypatch.setitem(SOURCES, "linearsvc", (__file__, "Patient"))
    monkeypatch.setenv("COLUMNS", "200")
    out, _ = said(run("train", "--help"))
    assert "--patience" in out and "Rounds without progress before it gives up. (linearsvc; default 7)" in " ".join(
        out.split()
    )
    assert "--patience is no setting of svc; it is one of linearsvc" in sentence(
        run("train", "none", "--model", "svc", "--patience", 3)
    )
    assert run("train", "none", "--patience", "long").exit_code == 2


def test_landmarks_are_a_number_or_auto():
    assert [given_settings({"n_components": text}) for text in ("30", "auto", None)] == [
        {"n_components": 30},
        {"n_components": "auto"},
        {},
    ]
    with pytest.raises(ValueError, match="whole number or auto"):
        given_settings({"n_components": "many"})
