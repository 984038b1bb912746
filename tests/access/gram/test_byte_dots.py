from types import SimpleNamespace

import llvmlite.binding as llvm
import numpy as np
import pytest
import scipy.sparse as sp
from access.gram.point_kinds import needs_instruction
from hypothesis import given
from hypothesis import strategies as st
from llvmlite import ir

from hinge.access.gram import byte_dots as module
from hinge.access.gram.byte_dots import available, bit_dots, bit_planes, byte_dots, packed, step_of

RNG = np.random.default_rng(0)


@pytest.mark.slow
@needs_instruction
@given(st.integers(0, 13), st.integers(0, 13), st.integers(1, 70), st.integers(0, 2**32 - 1))
def test_byte_dots_are_exact(R, C, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 256, (15, d))
    rows, columns = rng.integers(0, 15, R), rng.integers(0, 15, C)
    G = np.full((R, C), np.nan, np.float32)
    byte_dots(packed(X, 1.0), np.zeros(len(X), np.int32), rows, columns, np.float32(0.25), G)
    np.testing.assert_array_equal(G, (X[rows] @ X[columns].T).astype(np.float32) * np.float32(0.25))


@needs_instruction
def test_every_pair_of_byte_values():
    X, every = np.arange(256)[:, None], np.arange(256)
    G = np.empty((256, 256), np.float32)
    byte_dots(packed(X, 1.0), np.zeros(256, np.int32), every, every, np.float32(1), G)
    np.testing.assert_array_equal(G, X * X.T)


@needs_instruction
def test_distances_of_bytes_are_rounded_once():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 256, (9, 5000))
    sq = (X * X).sum(1)
    G = np.empty((9, 9), np.float32)
    byte_dots(packed(X, 1.0), sq.astype(np.int32), np.arange(9), np.arange(9), np.float32(1), G)
    half = 0.5 * ((X[:, None] - X) ** 2).sum(2)
    np.testing.assert_array_equal(G, -half.astype(np.float32))


@needs_instruction
def test_byte_dots_at_the_limits():
    d = ((1 << 30) - 1) // 255**2
    X = np.full((5, d), 255)
    G = np.empty((5, 300), np.float32)
    byte_dots(packed(X, 1.0), np.zeros(len(X), np.int32), np.arange(5), np.zeros(300, np.int64), np.float32(1), G)
    assert (np.float32(d * 255**2) == G).all()


@pytest.mark.slow
@given(st.integers(0, 9), st.integers(0, 40), st.integers(1, 100), st.booleans(), st.integers(0, 2**32 - 1))
def test_bit_dots_are_exact(R, C, d, consecutive, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((50, d)) < rng.random()
    rows = rng.integers(0, 50, R)
    columns = np.arange(C) + rng.integers(0, 50 - C) if consecutive else rng.integers(0, 50, C)
    G = np.full((R, C), np.nan, np.float32)
    bit_dots(bit_planes(X), rows, columns, np.float32(0.25), G)
    np.testing.assert_array_equal(G, (X[rows].astype(int) @ X[columns].T.astype(int)) * np.float32(0.25))


def test_bits_of_a_row_are_counted_in_a_byte():
    X = np.zeros((3, 2000), bool)
    X[1, ::7][:255] = True
    X[2] = X[1]
    G = np.empty((1, 1), np.float32)
    for data in (X, sp.csr_array(X), X * 0.5):
        bit_dots(bit_planes(data), np.array([1]), np.array([2]), np.float32(1), G)
        assert G[0, 0] == 255
    X[2, 1] = True
    assert bit_planes(X) is None and bit_planes(sp.csr_array(X)) is None


BYTES = RNG.integers(0, 256, (40, 30))
BYTES[0, :2] = 1, 255


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "step"),
    [
        (BYTES, 1.0),
        (BYTES.astype(np.uint8), 1.0),
        (BYTES.astype(np.float32) / 255, 1 / 255),
        (BYTES.astype(np.float64) / 255, 1 / 255),
        (BYTES.astype(np.float32) / np.float32(256), 1 / 256),
        (BYTES * 0.1, 0.1),
        (np.eye(5), 1.0),
        (np.eye(5, dtype=bool), 1.0),
        (0.7 * np.eye(5, dtype=np.float32), 0.7),
        (sp.csr_array(np.eye(5) * 3), 3.0),
        (sp.csr_array(BYTES / 255), 1 / 255),
        (np.array([[0, 1, 2], [7, 0, 3]]), 1.0),
    ],
)
def test_steps_are_found(values, step):
    found, off = step_of(values)
    assert found == pytest.approx(step, rel=1e-6)
    dense = values.toarray() if sp.issparse(values) else values
    assert off == np.abs(dense - np.rint(dense / found) * found).max()
    np.testing.assert_allclose(packed(values, found)[:, : dense.shape[1]] * found, dense, rtol=1e-6)
    assert not packed(values, found)[:, dense.shape[1] :].any() and packed(values, found).shape[1] % 16 == 0


@pytest.mark.parametrize(
    "values",
    [
        BYTES - 1.0,
        -BYTES,
        BYTES * 2 + (BYTES == 0) * 1,
        BYTES + 1e-3 * RNG.random(BYTES.shape),
        RNG.standard_normal((9, 9)),
        np.abs(RNG.standard_normal((9, 9))),
        np.array([[1.0, 256.0]]),
        np.array([[1.0, 1.5]]),
        np.zeros((3, 3)),
        np.empty((3, 0)),
        np.array([[1.0, np.nan]]),
        np.array([[1.0, np.inf]]),
        np.array([[1.0, -np.inf]]),
        np.array([[1.0, 2.0], [3.0, 1e30]]),
        np.array([["a"]]),
        np.array([[1j]]),
        sp.csr_array((3, 3)),
        sp.csr_array(-np.eye(3)),
    ],
)
def test_where_there_is_no_step(values):
    assert step_of(values) == (0.0, 0.0)


def test_one_positive_value_is_bits():
    assert step_of(np.eye(3) * 0.7, most=1) == (pytest.approx(0.7), 0.0)
    assert step_of(np.array([[0.0, 1.0, 2.0]]), most=1)[0] == 0.0
    assert step_of(np.array([[0.0, 2.0, 1.0], [1.0, 1.0, 1.0]]), most=1)[0] == 0.0


def test_without_compilation_there_is_no_instruction(monkeypatch):
    from numba.core import config

    monkeypatch.setattr(config, "DISABLE_JIT", 1)
    assert not available()


def test_bytes_in_another_order_have_no_step():
    assert step_of(BYTES.astype(">f8")) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("x86", "triple", "cpu", "instruction"),
    [(True, "x86_64", "sapphirerapids", "vpdpbusd\t%zmm"), (False, "aarch64", "neoverse-n1", "udot\tv")],
)
def test_both_kinds_of_processor_have_one_instruction_for_each_pair(monkeypatch, x86, triple, cpu, instruction):
    monkeypatch.setattr(module, "X86", x86)
    monkeypatch.setattr(module, "LANES", 64 if x86 else 16)
    signature, emit = module._dots_4x4._defn(None, *[None] * 9)
    number, four = ir.IntType(64), ir.ArrayType(ir.IntType(64), 4)
    made = ir.Module()
    kinds = [number, number, four, four, number, number, ir.FloatType(), number, number]
    function = ir.Function(made, ir.FunctionType(ir.VoidType(), kinds), "dots")
    builder = ir.IRBuilder(function.append_basic_block())
    emit(SimpleNamespace(get_dummy_value=lambda: None), builder, signature, function.args)
    builder.ret_void()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    parsed = llvm.parse_assembly(str(made))
    parsed.triple = f"{triple}-unknown-linux-gnu"
    machine = llvm.Target.from_triple(parsed.triple).create_target_machine(cpu=cpu, opt=3)
    assert machine.emit_assembly(parsed).count(instruction) == 16


def test_without_the_instruction_there_are_no_bytes(monkeypatch):
    monkeypatch.setattr(module, "X86", True)
    module._has_instruction.cache_clear()
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: {"avx512f": True, "avx512vnni": False})
    try:
        assert not available()
    finally:
        module._has_instruction.cache_clear()
