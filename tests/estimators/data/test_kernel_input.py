import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from estimators.made_up import SIDES, WORDS, bigrams, half_gaussian
from sklearn.metrics.pairwise import rbf_kernel

from hinge import SVC, OneClassSVM
from hinge.estimators.data.kernel_input import gamma_value, is_matrix, points_on_host, variance
from hinge.kernels import Function, Gaussian

# --- functions ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_from_a_table_to_a_sequence_and_back(three):
    model = SVC(kernel=half_gaussian).fit(*three)
    assert model.n_features_in_ == 4
    model.set_params(kernel=bigrams).fit(WORDS, SIDES)
    assert not hasattr(model, "n_features_in_")
    assert model.set_params(kernel="rbf").fit(*three).n_features_in_ == 4


@pytest.mark.parametrize(
    ("X", "table"),
    [
        ([[1, 2], [3, 4]], True),
        (np.ones((2, 2)), True),
        (sp.csr_array(np.eye(2)), True),
        (pd.DataFrame({"a": [1.0]}), True),
        ([np.ones(2), np.ones(2)], True),
        (np.eye(2, dtype=bool), True),
        (["a", "b"], False),
        ([[1], [1, 2]], False),
        (np.ones(3), False),
        (np.ones((2, 2, 2)), False),
        ([{1}, {2}], False),
        (np.array([["a", "b"]]), False),
        ([["a", "b"], ["c", "d"]], False),
        ([], False),
        (pd.Series(["a"]), False),
        ((1.0, 2.0), False),
    ],
)
def test_what_counts_as_a_table(X, table):
    assert is_matrix(X) == table


# --- matrices of kernel values ------------------------------------------------------------------


def test_precomputed_shapes(three):
    X, y = three
    K = rbf_kernel(X)
    with pytest.raises(ValueError, match=r"square matrix, K\(x, z\) for all training points .*\(90, 80\)"):
        SVC(kernel="precomputed").fit(K[:, :80], y)
    model = SVC(kernel="precomputed").fit(K, y)
    with pytest.raises(ValueError, match=r"all 90 training points z, so its shape must be \(m, 90\)"):
        model.predict(K[:5, :80])
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.predict(K[0])
    for act in (lambda: model.predict(sp.csr_array(K)), lambda: SVC(kernel="precomputed").fit(sp.csr_array(K), y)):
        with pytest.raises(TypeError, match="Sparse precomputed kernels are not supported"):
            act()


# --- kernels of hinge, and the parameters of names ----------------------------------------------


def test_the_variance_of_a_table(three):
    X, _ = three
    thin = np.where(X > 1, X, 0.0)
    for A in (X, X.astype(np.float32), np.round(X).astype(int), X > 0, X + 1e6):
        assert variance(A) == pytest.approx(np.asarray(A, np.float64).var(), rel=1e-6)
    assert variance(sp.csr_array(thin)) == pytest.approx(thin.var())
    assert variance(np.full((4, 2), 0.1)) == 0.0
    assert SVC().fit(np.full((4, 2), 0.1), [0, 1, 0, 1]).kernel_ == Gaussian(1.0)
    assert SVC(gamma="auto").fit(*three).kernel_ == Gaussian(0.25)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 7.7, 1e6 + 0.1])
def test_a_constant_has_no_variance(value):
    """The mean of equal values, as it is rounded, may be another number."""
    for n in (3, 10, 49, 1000):
        column = np.full((n, 1), value)
        assert variance(column) == variance(sp.csr_array(column)) == 0.0
        assert gamma_value("scale", sp.csr_array(column)) == 1.0


def block_of_words(xs, zs):
    """What scikit-learn calls: two lists in, all values out. It takes no two words."""
    assert all(isinstance(part, list) for part in (xs, zs))
    return np.array([[bigrams(x, z) for z in zs] for x in xs])


@pytest.mark.parametrize("machine", [SVC, OneClassSVM])
def test_a_function_of_two_lists_needs_no_wrapper(machine):
    model = machine(kernel=block_of_words, tol=1e-5).fit(WORDS, SIDES)
    pairs = machine(kernel=bigrams, tol=1e-5).fit(WORDS, SIDES)
    assert (model.kernel_.on, pairs.kernel_.on) == ("blocks", "pairs")
    np.testing.assert_allclose(model.decision_function(WORDS), pairs.decision_function(WORDS), atol=1e-2)


def test_a_function_that_takes_neither_keeps_its_own_error():
    def broken(x, z):
        raise RuntimeError("no such thing")

    with pytest.raises(RuntimeError, match="no such thing"):
        SVC(kernel=broken).fit(WORDS, SIDES)
    with pytest.raises(TypeError, match="gave 'ndarray' in place of a number"):
        SVC(kernel=lambda x, z: np.ones(3)).fit(WORDS, SIDES)


def test_a_bare_function_of_few_rows_is_called_once(three):
    shapes = []

    def linear(x, z):
        shapes.append((x.shape, z.shape))
        return sp.csr_matrix(x @ z.T)  # may be sparse

    X, y = three
    model, named = SVC(kernel=linear).fit(X, y), SVC(kernel="linear").fit(X, y)
    assert shapes == [(X.shape, X.shape)]
    assert model.n_kernel_evals_ == len(y) ** 2
    np.testing.assert_allclose(model.dual_coef_, named.dual_coef_, atol=1e-6)
    dear = SVC(kernel=Function(linear, on="blocks")).fit(X, y)
    assert dear.n_kernel_evals_ < len(y) ** 2


def test_a_bare_function_that_is_not_positive_is_found_out(three):
    X, y = three
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        model = SVC(kernel=lambda x, z: np.tanh(x @ z.T - 1)).fit(X, y)
    assert np.isnan(model.gap_)


def test_few_cells_are_written_out_in_full():
    few, many = sp.csr_array((10, 10)), sp.csr_array((1000, 1000))
    assert isinstance(points_on_host(few), np.ndarray)
    for X in (many, WORDS, np.ones((2, 2))):
        assert points_on_host(X) is X


# --- rows on a disk -----------------------------------------------------------------------------


def test_rows_on_a_disk_are_loaded_and_give_the_same_model(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 3)).astype(np.float32)
    y = np.where(X[:, 0] * X[:, 1] > 0, "in", "out")
    np.save(tmp_path / "x.npy", X)
    table = pa.table({name: X[:, j] for j, name in enumerate("abc")} | {"side": y})
    pq.write_table(table.slice(0, 50), tmp_path / "0.parquet")
    pq.write_table(table.slice(50), tmp_path / "1.parquet")
    whole = SVC(gamma=0.5).fit(X, y)
    for source, labels in ((tmp_path / "x.npy", y), (str(tmp_path / "*.parquet"), "side")):
        found = SVC(gamma=0.5, max_memory=4e9).fit(source, labels)
        assert found.dual_coef_.tobytes() == whole.dual_coef_.tobytes()
        assert found.support_.tolist() == whole.support_.tolist()
    assert list(found.feature_names_in_) == ["a", "b", "c"]


def test_what_cannot_be_had_from_a_disk_is_said(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((6, 2)))
    with pytest.raises(ValueError, match="no labels of its own"):
        SVC().fit(tmp_path / "x.npy", None)
    with pytest.raises(ValueError, match="name of a column"):
        SVC().fit(np.ones((6, 2)), "side")
    with pytest.raises(ValueError, match="Allow more by max_memory"):
        SVC(max_memory=1.0).fit(tmp_path / "x.npy", [1, 1, 1, 2, 2, 2])
    with pytest.raises(ValueError, match="max_memory"):
        SVC(max_memory="much").fit(np.eye(2), [1, 2])
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        SVC().fit(tmp_path / "y.npy", [1, 2])


def test_variance_of_a_tensor():
    torch = pytest.importorskip("torch")
    X = 5.0 + np.random.default_rng(0).standard_normal((300, 7))
    assert variance(torch.from_numpy(X)) == pytest.approx(variance(X), rel=1e-12)
    assert variance(torch.from_numpy((10 * X).astype(np.uint8))) == pytest.approx(variance((10 * X).astype(np.uint8)))
    assert variance(torch.full((50, 3), 0.1)) == 0.0
