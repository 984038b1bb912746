"""Scripts written for scikit-learn, run on hinge."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import sklearn.svm
from sklearn.base import clone, is_classifier

import hinge
from hinge import accel

SCRIPT = """
import sys
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC, LinearSVC, NuSVC
X, y = load_iris(return_X_y=True)
print(type(SVC()).__mro__[1].__module__, type(NuSVC()).__mro__[1].__module__, sys.argv[1])
print(cross_val_score(LinearSVC(C=0.1), X, y, cv=3).mean() > 0.8)
print(SVC(probability=True).fit(X, y).predict_proba(X[:1]).argmax() == 0)
print(hasattr(LinearSVC().fit(X, y), "gap_"))
"""


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
        assert isinstance(model, ours)
        assert type(clone(model)) is type(model)
    model = sklearn.svm.LinearSVC(C=0.3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.coef_, hinge.LinearSVC(C=0.3, random_state=0).fit(X, y).coef_)
    assert repr(model) == "LinearSVC(C=0.3, random_state=0)" and is_classifier(model)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
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
def test_a_script_runs_unchanged(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "hinge.accel", str(script), "word"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["hinge.estimators.svc", "hinge.estimators.nu_svc", "word", *["True"] * 3]
    assert not ran.stderr


@pytest.mark.slow
def test_without_a_script_it_says_how():
    for arguments, code in (([], 2), (["--help"], 0)):
        ran = subprocess.run(
            [sys.executable, "-m", "hinge.accel", *arguments], capture_output=True, text=True, timeout=300
        )
        assert ran.returncode == code and "usage: python -m hinge.accel script.py" in ran.stderr
