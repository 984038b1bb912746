import re
from importlib.util import find_spec
from pathlib import Path

import hinge
from hinge.version import __version__


def test_one_version_everywhere():
    assert re.fullmatch(r"\d+\.\d+(\.\d+)?((a|b|rc|\.dev)\d+)?", __version__)
    assert hinge.__version__ == __version__
    beside = Path(find_spec("hinge").origin).parents[1] / "CHANGELOG.md"
    if beside.exists():  # a checkout
        assert __version__ in beside.read_text() or "Unreleased" in beside.read_text()
