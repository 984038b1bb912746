import numpy as np
import pytest

from hinge.access import BaseGram, Gram, as_points
from hinge.access.gram.base import add_at, counts_to, whole
from hinge.access.gram.device import DeviceGram
from hinge.kernels import Gaussian
from hinge.problems import KernelMaxMargin, KernelRegularized, KernelSlackConstrained
from hinge.problems.svm.nu_forms import KernelOneClass
from hinge.solvers import ActiveSet, BlockDual, solve


class Held:
    def __init__(self, K, i):
        self.K, self.i = K, i

    def block(self):
        return self.K[np.ix_(self.i, self.i)]

    def combine(self, coef):
        return coef @ self.K[self.i]


class Known(BaseGram[np.ndarray]):
    """The least that a Gram matrix can be: values that lie in an array."""

    xp, indefinite = np, False

    def __init__(self, K):
        self.K, self.n, self.dtype = K, len(K), K.dtype
        self.evals = self.asked = 0
        self.largest_block = self.capacity = self.n
        self.columns = self.position = np.arange(self.n)

    capacity = 0

    def array(self, a):
        return np.asarray(a)

    def host(self, a):
        return np.asarray(a)

    @property
    def diag(self):
        return self.K.diagonal()

    def rows(self, i):
        return Held(self.K, i)

    def values(self, rows, columns):
        return self.K[np.ix_(rows, columns)]

    def combine(self, i, coef):
        return coef @ self.K[i]

    def pass_over(self, i, coef, columns):
        return coef @ self.K[np.ix_(i, columns)]

    def error(self, size, terms):
        return np.full(self.n, 1e-15 * terms * size.sum())

    def sharper(self):
        yield self


@pytest.fixture
def known(tiny):
    X, y = tiny
    gram = Gram(as_points(X, Gaussian(0.1), exact=True))
    return Known(gram.whole()), gram, y


def test_what_is_not_said_has_a_sensible_default(known):
    ours, gram, _ = known
    np.testing.assert_allclose(ours.norms, np.sqrt(ours.diag))
    np.testing.assert_array_equal(ours.whole(), gram.whole())
    assert ours.constant(ours.diag) is not None and ours.finer is None and not ours.contradicts(np.ones(60))
    i, coef, columns = np.array([3, 5]), np.array([1.0, -2.0]), np.array([0, 5, 9])
    sums, off = ours.again(i, coef, columns)
    np.testing.assert_array_equal(sums, coef @ ours.K[np.ix_(i, columns)])
    np.testing.assert_array_equal(off, 1e-15 * 3 * 3.0)


@pytest.mark.parametrize("solver", [BlockDual(), ActiveSet()], ids=lambda solver: type(solver).__name__)
def test_problems_and_solvers_ask_for_no_more_than_is_declared(known, solver):
    ours, gram, y = known
    found, expected = (solve(KernelRegularized(g, y, 0.01), solver) for g in (ours, gram))
    assert found.certificate.gap <= 1e-3
    np.testing.assert_allclose(found.certificate.objective, expected.certificate.objective, rtol=2e-3)


@pytest.mark.parametrize("kind", [KernelRegularized, KernelSlackConstrained])
def test_points_without_a_kernel_are_no_gram_matrix(tiny, kind):
    with pytest.raises(TypeError, match="takes a Gram, or points and a kernel"):
        kind(*tiny, 0.1)
    with pytest.raises(TypeError, match="takes a Gram, or points and a kernel"):
        KernelOneClass(tiny[0], 0.1)


def test_both_ways_to_compute_are_one_kind(known):
    assert issubclass(Gram, BaseGram) and issubclass(DeviceGram, BaseGram)
    ours, _, y = known
    assert KernelMaxMargin(ours, y).gram is ours


@pytest.mark.parametrize("module", ["numpy", "torch"])
def test_the_same_on_both(module):
    xp = pytest.importorskip(module)
    make = xp.asarray if module == "numpy" else xp.tensor
    x = make([0.2, 1.9, 3.0])
    assert whole(x).tolist() == [0, 1, 3]
    assert str(whole(x).dtype).endswith("int64")
    a = make([0.0, 0.0, 1.0])
    add_at(a, make([2, 0, 2]), 0.5)
    assert a.tolist() == [0.5, 0.0, 2.0]  # twice where it occurs twice
    assert counts_to(4, x).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert counts_to(4, x).dtype == x.dtype
