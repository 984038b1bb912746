import numpy as np

from hinge.solvers.cells.frugal_state import empty_state, enqueue


def test_an_empty_state_knows_nothing():
    u, order = np.linspace(0, 1, 9), np.arange(9)[::-1].copy()
    state = empty_state(4, u, order, 3)
    assert state.t == 0
    assert state.w.shape == state.before.shape == state.ranked.shape == (4,)
    assert state.cuts.shape == (4,) and state.tails.shape == (2, 4, 2)
    assert state.u is u and state.order is order
    assert not any(part.any() for part in (state.w, state.alpha, state.pi, state.random, state.queue))
    assert not state.s.over and not state.s.exact


def test_a_batch_is_put_in_the_queue():
    state = empty_state(4, np.zeros(9), np.arange(9), 3)
    state.s.done = 5
    enqueue(state, np.array([7, 2, 4]), 2)
    assert state.queue[:3].tolist() == [7, 2, 4]
    assert (state.s.queued, state.s.done, state.s.whole) == (3, 0, 2)
    enqueue(state, np.array([], int), 0)
    assert state.s.queued == 0
