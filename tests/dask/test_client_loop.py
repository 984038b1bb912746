"""The client's loop over rounds."""

import time

import numpy as np
import pytest

pytest.importorskip("distributed", reason="hinge[dask] is not installed")
from hinge.dask.cluster import ClientLoop, Cluster, ClusterFit, OutOfTime, bytes_of, same
from hinge.monitoring import Status, Stop
from hinge.problems import Certificate, Solution


class Counting(ClientLoop):
    """Every round is a pass that halves the gap; `fails` says in which one an error comes."""

    gap, fails, error, said = 1.0, 0, KeyboardInterrupt, False

    def _turn(self, ends):
        self.round, self.passes, self.gap = self.round + 1, self.passes + 1, self.gap / 2
        if self.round == self.fails:
            raise self.error
        return 2.0

    @property
    def _answers(self):
        return [(Solution(np.zeros(1)), Certificate(1.0, 1.0 - self.gap, self.gap))]

    @property
    def _ended(self):
        return Status.CONVERGED if self.gap <= self.stop.tol else None

    def _last_word(self):
        self.said = True


def loop(look=lambda record, answers: False, began=None, **limits):
    return Counting(ClusterFit(Cluster(), [], (), 1, 1.0, Stop(**limits), began or time.perf_counter(), look))


def test_limits_end_a_run():
    run = loop(tol=0.1)
    assert run.run(False).status is Status.CONVERGED and run.round == 4 and run.said
    assert loop(tol=0.0, max_iter=3).run(False).passes == 3
    late = loop(tol=0.0, max_time=1.0, began=-10.0).run(False)
    assert late.status is Status.MAX_TIME and late.passes == 1  # the first round always runs
    assert loop(lambda record, _: record.iteration == 2, tol=0.0).run(False).status is Status.CALLBACK


def test_records_have_what_is_known():
    outcome = loop(tol=0.3).run(False)
    assert [(record.passes, record.gap, record.sigma) for record in outcome.history] == [(1, 0.5, 2.0), (2, 0.25, 2.0)]
    assert outcome.history[0].objective == 1.0


def test_ctrl_c_and_a_round_that_comes_too_late():
    run = loop(tol=0.0)
    run.fails = 3
    assert run.run(True).status is Status.INTERRUPTED and not run.said
    run = loop(tol=0.0)
    run.fails = 3
    with pytest.raises(KeyboardInterrupt):
        run.run(False)
    run = loop(tol=0.0)
    run.fails, run.error = 2, OutOfTime
    assert run.run(False).status is Status.MAX_TIME and run.said


def test_bytes_are_those_of_arrays():
    assert bytes_of((np.zeros(3), (1.0, np.zeros(2, np.float32)), "text")) == 32
    assert same(7) == 7
