import numpy as np
import pytest

from hinge.datasets import DatasetNotFoundError
from hinge.experiments.sets import STAND_INS, choose, hold_out, is_own


@pytest.fixture
def nothing_here(monkeypatch, tmp_path):
    monkeypatch.setenv("HINGE_DATA", str(tmp_path))
    choose.cache_clear()
    yield tmp_path
    choose.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize("name", STAND_INS)
def test_every_set_of_the_papers_has_a_stand_in_that_says_so(nothing_here, name):
    chosen = choose(name, 300)
    X, y, X_test, y_test = chosen.parts
    assert X.shape[0] == len(y) <= 300
    assert X_test.shape == (len(y_test), X.shape[1])
    assert set(np.unique(y)) == set(np.unique(y_test)) == {-1, 1}
    assert "synthetic" in chosen.label or "in place of" in chosen.label
    assert f"put {name}.npz" in chosen.note
    assert "HINGE_DATA" in chosen.note
    assert str(nothing_here) not in chosen.note  # a report is no place for a machine's folders


@pytest.mark.slow
def test_the_set_itself_is_taken_where_it_is(nothing_here):
    assert not is_own("real-sim")
    lines = "".join(f"{1 if k % 3 else -1} {k % 5 + 1}:1 7:0.5\n" for k in range(40))
    (nothing_here / "real-sim.train").write_text(lines)
    (nothing_here / "real-sim.test").write_text(lines)
    assert is_own("real-sim")
    chosen = choose("real-sim", 30)
    assert chosen.note == ""
    assert chosen.label == "real-sim, 30 rows"
    assert is_own("adult")


def test_a_set_without_stand_in_says_where_to_put_it(nothing_here):
    with pytest.raises(DatasetNotFoundError, match="usps"):
        choose("usps")


def test_a_cut_is_the_same_each_time_and_so_is_what_is_held_out(nothing_here):
    first = choose("adult", 500).parts
    choose.cache_clear()
    again = choose("adult", 500).parts
    assert (first[0] != again[0]).nnz == 0
    np.testing.assert_array_equal(first[1], again[1])
    X, y, X_val, y_val = hold_out(first[0], first[1], 0.2, seed=3)
    assert (X.shape[0], X_val.shape[0]) == (400, 100)
    assert len(y) + len(y_val) == 500
    assert not np.array_equal(y_val, hold_out(first[0], first[1], 0.2, seed=4)[3])
