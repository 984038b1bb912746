"""Inner products of rows of bytes or bits: sixteen values to an instruction and more, exact.

Pixels and counts are whole multiples 0 to 255 of one step. Their inner products are whole numbers, which
64-bit Arm processors with the dot product extension (all since 2018) and x86 processors with AVX-512 VNNI (servers
since 2019) compute several times as fast as float32. Elsewhere `available` is False and float32 is used. One-hot codes
and other data of one positive value are bits: their inner products are counts of bits, which all processors have
instructions for.

The instruction of x86 multiplies bytes 0 to 255 with bytes -128 to 127: it is given q - 128 for q, and
:math:`\\langle p, q\\rangle = \\langle p, q - 128\\rangle + 128\\sum_k p_k`. Sums that leave 32 bits on the way come
back, since whole numbers of a machine are counted around.
"""

import platform
from functools import cache

import numpy as np

from hinge.compiled import compiled
from hinge.types import Stored

X86 = platform.machine() in ("x86_64", "AMD64")
LANES = 64 if X86 else 16
"""Bytes of a vector."""
SHIFT = 128 if X86 else 0
"""What second factors are less by."""
FEWEST = 2 * LANES if X86 else 1
"""Features from which on bytes are worth while: to add up the lanes of a vector takes as long as many products."""
COMPILED = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
"""Types of numbers that compiled code takes."""


@cache
def _has_instruction() -> bool:
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    if X86:
        return bool(features.get("avx512vnni") and features.get("avx512f"))
    if platform.machine() not in ("aarch64", "arm64"):
        return False
    # Processors with the instruction, by name, where the system does not list it.
    names = ("neoverse", "cortex-a7", "cortex-a55", "cortex-a65", "cortex-x", "apple-m", "apple-a1", "ampere")
    name, older = llvm.get_host_cpu_name(), ("cortex-a72", "cortex-a73")
    return bool(features.get("dotprod")) or (name.startswith(names) and not name.startswith(older))


def available() -> bool:
    """Whether this processor has the instruction, and code is compiled for this processor at all."""
    from numba.core import config

    asked = config.DISABLE_JIT, config.CPU_NAME, config.CPU_FEATURES  # type: ignore[attr-defined]
    return not any(asked) and bool(config.ENABLE_AVX) and _has_instruction()  # type: ignore[attr-defined]


def step_of(X: Stored, most: int = 255) -> tuple[float, float]:
    """The step of which all values are multiples 0 to `most`, up to float32 rounding; how far off they are.

    The step is 0 if there is none.
    """
    values = X if isinstance(X, np.ndarray) else X.data
    if values.size == 0 or values.dtype.str[1:] not in COMPILED or not values.dtype.isnative:
        return 0.0, 0.0
    flat = values.reshape(-1)
    sample = np.abs(flat[:: max(1, flat.size // 65536)].astype(np.float64))
    positive = sample[sample > 0]
    step = float(positive.min()) if len(positive) else 1.0
    if step == 0.0 or not np.isfinite(step):
        return 0.0, 0.0
    largest = float(values.max())
    if largest <= 0 or float(values.min()) < 0 or not np.isfinite(largest):
        return 0.0, 0.0
    multiple = np.rint(largest / step)
    if not 1 <= multiple <= most:
        return 0.0, 0.0
    step = largest / multiple
    off = _off(flat.view(np.uint8) if flat.dtype == bool else flat, step, 2e-7 * largest)
    return (step, off) if off <= 2e-7 * largest else (0.0, 0.0)


@compiled
def _off(values, step, most):
    """The largest distance of a value from a multiple of the step, or the first block's that is too large."""
    worst = 0.0
    per = 1.0 / step
    for lo in range(0, len(values), 4096):
        for x in values[lo : lo + 4096]:
            v = np.float64(x)
            worst = max(worst, abs(v - np.rint(v * per) * step))
        if worst > most:
            break
    return worst


def residuals(X: Stored, step: float) -> np.ndarray:
    """The distance of each row from the multiples of the step that stand for it."""
    values = np.ascontiguousarray(X).reshape(-1) if isinstance(X, np.ndarray) else X.data
    ends = X.shape[1] * np.arange(X.shape[0] + 1) if isinstance(X, np.ndarray) else X.indptr
    return _residuals(values.view(np.uint8) if values.dtype == bool else values, ends, step)


@compiled
def _residuals(values, ends, step):
    out, per = np.empty(len(ends) - 1), 1.0 / step
    for i in range(len(out)):
        total = 0.0
        for x in values[ends[i] : ends[i + 1]]:
            v = np.float64(x)
            total += (v - np.rint(v * per) * step) ** 2
        out[i] = np.sqrt(total) * (1.0 + 1e-12)
    return out


def packed(X: Stored, step: float) -> np.ndarray:
    """The multiples as rows of bytes, padded with zeros to whole vectors, which begin where loads are fast."""
    n, d = X.shape
    width = -(-d // LANES) * LANES
    room = np.zeros(n * width + LANES, np.uint8)
    first = -room.ctypes.data % LANES
    P = room[first : first + n * width].reshape(n, width)
    for lo in range(0, n, 4096):
        part = X[lo : lo + 4096]
        part = part if isinstance(part, np.ndarray) else part.toarray()
        P[lo : lo + 4096, :d] = np.rint(part * np.float32(1.0 / step))
    return P


def bit_planes(X: Stored) -> np.ndarray | None:
    """Where values are not zero, eight features to a byte; None if a row has more ones than a byte counts."""
    n, d = X.shape
    planes = np.zeros((-(-d // 32) * 4, n), np.uint8)
    for lo in range(0, n, 4096):
        part = X[lo : lo + 4096]
        part = (part if isinstance(part, np.ndarray) else part.toarray()) != 0
        if part.sum(axis=1).max(initial=0) > 255:
            return None
        planes[: -(-d // 8), lo : lo + 4096] = np.packbits(part, axis=1).T
    return planes
