import sys

import pytest

import hinge.dask


def test_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'hinge\[dask\]'"):
        hinge.dask.LinearSVC  # noqa: B018


def test_no_other_names():
    assert dir(hinge.dask) == ["LinearSVC", "LinearSVR", "SVC"]
    with pytest.raises(AttributeError, match="nothing"):
        hinge.dask.nothing  # noqa: B018
