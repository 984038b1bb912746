"""Ctrl-C a few times; the long form is ``python -m tests.faults --ctrl-c``."""

import os

import pytest

from .presses import LIMIT, busy, estimators, pressed_child

pytestmark = pytest.mark.slow

if not hasattr(os, "fork"):
    pytest.skip("fits are interrupted in forks, which this system has not", allow_module_level=True)


@pytest.mark.filterwarnings("ignore:This process")  # of threads that a fork does not have
@pytest.mark.parametrize("name", ["LinearSVC 1-norm", "NuSVC", "LinearSVC classes, threads", "SVCCV threads"])
def test_ctrl_c_ends_a_fit_on_a_busy_machine(name):
    with busy():
        seconds = pressed_child(*estimators()[name], after=1.0)
    assert seconds is not None and seconds <= LIMIT


def test_every_estimator_is_interrupted():
    import hinge

    names = {name.split()[0] for name in estimators()}
    assert {name for name in hinge.__all__ if name.endswith(("SVC", "SVR", "SVM"))} <= names
