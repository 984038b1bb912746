import subprocess
import sys

import pytest

import hinge.solvers as solvers
from hinge.solvers import registry


def test_every_registered_solver_is_there_by_its_name():
    for entry in registry.BY_NAME.values():
        assert getattr(solvers, entry.class_name) is entry.load()
    assert set(solvers.SOLVERS) == set(registry.classes())
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        solvers.Nothing  # noqa: B018
    assert set(solvers.__all__) <= set(dir(solvers))


def test_no_solver_is_imported_before_it_is_asked_for():
    code = "import sys, hinge.solvers; print([m for m in sys.modules if m.startswith('hinge.solvers.linear.')])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
