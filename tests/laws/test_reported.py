"""What an estimator reports is what ran: its solver, the iterations, the history, whatever the limits of the fit.

No limit chooses the algorithm by its number. That there is a limit of reads or of kernel values may: it says, as a
table with prices does, that these are to be saved rather than time, and the method that saves them runs, whatever the
number.
"""

import math
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import hinge
from hinge.monitoring import Record
from hinge.solvers import registry
from hinge.solvers.ascent.block_ascent import SideBySide
from hinge.solvers.base import Solver

ROWS = {"small": (60, 4), "larger": (900, 20), "sparse": (300, 400), "many": (1100, 5)}
LIMITS = {
    "no limit": {},
    "one iteration": {"max_iter": 1},
    "many iterations": {"max_iter": 2000},
    "no time": {"max_time": 1e-6},
    "much time": {"max_time": 600.0},
}
LINEAR = {
    "LinearSVC": ("LinearSVC", {}, 2),
    "LinearSVC, hinge": ("LinearSVC", {"loss": "hinge"}, 2),
    "LinearSVC, free intercept": ("LinearSVC", {"intercept": "free"}, 2),
    "LinearSVC, many digits": ("LinearSVC", {"tol": 1e-9}, 2),
    "LinearSVC, large C": ("LinearSVC", {"C": 1e3, "loss": "hinge"}, 2),
    "LinearSVC, classes": ("LinearSVC", {}, 3),
    "LinearSVC, hinge, classes": ("LinearSVC", {"loss": "hinge"}, 3),
    "LinearSVC, crammer_singer": ("LinearSVC", {"multi_class": "crammer_singer"}, 3),
    "LinearSVC, 1-norm": ("LinearSVC", {"penalty": "l1"}, 2),
    "LinearSVR": ("LinearSVR", {"epsilon": 0.1}, None),
    "LinearSVR, squared": ("LinearSVR", {"loss": "squared_epsilon_insensitive"}, None),
    "OneClassSVM, linear": ("OneClassSVM", {"kernel": "linear"}, 2),
}
READS = {
    "few reads": {"max_reads": 250},
    "some passes": {"max_reads": 1000},
    "many passes": {"max_reads": 10**9},
    "many passes in little time": {"max_reads": 10**9, "max_time": 600.0},
}
VALUES = {"few values": {"max_kernel_evals": 2000}, "many values": {"max_kernel_evals": 10**9}}
KERNEL = {
    "SVC": ("SVC", {}, 2),
    "SVC, linear": ("SVC", {"kernel": "linear"}, 2),
    "SVC, classes": ("SVC", {}, 3),
    "SVC, landmarks": ("SVC", {"n_components": 20, "tol": 0.1}, 2),
    "SVC, landmarks, classes": ("SVC", {"n_components": "auto", "tol": 0.1}, 3),
    "SVR": ("SVR", {}, None),
    "NuSVC": ("NuSVC", {}, 2),
    "NuSVC, classes": ("NuSVC", {"nu": 0.3}, 3),
    "NuSVC, landmarks": ("NuSVC", {"nu": 0.3, "n_components": 20, "tol": 0.5}, 2),
    "NuSVR": ("NuSVR", {}, None),
    "NuSVR, landmarks": ("NuSVR", {"n_components": 20, "tol": 0.5}, None),
    "OneClassSVM": ("OneClassSVM", {}, 2),
    "OneClassSVM, landmarks": ("OneClassSVM", {"n_components": 20, "tol": 0.5}, 2),
}


class Advance(NamedTuple):
    """A call of `advance` by the driver: who, on what, and the iterations before and after."""

    solver: Solver
    problem: object
    before: int
    after: int


@pytest.fixture
def ran(monkeypatch):
    """The calls of `advance` of every solver; those within another's, of the method at work in a switch, do not count.

    Nor do those within `solution`, where a learner of few reads may solve the problem of what it has read.
    """
    calls, depth = [], 0

    def noted(advance):
        def call(self, problem, state, n_iter):
            nonlocal depth
            before, depth = state.t, depth + 1
            try:
                state = advance(self, problem, state, n_iter)
            finally:
                depth -= 1
            if depth == 0:
                calls.append(Advance(self, problem, before, state.t))
            return state

        return call

    def quiet(solution):
        def call(self, problem, state):
            nonlocal depth
            depth += 1
            try:
                return solution(self, problem, state)
            finally:
                depth -= 1

        return call

    for kind in {*registry.classes(), SideBySide}:
        if "advance" in vars(kind):
            monkeypatch.setattr(kind, "advance", noted(kind.advance))
        if "solution" in vars(kind):
            monkeypatch.setattr(kind, "solution", quiet(kind.solution))
    return calls


def data(rows, classes):
    """X and y: noisy classes, or targets."""
    n, d = ROWS[rows]
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, d))
    score = X[:, 0] + 0.5 * rng.standard_normal(n)
    if rows == "sparse":
        X = sp.csr_matrix(np.where(rng.random((n, d)) < 0.05, X, 0.0))
    return X, score if classes is None else np.digitize(score, [-0.3, 0.5][: classes - 1])


def runs_of(calls):
    """The last call of each run."""
    return [call for call, later in zip(calls, [*calls[1:], None], strict=True) if later is None or not later.before]


def assert_reports_what_ran(model, calls, per_class):
    """`solver_`, `history_` and `n_iter_` are those of the calls of `advance`."""
    assert calls
    last = runs_of(calls)
    assert any(call.solver is model.solver_ for call in calls)
    assert {type(call.solver) for call in calls} == {type(model.solver_)}
    histories = [model.history_] if isinstance(model.history_[0], Record) else model.history_
    known = {call.after for call in calls} | {0}
    if per_class and len(last) == 1 < len(histories):  # a batch: its rounds are those of its members together
        rounds = [history[-1].iteration for history in histories]
        assert sum(rounds) == last[0].after
        np.testing.assert_array_equal(model.n_iter_, rounds)
        return
    for k, history in enumerate(histories):
        assert {record.iteration for record in history} <= known
        assert history[-1].iteration == last[min(k, len(last) - 1)].after  # one run may be that of all classes
    iterations = [call.after for call in last]
    if not per_class:  # in passes over the rows, or Newton steps
        iterations = max(math.ceil(call.after / call.solver.cost(call.problem).a_pass) for call in last)
    elif not hasattr(model, "classes_"):
        iterations = max(iterations)
    np.testing.assert_array_equal(model.n_iter_, iterations)
    assert np.min(model.n_iter_) >= 1


def check(case, rows, ran, per_class, limits):
    name, options, classes = case
    X, y = data(rows, classes)
    kinds = set()
    for limit in limits.values():
        ran.clear()
        model = getattr(hinge, name)(**options, **limit).fit(X, y)
        if ran or limit in LIMITS.values():  # else its first iteration would cost more
            assert_reports_what_ran(model, ran, per_class)
        kinds.add(type(model.solver_))
    assert len(kinds) == 1  # no limit chooses the algorithm


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rows", ["small", "larger", "sparse"])
@pytest.mark.parametrize("name", LINEAR)
def test_linear_fits_report_what_ran(name, rows, ran):
    check(LINEAR[name], rows, ran, per_class=False, limits=LIMITS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LINEAR)
def test_no_number_of_reads_chooses_the_solver(name, ran):
    check(LINEAR[name], "small", ran, per_class=False, limits=READS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("name", KERNEL)
def test_kernel_fits_report_what_ran(name, rows, ran):
    check(KERNEL[name], rows, ran, per_class=True, limits=LIMITS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in KERNEL if "OneClass" not in name])
def test_no_number_of_kernel_values_chooses_the_solver(name, ran):
    check(KERNEL[name], "small", ran, per_class=True, limits=VALUES)
