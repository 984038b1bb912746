import json
import re

import numpy as np
import pytest
from command_line import run, said, sentence, svmlight

import hinge
from hinge import datasets
from hinge.files import model_files

# --- predict ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_predict_to_both_places(files, tmp_path):
    X, y = datasets.read(files.svm)
    model = model_files.load(files.model)
    expected = model.predict(X)
    out, err = said(run("predict", files.model, files.svm))
    assert [int(line) for line in out.splitlines()] == expected.tolist()
    assert err.startswith(f"60 rows: {np.sum(expected < 0)} of -1, {np.sum(expected > 0)} of 1.\n")
    assert f"Error rate: {100 * np.mean(expected != y):.2f} %." in err
    written = tmp_path / "labels.txt"
    assert said(run("predict", files.model, files.svm, "-o", written)) == ("", err)
    assert written.read_text() == out
    assert list(tmp_path.iterdir()) == [written]


@pytest.mark.slow
def test_scores_survive_the_text(files, tmp_path):
    out, _ = said(run("predict", files.model, files.svm, "--scores"))
    X, _ = datasets.read(files.svm)
    scores = np.array([float(line.split("\t")[1]) for line in out.splitlines()])
    assert np.array_equal(scores, model_files.load(files.model).decision_function(X))
    y = np.arange(60) % 3
    three = svmlight(tmp_path / "three.svm", files.X, y)
    said(run("train", three, "-o", tmp_path / "three.hinge", "--quiet"))
    out, _ = said(run("predict", tmp_path / "three.hinge", three, "--scores"))
    lines = np.array([[float(cell) for cell in line.split("\t")] for line in out.splitlines()])
    assert np.array_equal(lines[:, 0], lines[:, 1:].argmax(axis=1))


@pytest.mark.slow
def test_features_without_labels(files):
    labelled, _ = said(run("predict", files.model, files.svm))
    out, err = said(run("predict", files.model, files.features, "--no-labels"))
    assert out == labelled
    assert "Error" not in err
    assert "csv, tsv, npy and Parquet" in sentence(run("predict", files.model, files.svm, "--no-labels"))
    assert "has 8 columns, but 7 features" in sentence(run("predict", files.model, files.csv, "--no-labels"))


def test_features_without_labels_of_another_width(files, tmp_path):
    narrow = tmp_path / "narrow.csv"
    narrow.write_text("1,2\n3,4\n")
    assert "has 2 columns, but 7 features were learned" in sentence(run("predict", files.model, narrow, "--no-labels"))


@pytest.mark.slow
def test_labels_of_another_kind_give_no_error_rate(files, tmp_path):
    unknown = svmlight(tmp_path / "unknown.svm", files.X, np.zeros(60, int))
    _, err = said(run("predict", files.model, unknown))
    assert "not measured" in err
    _, err = said(run("predict", files.model, files.csv, "--label", "verdict"))
    assert "not measured" in err


@pytest.mark.slow
def test_predict_takes_the_test_part_of_a_set(tmp_path):
    said(run("train", "adult", "--max-time", 0, "-o", tmp_path / "m.hinge", "--quiet"))
    out, err = said(run("predict", tmp_path / "m.hinge", "a9a"))
    assert len(out.splitlines()) == 16281
    assert re.search(r"Error rate: \d+\.\d\d %", err)


def test_a_model_of_named_columns_predicts_without_a_warning(files, tmp_path):
    model = model_files.load(files.model)
    model.feature_names_in_ = np.array([f"f{j}" for j in range(7)], dtype=object)
    model_files.save(model, tmp_path / "named.hinge")
    assert said(run("predict", tmp_path / "named.hinge", files.svm)) == said(run("predict", files.model, files.svm))


# --- errors ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_data_wider_than_the_model(files, tmp_path):
    (tmp_path / "wide.svm").write_text("1 8:1\n")
    assert "beyond the 7 features" in sentence(run("predict", files.model, tmp_path / "wide.svm"))
    assert "123 features" in sentence(run("predict", files.model, "adult"))


# --- the bar ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_rows_of_a_sparse_file_as_kernel_values(tmp_path):
    """What svmlight leaves out is zero, for a model of given kernel values too."""
    K = np.eye(6) + 0.5
    model_files.save(hinge.SVC(kernel="precomputed").fit(K, [0, 1, 0, 1, 1, 0]), tmp_path / "model")
    data = svmlight(tmp_path / "rows.svm", np.eye(6), np.array([0, 1, 0, 1, 1, 0]))
    out, err = said(run("predict", tmp_path / "model", data))
    assert out.split() == ["0", "1", "0", "1", "1", "0"]
    assert "Error rate: 0.00 %" in err


# --- forms of data and of results ------------------------------------------------------------------


@pytest.mark.slow
def test_columns_by_name_a_dash_and_json(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said(run("train", files.csv, "--label", "verdict", "--probability", "-o", "m", "--quiet"))
    out, err = said(run("predict", "m", files.csv, "-o", "-"))
    assert "Error rate" in err and not (tmp_path / "-").exists()
    rows = [line.split(",")[::-1] for line in files.csv.read_text().splitlines()]
    (tmp_path / "turned.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    assert said(run("predict", "m", "turned.csv")) == (out, err)
    (tmp_path / "other.csv").write_text((tmp_path / "turned.csv").read_text().replace("f3", "g3"))
    assert "no column 'f3'" in sentence(run("predict", "m", "other.csv"))
    found = json.loads(said(run("predict", "m", files.csv, "--json", "--probabilities", "--scores"))[0])
    assert found["predictions"] == out.split() and found["classes"] == ["no", "yes"]
    assert np.allclose(np.sum(found["probabilities"], axis=1), 1) and len(found["scores"]) == 60


def test_the_order_of_probabilities_is_told(files, tmp_path):
    said(run("train", files.svm, "--probability", "-o", tmp_path / "m", "--quiet"))
    out, err = said(run("predict", tmp_path / "m", files.svm, "--probabilities"))
    classes = hinge.load(tmp_path / "m").classes_
    assert f"After each label: the probability of {', of '.join(map(str, classes))}." in err
    label, *shares = out.splitlines()[0].split("\t")
    assert str(classes[np.argmax([float(share) for share in shares])]) == label


def test_probabilities_that_were_not_learned(files):
    assert "train it with --probability" in sentence(run("predict", files.model, files.svm, "--probabilities"))


@pytest.mark.slow
def test_features_that_count_from_zero(files, tmp_path):
    text = re.sub(r"(\d+):", lambda found: f"{int(found[1]) - 1}:", files.svm.read_text())
    (tmp_path / "zero.svm").write_text(text)
    assert "--zero-based" in sentence(run("predict", files.model, tmp_path / "zero.svm"))
    assert said(run("predict", files.model, tmp_path / "zero.svm", "--zero-based")) == said(
        run("predict", files.model, files.svm)
    )


@pytest.mark.slow
def test_large_files_are_predicted_in_pieces(files, tmp_path, monkeypatch):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    whole, err = said(run("predict", files.model, files.svm, "--scores"))
    monkeypatch.setattr("hinge.datasets.readers.PIECE", 1 << 10)
    monkeypatch.setattr("hinge.datasets.frames.BATCH", 16)
    monkeypatch.setattr("hinge.cli.rows.read_rows", None)  # nobody reads them whole
    assert said(run("predict", files.model, files.svm, "--scores")) == (whole, err)
    columns = {f"x{j}": files.X[:, j] for j in range(files.X.shape[1])}
    model = hinge.LinearSVC().fit(pq_written(pq, pa.table(columns | {"why": ["no", "yes"] * 30}), tmp_path), "why")
    model_files.save(model, tmp_path / "named.hinge")
    out, _ = said(run("predict", tmp_path / "named.hinge", tmp_path / "rows.parquet"))
    assert out.split() == model.predict(tmp_path / "rows.parquet").tolist()


def pq_written(pq, table, folder):
    """A file of some row groups."""
    pq.write_table(table, folder / "rows.parquet", row_group_size=25)
    return folder / "rows.parquet"
