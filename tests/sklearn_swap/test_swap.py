"""scikit-learn's own tests of its support vector machines, run with our classes in place of theirs."""

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MODULES = (
    "svm.tests.test_svm",
    "svm.tests.test_sparse",
    "svm.tests.test_bounds",
    "tests.test_calibration",
    "tests.test_multiclass",
    "model_selection.tests.test_search",
    "model_selection.tests.test_validation",
    "feature_selection.tests.test_from_model",
    "feature_selection.tests.test_rfe",
    "ensemble.tests.test_bagging",
    "ensemble.tests.test_stacking",
)
"""Of all but the first three, only tests that name one of our classes."""
LISTS = tomllib.loads((HERE / "expected.toml").read_text())


def is_meant(entry, test):
    """Whether an entry of a list names this test: by its whole name, by the name without cases, or with stars."""
    pattern = re.escape(entry).replace(r"\*", ".*")
    return re.fullmatch(pattern, test) is not None or entry == test.partition("[")[0]


def ended(folder):
    """How each test ended that made a model of ours, and what it said."""
    package = Path(find_spec("sklearn").origin).parent
    if not all(package.joinpath(*name.split(".")).with_suffix(".py").exists() for name in MODULES):
        pytest.skip("this scikit-learn was installed without its tests")
    not_run = [f"--deselect={test}" for test in LISTS["not_run"]]
    (folder / "empty.ini").write_text("[pytest]\n")  # our own settings are not for their tests
    command = ["-m", "pytest", "-q", "--tb=short", "-p", "sklearn_swap.plugin", "-p", "no:cacheprovider"]
    command += ["-c", str(folder / "empty.ini"), "--rootdir", str(package), "--swap-report", str(folder / "report")]
    command += [*not_run, "--pyargs", *(f"sklearn.{name}" for name in MODULES)]
    paths = [str(ROOT / "tests"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    run = subprocess.run([sys.executable, *command], cwd=folder, env=env, capture_output=True, text=True, timeout=600)
    assert run.returncode in (0, 1), run.stdout[-3000:] + run.stderr[-3000:]
    tests = json.loads((folder / "report").read_text())
    return {name: test for name, test in tests.items() if test["ours"] and test["outcome"] != "skipped"}


@pytest.mark.slow
def test_what_passes_with_their_classes_passes_with_ours_but_for_the_list(tmp_path):
    """One test, so that theirs run once, however many processes share ours."""
    tests = ended(tmp_path)
    failed = {name: test["said"] for name, test in tests.items() if test["outcome"] == "failed"}
    unexpected = [name for name in failed if not any(is_meant(entry, name) for entry in LISTS["differs"])]
    assert not unexpected, "\n\n".join(f"{name}\n{failed[name]}" for name in unexpected)
    assert len(tests) - len(failed) >= 400  # our classes were there
    for entry in LISTS["differs"]:
        meant = {name for name in tests if is_meant(entry, name)}
        assert meant, f"there is no test {entry}: take it off the list"
        assert meant <= set(failed), f"{meant - set(failed)} pass: take them off the list"


def test_an_entry_names_what_it_says():
    assert is_meant("a.py::f", "a.py::f[x]")
    assert is_meant("a.py::f", "a.py::f")
    assert not is_meant("a.py::f", "a.py::fg")
    assert is_meant("a.py::f[*-x]", "a.py::f[1-x]")
    assert not is_meant("a.py::f[*-x]", "a.py::f[1-y]")


def test_every_difference_has_a_reason():
    for reasons in LISTS.values():
        assert all(len(reason.split()) > 3 for reason in reasons.values())
