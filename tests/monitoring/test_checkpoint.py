from typing import NamedTuple

import numpy as np
import pytest

from hinge.compiled import Scalars, scalars
from hinge.monitoring.checkpoint import NAME, Checkpoint, notes_of


class State(NamedTuple):
    a: np.ndarray
    numbers: Scalars
    inside: tuple
    key: np.uint64


def made(x):
    return State(
        np.full((2, 3), x), scalars(u=x, t=int(x), on=x > 0), (np.arange(3) + int(x),), np.uint64(2**63 + int(x))
    )


def test_a_state_comes_back_bit_for_bit(tmp_path):
    kept = Checkpoint(tmp_path / "c", "print", every=0.0, layout=[1, 2])
    assert kept.load(made(0.0)) is None
    kept.offer(made(5.0))
    found = Checkpoint(tmp_path / "c", "print").load(made(0.0))
    assert type(found) is State and found.key == made(5.0).key and type(found.key) is np.uint64
    np.testing.assert_array_equal(found.a, made(5.0).a)
    np.testing.assert_array_equal(found.inside[0], [5, 6, 7])
    assert (found.numbers.u, found.numbers.t, found.numbers.on) == (5.0, 5, True)
    found.numbers.u += 1.0
    assert found.numbers.u == 6.0
    assert notes_of(tmp_path / "c")["layout"] == [1, 2]


def test_what_is_empty_at_first_may_have_grown(tmp_path):
    kept, rows = Checkpoint(tmp_path / "c", "print", every=0.0), np.arange(6.0).reshape(2, 3)
    kept.offer(made(1.0)._replace(a=rows))
    np.testing.assert_array_equal(kept.load(made(0.0)._replace(a=np.zeros((0, 3)))).a, rows)
    for other in (np.zeros((0, 4)), np.zeros(0), np.zeros((0, 3), np.float32)):
        with pytest.raises(ValueError, match="damaged"):
            kept.load(made(0.0)._replace(a=other))


def test_it_is_written_when_it_is_due(tmp_path):
    kept = Checkpoint(tmp_path / "c", "print", every=3600.0)
    kept.offer(made(1.0))
    assert not (tmp_path / "c" / NAME).exists()
    kept.offer(made(1.0), final=True)
    assert (tmp_path / "c" / NAME).exists() and [p.name for p in (tmp_path / "c").iterdir()] == [NAME]


def test_states_of_others_and_damaged_ones_are_refused(tmp_path):
    kept = Checkpoint(tmp_path / "c", "print", every=0.0)
    kept.offer(made(1.0))
    with pytest.raises(ValueError, match="fit of other data"):
        Checkpoint(tmp_path / "c", "another").load(made(0.0))
    with pytest.raises(ValueError, match="damaged"):
        kept.load(made(0.0)._replace(a=np.zeros(4)))
    whole = (tmp_path / "c" / NAME).read_bytes()
    (tmp_path / "c" / NAME).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="damaged"):
        kept.load(made(0.0))


def test_the_folder_must_be_one(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="file is a file"):
        Checkpoint(tmp_path / "file", "")
    with pytest.raises(FileNotFoundError, match="make it first"):
        Checkpoint(tmp_path / "no" / "c", "")
