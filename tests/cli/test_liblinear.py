"""LIBLINEAR's programs: the flags, files and sentences that old scripts rely on."""

import numpy as np
import pytest
from command_line import run, said, sentence, svmlight
from sklearn.svm import LinearSVC


@pytest.fixture(scope="module")
def data(tiny, tmp_path_factory):
    X, y = tiny
    return svmlight(tmp_path_factory.mktemp("rows") / "rows.svm", X, y), X, y


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "loss"), [(1, "squared_hinge"), (3, "hinge")])
def test_a_script_of_old(kind, loss, data, tmp_path):
    path, X, y = data
    model, output = tmp_path / "m", tmp_path / "out"
    # With the hinge a row is 1e-4 from the boundary, which a gap of 1e-6 leaves open.
    said(run("linear-train", "-s", kind, "-c", 2, "-B", 1, "-w1", 3, "-e", 1e-9, "-q", path, model))
    assert model.read_text().startswith("solver_type ")
    out, _ = said(run("linear-predict", path, model, output))
    theirs = LinearSVC(C=2, loss=loss, class_weight={1: 3.0}, tol=1e-9, max_iter=100000, random_state=0).fit(X, y)
    assert np.loadtxt(output).tolist() == theirs.predict(X).tolist()
    assert out == f"Accuracy = {100 * theirs.score(X, y):g}% ({round(60 * theirs.score(X, y))}/60)\n"


@pytest.mark.slow
def test_folds_costs_and_regression(data, tmp_path):
    path, _, _ = data
    assert said(run("linear-train", "-v", 3, "-q", path))[0].startswith("Cross Validation Accuracy = ")
    assert said(run("linear-train", "-C", "-q", path))[0].startswith("Best C = ")
    said(run("linear-train", "-s", 11, "-q", path, tmp_path / "r"))
    assert "Mean squared error" in said(run("linear-predict", path, tmp_path / "r", tmp_path / "out"))[0]


def test_what_is_refused(data, tmp_path):
    path, _, _ = data
    assert "logistic regression" in sentence(run("linear-train", "-s", 0, path))
    assert "logistic regression" in sentence(run("linear-predict", "-b", 1, path, path, tmp_path / "out"))


@pytest.mark.parametrize("learned", [True, False])
def test_ctrl_c_ends_with_its_code_and_an_empty_model_replaces_none(data, tmp_path, monkeypatch, learned):
    def interrupted(self, X, y):
        self.stop_reason_, self.coef_, self.gap_ = "interrupted", np.full((1, X.shape[1]), float(learned)), np.inf
        return self

    written = []
    monkeypatch.setattr("hinge.LinearSVC.fit", interrupted)
    monkeypatch.setattr("hinge.export.write_liblinear", lambda model, place: written.append(place))
    result = run("linear-train", data[0], tmp_path / "m")
    assert result.exit_code == 130 and len(written) == learned


def test_folds_that_are_interrupted_have_no_score(data, monkeypatch):
    """A fit that keeps its answer at Ctrl-C would let the other folds go on."""

    def interrupted(self, X, y):
        if self.on_interrupt == "raise":
            raise KeyboardInterrupt
        return self

    monkeypatch.setattr("hinge.LinearSVC.fit", interrupted)
    assert "interrupted" in sentence(run("linear-train", "-v", 3, data[0]), code=130)
    assert "interrupted" in sentence(run("train", data[0], "--cv", 3), code=130)
