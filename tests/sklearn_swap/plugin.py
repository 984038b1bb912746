"""A pytest plugin that patches scikit-learn before its tests are imported.

With this folder's parent on the path, ``python -m pytest -p sklearn_swap.plugin --swap-report FILE --pyargs
sklearn.svm.tests.test_svm`` runs them, and writes how each test ended and which of our classes it made.
"""

import inspect
import json
import re
from pathlib import Path

import hinge
from hinge.accel import COVERED

NAMES = tuple(ours.__name__ for ours in COVERED)
"""Classes that are ours here."""

made = set()
"""Names of our classes of which the running test has made a model."""


def note(ours):
    """Note whenever a model of the class is made."""

    def noted(cls, *args, **kwargs):
        made.add(ours.__name__)
        return object.__new__(cls)

    ours.__new__ = staticmethod(noted)


hinge.patch_sklearn()
for ours in COVERED:
    note(ours)


def pytest_addoption(parser):
    parser.addoption("--swap-report", help="where to write how each test ended, as JSON")
    parser.addoption("--swap-all", action="store_true", help="run tests that do not name our classes, too")


def pytest_collection_modifyitems(config, items):
    """Unless all are asked for, of other packages' tests only those which name one of our classes.

    And of these only those with one of scipy's two kinds of classes: that a fit is the same with a `csr_matrix` as with
    a `csr_array` is asked of our machines by the tests in svm.
    """
    if config.getoption("--swap-all"):
        return
    named = re.compile(rf"\b({'|'.join(NAMES)})\b")

    def kept_of(item):
        older = re.search(r"\b(csr|csc|coo)_matrix\b", item.name)
        return "svm" in item.path.parts or (not older and named.search(inspect.getsource(item.function)))

    kept = [item for item in items if kept_of(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def pytest_configure(config):
    config.pluginmanager.register(Report(config.getoption("--swap-report")), "swap-report")


class Report:
    """How each test ended, which of our classes it made, and what it said where it failed."""

    def __init__(self, path):
        self.path, self.tests = path, {}

    def pytest_runtest_setup(self, item):
        made.clear()

    def pytest_runtest_logreport(self, report):
        known = self.tests.setdefault(short(report.nodeid), {"outcome": "passed", "ours": [], "said": ""})
        if report.when == "call":
            known["ours"] = sorted(made)
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            known.update(outcome="failed", said=str(crash.message if crash else report.longrepr))
        elif report.skipped:
            known.update(outcome="skipped", said=str(report.longrepr))

    def pytest_collectreport(self, report):
        if report.failed:
            self.tests[short(report.nodeid)] = {"outcome": "failed", "ours": list(NAMES), "said": str(report.longrepr)}

    def pytest_sessionfinish(self):
        if self.path:
            Path(self.path).write_text(json.dumps(self.tests, indent=1))


def short(nodeid):
    """The name of the file and of the test, without the folder."""
    return nodeid.rpartition("/")[2]
