"""Gaussian kernel values in one pass on the GPU (Triton): products, exponentials, and sums or a store.

Where they are summed no kernel value leaves the chip: the traffic is the points, and a number for each.
"""

import math

import torch
import triton
import triton.language as tl

from hinge.access.gram.base import FEATURES

ROWS, POINTS, WARPS = 128, 64, 8
WIDE = 128
"""Up to this number, all features are multiplied in one step: the rows then stay in registers."""
LOG2E = math.log2(math.e)
PRECISIONS = {"float32": "tf32x3", "tf32": "tf32", "bf16": "ieee"}


@triton.jit
def _exponents(
    x, z, i, j, inside, drawn, own, other, gamma2, a, D: tl.constexpr, PRECISION: tl.constexpr, FEATURES: tl.constexpr
):
    """-γ‖x - z‖² in units of log 2, for a tile of pairs; `a` holds the first features of x."""
    f = tl.arange(0, FEATURES)
    b = tl.load(z + j[None, :] * D + f[:, None], mask=drawn[None, :], other=0.0)
    dots = tl.dot(a, b, input_precision=PRECISION)
    for low in range(FEATURES, D, FEATURES):
        more = low + f
        a_more = tl.load(x + i[:, None] * D + more[None, :], mask=inside[:, None], other=0.0)
        b_more = tl.load(z + j[None, :] * D + more[:, None], mask=drawn[None, :], other=0.0)
        dots = tl.dot(a_more, b_more, dots, input_precision=PRECISION)
    return tl.minimum(2.0 * gamma2 * dots - own[:, None] - other[None, :], 0.0)


@triton.jit(do_not_specialize=["n", "k"])
def _combine(
    x,
    sq_x,
    rows,
    z,
    sq_z,
    coef,
    out,
    n,
    k,
    gamma2,
    D: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    POINTS: tl.constexpr,
    FEATURES: tl.constexpr,
):
    """Sums for one block of rows of one part: `rows` says which rows of x are in it, None stands for all."""
    part = tl.program_id(1).to(tl.int64)
    line = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = line < n
    i = line
    if rows is not None:
        i = tl.load(rows + part * n + line, mask=inside, other=0)
    z, sq_z, coef = z + part * k * D, sq_z + part * k, coef + part * k
    own = gamma2 * tl.load(sq_x + i, mask=inside, other=0.0)
    total = tl.zeros((ROWS,), tl.float32)
    a = tl.load(x + i[:, None] * D + tl.arange(0, FEATURES)[None, :], mask=inside[:, None], other=0.0)
    for first in range(0, k, POINTS):
        j = first + tl.arange(0, POINTS)
        drawn = j < k
        other = gamma2 * tl.load(sq_z + j, mask=drawn, other=0.0)
        weight = tl.load(coef + j, mask=drawn, other=0.0)
        e = _exponents(x, z, i, j, inside, drawn, own, other, gamma2, a, D, PRECISION, FEATURES)
        total += tl.sum(tl.exp2(e) * weight[None, :], axis=1)
    tl.store(out + part * n + line, total, mask=inside)


@triton.jit(do_not_specialize=["n", "k"])
def _fill(
    x,
    sq_x,
    z,
    sq_z,
    out,
    n,
    k,
    gamma2,
    D: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    POINTS: tl.constexpr,
    FEATURES: tl.constexpr,
):
    part = tl.program_id(2).to(tl.int64)
    x, sq_x, z, sq_z, out = x + part * n * D, sq_x + part * n, z + part * k * D, sq_z + part * k, out + part * n * k
    i = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    j = tl.program_id(1).to(tl.int64) * POINTS + tl.arange(0, POINTS)
    inside, drawn = i < n, j < k
    own = gamma2 * tl.load(sq_x + i, mask=inside, other=0.0)
    other = gamma2 * tl.load(sq_z + j, mask=drawn, other=0.0)
    a = tl.load(x + i[:, None] * D + tl.arange(0, FEATURES)[None, :], mask=inside[:, None], other=0.0)
    e = _exponents(x, z, i, j, inside, drawn, own, other, gamma2, a, D, PRECISION, FEATURES)
    tl.store(out + i[:, None] * k + j[None, :], tl.exp2(e), mask=inside[:, None] & drawn[None, :])


@triton.jit(do_not_specialize=["n", "k"])
def _weigh(dots, sq_x, sq_z, coef, out, n, k, gamma_at, POINTS: tl.constexpr):
    """A row of inner products in float64 becomes the sum of weighted kernel values; γ as a number would be float32."""
    i = tl.program_id(0).to(tl.int64)
    own, gamma = tl.load(sq_x + i), tl.load(gamma_at)
    total = tl.zeros((POINTS,), tl.float64)
    for first in range(0, k, POINTS):
        j = first + tl.arange(0, POINTS)
        inside = j < k
        dot = tl.load(dots + i * k + j, mask=inside, other=0.0)
        distance = own + tl.load(sq_z + j, mask=inside, other=0.0) - 2.0 * dot
        weight = tl.load(coef + j, mask=inside, other=0.0)
        total += tl.exp(tl.minimum(-gamma * distance, 0.0)) * weight
    tl.store(out + i, tl.sum(total, axis=0))


def gaussian_weighted(
    dots: torch.Tensor, sq_x: torch.Tensor, sq_z: torch.Tensor, coef: torch.Tensor, gamma: float
) -> torch.Tensor:
    """``K(x, z) @ coef`` in float64 from the inner products of all pairs."""
    n, k = dots.shape
    out = torch.empty(n, device=dots.device, dtype=torch.float64)
    gamma_at = torch.full((1,), gamma, device=dots.device, dtype=torch.float64)
    _weigh[(n,)](dots, sq_x, sq_z, coef.contiguous(), out, n, k, gamma_at, POINTS=1024, num_warps=4)
    return out


def gaussian_values(
    x: torch.Tensor, sq_x: torch.Tensor, z: torch.Tensor, sq_z: torch.Tensor, gamma: float, precision: str
) -> torch.Tensor:
    """``K(x, z)`` in float32, written once; the number of features is a multiple of `FEATURES`.

    Of several parts, each a matrix of x and of z, if there is an axis before the axis of the points.
    """
    *parts, n, d = x.shape
    k = z.shape[-2]
    out = torch.empty((*parts, n, k), device=x.device, dtype=torch.float32)
    _fill[(triton.cdiv(n, ROWS), triton.cdiv(k, POINTS), *(parts or [1]))](
        x.contiguous(),
        sq_x.contiguous(),
        z.contiguous(),
        sq_z.contiguous(),
        out,
        n,
        k,
        gamma * LOG2E,
        D=d,
        PRECISION=PRECISIONS[precision],
        ROWS=ROWS,
        POINTS=POINTS,
        FEATURES=_at_once(x),
        num_warps=WARPS,
    )
    return out


def gaussian_combine(
    x: torch.Tensor,
    sq_x: torch.Tensor,
    z: torch.Tensor,
    sq_z: torch.Tensor,
    coef: torch.Tensor,
    gamma: float,
    precision: str,
    rows: torch.Tensor | None = None,
) -> torch.Tensor:
    """``K(x, z) @ coef`` in float32; the number of features is a multiple of `FEATURES`.

    `precision` "float32" makes each product of three tf32 products, which is as exact as float32; "tf32"
    and "bf16" take one. Of several parts, if z has an axis more: ``K(x[rows[q]], z[q]) @ coef[q]``.
    """
    n = len(x) if rows is None else rows.shape[1]
    parts, k = (1 if rows is None else len(rows)), z.shape[-2]
    out = torch.empty((parts, n), device=x.device, dtype=torch.float32)
    _combine[(triton.cdiv(n, ROWS), parts)](
        x,
        sq_x,
        rows,
        z.contiguous(),
        sq_z.contiguous(),
        coef.to(torch.float32).contiguous(),
        out,
        n,
        k,
        gamma * LOG2E,
        D=x.shape[1],
        PRECISION=PRECISIONS[precision],
        ROWS=ROWS,
        POINTS=POINTS,
        FEATURES=_at_once(x),
        num_warps=WARPS,
    )
    return out[0] if rows is None else out


def _at_once(x: torch.Tensor) -> int:
    """Number of features that are multiplied in one step."""
    return WIDE if x.shape[-1] == WIDE and x.dtype == torch.bfloat16 else FEATURES
