"""Arrays from untrusted bytes."""

import io
import zipfile

import numpy as np
import pytest

from hinge.datasets import DataFormatError, read
from hinge.datasets.base import plain_array
from tests.datasets.made_up import written

pytestmark = pytest.mark.filterwarnings("error")


def test_declared_sizes_are_those_of_the_file(tmp_path):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
    array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\0" * 64
    with pytest.raises(ValueError, match="has 8000000000000 bytes, but 64 are there"):
        plain_array(array)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("X.npy", array)
    with pytest.raises(DataFormatError, match="not a readable NumPy archive"):
        read(written(tmp_path, "a.npz", stream.getvalue()))


def test_arrays_in_either_order_and_of_text():
    for array in (np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.array(["a", "bc"]), np.array(3, ">i4")):
        stream = io.BytesIO()
        np.save(stream, array)
        found = plain_array(stream.getvalue())
        assert found.dtype == array.dtype and (found == array).all() and found.flags.writeable
    for bad in (np.array([None]), np.zeros(2, "i4,f8")):
        stream = io.BytesIO()
        np.save(stream, bad)
        with pytest.raises(ValueError, match="neither numbers nor text"):
            plain_array(stream.getvalue())


@pytest.mark.slow
def test_archives_that_would_unpack_to_too_much(tmp_path):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("X.npy", bytes(20 << 20))
    path = written(tmp_path, "a.npz", stream.getvalue())
    assert path.stat().st_size < 20_000
    with pytest.raises(DataFormatError, match="not a readable NumPy archive") as error:
        read(path)
    assert "would unpack to" in str(error.value.__cause__)
