import numpy as np
import pytest
import scipy.sparse as sp

from hinge.problems.max_min.symmetric import order_of, pack, pack_factors, smat, svec, top_pair


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
    for given in (A, [sp.csr_array(a) for a in A]):
        with pytest.raises(ValueError, match="Matrix 0 is not symmetric"):
            pack(given, False)
        packed = pack(given, True)
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
