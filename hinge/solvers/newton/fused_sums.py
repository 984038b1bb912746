"""Dual weights and sums over all rows of all tasks in one pass on the GPU (Triton).

As operations of torch each of them is some forty launches, which take longer than what is launched.
"""

import torch
import triton
import triton.language as tl

from hinge.problems.svm.losses import Loss

ROWS = 1024
SUMS = 7
"""Of `dual_sums`, the last of which is a largest value."""


@triton.jit
def _clipped(a, low, high):
    """Clip to both bounds; nan stays nan, so that nothing is certified with it."""
    a = tl.where(a <= low, low, a)
    return tl.where(a >= high, high, a)


@triton.jit(do_not_specialize=["n", "of_row", "of_task"])
def _dual_sums(
    m,
    center,
    mu,
    y,
    share,
    alpha,
    signed,
    sums,
    n,
    of_row,
    of_task,
    low,
    high,
    curvature,
    TASKS: tl.constexpr,
    ROWS: tl.constexpr,
    SUMS: tl.constexpr,
):
    """The sums of one block of rows of one task; `of_row` and `of_task` are the strides of `share`."""
    block, j = tl.program_id(0).to(tl.int64), tl.program_id(1)
    i = block * ROWS + tl.arange(0, ROWS)
    inside, at, width = i < n, i * TASKS + j, tl.load(mu + j)
    label = tl.load(y + at, mask=inside, other=0.0)
    c = tl.load(share + i * of_row + j * of_task, mask=inside, other=0.0)
    e = 1.0 - tl.load(m + at, mask=inside, other=0.0)
    hat = tl.load(center + at, mask=inside, other=0.0)
    a = _clipped((e + width * hat) / (width + curvature), low, high)
    mass, short = c * a, tl.where(e <= 0.0, 0.0, e)
    tl.store(alpha + at, a, mask=inside)
    tl.store(signed + at, mass * label, mask=inside)
    loss = tl.where(curvature > 0.0, short * short, short)
    square = tl.where(curvature > 0.0, mass * a, 0.0)
    out = sums + block * SUMS * TASKS + j
    tl.store(out, tl.sum(c * loss))
    tl.store(out + TASKS, tl.sum(c * (loss - a * e + 0.5 * curvature * a * a)))
    tl.store(out + 2 * TASKS, tl.sum(tl.where(label > 0.0, mass, 0.0)))
    tl.store(out + 3 * TASKS, tl.sum(tl.where(label > 0.0, 0.0, mass)))
    tl.store(out + 4 * TASKS, tl.sum(tl.where(label > 0.0, square, 0.0)))
    tl.store(out + 5 * TASKS, tl.sum(tl.where(label > 0.0, 0.0, square)))
    tl.store(out + 6 * TASKS, tl.max(tl.where(inside, a, 0.0)))


@triton.jit(do_not_specialize=["n", "of_row", "of_task"])
def _trial_sums(
    m,
    center,
    mu,
    share,
    q,
    tau,
    sums,
    n,
    of_row,
    of_task,
    low,
    high,
    curvature,
    TASKS: tl.constexpr,
    ROWS: tl.constexpr,
):
    block, j = tl.program_id(0).to(tl.int64), tl.program_id(1)
    i = block * ROWS + tl.arange(0, ROWS)
    inside, at, width = i < n, i * TASKS + j, tl.load(mu + j)
    c = tl.load(share + i * of_row + j * of_task, mask=inside, other=0.0)
    along = tl.load(q + at, mask=inside, other=0.0)
    e = 1.0 - tl.load(m + at, mask=inside, other=0.0) - tl.load(tau + j) * along
    hat = tl.load(center + at, mask=inside, other=0.0)
    a = (e + width * hat) / (width + curvature)
    square = tl.where((a > low) & (a < high), c * along * along, 0.0)
    out = sums + block * 2 * TASKS + j
    tl.store(out, -tl.sum(c * along * _clipped(a, low, high)))
    tl.store(out + TASKS, tl.sum(square) / (width + curvature))


def dual_sums(
    loss: Loss,
    mu: torch.Tensor,
    M: torch.Tensor,
    center: torch.Tensor,
    y: torch.Tensor,
    share: torch.Tensor,
    alpha: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """As `device_newton.dual_sums`."""
    n, tasks = M.shape
    blocks = triton.cdiv(n, ROWS)
    signed, sums = torch.empty_like(M), M.new_empty((blocks, SUMS, tasks))
    with torch.cuda.device(M.device):  # which Triton would not ask
        _dual_sums[(blocks, tasks)](
            M,
            center,
            mu,
            y,
            share,
            alpha,
            signed,
            sums,
            n,
            *share.stride(),
            float(loss.low),
            float(loss.high),
            float(loss.curvature),
            TASKS=tasks,
            ROWS=ROWS,
            SUMS=SUMS,
        )
    return signed, torch.cat([sums[:, :-1].sum(0), sums[:, -1:].amax(0)])


def trial_sums(
    loss: Loss,
    mu: torch.Tensor,
    M: torch.Tensor,
    center: torch.Tensor,
    share: torch.Tensor,
    q: torch.Tensor,
    tau: torch.Tensor,
) -> torch.Tensor:
    """As `device_newton.trial_sums`."""
    n, tasks = M.shape
    blocks = triton.cdiv(n, ROWS)
    q, sums = q.contiguous(), M.new_empty((blocks, 2, tasks))
    with torch.cuda.device(M.device):  # which Triton would not ask
        _trial_sums[(blocks, tasks)](
            M,
            center,
            mu,
            share,
            q,
            tau,
            sums,
            n,
            *share.stride(),
            float(loss.low),
            float(loss.high),
            float(loss.curvature),
            TASKS=tasks,
            ROWS=ROWS,
        )
    return sums.sum(0)
