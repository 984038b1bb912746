"""Scripts written for scikit-learn, run on hinge."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sklearn.svm
from sklearn.base import clone, is_classifier

import hinge
from hinge import accel

ROOT = Path(hinge.__file__).parents[1]
SCRIPT = """
import sys
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC, LinearSVC, NuSVC
from neighbour import C
X, y = load_iris(return_X_y=True)
if __name__ == "__main__":
    print(SVC.__module__, type(NuSVC()).__module__, sys.argv[1:], sys.path[0])
    print(cross_val_score(LinearSVC(C=C), X, y, cv=3, n_jobs=2, error_score="raise").mean() > 0.8)
    print(SVC(probability=True).fit(X, y).predict_proba(X[:1]).argmax() == 0)
    print(hasattr(LinearSVC().fit(X, y), "gap_"))
"""
SHOW = """
import neighbour, sys
print(sys.argv, sys.path[0], __name__, globals().get('__file__'), sys.modules['__main__'].neighbour is neighbour)
sys.exit(7)
"""


def run_python(*arguments, cwd=None):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-W", "ignore", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=cwd, env=env)


@pytest.fixture
def patched():
    accel.patch_sklearn()
    yield
    accel.unpatch_sklearn()


@pytest.mark.usefixtures("patched")
def test_names_give_ours():
    X, y = np.random.default_rng(0).standard_normal((40, 3)), np.resize([0, 1], 40)
    for ours in accel.COVERED:
        model = getattr(sklearn.svm, ours.__name__)()
        assert type(model) is type(clone(model)) is ours
    model = sklearn.svm.LinearSVC(C=0.3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.coef_, hinge.LinearSVC(C=0.3, random_state=0).fit(X, y).coef_)
    assert repr(model) == "LinearSVC(C=0.3, random_state=0)" and is_classifier(model)
    assert hasattr(sklearn.svm.LinearSVC("l1", dual=False).fit(X, y), "gap_")
    assert isinstance(sklearn.svm.LinearSVC(multi_class="crammer_singer"), hinge.LinearSVC)
    likely = sklearn.svm.SVC(probability=True).fit(X, y)
    assert isinstance(likely, hinge.SVC)
    np.testing.assert_array_equal(likely.predict_proba(X).argmax(axis=1), likely.predict(X))


def test_the_names_are_given_back():
    accel.patch_sklearn()
    accel.unpatch_sklearn()
    assert all(getattr(sklearn.svm, name) is theirs for name, theirs in accel.THEIRS.items())


@pytest.mark.slow
def test_pickles_and_model_files_load_in_a_process_that_is_not_patched(tmp_path, patched):
    import joblib

    X, y = np.random.default_rng(0).standard_normal((40, 3)), np.resize([0, 1], 40)
    models = [sklearn.svm.SVC().fit(X, y), sklearn.svm.LinearSVC().fit(X, y)]
    (tmp_path / "pickle").write_bytes(pickle.dumps(models))
    joblib.dump(models, tmp_path / "joblib")
    hinge.save(models[0], tmp_path / "saved.hinge")
    every = [getattr(sklearn.svm, ours.__name__)() for ours in accel.COVERED]
    (tmp_path / "unfitted").write_bytes(pickle.dumps(every))
    accel.unpatch_sklearn()
    assert [type(model) for model in pickle.loads(pickle.dumps(every))] == [*accel.COVERED]
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "predicted.npy", [model.predict(X) for model in models])
    load = """
import joblib, numpy as np, pickle
X, predicted = np.load("X.npy"), np.load("predicted.npy")
assert len(pickle.load(open("unfitted", "rb"))) == 7
for models in (pickle.load(open("pickle", "rb")), joblib.load("joblib")):
    assert all((model.predict(X) == values).all() for model, values in zip(models, predicted, strict=True))
import hinge
assert (hinge.load("saved.hinge").predict(X) == predicted[0]).all()
"""
    ran = run_python("-c", load, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.slow
def test_a_script_runs_unchanged_with_its_neighbours_and_its_processes(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "neighbour.py").write_text("C = 0.1\n")
    ran = run_python("-m", "hinge.accel", tmp_path / "script.py", "-m", "word")
    assert ran.returncode == 0, ran.stderr
    first, *others = ran.stdout.splitlines()
    assert (
        first == f"hinge.estimators.kernel.svc hinge.estimators.kernel.svc ['-m', 'word'] {os.path.realpath(tmp_path)}"
    )
    assert others == ["True"] * 3
    said = [line for line in ran.stderr.splitlines() if not line.startswith("hinge is compiling for this machine")]
    assert not said  # on a busy machine it says that it is compiling


@pytest.mark.slow
@pytest.mark.parametrize("arguments", (["show.py", "-c"], ["-mshow", "-m"], ["-c", SHOW, "-c", "x"]))
def test_arguments_paths_and_exit_status_are_those_of_python(tmp_path, arguments):
    (tmp_path / "show.py").write_text(SHOW)
    (tmp_path / "neighbour.py").write_text("C = 0.1\n")
    theirs = run_python(*arguments, cwd=tmp_path)
    ours = run_python("-m", "hinge.accel", *arguments, cwd=tmp_path)
    assert theirs.returncode == ours.returncode == 7, theirs.stderr + ours.stderr
    assert ours.stdout == theirs.stdout


def test_without_a_script_it_says_how(capsys):
    for arguments, code in (([], 2), (["-m"], 2), (["-x"], 2), (["--help"], 0)):
        assert accel.main(arguments) == code
        assert capsys.readouterr().err.startswith("usage: python -m hinge.accel (script.py")
    assert accel.main(["nowhere.py"]) == 2
    assert "there is no file 'nowhere.py'" in capsys.readouterr().err
    assert all(getattr(sklearn.svm, name) is theirs for name, theirs in accel.THEIRS.items())
