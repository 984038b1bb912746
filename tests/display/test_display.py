import pytest

import hinge.display as display


def test_the_displays_are_there_by_name():
    for name in display.__all__:
        assert getattr(display, name).__name__ == name
    with pytest.raises(AttributeError, match="nothing"):
        display.nothing  # noqa: B018
