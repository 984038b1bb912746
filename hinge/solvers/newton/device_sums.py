"""Dual weights and sums over all rows of several tasks, a column each, where torch computes.

On a GPU with Triton each is one pass (`fused_sums`).
"""

import importlib.util
from functools import cache
from typing import TYPE_CHECKING

from hinge.access.gram.device import import_torch
from hinge.problems.svm.losses import Loss

if TYPE_CHECKING:  # imported when a device is asked for
    import torch


@cache
def _has_triton() -> bool:
    return importlib.util.find_spec("triton") is not None


def dual_sums(
    loss: Loss,
    mu: "torch.Tensor",
    M: "torch.Tensor",
    center: "torch.Tensor",
    y: "torch.Tensor",
    share: "torch.Tensor",
    alpha: "torch.Tensor",
) -> "tuple[torch.Tensor, torch.Tensor]":
    """The dual weights at margins M, which go to `alpha`: the :math:`c_i\\alpha_iy_i`, and sums of each task.

    These are of the losses, of what the gap has of them, of α and of α² over positive and negative rows, and the
    largest α. Sums of squares are zero where the loss has no curvature.
    """
    if M.is_cuda and _has_triton():
        from hinge.solvers.newton import fused_sums

        return fused_sums.dual_sums(loss, mu, M, center, y, share, alpha)
    e = 1.0 - M
    alpha.copy_(((e + mu * center) / (mu + loss.curvature)).clamp_(loss.low, loss.high))
    mass, short, positive = share * alpha, e.clamp(min=0.0), y > 0.0
    losses = short * short if loss.curvature else short
    rest = losses - alpha * e + 0.5 * loss.curvature * alpha * alpha
    sums = [share * losses, share * rest]
    for part in (mass, mass * alpha if loss.curvature else 0.0 * mass):
        sums += [part * positive, part * ~positive]
    torch = import_torch(str(M.device))
    return mass * y, torch.stack([*(one.sum(0) for one in sums), alpha.amax(0)])


def trial_sums(
    loss: Loss,
    mu: "torch.Tensor",
    M: "torch.Tensor",
    center: "torch.Tensor",
    share: "torch.Tensor",
    q: "torch.Tensor",
    tau: "torch.Tensor",
) -> "torch.Tensor":
    """The slope of the losses after a step τ along which margins change by q, and their curvature there."""
    if M.is_cuda and _has_triton():
        from hinge.solvers.newton import fused_sums

        return fused_sums.trial_sums(loss, mu, M, center, share, q, tau)
    a = (1.0 - M - tau * q + mu * center) / (mu + loss.curvature)
    curved, slopes = (a > loss.low) & (a < loss.high), share * q
    bends = (slopes * q * curved).sum(0) / (mu + loss.curvature)
    torch = import_torch(str(M.device))
    return torch.stack([-(slopes * a.clamp(loss.low, loss.high)).sum(0), bends])
