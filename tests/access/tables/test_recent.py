import numpy as np
import pytest

from hinge.access.tables.recent import Recent


def array(k, nbytes=10):
    return np.full(nbytes, k, np.uint8)


def test_what_was_not_used_for_longest_goes_first():
    recent = Recent(30)
    for k in range(3):
        recent.put(k, array(k))
    assert (recent.get(0) == 0).all()
    recent.put(3, array(3))
    assert [k in recent for k in range(4)] == [True, False, True, True]
    assert recent.get(1) is None
    assert (len(recent), recent.nbytes) == (3, 30)
    recent.put(4, array(4, 25))
    assert [k for k in range(5) if k in recent] == [4]
    assert recent.nbytes == 25


def test_an_array_may_be_replaced_or_too_large():
    recent = Recent(30)
    recent.put("a", array(1, 20))
    recent.put("a", array(2, 5))
    assert (recent.nbytes, int(recent.get("a")[0])) == (5, 2)
    recent.put("b", array(3, 31))
    assert "b" not in recent and "a" in recent
    recent.put("a", array(4, 31))
    assert (len(recent), recent.nbytes) == (0, 0)
    with pytest.raises(ValueError, match="number of bytes"):
        Recent(-1)
