"""The package itself: its names, and what importing it costs."""

import subprocess
import sys

import pytest

import hinge


def test_public_names_are_there():
    for name in hinge.__all__:
        assert getattr(hinge, name) is not None
    assert set(hinge.__all__) | {"display", "explain", "export"} <= set(dir(hinge))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        hinge.nothing  # noqa: B018


def test_importing_hinge_is_cheap():
    code = "import sys, hinge; print([m for m in ('numba', 'sklearn', 'scipy') if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
