import numpy as np
import pytest
import scipy.sparse as sp

from hinge import LinearSVC, Regularized, Solution, Stop, solve
from hinge.problems.base import Combination
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE
from hinge.solvers import SDCA, SubspaceSDCA
from hinge.solvers.auto import ascent_for


def nearly_dependent(loss, bias, lam):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40)) @ np.diag(np.geomspace(1.0, 0.05, 40))
    y = np.where(X @ rng.normal(size=40) + 0.1 * rng.normal(size=300) > 0, 1, -1)
    return Regularized(X, y, lam, bias=bias, loss=loss)


@pytest.mark.sampled
@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE], ids=lambda loss: loss.name)
@pytest.mark.parametrize("bias", ["none", "free", "penalized"])
def test_it_finds_the_same_optimum_in_fewer_passes(loss, bias):
    problem = nearly_dependent(loss, bias, 1e-5)
    ours, plain = (solve(problem, s, stop=Stop(1e-5, max_iter=10**7)) for s in (SubspaceSDCA(), SDCA()))
    assert ours.certificate.gap <= 1e-5 and plain.certificate.gap <= 1e-5
    assert ours.certificate.objective == pytest.approx(plain.certificate.objective, rel=3e-5)
    assert ours.n_iter < 0.6 * plain.n_iter


def test_parameters_are_those_of_the_ascent():
    with pytest.raises(ValueError, match="first_pass must be one of 'auto', 'sgd', 'plain', got 'warm'"):
        SubspaceSDCA("warm")
    with pytest.raises(ValueError, match="block_rows must be a whole number of at least 1"):
        SubspaceSDCA(block_rows=0)


def test_a_run_goes_on_from_an_answer():
    problem = nearly_dependent(HINGE, "penalized", 1e-5)
    first = solve(problem, SubspaceSDCA(), stop=Stop(1e-3, max_iter=10**7))
    again = solve(problem, SubspaceSDCA(), stop=Stop(1e-3, max_iter=10**7), start=first.solution)
    assert again.certificate.gap <= 1e-3 and again.n_iter <= 0.5 * first.n_iter


def test_it_is_chosen_where_the_ascent_is_slow_and_a_step_cheap():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 300)), rng.choice([-1, 1], 400)
    assert type(ascent_for(Regularized(X, y, 1e-6))) is SubspaceSDCA
    assert type(ascent_for(Regularized(X, y, 1.0))) is SDCA  # few epochs
    assert type(ascent_for(Regularized(X, y, 0.3), 1e-6)) is SubspaceSDCA  # more, where more digits are wanted
    wide = sp.random_array((400, 50_000), density=1e-3, rng=rng, format="csr")
    assert type(ascent_for(Regularized(wide, y, 1e-6))) is SDCA  # rows that are nearly orthogonal
    assert type(ascent_for(Regularized(np.vstack([X[:, :30]] * 50), np.tile(y, 50), 2e-4))) is SDCA  # many rows


def test_by_its_name():
    problem = nearly_dependent(HINGE, "none", 1e-5)
    X, y = np.asarray(problem.matrix.rows.X), problem.y
    model = LinearSVC(loss="hinge", lam=1e-5, solver="subspacesdca", tol=1e-4, fit_intercept=False).fit(X, y)
    assert isinstance(model.solver_, SubspaceSDCA) and model.gap_ <= 1e-4


def test_steps_begin_after_so_many_passes_at_the_end_of_an_epoch():
    problem = nearly_dependent(HINGE, "penalized", 1e-5)
    late, plain, soon = SubspaceSDCA(after=2.5), SDCA(), SubspaceSDCA()
    state, other = late.init(problem), plain.init(problem)
    for solver, own in ((late, state), (plain, other)):
        for n in (0, 100, 601):  # within the third pass
            solver.advance(problem, own, n)
    assert np.array_equal(state.ascent.alpha, other.alpha) and not state.walk.begun
    assert type(late.solution(problem, state)) is type(plain.solution(problem, other)) is Combination
    late.advance(problem, state, 10 * problem.n)
    assert state.walk.begun and type(late.solution(problem, state)) is Solution
    whole = late.advance(problem, late.init(problem), 701 + 10 * problem.n)  # in one piece
    assert np.array_equal(whole.ascent.alpha, state.ascent.alpha) and np.array_equal(whole.p, state.p)
    runs = [solve(problem, s, stop=Stop(1e-4, max_iter=10**7)).n_iter for s in (soon, late, plain)]
    assert runs[1] < 0.6 * runs[2]
    with pytest.raises(ValueError, match="after must be a number of at least 0"):
        SubspaceSDCA(after=-1.0)
    assert late.refresh(problem, late.init(problem)).t == 0


def test_a_short_run_takes_no_steps():
    problem = nearly_dependent(HINGE, "none", 0.1)
    ours, plain = (solve(problem, s, stop=Stop(1e-3)) for s in (SubspaceSDCA(tol=1e-3, after=16), SDCA(tol=1e-3)))
    assert ours.n_iter == plain.n_iter and ours.certificate == plain.certificate
