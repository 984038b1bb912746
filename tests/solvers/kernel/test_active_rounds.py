import numpy as np
import pytest

from hinge.access import Gram, as_points
from hinge.kernels import Gaussian
from hinge.problems import Expansion, KernelRegularized
from hinge.problems.svm.kernel_duality import ONE_SIDED
from hinge.solvers.kernel.active_rounds import exchange_and_move, fit_alone, measured

X = np.random.default_rng(0).standard_normal((40, 2))
Y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1, -1).astype(np.int8)


@pytest.mark.parametrize("free", [True, False])
def test_pairs_and_exchanged_sets_end_at_a_small_gap(free):
    gram = Gram(as_points(X, Gaussian(0.5), exact=True))
    problem = KernelRegularized.from_C(gram, Y, 1.0, bias="free" if free else "none")
    K, beta, e, (lo, hi) = gram.whole(), np.zeros(40), -Y.astype(float), problem.limits
    exchange_and_move(K, beta, e, lo, hi, 1e-10, free, None)
    np.testing.assert_allclose(e, K @ beta - Y, atol=1e-9)
    own, zeros = np.ones(40), np.zeros(40)
    b, gap, dual, primal = measured(
        Y, problem.boxes, problem.lam, 0.0, beta, e, lo, hi, own, zeros, free, None, ONE_SIDED
    )
    found = problem.certificate(Expansion(beta, 0.0, e + Y, None, 40))
    assert gap <= 1e-8 and found.gap == pytest.approx(gap, abs=1e-9)
    assert (b, primal) == (pytest.approx(found.b, abs=1e-9), pytest.approx(found.objective))
    assert dual <= primal * (1 + 1e-12)


def test_coefficients_fit_their_targets_alone_where_c_is_large():
    assert fit_alone(np.full(5, 10.0), np.ones(5), 1.0) and not fit_alone(np.full(5, 1.0), np.ones(5), 1.0)
