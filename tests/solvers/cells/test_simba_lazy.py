import numpy as np
import pytest
import scipy.sparse as sp
from laws.data import tiny_rows

from hinge.problems import SlackConstrained
from hinge.solvers import Simba
from hinge.solvers.cells import simba_exact, simba_lazy


@pytest.fixture
def rows():
    X, y = tiny_rows(120, 30, zeros=0.8)
    return sp.csr_array(X / np.linalg.norm(X, axis=1).max()), y


def run(solver, problem, T, seed=0):
    return solver.advance(problem, solver.init(problem, seed), T)


@pytest.mark.parametrize("capped", [False, True])
def test_it_starts_uniform(capped):
    y = np.array([1, -1, 1, 1])
    w, p, b = simba_lazy.sums(simba_lazy.start(y, 3, capped))
    assert not w.any() and b == 0.0
    assert p.shape == (4,) and np.ptp(p) == 0.0


@pytest.mark.parametrize("bias", ["none", "free"])
def test_settled_every_time_it_is_the_exact_form(rows, bias):
    problem = SlackConstrained(*rows, 0.1, bias=bias)
    lazy = run(Simba("lazy", refresh_every=1), problem, 150)
    exact = run(Simba("exact"), problem, 150)
    assert isinstance(lazy.parts, simba_lazy.Lazy) and isinstance(exact.parts, simba_exact.Exact)
    for ours, theirs in zip(simba_lazy.sums(lazy.parts), simba_exact.sums(exact.parts), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("form", ["lazy", "capped"])
@pytest.mark.parametrize("every", [1, 7, 50])
def test_sums_of_p_are_those_of_so_many_distributions(rows, form, every):
    problem = SlackConstrained(*rows, 0.1)
    for T in (1, 13, 100):
        _, p, _ = simba_lazy.sums(run(Simba(form, refresh_every=every), problem, T).parts)
        assert p.sum() == pytest.approx(T, rel=1e-9)
        assert (p >= -1e-9).all()


def test_no_p_of_the_capped_form_is_above_the_cap_where_it_is_settled_every_time(rows):
    problem = SlackConstrained(*rows, 0.1)
    state = run(Simba("capped", refresh_every=1, cap=0.25, eta_scale=3.0), problem, 200)
    _, p, _ = simba_lazy.sums(state.parts)
    assert p.max() <= 200 / (0.25 * 120) * (1 + 1e-9)
    assert p.max() > 1.5 * p.mean()
