"""Ctrl-C a few times; the long form is ``python -m tests.faults --ctrl-c``."""

import os

import pytest

from .presses import estimators, report

pytestmark = pytest.mark.slow

if not hasattr(os, "fork"):
    pytest.skip("fits are interrupted in forks, which this system has not", allow_module_level=True)


@pytest.mark.filterwarnings("ignore:This process")  # of threads that a fork does not have
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_ctrl_c_ends_a_fit_within_a_second(capsys):
    assert report(1, 3, ["LinearSVC", "LinearSVC 1-norm", "NuSVC"]) == 0
    assert capsys.readouterr().out.count("1 presses, 0 too late") == 3


def test_every_estimator_is_interrupted():
    import hinge

    names = {name.split()[0] for name in estimators()}
    assert {name for name in hinge.__all__ if name.endswith(("SVC", "SVR", "SVM"))} <= names
