import numpy as np
import pytest
import scipy.sparse as sp

import hinge
from hinge.access import Gram, Matrix, SparseTable, as_matrix, as_points, as_table
from hinge.access.structure import as_csr, cells_and_counts, check_parts, only_columns
from hinge.kernels import Gaussian

DENSE = np.array([[1.0, 0, 2, 0], [0, 0, 0, 3], [0, 4, 0, 5], [6, 0, 7, 8.0], [0, 0, 0, 0], [9, 1, 0, 0]])
LABELS = np.array([1, -1, 1, -1, 1, -1])
BIG = 1 << 40


def csr(kind=sp.csr_array, dtype=np.float64, **parts):
    """A sound matrix with some parts replaced: by values at places, or as a whole."""
    S = kind(DENSE.astype(dtype))
    for name, change in parts.items():
        part = getattr(S, name)
        if isinstance(change, dict):
            wide = part.dtype.kind == "i" and any(abs(value) >= 1 << 31 for value in change.values())
            part = part.astype(np.int64) if wide else part.copy()
            for place, value in change.items():
                part[place] = value
        else:
            part = change(part)
        setattr(S, name, part)
    return S


BROKEN = {
    "beyond": (dict(indices={3: 4}), "row 2 has an entry in column 4 of 4"),
    "negative": (dict(indices={0: -1}), "row 0 has an entry in column -1 of 4"),
    "long": (dict(indices={9: BIG}), f"column {BIG} of 4"),
    "falls": (dict(indptr={2: 0}), "does not ascend"),
    "wraps": (dict(indptr={2: (1 << 63) - 1, 3: -(1 << 63)}), "does not ascend"),
    "starts": (dict(indptr={0: 1}), "does not ascend from 0"),
    "ends": (dict(indptr={-1: 11}), "indptr ends at 11, but there are 10 indices and 10 values"),
    "ends far": (dict(indptr={-1: BIG}), f"indptr ends at {BIG}"),
    "short": (dict(indptr=lambda p: p[:-1]), "indptr has 6 entries, but 6 rows need 7"),
    "few values": (dict(data=lambda v: v[:-1]), "10 indices and 9 values"),
    "few indices": (dict(indices=lambda i: i[:3]), "3 indices and 10 values"),
    "floats": (dict(indices=lambda i: i.astype(float)), "indices is of float64"),
    "unsigned": (dict(indptr=lambda p: p.astype(np.uint32)), "indptr is of uint32"),
    "swapped": (dict(indices=lambda i: i.astype(">i4")), "not one-dimensional int32 or int64"),
    "list": (dict(indptr=lambda p: p.tolist()), "indptr is of list"),
    "two-dimensional": (dict(data=lambda v: v[:, None]), "one of 2 dimensions"),
}

DOORS = {
    "Matrix": Matrix,
    "as_matrix": as_matrix,
    "as_table": as_table,
    "columns": lambda X: SparseTable(DENSE, X.T) if X.format == "csr" else SparseTable(DENSE, X),
    "as_points": lambda X: Gram(as_points(X, Gaussian(1.0))),
    "LinearSVC": lambda X: hinge.LinearSVC().fit(X, LABELS),
    "partial_fit": lambda X: hinge.LinearSVC().partial_fit(X, LABELS, classes=[-1, 1]),
    "predict": lambda X: hinge.LinearSVC().fit(DENSE, LABELS).predict(X),
    "SVC": lambda X: hinge.SVC().fit(X, LABELS),
    "decision_function": lambda X: hinge.SVC().fit(DENSE, LABELS).decision_function(X),
    "OneClassSVM": lambda X: hinge.OneClassSVM().fit(X),
    "NuSVC": lambda X: hinge.NuSVC(nu=0.1).fit(X, LABELS),
    "Regularized": lambda X: hinge.Regularized(X, LABELS, 0.1),
    "max_margin": lambda X: hinge.max_margin(X, LABELS),
    "enclosing_ball": hinge.enclosing_ball,
    "solve_game": hinge.solve_game,
}


@pytest.mark.slow
@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_broken_parts_are_named(what, kind):
    parts, sentence = BROKEN[what]
    with pytest.raises(ValueError, match="The sparse matrix is broken") as error:
        as_csr(csr(kind, **parts))
    assert sentence in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("door", [name for name in DOORS if name != "columns"])
@pytest.mark.parametrize("what", ["beyond", "negative", "falls", "ends far", "few values"])
def test_every_door_is_shut(door, what):
    with pytest.raises(ValueError, match="The sparse matrix is broken"):
        DOORS[door](csr(**BROKEN[what][0]))


@pytest.mark.parametrize("what", ["beyond", "negative", "falls", "ends far", "few values"])
def test_other_formats_are_checked_before_they_are_converted(what, tmp_path):
    X = csr(**BROKEN[what][0])
    turned = sp.csc_array(DENSE.T)
    turned.data, turned.indices, turned.indptr = X.data, X.indices, X.indptr
    blocks = sp.bsr_array(DENSE, blocksize=(1, 1))
    blocks.data, blocks.indices, blocks.indptr = X.data[:, None, None], X.indices, X.indptr
    for broken in (turned, blocks):
        with pytest.raises(ValueError, match="The sparse matrix is broken"):
            as_csr(broken)
    for written in (X, turned, [X], iter([X])):
        with pytest.raises(ValueError, match="broken"):
            hinge.write_pair(written, tmp_path / "pair")
    with pytest.raises(ValueError, match="broken"):
        SparseTable(sp.csr_array(DENSE.T), columns=turned)
    with pytest.raises(ValueError, match="broken"):
        hinge.semidefinite([csr(lambda D: sp.csr_array(D[:4, :4]), indices={0: 9})])


def test_coordinates_diagonals_and_lists():
    coo = sp.coo_array(DENSE)
    coo.coords = coo.coords[0], coo.coords[1] + 3
    dia = sp.dia_array(DENSE)
    dia.offsets = dia.offsets[:-1]
    lil, far, dok = sp.lil_array(DENSE), sp.lil_array(DENSE), sp.dok_array(DENSE)
    lil.rows[2] = [0] * 500
    far.rows[1] = [4000]
    dok._dict[0, BIG] = 1.0
    for X, sentence in [
        (coo, "an entry at 6 of 4, on axis 1"),
        (dia, "its diagonals"),
        (lil, "not as many columns"),
        (far, "row 1 has an entry in column 4000 of 4"),
        (dok, "broken"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            as_csr(X)
    with pytest.raises(ValueError, match="1 dimension"):
        as_csr(sp.coo_array(DENSE[0]))
    check_parts(sp.coo_array(DENSE[0]))  # a vector is fine where vectors are


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.complex128])
def test_what_is_sound_is_not_copied(kind, dtype):
    X = csr(kind, dtype)
    found, finite = as_csr(X)
    assert found is X and finite
    for name in ("csc", "coo", "bsr", "lil", "dok", "dia"):
        assert (as_csr(X.asformat(name))[0].toarray() == DENSE.astype(dtype)).all()


@pytest.mark.slow
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("place", [0, 4, 9])
def test_values_that_are_not_finite_are_seen(value, dtype, place):
    assert as_csr(csr(dtype=dtype, data={place: 3e38}))[1]
    X = csr(dtype=dtype)
    X.data[place] = value
    assert not as_csr(X)[1]
    for door in ("LinearSVC", "predict", "SVC", "decision_function", "OneClassSVM"):
        with pytest.raises(ValueError, match=r"contains NaN|contains infinity"):
            DOORS[door](X)


def test_flags_that_lie_are_not_believed():
    rows = ([5.0, 1.0, 2.0, 7.0], [3, 0, 0, 1], [0, 3, 4])  # unsorted, and column 0 twice
    X = sp.csr_array((np.array(rows[0]), np.array(rows[1]), np.array(rows[2])), shape=(2, 4))
    X.has_sorted_indices = X.has_canonical_format = True
    found, _ = as_csr(X)
    assert found is not X and found.toarray().tolist() == [[3, 0, 0, 5], [0, 7, 0, 0]] and found.nnz == 3
    assert X.nnz == 4  # the caller's is not written
    X.indices[2] = 2
    found, _ = as_csr(X)
    assert not found.has_sorted_indices and np.shares_memory(found.data, X.data)  # read as they are
    repeated, plain = sp.csr_array(([1.0, 2.0], [0, 0], [0, 2, 2]), shape=(2, 2)), [[3.0, 0.0], [0, 0]]
    repeated.has_canonical_format = True
    for kernel in ("rbf", "linear", "poly"):
        model = hinge.SVC(kernel=kernel, gamma=0.1).fit([[3.0, 0], [0, 1], [1, 1], [2, 5]], [1, -1, 1, -1])
        assert np.allclose(model.decision_function(repeated), model.decision_function(plain))


def test_what_lies_behind_the_end_is_left_out():
    X = csr(data=lambda v: np.append(v, np.nan), indices=lambda i: np.append(i, 99).astype(i.dtype))
    found, finite = as_csr(X)
    assert finite and len(found.data) == len(found.indices) == 10
    assert hinge.SVC().fit(X, LABELS).kernel_ == hinge.SVC().fit(sp.csr_array(DENSE), LABELS).kernel_


def test_wide_matrices_need_no_table_of_columns():
    X = sp.csr_array(([1.0, 2.0, 4.0], [5, 3, 5], [0, 3]), shape=(1, 1 << 30))
    assert as_csr(X)[0].indices.tolist() == [3, 5] and as_csr(X)[0].data.tolist() == [2.0, 5.0]


def test_empty_and_odd_shapes():
    for shape in ((0, 3), (3, 0), (0, 0), (3, 3)):
        X = sp.csr_array(shape)
        assert as_csr(X) == (X, True)
    strided = csr(indices=lambda i: np.repeat(i, 2)[::2], data=lambda v: np.repeat(v, 2)[::2])
    assert (as_csr(strided)[0].toarray() == DENSE).all()
    mixed = csr(indptr=lambda p: p.astype(np.int64))
    assert (as_matrix(mixed).responses(np.ones(4), 0, 6) == DENSE.sum(axis=1)).all()


def test_columns_that_are_left_out_and_cells_with_their_counts():
    X = sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [3.0, 4.0, 0.0]], np.float32))
    left = only_columns(X, np.array([True, False, True]))
    np.testing.assert_array_equal(left.toarray(), [[1, 0, 2], [0, 0, 0], [3, 0, 0]])
    assert left.nnz == 3 and left.indptr.dtype == X.indptr.dtype
    values, columns, counts = cells_and_counts(X)
    assert values.dtype == np.float64 and values.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert columns.tolist() == [0, 2, 0, 1] and counts.tolist() == [2, 0, 2]


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr"])
def test_values_in_another_byte_order_are_converted(kind):
    X = sp.csr_array(np.array([[1.0, 0.0], [0.5, -2.0]])).asformat(kind)
    foreign = X.copy()
    foreign.data = foreign.data.astype(X.dtype.newbyteorder())
    found, finite = as_csr(foreign)
    assert finite and found.dtype.isnative
    np.testing.assert_array_equal(found.toarray(), X.toarray())
    assert not foreign.dtype.isnative  # the caller's matrix is left as it is


def test_values_that_are_no_array_are_named():
    S = sp.csr_array(DENSE)
    S.data = S.data.tolist()
    with pytest.raises(ValueError, match="broken: its values are no array"):
        as_csr(S)
