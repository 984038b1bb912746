"""What of hinge's own estimators a file holds; test_model_files.py has the files themselves."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from hinge import SVC, LinearSVC
from hinge.datasets.plain_arrays import plain_array
from hinge.files.machines import ATTRIBUTES, MACHINES, NEEDED, PARAMETERS, machine_of, stored_machine


def test_every_estimator_has_its_checks():
    assert set(MACHINES.values()) == set(NEEDED) == set(PARAMETERS)
    assert all(set(needed) <= set(ATTRIBUTES) for needed in NEEDED.values())


def test_a_machine_among_others(tiny):
    """Its arrays have names of their own, and those of others are left alone."""
    X, y = tiny
    arrays = {"1.coef_.npy": b"of another"}
    machine = LinearSVC().fit(X, y)
    found = stored_machine(machine, "12.", arrays)
    assert arrays.pop("1.coef_.npy") == b"of another"
    assert all(name.startswith("12.") for name in arrays)
    unpacked = {name.removesuffix(".npy"): plain_array(content) for name, content in arrays.items()}
    unpacked["1.coef_"] = np.ones(3)
    again = machine_of(found, "12.", unpacked)
    assert list(unpacked) == ["1.coef_"]
    assert again.decision_function(X).tobytes() == machine.decision_function(X).tobytes()


def test_only_fitted_ones():
    with pytest.raises(NotFittedError):
        stored_machine(SVC(), "", {})
