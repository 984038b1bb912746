"""Runs of scikit-learn's tests in a process of their own, and what is unexpected in how they ended."""

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SAMPLE = (
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
"""What the ordinary suite runs; of all but the first three, only tests that name one of our classes."""
MODULES = (
    *SAMPLE,
    "tests.test_multioutput",
    "tests.test_pipeline",
    "feature_selection.tests.test_sequential",
    "ensemble.tests.test_voting",
    "ensemble.tests.test_weight_boosting",
    "inspection.tests.test_partial_dependence",
    "inspection.tests.test_pd_utils",
    "inspection.tests.test_permutation_importance",
    "inspection._plot.tests.test_boundary_decision_display",
    "inspection._plot.tests.test_plot_partial_dependence",
)
LISTS = tomllib.loads((HERE / "expected.toml").read_text())


def are_there(modules):
    """Whether this scikit-learn was installed with its tests."""
    package = Path(find_spec("sklearn").origin).parent
    return all(package.joinpath(*name.split(".")).with_suffix(".py").exists() for name in modules)


def is_meant(entry, test):
    """Whether an entry of a list names this test: by its whole name, by the name without cases, or with stars."""
    pattern = re.escape(entry).replace(r"\*", ".*")
    return re.fullmatch(pattern, test) is not None or entry == test.partition("[")[0]


def run_modules(folder, modules, *, sample, timeout=None):
    """How each test ended that made a model of ours, and what it said.

    `sample` leaves out what is listed as not run, and tests of other packages that do not name our classes.
    """
    package = Path(find_spec("sklearn").origin).parent
    (folder / "empty.ini").write_text("[pytest]\n")  # our own settings are not for their tests
    command = ["-m", "pytest", "-q", "--tb=short", "-p", "sklearn_swap.plugin", "-p", "no:cacheprovider"]
    command += ["-c", str(folder / "empty.ini"), "--rootdir", str(package), "--swap-report", str(folder / "report")]
    command += [f"--deselect={test}" for test in LISTS["not_run"]] if sample else ["--swap-all"]
    command += ["--pyargs", *(f"sklearn.{name}" for name in modules)]
    paths = [str(ROOT / "tests"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    run = subprocess.run(
        [sys.executable, *command], cwd=folder, env=env, capture_output=True, text=True, timeout=timeout
    )
    assert run.returncode in (0, 1), run.stdout[-3000:] + run.stderr[-3000:]
    tests = json.loads((folder / "report").read_text())
    return {name: test for name, test in tests.items() if test["ours"] and test["outcome"] != "skipped"}


def faults(tests, modules):
    """A sentence for each test that failed and is not listed, and for each listed one that passes or is gone."""
    failed = {name: test["said"] for name, test in tests.items() if test["outcome"] == "failed"}
    found = [
        f"{name}\n{said}"
        for name, said in failed.items()
        if not any(is_meant(entry, name) for entry in (*LISTS["differs"], *LISTS["either"]))
    ]
    files = {f"{name.rpartition('.')[2]}.py" for name in modules}
    for entry in LISTS["differs"]:
        meant = {name for name in tests if is_meant(entry, name)}
        if entry.partition("::")[0] in files and not meant:
            found.append(f"there is no test {entry}: take it off the list")
        found += [f"{name} passes: take it off the list" for name in sorted(meant - set(failed))]
    return found
