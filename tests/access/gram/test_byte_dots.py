import llvmlite.binding as llvm
import numpy as np
import pytest
import scipy.sparse as sp

from hinge.access.gram import byte_dots as module
from hinge.access.gram.byte_dots import available, packed, step_of

RNG = np.random.default_rng(0)


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


def test_without_the_instruction_there_are_no_bytes(monkeypatch):
    monkeypatch.setattr(module, "X86", True)
    module._has_instruction.cache_clear()
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: {"avx512f": True, "avx512vnni": False})
    try:
        assert not available()
    finally:
        module._has_instruction.cache_clear()
