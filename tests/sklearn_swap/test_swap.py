"""The short form of ``python -m tests.sklearn_swap``: scikit-learn's own tests of its support vector machines."""

import pytest

from tests.sklearn_swap.runs import LISTS, SAMPLE, are_there, faults, is_meant, run_modules


@pytest.mark.slow
def test_what_passes_with_their_classes_passes_with_ours_but_for_the_list(tmp_path):
    """One test, so that theirs run once, however many processes share ours."""
    if not are_there(SAMPLE):
        pytest.skip("this scikit-learn was installed without its tests")
    tests = run_modules(tmp_path, SAMPLE, sample=True, timeout=600)
    found = faults(tests, SAMPLE)
    assert not found, "\n\n".join(found)
    assert sum(test["outcome"] == "passed" for test in tests.values()) >= 400  # our classes were there


def test_an_entry_names_what_it_says():
    assert is_meant("a.py::f", "a.py::f[x]")
    assert is_meant("a.py::f", "a.py::f")
    assert not is_meant("a.py::f", "a.py::fg")
    assert is_meant("a.py::f[*-x]", "a.py::f[1-x]")
    assert not is_meant("a.py::f[*-x]", "a.py::f[1-y]")


def test_what_is_not_as_listed_is_found(monkeypatch):
    monkeypatch.setitem(LISTS, "differs", {"test_a.py::f": "listed", "test_a.py::g": "listed", "test_b.py::h": "other"})
    passed, failed = {"outcome": "passed", "said": ""}, {"outcome": "failed", "said": "no"}
    modules = ["svm.tests.test_a"]
    assert faults({"test_a.py::f": failed, "test_a.py::g": failed, "test_a.py::k": passed}, modules) == []
    found = faults({"test_a.py::f[1]": failed, "test_a.py::f[2]": passed, "test_a.py::k": failed}, modules)
    assert found == [
        "test_a.py::k\nno",
        "test_a.py::f[2] passes: take it off the list",
        "there is no test test_a.py::g: take it off the list",
    ]


def test_every_difference_has_a_reason():
    for reasons in LISTS.values():
        assert all(len(reason.split()) > 3 for reason in reasons.values())
