import numpy as np
import pytest
import scipy.sparse as sp

from hinge import SVC, NuSVR, Stop, solve
from hinge.access import Gram, as_points
from hinge.kernels import Gaussian, Linear
from hinge.problems import Expansion, KernelNuClassification, KernelNuRegression, KernelRegularized
from hinge.problems.svm.losses import epsilon_insensitive
from hinge.problems.svm.nu_forms import KernelOneClass
from hinge.solvers import ActiveSet, BlockDual, LevelBlocks
from hinge.solvers.kernel.low_rank import DualBox, affordable_rank, find_factor, improve_problem, is_due, solve_low_rank

RNG = np.random.default_rng()


@pytest.fixture(autouse=True)
def same_draws():
    """The draws of a test depend on no other test."""
    RNG.bit_generator.state = np.random.default_rng(1).bit_generator.state


def duplicated(n, scales, noise=1.0):
    """Rows that occur some four times, of columns of these scales, and noisy targets."""
    X = RNG.standard_normal((n, len(scales))) * scales
    t = X[:, 0] / scales[0] + noise * RNG.standard_normal(n)
    return X[RNG.integers(0, n // 4, n)], t


def test_a_factor_has_as_many_columns_as_the_kernel_matrix_has_rank():
    X = RNG.standard_normal((50, 3))
    K = X @ X.T
    Z = find_factor(lambda i: K[i], K.diagonal(), 10)
    assert Z.shape == (50, 3)
    np.testing.assert_allclose(Z @ Z.T, K, atol=1e-12)
    assert find_factor(lambda i: K[i], K.diagonal(), 2) is None


@pytest.mark.parametrize("bias", ["free", "none"])
@pytest.mark.parametrize("regression", [False, True])
def test_columns_of_any_scale_are_solved(bias, regression):
    X, t = duplicated(300, [1e-3, 1.0, 1e6])
    loss = {"loss": epsilon_insensitive(0.1)} if regression else {}
    y = t if regression else np.where(t > 0, 1, -1)
    problem = KernelRegularized.from_C(X, y, 0.1, Linear(), bias=bias, **loss)
    box = DualBox(-problem.aims.astype(float), *problem.limits, bias == "free", problem.epsilon or 0.0)
    found = [solve_low_rank(Z, box) for Z in (X, sp.csr_array(X))]
    np.testing.assert_allclose(*found)
    lo, hi = problem.limits
    assert (lo <= found[0]).all() and (found[0] <= hi).all()
    answer = Expansion(found[0], 0.0, X @ (X.T @ found[0]), None, 300)
    assert problem.sharpened(answer, problem.certificate(answer), 1e-6).gap <= 1e-6
    between = (found[0] != lo) & (found[0] != hi) & (found[0] != 0.0)
    assert between.sum() < 100  # the others are exactly at a bound


@pytest.mark.parametrize(("solver", "n"), [(ActiveSet(), 600), (BlockDual(), 1500)])
def test_linear_kernels_over_unscaled_columns_end_after_few_rounds(solver, n):
    X, t = duplicated(n, [2e8, 3e6])
    problem = KernelRegularized.from_C(X, np.where(t > 0, 1, -1), 1e-5, Linear(), bias="free")
    result = solve(problem, solver, stop=Stop(tol=1e-3, max_iter=20))
    assert result.certificate.gap <= 1e-3


def test_kernel_matrices_of_low_rank_end_after_few_rounds():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((500, 1))
    y = np.where(X[:, 0] + rng.standard_normal(500) > 0, 1, -1)
    problem = KernelRegularized.from_C(Gram(as_points(X, Gaussian(0.5), exact=True)), y, 1e6, bias="free")
    result = solve(problem, ActiveSet(), stop=Stop(tol=1e-3, max_iter=20))
    assert result.certificate.gap <= 1e-3


def test_members_of_a_batch_are_solved_too():
    X, t = duplicated(400, [3e6, 1.0, 1e-2])
    model = SVC(kernel="linear", C=0.1).fit(X, np.digitize(t, [-0.5, 0.5]))
    assert model.gap_ <= 1e-3


@pytest.mark.parametrize("nu", [0.5, 0.9, 1.0])
@pytest.mark.parametrize("form", ["classes", "regression", "one class"])
def test_sums_of_either_sign_are_given(form, nu):
    X, t = duplicated(200, [1.0, 1e-3, 1e3], 0.3)
    y = np.where(np.argsort(np.argsort(X[:, 0] + 0.3 * t, kind="stable")) < 100, -1, 1)
    problem = {
        "classes": lambda: KernelNuClassification(X, y, nu, Linear()),
        "regression": lambda: KernelNuRegression(X, t, nu, 0.1, Linear()),
        "one class": lambda: KernelOneClass(X + np.array([3.0, 0.0, 3e3]), nu, Linear()),
    }[form]()
    found = improve_problem(problem, problem.sign.ravel(), np.inf, feasible=False)
    assert found is not None
    beta, r = found[0].reshape(problem.sign.shape), found[1]
    alpha = problem.sign * beta
    assert (alpha >= 0).all() and (alpha <= problem.boxes).all()
    sums = [alpha[problem.sign == one].sum() for one in problem.signs]
    np.testing.assert_allclose(sums, problem.mass, rtol=1e-12)
    answer = Expansion(beta.sum(axis=0), 0.0, r[:200], None, 200)
    assert problem.sharpened(answer, problem.certificate(answer), 1e-5).gap <= 1e-5


def test_levels_over_unscaled_columns_end_after_few_rounds():
    X, t = duplicated(1500, [1e-2, 1.0, 1e4, 30.0])
    problem = KernelNuRegression(X, t, 0.5, 10.0, Linear())
    assert solve(problem, LevelBlocks(), stop=Stop(tol=1e-3, max_iter=8)).certificate.gap <= 1e-3


def test_members_of_a_batch_of_levels_are_solved_too():
    X, t = duplicated(400, [1e3, 1.0, 1e-2])
    model = NuSVR(kernel="linear", C=10.0).fit(X, t)
    assert model.gap_ <= 1e-3 and model.n_iter_ < 20


def test_attempts_cost_a_share_of_the_work_before():
    assert affordable_rank(25 * 11**2 + 25 * 1e5 / 1000, 1000) == 10
    assert (
        affordable_rank(0.0, 1000) < 1
        and affordable_rank(np.inf, 1000) == 1000
        and affordable_rank(np.inf, 4096) == 511
    )
    assert [is_due(1.0, x) for x in (1.5, 2.0, np.inf)] == [False, True, True] and not is_due(np.inf, np.inf)
