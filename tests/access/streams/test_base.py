import resource
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.access.streams.base import (
    DataChanged,
    WatchedFiles,
    allowed_memory,
    check_values,
    free_memory,
    hash_of,
    resident,
    sampled_hash,
)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_value_that_cannot_be_squared_is_named_by_row_and_column(kind):
    X = np.ones((3, 2))
    check_values(kind(X), 0, None)
    X[1, 1] = np.nan
    with pytest.raises(ValueError, match=r"Column 'b' is nan in row 11"):
        check_values(kind(X), 10, ["a", "b"])
    X[1, 1] = -1e80
    with pytest.raises(ValueError, match=r"Column 1 is -1e\+80 in row 1"):
        check_values(kind(X), 0, None)


def test_files_that_change_or_go_are_named(tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(b"abc")
    files = WatchedFiles([path])
    files.check(path)
    path.write_bytes(b"abcd")
    with pytest.raises(DataChanged, match="rows has changed"):
        files.check(path)
    path.unlink()
    with pytest.raises(DataChanged, match="rows is gone"):
        files.check(path)


def test_hashes_tell_contents_apart(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(bytes(10_000))
    other.write_bytes(bytes(10_000))
    assert sampled_hash(one) == sampled_hash(other)
    other.write_bytes(bytes(9_999) + b"x")
    assert sampled_hash(one) != sampled_hash(other)
    assert hash_of("a", "b") != hash_of("ab") and hash_of(np.zeros(2)) != hash_of(np.zeros(2, np.float32))


def test_what_is_used_and_what_is_free_are_known():
    before = resident()
    held = np.ones(8 << 20)  # 64 MB
    assert resident() - before > 48 << 20
    assert free_memory() > 0 and held.all()


def test_limits_of_the_process_are_heeded():
    most = resource.getrlimit(resource.RLIMIT_AS)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + (64 << 20), most[1]))
    try:
        assert free_memory() <= 64 << 20
    finally:
        resource.setrlimit(resource.RLIMIT_AS, most)


def test_what_is_asked_for_counts():
    assert allowed_memory(5e9) == 5_000_000_000
    assert resident() < allowed_memory(None) < resident() + free_memory()
