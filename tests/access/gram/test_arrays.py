import pytest

from hinge.access.gram.arrays import add_at, counts_to, whole


@pytest.mark.parametrize("module", ["numpy", "torch"])
def test_the_same_on_both(module):
    xp = pytest.importorskip(module)
    make = xp.asarray if module == "numpy" else xp.tensor
    x = make([0.2, 1.9, 3.0])
    assert whole(x).tolist() == [0, 1, 3]
    assert str(whole(x).dtype).endswith("int64")
    a = make([0.0, 0.0, 1.0])
    add_at(a, make([2, 0, 2]), 0.5)
    assert a.tolist() == [0.5, 0.0, 2.0]  # twice where it occurs twice
    assert counts_to(4, x).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert counts_to(4, x).dtype == x.dtype
