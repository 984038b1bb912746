"""Compressed files, damaged and oversized ones."""

from pathlib import Path

import numpy as np
import pytest

from hinge.datasets import DataFormatError, base, read
from tests.datasets.made_up import PACK, npz_bytes, written

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize("packing", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("kind", [".svm", ".csv", ".npz"])
def test_truncated_and_false_compression(tmp_path, packing, kind):
    plain = {".svm": b"1 1:0.5\n" * 9000, ".csv": b"1,2,0.5\n" * 9000, ".npz": npz_bytes(X=np.eye(2), y=[1, -1])}
    packed = PACK[packing](plain[kind])
    with pytest.raises(DataFormatError, match="cut short or damaged"):
        read(written(tmp_path, "a" + kind + packing, packed[: len(packed) // 2]))
    with pytest.raises(DataFormatError, match="cut short or damaged"):
        read(written(tmp_path, "b" + kind + packing, b"not compressed at all"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.svm.gz", "a.csv.bz2", "a.npz.xz", "a.svm.xz"])
def test_files_that_would_unpack_to_too_much(tmp_path, name, monkeypatch):
    monkeypatch.setattr(base, "LEAST", 1 << 20)
    monkeypatch.setattr(base, "MOST_UNPACKED", 100)
    path = written(tmp_path, name, PACK[Path(name).suffix]((b"1,2\n" if "csv" in name else b"1 1:1\n") * 500_000))
    with pytest.raises(DataFormatError, match="unpacks to more than 100 times its size"):
        read(path)
