import os
from pathlib import Path

import pytest

BESIDE_REPOSITORY = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def data_home():
    """A folder of real data sets, for the few tests that want one."""
    folder = Path(os.environ.get("HINGE_DATA") or BESIDE_REPOSITORY)
    if not folder.is_dir():
        pytest.skip("no folder of real data: set HINGE_DATA to one")
    return folder


@pytest.fixture
def no_home(tmp_path, monkeypatch):
    """An empty data folder, whatever the environment says."""
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.setenv("HINGE_DATA", str(folder))
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder for all examples of a property, each of which overwrites the last one's file."""
    return tmp_path_factory.mktemp("examples")
