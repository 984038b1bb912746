"""LIBSVM's programs: the flags, files and sentences that old scripts rely on."""

import re

import numpy as np
import pytest
from command_line import run, said, sentence, svmlight
from sklearn.svm import SVC, SVR

import hinge


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    folder = tmp_path_factory.mktemp("iris")
    return folder, svmlight(folder / "iris.svm", X, y + 1), X, y + 1


@pytest.mark.slow
def test_a_script_of_old(iris, tmp_path):
    _, data, X, y = iris
    model, output = tmp_path / "iris.model", tmp_path / "out.txt"
    said(run("svm-train", "-s", 0, "-t", 2, "-g", 0.25, "-c", 10, "-w1", 2, "-e", 1e-5, "-q", data, model))
    assert model.read_text().startswith("svm_type c_svc\nkernel_type rbf\n")
    out, _ = said(run("svm-predict", data, model, output))
    theirs = SVC(C=10, gamma=0.25, class_weight={1: 2.0}, tol=1e-5).fit(X, y).predict(X)
    assert [int(line) for line in output.read_text().split()] == theirs.tolist()
    assert out == f"Accuracy = {100 * np.mean(theirs == y):g}% ({np.sum(theirs == y)}/150) (classification)\n"


@pytest.mark.slow
def test_probabilities_and_folds(iris, tmp_path):
    _, data, _, _ = iris
    model, output = tmp_path / "iris.model", tmp_path / "out.txt"
    said(run("svm-train", "-b", 1, "-q", data, model))
    said(run("svm-predict", "-b", 1, "-q", data, model, output))
    head, *lines = output.read_text().splitlines()
    assert head.split()[0] == "labels" and sorted(head.split()[1:]) == ["1", "2", "3"]
    rows = np.array([[float(cell) for cell in line.split()] for line in lines])
    assert rows.shape == (150, 4) and np.allclose(rows[:, 1:].sum(axis=1), 1, atol=1e-4)
    out, _ = said(run("svm-train", "-v", 3, "-q", data))
    assert float(re.fullmatch(r"Cross Validation Accuracy = ([\d.]+)%\n", out)[1]) > 90


@pytest.mark.slow
def test_regression_and_the_default_name_of_the_model(iris, tmp_path, monkeypatch):
    _, data, X, y = iris
    monkeypatch.chdir(tmp_path)
    said(run("svm-train", "-s", 3, "-p", 0.2, "-e", 1e-5, data))
    out, _ = said(run("svm-predict", data, "iris.svm.model", "out.txt"))
    theirs = SVR(gamma=0.25, epsilon=0.2, tol=1e-6).fit(X, y).predict(X)
    assert np.loadtxt("out.txt") == pytest.approx(theirs, abs=1e-2)
    assert out.startswith("Mean squared error = ") and out.endswith(" (regression)\n")


def test_what_is_refused(iris):
    folder, data, _, _ = iris
    assert "-s goes from 0 to 4" in sentence(run("svm-train", "-s", 7, data))
    assert "These files are needed" in sentence(run("svm-predict", data))
    assert "no flag -y" in sentence(run("svm-train", "-y", 7, data))
    assert sorted(path.name for path in folder.iterdir()) == ["iris.svm"]


@pytest.mark.slow
def test_given_kernel_values(tmp_path):
    K = np.eye(6) + 0.5
    y = np.array([1, -1, 1, -1, -1, 1])
    rows = [f"{label} 0:{i + 1} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(K[i])) for i, label in enumerate(y)]
    (tmp_path / "k.svm").write_text("\n".join(rows) + "\n")
    said(run("svm-train", "-t", 4, "-q", tmp_path / "k.svm", tmp_path / "k.model"))
    said(run("svm-predict", tmp_path / "k.svm", tmp_path / "k.model", tmp_path / "out"))
    assert (np.loadtxt(tmp_path / "out") == y).all()


@pytest.mark.parametrize("learned", [True, False])
def test_ctrl_c_ends_with_its_code_and_an_empty_model_replaces_none(iris, tmp_path, monkeypatch, learned):
    def interrupted(self, X, y):
        self.stop_reason_, self.support_, self.gap_ = "interrupted", np.arange(int(learned)), np.inf
        return self

    written = []
    monkeypatch.setattr("hinge.SVC.fit", interrupted)
    monkeypatch.setattr("hinge.export.write_libsvm", lambda model, place: written.append(place))
    result = run("svm-train", iris[1], tmp_path / "m")
    assert result.exit_code == 130 and len(written) == learned


def test_classes_that_are_words_have_no_place_in_these_files(iris, tmp_path):
    _, data, X, y = iris
    hinge.save(hinge.LinearSVC().fit(X[:100], np.array(["", "a", "b"])[y[:100]]), tmp_path / "m.hinge")
    for program in ("svm-predict", "linear-predict"):
        assert "use hinge predict" in sentence(run(program, data, tmp_path / "m.hinge", tmp_path / "out"))
