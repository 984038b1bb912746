"""Every writer killed a few times; the long form is ``python -m tests.faults``."""

import os

import pytest

from .kills import one, rounds
from .writers import WRITERS

pytestmark = pytest.mark.slow

QUICK = ("model", "checkpoint", "dense pair", "compressed pair", "oracle cache", "row store")

if not hasattr(os, "fork"):
    pytest.skip("writers are killed in forks, which this system has not", allow_module_level=True)


@pytest.mark.filterwarnings("ignore:This process")  # of threads that a fork does not have
def test_what_killed_writers_leave_is_whole_and_the_next_goes_on():
    assert [(name, number, lost) for name, number, lost in rounds(12, seed=1, names=QUICK) if lost] == []


def test_a_loss_is_found():
    class Careless(type(WRITERS["model"])):
        def write(self, folder, version):
            (folder / "model.hinge").write_bytes(b"PK")

    WRITERS["careless"] = Careless()
    try:
        assert "careless" in WRITERS
        assert one("careless", seed=0, number=0, lines=1, seconds=0.01) is not None
    finally:
        del WRITERS["careless"]
