import sys

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.datasets import make_known_optimum
from hinge.monitoring import Status, Stop
from hinge.problems import NormConstrained, Regularized
from hinge.solvers import SDCA, InteriorPoint, solve

pytestmark = pytest.mark.peer

pytest.importorskip("clarabel", reason="the interior-point rival needs clarabel")


def test_it_reaches_a_known_optimum():
    for seed in range(4):
        known = make_known_optimum(80, 6, 0.02, noise=0.1, seed=seed)
        problem = Regularized(known.X_train, known.y_train, 0.02)
        result = solve(problem, InteriorPoint(), stop=Stop(1e-6))
        assert result.status is Status.CONVERGED
        assert problem.objective(result.solution) == pytest.approx(known.objective, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["none", "penalized", "free"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_it_agrees_with_sdca(adult, bias, weighted, sparse):
    X, y = adult
    X, y = X[:400], y[:400]
    X = X if sparse else X.toarray()
    weight = np.random.default_rng(5).integers(0, 4, 400) / 2.0 if weighted else None
    problem = Regularized(X, y, 1e-2, bias=bias, weight=weight, bias_scale=0.5)
    ours = solve(problem, InteriorPoint(), stop=Stop(1e-5))
    best = solve(problem, SDCA(), stop=Stop(1e-7, max_time=20)).certificate
    assert ours.status is Status.CONVERGED
    assert best.bound * (1 - 1e-9) <= ours.certificate.objective <= best.objective * (1 + 1e-5)


def test_its_reads_are_one_copy_and_the_certificate():
    known = make_known_optimum(50, 5, 0.02, seed=0)
    problem = Regularized(sp.csr_matrix(known.X_train), known.y_train, 0.02)
    solver = InteriorPoint()
    solver.advance(problem, solver.init(problem), 1)
    assert problem.reads == problem.matrix.n_cells == problem.cells_of(solver.cost(problem))


def test_what_it_cannot_do_is_said(monkeypatch, tiny):
    X, y = tiny
    assert "Regularized" in InteriorPoint().rejects(NormConstrained(X, y, 1.0))
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ValueError, match="pip install clarabel"):
        solve(Regularized(X, y, 0.1), InteriorPoint())
