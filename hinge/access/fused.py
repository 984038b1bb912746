"""Gaussian kernel rows computed, exponentiated and summed in one pass on the GPU (Triton).

No kernel value leaves the chip: the traffic is the points, and a number for each of them.
"""

from typing import Any

import torch
import triton
import triton.language as tl

ROWS, POINTS, FEATURES, WARPS = 128, 64, 64, 8
LOG2E = 1.4426950408889634
PRECISIONS = {"float32": "tf32x3", "tf32": "tf32", "bf16": "ieee"}


@triton.jit
def _combine(
    x, sq_x, z, sq_z, coef, out, n, k, gamma2, D: tl.constexpr, PRECISION: tl.constexpr,
    ROWS: tl.constexpr, POINTS: tl.constexpr, FEATURES: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = i < n
    own = gamma2 * tl.load(sq_x + i, mask=inside, other=0.0)
    total = tl.zeros((ROWS,), tl.float32)
    f = tl.arange(0, FEATURES)
    a = tl.load(x + i[:, None] * D + f[None, :], mask=inside[:, None], other=0.0)
    for first in range(0, k, POINTS):
        j = first + tl.arange(0, POINTS)
        drawn = j < k
        b = tl.load(z + j[None, :] * D + f[:, None], mask=drawn[None, :], other=0.0)
        dots = tl.dot(a, b, input_precision=PRECISION)
        for low in range(FEATURES, D, FEATURES):
            more = low + f
            a_more = tl.load(x + i[:, None] * D + more[None, :], mask=inside[:, None], other=0.0)
            b_more = tl.load(z + j[None, :] * D + more[:, None], mask=drawn[None, :], other=0.0)
            dots = tl.dot(a_more, b_more, dots, input_precision=PRECISION)
        other = gamma2 * tl.load(sq_z + j, mask=drawn, other=0.0)
        weight = tl.load(coef + j, mask=drawn, other=0.0)
        exponent = 2.0 * gamma2 * dots - own[:, None] - other[None, :]
        total += tl.sum(tl.exp2(tl.minimum(exponent, 0.0)) * weight[None, :], axis=1)
    tl.store(out + i, total, mask=inside)


def gaussian_combine(x: Any, sq_x: Any, z: Any, sq_z: Any, coef: Any, gamma: float, precision: str) -> Any:
    """``K(x, z) @ coef`` in float32; the number of features is a multiple of `FEATURES`.

    `precision` "float32" makes each product of three tf32 products, which is as exact as float32; "tf32"
    and "bf16" take one.
    """
    n, d = x.shape
    out = torch.empty(n, device=x.device, dtype=torch.float32)
    _combine[(triton.cdiv(n, ROWS),)](
        x, sq_x, z.contiguous(), sq_z.contiguous(), coef.to(torch.float32), out, n, len(z), gamma * LOG2E,
        D=d, PRECISION=PRECISIONS[precision],
        ROWS=ROWS, POINTS=POINTS, FEATURES=FEATURES, num_warps=WARPS,
    )  # fmt: skip
    return out
