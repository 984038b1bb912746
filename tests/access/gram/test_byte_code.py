"""Inner products of bytes and bits are exact."""

from types import SimpleNamespace

import llvmlite.binding as llvm
import numpy as np
import pytest
import scipy.sparse as sp
from access.gram.point_kinds import needs_instruction
from hypothesis import given
from hypothesis import strategies as st
from llvmlite import ir

from hinge.access.gram import byte_code
from hinge.access.gram.byte_code import bit_dots, byte_dots
from hinge.access.gram.byte_dots import bit_planes, packed


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


@pytest.mark.parametrize(
    ("x86", "triple", "cpu", "instruction"),
    [(True, "x86_64", "sapphirerapids", "vpdpbusd\t%zmm"), (False, "aarch64", "neoverse-n1", "udot\tv")],
)
def test_both_kinds_of_processor_have_one_instruction_for_each_pair(monkeypatch, x86, triple, cpu, instruction):
    monkeypatch.setattr(byte_code, "X86", x86)
    monkeypatch.setattr(byte_code, "LANES", 64 if x86 else 16)
    signature, emit = byte_code._dots_4x4._defn(None, *[None] * 9)
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
