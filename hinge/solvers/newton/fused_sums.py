"""Dual weights and sums over all rows of all tasks in one pass on the GPU (Triton).

As operations of torch each of them is some forty launches, which take longer than what is launched.
"""

import torch
import triton
import triton.language as tl

from hinge.problems.svm.losses import Loss

ROWS = 1024
SUMS = 11
"""Of `dual_sums`, the last of which is a largest value."""


@triton.jit
def _clipped(a, low, high):
    """Clip to both bounds; nan stays nan, so that nothing is certified with it."""
    a = tl.where(a <= low, low, a)
    return tl.where(a >= high, high, a)


@triton.jit
def _slopes(e, hat, width, epsilon, curvature):
    """The slopes of the smoothed loss at e, which are not yet clipped to those of the loss."""
    z = e + width * hat
    return (z - _clipped(z, -epsilon, epsilon)) / (width + curvature)


@triton.jit(do_not_specialize=["n", "t_row", "t_task", "of_row", "of_task"])
def _dual_sums(
    m,
    center,
    mu,
    epsilon,
    y,
    target,
    share,
    alpha,
    signed,
    sums,
    n,
    t_row,
    t_task,
    of_row,
    of_task,
    low,
    high,
    curvature,
    TASKS: tl.constexpr,
    ROWS: tl.constexpr,
    SUMS: tl.constexpr,
):
    """The sums of one block of rows of one task; `t_row` and the like are the strides of `target` and `share`."""
    block, j = tl.program_id(0).to(tl.int64), tl.program_id(1)
    i = block * ROWS + tl.arange(0, ROWS)
    inside, at, width, spared = i < n, i * TASKS + j, tl.load(mu + j), tl.load(epsilon)
    label = tl.load(y + at, mask=inside, other=0.0)
    c = tl.load(share + i * of_row + j * of_task, mask=inside, other=0.0)
    t = tl.load(target + i * t_row + j * t_task, mask=inside, other=0.0)
    e = t - tl.load(m + at, mask=inside, other=0.0)
    hat = tl.load(center + at, mask=inside, other=0.0)
    a = _clipped(_slopes(e, hat, width, spared, curvature), low, high)
    size = tl.abs(a)
    mass, beyond = c * size, tl.where(low < 0.0, tl.abs(e), e) - spared
    short, toward = tl.where(beyond <= 0.0, 0.0, beyond), c * a * label
    tl.store(alpha + at, a, mask=inside)
    tl.store(signed + at, toward, mask=inside)
    loss = tl.where(curvature > 0.0, short * short, short)
    linear, extent = c * a * t - spared * mass, mass * (tl.abs(t) + spared)
    square = tl.where(curvature > 0.0, mass * size, 0.0)
    out = sums + block * SUMS * TASKS + j
    tl.store(out, tl.sum(c * loss))
    tl.store(out + TASKS, tl.sum(c * (loss - a * e + spared * size + 0.5 * curvature * a * a)))
    tl.store(out + 2 * TASKS, tl.sum(tl.where(toward > 0.0, mass, 0.0)))
    tl.store(out + 3 * TASKS, tl.sum(tl.where(toward > 0.0, linear, 0.0)))
    tl.store(out + 4 * TASKS, tl.sum(tl.where(toward > 0.0, extent, 0.0)))
    tl.store(out + 5 * TASKS, tl.sum(tl.where(toward > 0.0, square, 0.0)))
    tl.store(out + 6 * TASKS, tl.sum(tl.where(toward < 0.0, mass, 0.0)))
    tl.store(out + 7 * TASKS, tl.sum(tl.where(toward < 0.0, linear, 0.0)))
    tl.store(out + 8 * TASKS, tl.sum(tl.where(toward < 0.0, extent, 0.0)))
    tl.store(out + 9 * TASKS, tl.sum(tl.where(toward < 0.0, square, 0.0)))
    tl.store(out + 10 * TASKS, tl.max(tl.where(inside, size, 0.0)))


@triton.jit(do_not_specialize=["n", "t_row", "t_task", "of_row", "of_task"])
def _trial_sums(
    m,
    center,
    mu,
    epsilon,
    target,
    share,
    q,
    tau,
    sums,
    n,
    t_row,
    t_task,
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
    inside, at, width, spared = i < n, i * TASKS + j, tl.load(mu + j), tl.load(epsilon)
    c = tl.load(share + i * of_row + j * of_task, mask=inside, other=0.0)
    along = tl.load(q + at, mask=inside, other=0.0)
    t = tl.load(target + i * t_row + j * t_task, mask=inside, other=0.0)
    e = t - tl.load(m + at, mask=inside, other=0.0) - tl.load(tau + j) * along
    hat = tl.load(center + at, mask=inside, other=0.0)
    a = _slopes(e, hat, width, spared, curvature)
    square = tl.where((a > low) & (a < high) & (a != 0.0), c * along * along, 0.0)
    out = sums + block * 2 * TASKS + j
    tl.store(out, -tl.sum(c * along * _clipped(a, low, high)))
    tl.store(out + TASKS, tl.sum(square) / (width + curvature))


def _number(like: torch.Tensor, value: float) -> torch.Tensor:
    """A number in float64 on the device: numbers that are passed to a kernel are rounded to float32."""
    return like.new_full((1,), value)


def dual_sums(
    loss: Loss,
    mu: torch.Tensor,
    M: torch.Tensor,
    center: torch.Tensor,
    y: torch.Tensor,
    target: torch.Tensor,
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
            _number(mu, loss.epsilon),
            y,
            target,
            share,
            alpha,
            signed,
            sums,
            n,
            *target.stride(),
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
    target: torch.Tensor,
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
            _number(mu, loss.epsilon),
            target,
            share,
            q,
            tau,
            sums,
            n,
            *target.stride(),
            *share.stride(),
            float(loss.low),
            float(loss.high),
            float(loss.curvature),
            TASKS=tasks,
            ROWS=ROWS,
        )
    return sums.sum(0)
