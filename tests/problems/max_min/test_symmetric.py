import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from hinge.problems.max_min.base import Strategies
from hinge.problems.max_min.check_problem import check_problem
from hinge.problems.max_min.symmetric import Semidefinite, order_of, pack, pack_factors, smat, svec, top_pair


def symmetric(m, n, seed=0):
    A = np.random.default_rng(seed).standard_normal((m, n, n))
    return A + A.transpose(0, 2, 1)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_the_packing_keeps_inner_products_and_comes_back(n):
    A, B = symmetric(2, n)
    assert svec(A) @ svec(B) == pytest.approx(np.vdot(A, B))
    np.testing.assert_allclose(smat(svec(A), n), A, rtol=1e-15)
    assert len(svec(A)) == n * (n + 1) // 2
    assert order_of(n * (n + 1) // 2) == n


def test_lengths_that_no_matrix_has():
    for length in (2, 4, 5, 7):
        with pytest.raises(ValueError, match="n\\(n\\+1\\)/2"):
            order_of(length)


def test_many_at_once_dense_and_sparse():
    A = symmetric(5, 4)
    A[np.abs(A) < 0.8] = 0.0
    expected = np.array([svec(a) for a in A])
    np.testing.assert_allclose(pack(A, False), expected)
    np.testing.assert_allclose(pack(list(A), False), expected)
    packed = pack([sp.csr_array(a) for a in A], False)
    assert sp.issparse(packed)
    np.testing.assert_allclose(packed.toarray(), expected, atol=1e-15)
    np.testing.assert_allclose(pack([A[0], sp.csr_array(A[1])], False).toarray(), expected[:2], atol=1e-15)
    assert pack(A.astype(np.float32), False).dtype == np.float32


def test_what_is_not_symmetric_is_refused_or_made_so():
    A = np.random.default_rng(1).standard_normal((3, 4, 4))
    for matrices in (A, [sp.csr_array(a) for a in A]):
        with pytest.raises(ValueError, match="Matrix 0 is not symmetric"):
            pack(matrices, False)
        packed = pack(matrices, True)
        packed = packed.toarray() if sp.issparse(packed) else packed
        np.testing.assert_allclose(packed, [svec((a + a.T) / 2) for a in A], atol=1e-15)


def test_factors():
    a, b = np.random.default_rng(2).standard_normal((2, 6, 4))
    expected = [svec(np.outer(u, u) - np.outer(v, v)) for u, v in zip(a, b, strict=True)]
    np.testing.assert_allclose(pack_factors(a, b), expected, atol=1e-14)
    with pytest.raises(ValueError, match="one shape"):
        pack_factors(a, b[:, :2])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.eye(3), "shape \\(m, n, n\\)"),
        (sp.eye_array(3), "single sparse matrix"),
        ([], "no matrix was given"),
        ([np.eye(2), np.eye(3)], "of one size"),
        ([np.full((2, 2), np.nan)], "Matrix 0 has NaN"),
        ([np.eye(2) * 1j], "real numbers"),
        (np.zeros((2, 0, 0)), "0 × 0"),
    ],
)
def test_bad_input(given, words):
    with pytest.raises(ValueError, match=words):
        pack(given, False)


@pytest.mark.parametrize("n", [3, 130])
def test_the_top_pair(n):
    M = symmetric(1, n, 1)[0] / (2 * np.sqrt(n))
    top = np.linalg.eigvalsh(M)[-1]
    for accuracy in (0.1, 1e-8):
        found = top_pair(M.__matmul__, np.random.default_rng(2).standard_normal(n), accuracy)
        assert top - found.error - 1e-12 <= found.value <= top + 1e-12
        assert found.vector @ M @ found.vector == pytest.approx(found.value, abs=1e-12)
        assert found.error <= accuracy and found.products <= n
    crude = top_pair(M.__matmul__, np.random.default_rng(2).standard_normal(n), 1e-8, beyond=-1.0)
    assert crude.products <= found.products
    assert np.linalg.norm(M @ crude.vector - crude.value * crude.vector) <= (crude.value + 1.0) / 2


def matrices(m=6, n=5, seed=0, dtype=np.float64):
    A = np.random.default_rng(seed).standard_normal((m, n, n))
    return ((A + A.transpose(0, 2, 1)) / 2).astype(dtype)


@pytest.mark.slow
@given(n=st.integers(1, 9), seed=st.integers(0, 1000))
def test_packing_is_an_isometry(n, seed):
    A, B = matrices(2, n, seed)
    assert svec(A) @ svec(B) == pytest.approx(np.vdot(A, B), abs=1e-12)
    np.testing.assert_allclose(smat(svec(A), n), A, atol=1e-15)
    assert order_of(len(svec(A))) == n


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["array", "list", "csr", "mixed", "packed", "packed csr"])
def test_every_form_is_the_same_problem(kind, dtype):
    A = matrices(dtype=dtype)
    A[:, 0, 3] = A[:, 3, 0] = 0.0
    forms = {
        "array": lambda: Semidefinite(A),
        "list": lambda: Semidefinite(list(A)),
        "csr": lambda: Semidefinite([sp.csr_array(a) for a in A]),
        "mixed": lambda: Semidefinite([sp.coo_matrix(A[0]), *A[1:]]),
        "packed": lambda: Semidefinite(pack(A, True), packed=True),
        "packed csr": lambda: Semidefinite(sp.csr_array(pack(A, True)), packed=True),
    }
    problem = forms[kind]()
    assert problem.matrix.dtype == dtype
    assert problem.matrix.is_sparse == (kind in ("csr", "mixed", "packed csr"))
    assert (problem.n, problem.order, problem.d) == (6, 5, 15)
    X = matrices(1, seed=9)[0]
    tol = 1e-6 if dtype == np.float32 else 1e-13
    np.testing.assert_allclose(problem.values(svec(X)), np.einsum("kij,ij", A, X), atol=tol)
    p = np.random.default_rng(0).dirichlet(np.ones(6))
    np.testing.assert_allclose(problem.matrix_of(problem.combine(p)), np.einsum("k,kij", p, A), atol=tol)
    assert problem.scale == pytest.approx(np.linalg.norm(A, axis=(1, 2)).max(), rel=1e-6)
    assert problem.largest_eigenvalue(p) == pytest.approx(
        np.linalg.eigvalsh(np.einsum("k,kij", p, A.astype(float)))[-1], abs=tol
    )


def test_low_rank_factors():
    a, b = np.random.default_rng(0).standard_normal((2, 7, 4)).astype(np.float32)
    problem = Semidefinite.from_factors(a, b)
    assert problem.matrix.dtype == np.float32
    A = np.einsum("ki,kj->kij", a, a) - np.einsum("ki,kj->kij", b, b)
    X = matrices(1, 4)[0]
    np.testing.assert_allclose(problem.values(svec(X)), np.einsum("kij,ij", A, X), atol=1e-5)
    with pytest.raises(ValueError, match=r"two arrays of one shape \(m, n\), got \(7, 4\) and \(6, 4\)"):
        Semidefinite.from_factors(a, b[:6])


@pytest.mark.parametrize("sparse", [False, True])
def test_matrices_that_are_not_symmetric(sparse):
    A = matrices()
    A[3, 1, 2] += 1.0
    given_ = [sp.csr_array(a) for a in A] if sparse else A
    X = matrices(1, seed=4)[0]
    np.testing.assert_allclose(Semidefinite(given_).values(svec(X)), np.einsum("kij,ij", A, X), atol=1e-13)
    with pytest.raises(ValueError, match="Matrix 3 is not symmetric"):
        Semidefinite(given_, symmetrize=False)
    A[3] = A[2]
    Semidefinite([sp.csr_array(a) for a in A] if sparse else A, symmetrize=False)


def test_integers_become_floats():
    problem = Semidefinite(np.array([[[0, 1], [1, 0]], [[1, 0], [0, -1]]]))
    assert problem.matrix.dtype == np.float64
    np.testing.assert_array_equal(problem.matrix_of(problem.grad_at(0)).round(12), [[0, 1], [1, 0]])


BAD = [
    (np.zeros((0, 2, 2)), {}, "no matrix was given"),
    ([], {}, "no matrix was given"),
    (np.zeros((2, 0, 0)), {}, "the matrices are 0 × 0"),
    (np.zeros((2, 2, 3)), {}, r"matrix 0 has the shape \(2, 3\)"),
    ([np.eye(2), np.eye(3)], {}, r"matrix 1 has the shape \(3, 3\)"),
    ([sp.eye_array(2), sp.eye_array(3)], {}, r"matrix 1 has the shape \(3, 3\)"),
    (np.eye(3), {}, r"shape \(m, n, n\)"),
    (sp.eye_array(3), {}, "single sparse matrix"),
    ([np.eye(2), np.full((2, 2), np.nan)], {}, "Matrix 1 has NaN"),
    ([sp.eye_array(2), sp.coo_array(([np.inf], ([0], [0])), shape=(2, 2))], {}, "Matrix 1 has NaN"),
    (np.eye(2)[None] * 1j, {}, "real numbers"),
    (np.zeros((3, 4)), {"packed": True}, "4 is not such a number"),
    (np.full((3, 3), np.nan), {"packed": True}, "packed rows have NaN"),
    (np.ones((3, 3)) * 1j, {"packed": True}, "real numbers"),
    (np.zeros((0, 3)), {"packed": True}, "nothing to solve"),
]


@pytest.mark.parametrize(("A", "options", "message"), BAD)
def test_what_is_refused(A, options, message):
    with pytest.raises(ValueError, match=message):
        Semidefinite(A, **options)


@pytest.mark.parametrize("n", [1, 3, 20])
def test_the_tiers_fit_together(n):
    tested = check_problem(Semidefinite(matrices(8, n)), draws=500)
    assert {"project", "combine", "support", "estimate_values", "dual_bound"} <= set(tested)


def test_the_upper_bound_stays_above_every_value():
    problem = Semidefinite(matrices(10, 20))
    for seed in range(10):
        g = np.random.default_rng(seed).standard_normal(problem.d)
        values, vectors = np.linalg.eigh(problem.matrix_of(g))
        assert problem.support(g) >= g @ svec(np.outer(vectors[:, -1], vectors[:, -1]))
        assert problem.support(g) == pytest.approx(values[-1], rel=1e-12)
    assert problem.support(-svec(np.eye(20))) == 0.0
    assert 0.0 <= problem.support(svec(np.diag([0.0] + [-1.0] * 19))) <= 1e-12


def test_the_lower_bound_is_that_of_trace_one():
    problem = Semidefinite(np.stack([np.diag([1.0, 0.0]), np.diag([0.0, 1.0])]))
    x = problem.vector_of(np.eye(2) / 8)
    assert problem.trace(x) == 0.25
    assert problem.lower(x) == pytest.approx(0.5, abs=1e-13)
    assert problem.lower(x) <= 0.5
    np.testing.assert_allclose(problem.present(x), np.eye(2) / 2, atol=1e-15)
    assert problem.lower(problem.start()) == 0.0
    assert problem.lower(-x) == 0.0  # nearest to it is X = 0
    assert problem.lower(problem.vector_of(np.diag([1.0, 0.0]))) == 0.0
    assert problem.certificate(Strategies(x, np.array([0.5, 0.5]))).gap <= 1e-13
    assert problem.objective(Strategies(x)) == problem.lower(x)


def test_small_values_are_measured_against_typical_eigenvalues():
    A = np.stack([np.diag([1.0, -1.0]), np.diag([-1.0, 1.0])])  # σ = 0, not strictly infeasible
    problem = Semidefinite(A)
    assert problem.gap(0.0, 1e-3) == pytest.approx(1.0)
    assert problem.gap(0.5, 1.0) == pytest.approx(0.5, rel=1e-14)
    assert Semidefinite(A, relative=False).gap(0.5, 1.0) == 0.5
    assert Semidefinite(np.zeros((2, 3, 3))).gap(0.0, 0.0) == 0.0
