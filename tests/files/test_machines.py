"""What of hinge's own estimators a file holds; test_model_files.py has the files themselves."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from hinge import SVC, LinearSVC
from hinge.datasets.base import plain_array
from hinge.files.machines import ATTRIBUTES, MACHINES, NEEDED, machine_of, stored_machine
from hinge.files.model_files import load, save


def test_every_estimator_has_its_checks():
    assert set(MACHINES.values()) == set(NEEDED)
    assert all(cls._constraints.by_name for cls in NEEDED)
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


@pytest.mark.parametrize("ranges", [None, (-9.0, 9.0)])
def test_a_reading_order_is_kept(tiny, tmp_path, ranges):
    X, y = tiny
    machine = LinearSVC().fit(X, y).learn_order(X, prices=np.arange(1.0, X.shape[1] + 1), ranges=ranges)
    save(machine, tmp_path / "m.hinge")
    again = load(tmp_path / "m.hinge")
    for confidence in (0.8, 1.0):
        ours, theirs = (model.buy(X, confidence=confidence) for model in (machine, again))
        assert all(np.array_equal(a, getattr(theirs, name)) for name, a in vars(ours).items())
    assert not hasattr(again.fit(X, y), "reading_order_")


@pytest.mark.parametrize(
    ("part", "message"),
    [("columns", "have a weight"), ("cuts", "all of them"), ("wrong", "match its cuts"), ("slope", "incomplete")],
)
def test_an_order_that_does_not_fit_is_refused(tiny, part, message):
    X, y = tiny
    arrays = {}
    found = stored_machine(LinearSVC().fit(X, y).learn_order(X), "", arrays)
    unpacked = {name.removesuffix(".npy"): plain_array(content) for name, content in arrays.items()}
    broken = unpacked.pop(f"reading_order_.{part}")
    if part != "slope":
        unpacked[f"reading_order_.{part}"] = broken[1:]
    with pytest.raises(ValueError, match=message):
        machine_of(found, "", unpacked)


def test_weights_of_another_shape_are_refused(tiny):
    X, y = tiny
    arrays = {}
    found = stored_machine(SVC(kernel="linear").fit(X, y), "", arrays)
    unpacked = {name.removesuffix(".npy"): plain_array(content) for name, content in arrays.items()}
    unpacked["_weights"] = unpacked["_weights"][:, :-1]
    with pytest.raises(ValueError, match="one number for each feature"):
        machine_of(found, "", unpacked)
