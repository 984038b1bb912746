"""Readers: round trips, and sentences about whatever is broken."""

import gzip
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hinge.datasets import DataFormatError, read
from tests.datasets.made_up import PACK, few, written

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize("name", ["a.svm", "a.csv", "a.npz", "a.svm.gz"])
def test_empty_file(tmp_path, name):
    content = gzip.compress(b"") if name.endswith(".gz") else b""
    with pytest.raises(DataFormatError, match=r"holds no rows|is empty"):
        read(written(tmp_path, name, content))


def test_folder_missing_file_and_unknown_extension(tmp_path):
    (tmp_path / "x.svm").mkdir()
    with pytest.raises(DataFormatError, match="is a folder"):
        read(tmp_path / "x.svm")
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read(tmp_path / "absent.csv")
    with pytest.raises(DataFormatError, match=r"extension '.parquet'.* use .svm, .csv"):
        read(written(tmp_path, "a.parquet", b"PAR1"))


NAMES = ["a.svm", "a.csv", "a.tsv", "a.npz", "a.svm.gz", "a.csv.bz2", "a.npz.xz"]


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.sampled_from(NAMES), st.binary(max_size=200), st.booleans())
@example("a.csv", b'"', False)
@example("a.csv", b"1,2\r3,4", False)
@example("a.csv", b"\0,\0\n", False)
@example("a.svm", b"1_0 1_0:1_0", False)
def test_junk_is_refused_in_words(folder, name, content, packed):
    suffix = Path(name).suffix
    path = written(folder, name, PACK[suffix](content) if packed and suffix in PACK else content)
    try:
        X, y = read(path)
    except DataFormatError as error:
        assert str(path) in str(error)
    else:
        assert X.shape[0] == len(y) > 0


@pytest.mark.slow
@few
@given(st.text(alphabet='01-.,;:#\n\t\r" eyqid', max_size=120), st.sampled_from(["a.svm", "a.csv", "a.tsv"]))
def test_nearly_right_text_is_read_or_refused_in_words(folder, text, name):
    path = written(folder, name, text.encode())
    try:
        X, y = read(path)
    except DataFormatError as error:
        assert str(path) in str(error)
    else:
        assert X.shape[0] == len(y) > 0
        assert np.isfinite(X.data if sp.issparse(X) else X).all()
