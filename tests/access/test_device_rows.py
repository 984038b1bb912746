"""Rows where torch has them, on the CPU where there is no GPU: the products of NumPy."""

import gc
import importlib

import numpy as np
import pytest
import scipy.sparse as sp
from laws.data import compressed

from hinge.access import as_matrix, device_rows
from hinge.access.device_rows import CompressedRows, FullRows, on_device, validated_on_device

has_torch = importlib.util.find_spec("torch") is not None
torch = importlib.import_module("torch") if has_torch else None
needs_torch = pytest.mark.skipif(not has_torch, reason="torch is not installed")
needs_gpu = pytest.mark.skipif(not has_torch or not torch.cuda.is_available(), reason="torch finds no GPU")
DEVICES = [pytest.param("cpu", marks=needs_torch), pytest.param("cuda", marks=[pytest.mark.gpu, needs_gpu])]
FORMS = {
    "full": lambda X: X,
    "bytes": lambda X: (8 * X).astype(np.uint8),
    "bits": lambda X: X > 0.5,
    "few features": lambda X: sp.csr_array(X),
    "compressed": lambda X: sp.csr_array(X.astype(np.float64)),
    "long indices": lambda X: compressed(X, np.float64, np.int64),
}


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return (rng.integers(0, 8, (90, 21)) * (rng.random((90, 21)) < 0.4) / 8).astype(np.float32)


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("form", FORMS)
def test_products_are_those_of_numpy(X, form, where, monkeypatch):
    given = FORMS[form](X)
    if form in ("compressed", "long indices"):
        monkeypatch.setattr(device_rows, "FEW", 20)
    matrix = validated_on_device(given, where)
    assert matrix.dtype == given.dtype  # bytes stay bytes
    rows = on_device(matrix, where)
    assert isinstance(rows, CompressedRows if form in ("compressed", "long indices") else FullRows)
    full = given.toarray() if sp.issparse(given) else given.astype(np.float64)
    full = np.pad(np.column_stack([full, np.ones(90)]), [(0, 0), (0, rows.width - 22)])
    rng = np.random.default_rng(1)
    on = rng.random(90) < 0.3
    for k in (1, 3):
        V, A = rng.standard_normal((rows.width, k)), rng.standard_normal((90, k))
        there = [torch.from_numpy(a).to(where) for a in (V, A, A * on[:, None], on)]
        np.testing.assert_allclose(rows.responses(there[0]).cpu(), full @ V, atol=1e-12)
        np.testing.assert_allclose(rows.combine(there[1]).cpu(), full.T @ A, atol=1e-12)
        np.testing.assert_allclose(rows.diagonals(there[1]).cpu(), (full**2).T @ A, atol=1e-12)
        few, used = rows.some(there[3])
        np.testing.assert_array_equal(used.cpu(), np.flatnonzero(on))
        np.testing.assert_allclose(few.responses(there[0]).cpu(), full[on] @ V, atol=1e-12)
        np.testing.assert_allclose(few.combine(there[1][used]).cpu(), full[on].T @ A[on], atol=1e-12)
        if rows.forms_squares:
            s = (A * on[:, None])[:, 0]
            np.testing.assert_allclose(rows.squares(there[2][:, 0]).cpu(), (full * s[:, None]).T @ full, atol=1e-12)
    everything, which = rows.some(torch.ones(90, dtype=torch.bool, device=where))
    assert everything is rows
    assert which is None
    assert rows.largest_norm == pytest.approx(np.linalg.norm(full[:, :21], axis=1).max())


@needs_torch
def test_sums_in_blocks_are_the_same(X, monkeypatch):
    rows, on = on_device(as_matrix(X), "cpu"), torch.arange(90, dtype=torch.float64)
    expected = rows.squares(on), rows.diagonals(on[:, None]), rows.largest_norm
    del rows.largest_norm  # which it has kept
    monkeypatch.setattr(device_rows, "AT_ONCE", 7 * rows.width)
    monkeypatch.setattr(device_rows, "LITTLE", 0)
    np.testing.assert_allclose(rows.squares(on), expected[0])
    np.testing.assert_allclose(rows.diagonals(on[:, None]), expected[1])
    assert rows.largest_norm == expected[2]


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("little", [1 << 25, 0])
def test_rows_in_float32_are_summed_in_float64(little, where, monkeypatch):
    monkeypatch.setattr(device_rows, "LITTLE", little)
    monkeypatch.setattr(device_rows, "SUMMED", 16)
    rng = np.random.default_rng(0)
    X, V, A = rng.standard_normal((90, 24)).astype(np.float32), rng.standard_normal((24, 2)), rng.random((90, 2))
    X[:, 21:] = 1.0, 0.0, 0.0
    rows = on_device(device_rows.keep_there(torch.from_numpy(X).to(where), 21, where), where)
    v, a = (torch.from_numpy(one).to(where) for one in (V, A))
    full, found = X.astype(np.float64), (rows.responses(v), rows.combine(a), rows.squares(a[:, 0]), rows.diagonals(a))
    assert all(one.dtype == torch.float64 for one in found)
    for one, exact in zip(found, (full @ V, full.T @ A, (full * A[:, :1]).T @ full, (full**2).T @ A), strict=True):
        np.testing.assert_allclose(one.cpu(), exact, atol=2e-5 if where == "cpu" else 5e-2)


@pytest.mark.parametrize("where", DEVICES)
def test_products_in_float32_are_as_exact_as_float32(where):
    A, B = (torch.randn(60, 60, generator=torch.Generator().manual_seed(k)).to(where) for k in (0, 1))
    out = torch.empty(60, 60, device=where)
    device_rows.product(torch, A, B.T, out)
    np.testing.assert_allclose(out.cpu(), (A.double() @ B.T.double()).cpu(), atol=1e-4)


@needs_torch
@pytest.mark.parametrize(("little", "reads"), [(1 << 25, 90 * 21), (0, 30 * 21)], ids=["all", "those that count"])
def test_squares_count_the_rows_that_they_read(X, little, reads, monkeypatch):
    monkeypatch.setattr(device_rows, "LITTLE", little)
    matrix = as_matrix(X)
    rows = on_device(matrix, "cpu")
    before = matrix.reads
    rows.squares(torch.arange(90) % 3 == 0)
    assert matrix.reads - before == reads


@pytest.mark.parametrize("where", DEVICES)
def test_what_is_sent_may_change_or_be_read_only(where, recwarn):
    fixed = np.arange(5.0)
    fixed.flags.writeable = False
    np.testing.assert_array_equal(device_rows.sent(torch, fixed, where).cpu(), np.arange(5))
    assert not recwarn.list
    if where == "cuda":
        busy, number = torch.randn((4096, 4096), device=where), np.zeros(1)
        for k in range(50):  # the device is behind, and still has each number as it was
            busy = busy @ busy
            number[0] = k
            there = device_rows.sent(torch, number, where)
            number[0] = -1.0
            assert float(there) == k


@needs_torch
def test_rows_are_sent_once_counted_and_gone_with_the_matrix(X):
    matrix = as_matrix(X)
    rows = on_device(matrix, "cpu")
    assert on_device(matrix, "cpu") is rows
    assert matrix.reads == X.size
    rows.responses(torch.zeros((rows.width, 2), dtype=torch.float64))
    assert matrix.reads == 2 * X.size
    before = len(device_rows._PLACED)
    del matrix, rows
    gc.collect()
    assert len(device_rows._PLACED) < before


@needs_torch
def test_memory_that_does_not_hold_them_is_a_sentence(X, monkeypatch):
    def short(*_):
        raise torch.cuda.OutOfMemoryError("none left")

    monkeypatch.setattr(device_rows, "_sent", short)
    with pytest.raises(MemoryError, match=r"does not hold 1,890 cells in float64; use device='cpu'"):
        on_device(as_matrix(X), "cpu")


def broken(S, **parts):
    """A matrix some of whose parts are changed behind SciPy's back."""
    for name, value in parts.items():
        setattr(S, name, value)
    return S


@needs_torch
@pytest.mark.parametrize("few", [100, 2], ids=["full there", "compressed there"])
def test_what_is_wrong_is_left_to_who_can_say_it(X, few, monkeypatch):
    monkeypatch.setattr(device_rows, "FEW", few)
    S = sp.csr_array(X)
    assert validated_on_device(S, "cpu").n_cells == S.nnz
    out_of_range, twice, backwards = S.indices.copy(), S.indices.copy(), S.indptr.copy()
    out_of_range[7] = 21
    twice[1] = twice[0]
    backwards[3] = backwards[5] + 1
    wrong = {
        "nan": np.where(np.arange(90)[:, None] == 5, np.nan, X),
        "infinite": np.where(X == 0.5, np.float32(np.inf), X),
        "huge": X.astype(np.float64) * 1e75,
        "no numbers": X.astype(str),
        "a list": X.tolist(),
        "turned": np.asfortranarray(X),
        "empty": X[:0],
        "columns": S.tocsc(),
        "whole numbers": S.astype(np.int32),
        "sparse nan": broken(S.copy(), data=np.full(S.nnz, np.nan, np.float32)),
        "out of range": broken(S.copy(), indices=out_of_range),
        "negative": broken(S.copy(), indices=-1 - S.indices),
        "twice": broken(S.copy(), indices=twice),
        "backwards": broken(S.copy(), indptr=backwards),
        "short": broken(S.copy(), data=S.data[:-1]),
    }
    assert [name for name, rows in wrong.items() if validated_on_device(rows, "cpu") is not None] == []


@needs_gpu
@pytest.mark.gpu
def test_pieces_are_put_together_again(monkeypatch):
    a = np.random.default_rng(0).standard_normal((1000, 33))
    monkeypatch.setattr(device_rows, "PIECE", 1000)
    np.testing.assert_array_equal(device_rows.sent(torch, a, "cuda").cpu(), a)
