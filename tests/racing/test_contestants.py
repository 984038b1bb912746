"""Names, and the clock and bill of our own solvers."""

import time
from itertools import pairwise

import pytest
import scipy.sparse as sp

from hinge.kernels import Gaussian
from hinge.racing import Course, Ours, all_contestants, default_names, find
from hinge.racing.contestants import ours
from hinge.solvers import SDCA, registry


@pytest.fixture
def course(adult):
    X, y = adult
    return Course(X[:500], y[:500], X[1500:], y[1500:], 1e-3)


def test_every_solver_has_a_name():
    assert len(ours()) == len(registry.entries("linear", "cells", "kernel"))
    assert set(ours()) <= set(all_contestants())


def test_names_are_those_of_the_estimators():
    assert set(registry.names("linear", "cells", "kernel")) <= set(ours())
    assert find(["sgd"])[0].label == find(["hinge-sgd"])[0].label == "hinge SGD"
    assert find(["sklearn-sgd"])[0].label == "scikit-learn SGDClassifier"


def test_names_are_found_however_they_are_spelled():
    assert [one.name for one in find(["BlockDual", "block_dual", "SDCA", "blockdual"])] == ["blockdual", "sdca"]


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(ValueError, match="no solver 'pegasus': did you mean 'pegasos'"):
        find(["sdca", "pegasus"])


def test_solvers_of_the_other_kind_say_so(course):
    kernel = Course(course.X, course.y, course.X_test, course.y_test, 1e-3, Gaussian(0.1))
    assert "--kernel" in find(["sbp"])[0].rejects(course)
    assert "leave --kernel out" in find(["sdca"])[0].rejects(kernel)
    assert find(["sbp"])[0].rejects(kernel) is None
    assert find(["simba"])[0].rejects(course) is None


def test_the_usual_field(course):
    hard = Course(course.X, course.y, course.X_test, course.y_test, 1e-5)
    assert default_names(hard) == ["sdca", "newton", "pegasos", "liblinear", "sklearn-sgd"]
    many = sp.csr_matrix(sp.hstack([course.X] * 170))
    wide = Course(many, course.y, course.X_test, course.y_test, 1e-3)
    assert wide.X.shape[1] > 20_000
    assert "newton" not in default_names(wide)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sdca", "pegasos", "newton", "frugal"])
def test_a_look_costs_nothing(name, course, monkeypatch):
    problems = []

    def expensive(self, problem, answer):
        problems.append(problem)
        problem.matrix.responses(answer.w, 0, problem.n)  # billed
        time.sleep(0.05)
        return 1.0, 0.5, 0.0

    monkeypatch.setattr(Course, "judge", expensive)
    began = time.perf_counter()
    looks = list(find([name])[0].looks(course, 0, 0.1, lambda look: len(problems) == 3, 1e-3))
    assert looks[-1].seconds < time.perf_counter() - began - 0.05 * len(looks)
    assert looks[0].reads > 0
    assert looks[-1].reads < problems[0].reads  # so something was read that is not on the bill


def test_a_run_ends_at_the_target(course):
    looks = []
    for look in Ours(SDCA(), "sdca").looks(course, 0, 20.0, lambda look: look.objective < 0.45, 1e-3):
        looks.append(look)
    assert looks[-1].objective < 0.45
    assert all(look.objective >= 0.45 for look in looks[:-1])
    assert all(a.seconds < b.seconds and a.reads <= b.reads for a, b in pairwise(looks))


@pytest.mark.slow
def test_a_run_ends_in_time(course):
    began = time.perf_counter()
    looks = list(find(["pegasos"])[0].looks(course, 0, 0.2, lambda look: False, 1e-3))
    assert looks[-1].seconds >= 0.2
    assert looks[-2].seconds < 0.2
    assert time.perf_counter() - began < 10.0


@pytest.mark.slow
def test_a_solver_that_works_on_a_part_of_the_rows_is_told_when_it_is_not_enough(adult):
    X, y = adult
    course = Course(X, y, X[:100], y[:100], 1e-3, Gaussian(0.05))
    bound = course.find_reference(1e-5, 30.0).bound
    *_, last = find(["block-dual"])[0].looks(course, 0, 60.0, lambda look: look.objective <= (1 + 1e-3) * bound, 1e-3)
    assert last.objective <= (1 + 1e-3) * bound
    assert last.evals > 0


def test_a_run_that_is_looked_at_for_longer_than_it_takes_ends(course, monkeypatch):
    """On a few rows the looks take more time than the steps between them."""
    monkeypatch.setattr(Course, "judge", lambda *_: time.sleep(0.05) or (1.0, 0.5, 0.0))
    looks = list(find(["pegasos"])[0].looks(course, 0, 0.02, lambda look: False, 1e-3))
    assert len(looks) == 1
    assert looks[-1].seconds < 0.02
