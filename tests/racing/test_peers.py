"""Other packages: the same objective, run from zero with growing effort, and missing ones by name."""

import importlib.util
import time

import numpy as np
import pytest

from hinge.kernels import Gaussian
from hinge.racing import PEERS, Course, Peer, find, run_race
from hinge.racing.contestants import PeerFit

pytestmark = pytest.mark.peer


@pytest.fixture
def course(adult):
    X, y = adult
    return Course(X[:1000], y[:1000], X[1500:], y[1500:], 1e-3)


def peer(fit, **options):
    return Peer("fake", "a fake", fit, "numpy", "numpy", **options)


def doubling(course, enough, **options):
    """The efforts that are tried where `enough` is the first that meets the target."""
    tried = []

    def fit(course, effort, seed):
        tried.append(effort)
        return PeerFit(np.full(course.X.shape[1], 0.0 if effort >= enough else 1.0))

    looks = list(peer(fit, **options).looks(course, 0, 1e3, lambda look: look.objective <= 1.0, 1e-3))
    assert len(looks) == len(tried)
    return tried


def test_efforts_double_and_then_close_in(course):
    assert doubling(course, 21) == [1, 2, 4, 8, 16, 32, 23, 19]
    assert doubling(course, 1) == [1]
    assert doubling(course, 2) == [1, 2]  # nothing between
    assert doubling(course, 0.3, first=0.1, integer_effort=False) == pytest.approx(
        [0.1, 0.2, 0.4, 0.08**0.5, 0.08**0.25 * 0.4**0.5]
    )


def test_each_run_is_charged_its_own_time(course):
    def fit(course, effort, seed):
        time.sleep(0.02 * effort)
        return PeerFit(np.ones(course.X.shape[1]))

    looks = list(peer(fit).looks(course, 0, 0.1, lambda look: False, 1e-3))
    assert looks[0].seconds >= 0.02
    assert 1 <= len(looks) <= 3  # the next would have taken more than 0.1 s
    assert all(look.reads is None and look.evals is None for look in looks)


def test_one_that_has_converged_is_not_run_again(course):
    fake = peer(lambda course, effort, seed: PeerFit(np.ones(course.X.shape[1]), finished=True))
    assert len(list(fake.looks(course, 0, 1e3, lambda look: False, 1e-3))) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["liblinear", "sklearn-sgd", "liblinear-official"])
def test_linear_peers_solve_our_problem(name, course):
    (contestant,) = find([name])
    if contestant.missing():
        pytest.skip(contestant.missing())
    bound = course.find_reference(1e-6, 60.0).bound
    target = 1e-3 if name != "sklearn-sgd" else 0.05
    looks = list(contestant.looks(course, 0, 20.0, lambda look: look.objective <= (1 + target) * bound, 1e-3))
    assert bound * (1 - 1e-9) <= min(look.objective for look in looks) <= (1 + target) * bound
    assert looks[-1].error < 0.3


@pytest.mark.slow
def test_libsvm_solves_the_problem_with_a_bias(adult):
    X, y = adult
    course = Course(X[:500], y[:500], X[1500:], y[1500:], 1e-3, Gaussian(0.05))
    (contestant,) = find(["libsvm"])
    assert contestant.bias == "free"
    free = course.find_reference(1e-6, 60.0, "free")
    *_, last = contestant.looks(course, 0, 30.0, lambda look: False, 1e-3)
    assert free.bound * (1 - 1e-9) <= last.objective <= 1.001 * free.bound
    assert last.bound <= last.objective


@pytest.mark.slow
def test_a_missing_peer_is_listed_with_the_way_to_get_it(course, monkeypatch):
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "liblinear" else there(name))
    done = run_race(course, find(["liblinear-official", "sdca"]), max_time=5.0, repeats=1)
    lines = {line.solver: line for line in done.standings()}
    assert lines["liblinear-official"].status == ("liblinear-official is not installed: pip install liblinear-official")
    assert lines["liblinear-official"].runs == 0
    assert lines["sdca"].reached == 1


def test_peers_of_the_other_kind_say_so(course):
    kernel = Course(course.X, course.y, course.X_test, course.y_test, 1e-3, Gaussian(0.1))
    for one in PEERS:
        assert (one.rejects(kernel) is None) != (one.rejects(course) is None)
