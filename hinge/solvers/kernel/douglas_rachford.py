"""The dual problem of a block by splitting, for devices that multiply matrices fast and branch slowly.

.. math:: \\min_\\beta\\ \\tfrac12\\beta^\\top K\\beta + c^\\top\\beta, \\qquad lo \\le \\beta \\le hi,
          \\quad \\textstyle\\sum_i\\beta_i = s \\text{ with a free bias}

is a quadratic function on a plane, and a box. Let e be its slopes at the β where the block is. The nearest point of the
box is :math:`\\Pi(v) = \\min(\\max(v, lo), hi)`; where the quadratic function, with a pull of strength ρ towards w, is
least in the plane is linear in w,

.. math:: R(w) = \\beta + \\Big(M - \\frac{gg^\\top}{\\mathbf 1^\\top g}\\Big)(\\rho(w - \\beta) - e),
          \\qquad M = (K + \\rho I)^{-1},\\quad g = M\\mathbf 1,

and the method of Douglas and Rachford goes back and forth between the two,

.. math:: v \\leftarrow v + \\tau\\big(R(2\\Pi(v) - v) - \\Pi(v)\\big), \\qquad 0 < \\tau < 2,

until Π(v) is the optimum: v - Π(v) are the slopes at the bounds, divided by -ρ. A step is one product of a matrix and a
vector and moves all points of the block; nothing is decided on the way, so all steps are begun at once, and on a GPU
are one recorded graph. Pairs of points, one after the other, need thousands of steps that each wait for the last one.

Of few steps Π(v) is not quite in the plane and may overshoot: it is moved into the plane, and the answer is the best
point on the way there from where the block was, so that no block makes the dual worse. R is written by how far it is
from β: what rounding does to M is relative to that, and less from one round to the next.

J. Eckstein, D. P. Bertsekas, *On the Douglas-Rachford splitting method and the proximal point algorithm*, 1992;
S. Boyd, N. Parikh, E. Chu, B. Peleato, J. Eckstein, *Distributed Optimization ... via ADMM*, 2011, 3.4 and 5.2.
"""

from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from hinge.access.gram.device import import_torch

if TYPE_CHECKING:
    import torch

RELAXATION = 1.6
"""τ."""
SECTIONS, CUTS = 3, 1024
"""The shift into the plane is found by so many cuts of its range, each into this many parts."""
WHOLE = 0.9
"""Share of the best gain on the way from which on all of it is gone: points then stop at their bounds, not before."""
AT_ONCE = 10
"""Steps of a recorded graph."""
RECORDED = 8
"""Graphs that are kept, with their matrices, for later blocks of the same size."""


class Solved(NamedTuple):
    """What became of a block: its β, and by how much strength ρ should differ for both residuals to be equal."""

    beta: "torch.Tensor"
    balance: "torch.Tensor"


def solve_block(
    K: "torch.Tensor",
    beta: "torch.Tensor",
    e: "torch.Tensor",
    lo: "torch.Tensor",
    hi: "torch.Tensor",
    b: float,
    rho: float,
    steps: int,
    free: bool,
) -> Solved:
    """Go `steps` steps towards the optimum of a block, on the device of its arrays and without waiting for it.

    Parameters
    ----------
    K : tensor of shape (m, m)
    beta, e, lo, hi : tensor of shape (m,)
        Where the block is, the slopes Kβ + c there, and its bounds.
    b : float
        The bias, by which slopes at bounds are told from those that are to vanish.
    rho, steps, free
        ρ, the number of steps, and whether the sum is kept.
    """
    torch = import_torch(str(K.device))
    M, fast = _inverse(torch, K, rho), K.dtype
    fixed = beta - _product(M, rho * beta + e)
    if free:
        g = M.sum(1)
        fixed = fixed + (beta.sum() - fixed.sum()) / g.sum() * g
        M = torch.addr(M, g, g / g.sum(), alpha=-1.0)
    slopes = e + b
    outward = torch.where(beta <= lo, slopes.clamp(min=0.0), torch.where(beta >= hi, slopes.clamp(max=0.0), 0.0 * e))
    low, high = lo.to(fast), hi.to(fast)
    v, before = _walk(torch, rho * M, fixed.to(fast), (beta - outward / rho).to(fast), low, high, steps)
    # Both residuals of the method in units of slopes, as of ADMM.
    off, moved = (v - before).norm() / RELAXATION, (v.clamp(low, high) - before.clamp(low, high)).norm()
    balance = (off * K.diagonal().mean() / (rho * moved).clamp(min=1e-30)).sqrt()
    v = v.to(e.dtype)
    way = (_into_plane(torch, v, lo, hi, beta.sum()) if free else v.clamp(lo, hi)) - beta
    falls, curve = -(e @ way), way @ _product(K, way)
    best = (falls / curve.clamp(min=1e-300)).clamp(0.0, 1.0)
    length = torch.where(falls - 0.5 * curve >= WHOLE * best * (falls - 0.5 * best * curve), falls.new_ones(()), best)
    return Solved((beta + torch.where(falls > 0.0, length, 0.0) * way).clamp(lo, hi), balance)


def _inverse(torch: ModuleType, K: "torch.Tensor", rho: float) -> "torch.Tensor":
    """(K + ρI)⁻¹, to the digits of tf32 on a GPU: what it is off by is relative to how far the block moves."""
    unit = torch.eye(len(K), dtype=K.dtype, device=K.device)
    flags = torch.backends.cuda.matmul
    before, flags.allow_tf32 = flags.allow_tf32, True
    try:
        root = torch.linalg.solve_triangular(torch.linalg.cholesky_ex(K + rho * unit)[0], unit, upper=False)
        return root.T @ root
    finally:
        flags.allow_tf32 = before


def _product(K: "torch.Tensor", x: "torch.Tensor") -> "torch.Tensor":
    return (K @ x.to(K.dtype)).to(x.dtype)


def _into_plane(
    torch: ModuleType, v: "torch.Tensor", lo: "torch.Tensor", hi: "torch.Tensor", s: "torch.Tensor"
) -> "torch.Tensor":
    """The nearest point to v of the box whose sum is s: v less a number, which the sum falls with, and a clip."""
    low, high = (v - hi).min(), (v - lo).max()
    parts = torch.linspace(0.0, 1.0, CUTS + 1, dtype=v.dtype, device=v.device)
    for _ in range(SECTIONS):
        shifts = low + (high - low) * parts
        sums = (v - shifts[:, None]).clamp(lo, hi).sum(1)
        at = (sums > s).sum().clamp(1, CUTS).view(1)
        (low, high), (more, less) = (torch.cat([a.gather(0, at - 1), a.gather(0, at)]) for a in (shifts, sums))
    # No bend is left in between, or hardly one.
    shift = low + (high - low) * ((more - s) / (more - less).clamp(min=1e-300)).clamp(0.0, 1.0)
    return (v - shift).clamp(lo, hi)


def _steps(
    torch: ModuleType,
    P: "torch.Tensor",
    fixed: "torch.Tensor",
    v: "torch.Tensor",
    lo: "torch.Tensor",
    hi: "torch.Tensor",
    steps: int,
) -> "torch.Tensor":
    """Take these steps, in place; returns the v before the last of them."""
    before = v
    for _ in range(steps):
        before, z = v.clone(), torch.clamp(v, lo, hi)
        v.add_(torch.addmv(fixed, P, torch.sub(2.0 * z, v)).sub_(z), alpha=RELAXATION)
    return before


_GRAPHS: dict[tuple[Any, ...], tuple[Any, list[Any], Any]] = {}


def _walk(
    torch: ModuleType,
    P: "torch.Tensor",
    fixed: "torch.Tensor",
    v: "torch.Tensor",
    lo: "torch.Tensor",
    hi: "torch.Tensor",
    steps: int,
) -> tuple["torch.Tensor", "torch.Tensor"]:
    """The v after these steps, a multiple of `AT_ONCE`, and the one before the last.

    On a GPU `AT_ONCE` of them are one graph, recorded at the first block of this size and played again ever after.
    """
    given: list[Any] = [P, fixed, v, lo, hi]
    if P.device.type != "cuda":
        before = _steps(torch, P, fixed, v, lo, hi, steps)
        return v, before
    key = P.device, P.dtype, len(P)
    if key not in _GRAPHS:
        while len(_GRAPHS) >= RECORDED:
            _GRAPHS.pop(next(iter(_GRAPHS)))
        own = [one.clone() for one in given]
        # What libraries make ready at a first call cannot be recorded.
        _steps(torch, own[0], own[1], own[2], own[3], own[4], 2)
        torch.cuda.synchronize(P.device)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            last = _steps(torch, own[0], own[1], own[2], own[3], own[4], AT_ONCE)
        _GRAPHS[key] = graph, own, last
    graph, own, last = _GRAPHS[key]
    for mine, one in zip(own, given, strict=True):
        mine.copy_(one)
    for _ in range(steps // AT_ONCE):
        graph.replay()
    return own[2], last
