"""Finding data sets: bundled, in the data folder, fetched, and not at all."""

import gzip
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.datasets import DataFormatError, DatasetNotFoundError, load

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.slow
def test_import_stays_light():
    code = "import sys, hinge.datasets; sys.exit(any(m in sys.modules for m in ('sklearn', 'numba', 'pandas')))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_adult_is_bundled(no_home):
    adult = load("adult")
    assert repr(adult) == "<Dataset 'adult': 32,561 + 16,281 rows, 123 sparse features>"
    assert adult.X_train.dtype == np.float32 and adult.X_train.indices.dtype == np.int32
    assert adult.y_train.dtype == np.int8 and set(adult.y_test.tolist()) == {-1, 1}
    assert adult.X_train.nnz == 451592 and adult.X_test.nnz == 225731
    assert (adult.y_train > 0).sum() == 7841 and (adult.y_test > 0).sum() == 3846
    assert set(adult.X_train.data.tolist()) == {1.0}
    assert np.diff(adult.X_train.indptr).max() == 14
    assert adult.X_train.has_canonical_format
    assert "CC BY 4.0" in adult.license
    # The first row of a9a as every copy has it, counted from 1.
    assert (adult.X_train[0].indices + 1).tolist() == [3, 11, 14, 19, 39, 42, 55, 64, 67, 73, 75, 76, 80, 83]


def test_adult_loads_at_once():
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        load("a9a")
        best = min(best, time.perf_counter() - start)
    assert best < 0.3


@pytest.mark.slow
def test_adult_is_learnable():
    from sklearn.svm import LinearSVC

    adult = load("adult")
    model = LinearSVC(C=0.1).fit(adult.X_train, adult.y_train)
    assert 1 - model.score(adult.X_test, adult.y_test) == pytest.approx(0.150, abs=0.003)


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"toy.train": "1 1:1\n-1 2:1\n", "toy.test": "1 3:1\n"}, "toy"),
        ({"toy.svm": "1 1:1\n-1 2:1\n", "toy.test": "1 3:1\n"}, "toy"),
        ({"toy": "1 1:1\n-1 2:1\n", "toy.t": "1 3:1\n"}, "toy"),
        ({"real-sim": "1 1:1\n-1 2:1\n", "real-sim.t": "1 3:1\n"}, "Real_Sim"),
        ({"real_sim.train": "1 1:1\n-1 2:1\n", "real_sim.test": "1 3:1\n"}, "real-sim"),
        ({"toy.csv": "1,0,0,1\n0,1,0,-1\n", "toy.test.csv": "0,0,1,1\n"}, "toy"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_files_of_the_data_folder(no_home, files, name, packed):
    for file, text in files.items():
        content = gzip.compress(text.encode()) if packed else text.encode()
        (no_home / (file + ".gz" * packed)).write_bytes(content)
    data = load(name)
    dense = [X.toarray() if sp.issparse(X) else X for X in (data.X_train, data.X_test)]
    np.testing.assert_array_equal(np.vstack(dense), np.eye(3))
    assert data.y_train.tolist() == [1, -1] and data.y_train.dtype == np.int8
    assert data.y_test.tolist() == [1]
    assert str(no_home) in data.source


def test_home_argument_outranks_the_variable(no_home, tmp_path):
    (tmp_path / "toy.svm").write_text("1 1:1\n")
    assert load("toy", home=tmp_path).X_train.shape == (1, 1)
    with pytest.raises(DatasetNotFoundError):
        load("toy")


def test_path_of_a_file(no_home, tmp_path):
    (tmp_path / "toy.train").write_text("2 1:1\n3 2:1\n")
    assert load(tmp_path / "toy.train").X_test is None
    (tmp_path / "toy.test").write_text("2 1:1\n")
    data = load(str(tmp_path / "toy.train"), positive=3)
    assert data.name == "toy" and data.X_test.shape == (1, 2)
    assert data.y_train.tolist() == [-1, 1] and data.y_test.tolist() == [-1]
    assert load(tmp_path / "toy.train").y_train.tolist() == [2, 3]


def test_broken_and_ill_matched_files(no_home):
    (no_home / "toy.train").write_text("1 1:1\n1 oops\n")
    with pytest.raises(DataFormatError, match="line 2"):
        load("toy")
    (no_home / "two.csv").write_text("1,2,1\n")
    (no_home / "two.test.csv").write_text("1,2,3,1\n")
    with pytest.raises(DataFormatError, match=r"2 features but .* has 3"):
        load("two")


def test_unknown_name_offers_the_nearest(no_home):
    with pytest.raises(DatasetNotFoundError, match=r"did you mean 'adult'.*The names are adult, ccat") as caught:
        load("adlut")
    assert isinstance(caught.value, FileNotFoundError) and isinstance(caught.value, LookupError)
    with pytest.raises(DatasetNotFoundError, match="did you mean 'covertype'"):
        load("cov_type")
    with pytest.raises(DatasetNotFoundError, match="give a name of the catalog or the path of a file"):
        load("zzzzzzzz")
    for name in ("", ".", "..", str(no_home), "no/such/file.svm"):
        with pytest.raises(DatasetNotFoundError, match="There is no data set or file"):
            load(name)


def test_missing_set_says_what_to_put_where(no_home):
    with pytest.raises(DatasetNotFoundError) as caught:
        load("ccat")
    message = str(caught.value)
    assert str(no_home) in message and "ccat.train" in message and "fetch=True" in message
    with pytest.raises(DatasetNotFoundError) as caught:
        load("astro-ph", fetch=True)
    assert "fetch=True" not in str(caught.value)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("name", "rows", "features", "positives"),
    [
        ("reuters", (7770, 3299), 8315, 0.069),
        ("rcv1-small", (1000, 500), 47236, 0.46),
        ("basehock", (1594, 399), 4862, 0.5),
        ("madelon", (2080, 520), 500, 0.5),
        ("covertype", (522910, 58102), 54, 0.365),
    ],
)
def test_real_sets(data_home, name, rows, features, positives):
    try:
        data = load(name, home=data_home)
    except DatasetNotFoundError:
        pytest.skip(f"{name} is not in the data folder")
    assert (data.X_train.shape[0], data.X_test.shape[0]) == rows
    assert data.X_train.shape[1] == data.X_test.shape[1] == features
    assert data.X_train.dtype == np.float32 and data.y_train.dtype == np.int8
    assert np.mean(data.y_train > 0) == pytest.approx(positives, abs=0.02)
    if name in ("reuters", "rcv1-small", "basehock"):
        norms = np.sqrt(data.X_train.multiply(data.X_train).sum(axis=1))
        np.testing.assert_allclose(norms, 1, atol=1e-3)
