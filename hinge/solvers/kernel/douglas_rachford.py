"""The dual problem of a block by splitting, for devices that multiply matrices fast and branch slowly.

.. math:: \\min_\\beta\\ \\tfrac12\\beta^\\top K\\beta + c^\\top\\beta + \\varepsilon\\|\\beta\\|_1, \\qquad
          lo \\le \\beta \\le hi, \\quad \\textstyle\\sum_{i\\in G}\\beta_i = s_G \\text{ for each group } G

is a quadratic function on planes, and a box with a norm; ε is zero for the hinge. With a free bias all points are a
group, and each class of a ν-SVM is one. Let e be the slopes of the former at the β where the block is. With a pull of
strength ρ towards v the best point of the box is v, shrunk and then clipped,

.. math:: \\Pi(v) = \\min(\\max(u, lo), hi), \\qquad
          u = v - \\min(\\max(v, -\\varepsilon/\\rho), \\varepsilon/\\rho);

where the quadratic function, with such a pull towards w, is least in the planes is linear in w,

.. math:: R(w) = \\beta + M(\\rho(w - \\beta) - e),
          \\qquad M = (K + \\rho I)^{-1} \\text{, and then } M - \\frac{gg^\\top}{\\mathbf 1_G^\\top g},\\quad
          g = M\\mathbf 1_G, \\text{ for one group after the other,}

and the method of Douglas and Rachford goes back and forth between the two,

.. math:: v \\leftarrow v + \\tau\\big(R(2\\Pi(v) - v) - \\Pi(v)\\big), \\qquad 0 < \\tau < 2,

until Π(v) is the optimum: v - Π(v) are the slopes at bounds and kinks, divided by -ρ. A step is one product of a
matrix and a vector and moves all points of the block; nothing is decided on the way, so all steps are launched
together, on a GPU as one recorded graph. Pairs of points, one after the other, need thousands of steps that each wait
for the last one.
Blocks of one size of several problems are solved together: a line each of every array.

Of few steps Π(v) is not quite in the planes and may overshoot: it is moved into them, and the answer is the best
point on the way there from where the block was, so that no block makes the dual worse. R is written by how far it is
from β: what rounding does to M is relative to that, and less from one round to the next.

J. Eckstein, D. P. Bertsekas, *On the Douglas-Rachford splitting method and the proximal point algorithm*, 1992;
S. Boyd, N. Parikh, E. Chu, B. Peleato, J. Eckstein, *Distributed Optimization ... via ADMM*, 2011, 3.4 and 5.2.
"""

from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from hinge.access.gram.device import import_torch, tf32
from hinge.threads import OfThread

if TYPE_CHECKING:
    import torch

RELAXATION = 1.6
"""τ."""
WHOLE = 0.9
"""Share of the best gain on the way from which on all of it is gone: points then stop at their bounds, not before."""
AT_ONCE = 10
"""Steps of a recorded graph."""
RECORDED = 8
"""Graphs that a thread keeps, with their matrices, for later blocks of the same size."""
LEAF = 64
"""Largest matrix that is inverted by its own factor where several are; larger ones are made of two by products."""


class Solved(NamedTuple):
    """What became of blocks: their β, and by how much strength ρ should differ for both residuals to be equal."""

    beta: "torch.Tensor"
    balance: "torch.Tensor"


class Splitting(NamedTuple):
    """R(w) = fixed + Pw of each block, the box, v, and ε/ρ if ε is not zero."""

    P: "torch.Tensor"
    fixed: "torch.Tensor"
    lo: "torch.Tensor"
    hi: "torch.Tensor"
    v: "torch.Tensor"
    width: "torch.Tensor | None"


def solve_blocks(
    K: "torch.Tensor",
    beta: "torch.Tensor",
    e: "torch.Tensor",
    lo: "torch.Tensor",
    hi: "torch.Tensor",
    b: "torch.Tensor",
    rho: "torch.Tensor",
    steps: int,
    groups: "torch.Tensor",
    sums: "torch.Tensor",
    epsilon: float = 0.0,
) -> Solved:
    """Go `steps` steps towards the optimum of each block, on the device of its arrays and without waiting for it.

    Parameters
    ----------
    K : tensor of shape (p, m, m)
    beta, e, lo, hi : tensor of shape (p, m)
        Where the blocks are, the slopes Kβ + c there, and their bounds.
    b : tensor of shape (p, 1) or (p, m)
        The biases, which separate slopes at bounds from slopes that are to vanish.
    rho : tensor of shape (p, 1)
    steps : int
    groups : tensor of shape (p, m, k)
        1 where a point is of a group, else 0; a point is of one group at most.
    sums : tensor of shape (p, k)
        What the β of each group are to sum to; they do so already but for rounding.
    epsilon : float
    """
    torch, fast = import_torch(str(K.device)), K.dtype
    strength = rho.to(fast)[:, :, None]
    M = _inverse(torch, K, strength)
    fixed = beta - _product(M, rho * beta + e)
    for own, s in _each(groups, sums):
        g = _product(M, own)
        total = _sum(own * g).clamp(min=1e-300)  # zero where no point of the block is of the group
        fixed = fixed + (s - _sum(own * fixed)) / total * g
        g, total = g.to(fast), total.to(fast).clamp(min=torch.finfo(fast).tiny)
        M = torch.baddbmm(M, g[:, :, None], (g / total)[:, None, :], alpha=-1.0)
    # The slopes that the bounds and the kink at zero take up.
    kink = torch.full_like(beta, epsilon)
    least = torch.where(beta > 0.0, kink, -kink).masked_fill(beta <= lo, -torch.inf)
    most = torch.where(beta < 0.0, -kink, kink).masked_fill(beta >= hi, torch.inf)
    first = beta + torch.clamp(-e - b, least, most) / rho
    width = epsilon / rho if epsilon else None
    low, high, narrow = lo.to(fast), hi.to(fast), None if width is None else width.to(fast)
    v, before = _walk(torch, Splitting(strength * M, fixed.to(fast), low, high, first.to(fast), narrow), steps)
    # Both residuals of the method in units of slopes, as of ADMM.
    best, last = (_best(torch, one, low, high, narrow) for one in (v, before))
    off, moved = (v - before).norm(dim=1) / RELAXATION, (best - last).norm(dim=1)
    size = K.diagonal(dim1=1, dim2=2).mean(1)
    balance = (off * size / (rho[:, 0] * moved).clamp(min=1e-30)).sqrt()
    v = v.to(e.dtype)
    way = _into_planes(torch, v, lo, hi, width, groups, sums) - beta
    falls, curve = -_sum(e * way), _sum(way * _product(K, way))
    if epsilon:  # a chord of the norm is above it
        falls -= epsilon * _sum((beta + way).abs() - beta.abs())
    best = (falls / curve.clamp(min=1e-300)).clamp(0.0, 1.0)
    whole = falls - 0.5 * curve >= WHOLE * best * (falls - 0.5 * best * curve)
    length = torch.where(falls > 0.0, torch.where(whole, 1.0, best), 0.0)
    beta = (beta + torch.where(length > 0.0, length * way, 0.0)).clamp(lo, hi)  # a factor may have failed
    for own, s in _each(groups, sums):  # what rounding left of the sums goes to points between bounds, not at zero
        room = own * torch.minimum(torch.minimum(hi - beta, beta - lo), beta.abs())
        beta = (beta + (s - _sum(own * beta)) * room / _sum(room).clamp(min=1e-300)).clamp(lo, hi)
    return Solved(beta, balance)


def _each(groups: "torch.Tensor", sums: "torch.Tensor") -> "Iterator[tuple[torch.Tensor, torch.Tensor]]":
    """Which points each group has, of shape (p, m), and its sums, of shape (p, 1)."""
    return zip(groups.unbind(2), sums[:, :, None].unbind(1), strict=True)


def _sum(x: "torch.Tensor") -> "torch.Tensor":
    return x.sum(1, keepdim=True)


def _inverse(torch: ModuleType, K: "torch.Tensor", rho: "torch.Tensor") -> "torch.Tensor":
    """(K + ρI)⁻¹, of a single block to the digits of tf32: what it is off by is relative to how far the block moves."""
    A = K + rho * torch.eye(K.shape[1], dtype=K.dtype, device=K.device)
    single = len(K) == 1
    with tf32(torch, single):  # halves of halves would add its errors up
        return _by_factor(torch, A) if single else _by_halves(torch, A)


def _by_factor(torch: ModuleType, A: "torch.Tensor") -> "torch.Tensor":
    unit = torch.eye(A.shape[1], dtype=A.dtype, device=A.device).expand_as(A)
    root = torch.linalg.solve_triangular(torch.linalg.cholesky_ex(A)[0], unit, upper=False)
    return root.mT @ root


def _by_halves(torch: ModuleType, A: "torch.Tensor") -> "torch.Tensor":
    """The inverses of positive matrices by the inverses of their first halves and of the Schur complements.

    .. math:: \\begin{pmatrix} A & B^\\top \\\\ B & D \\end{pmatrix}^{-1} =
              \\begin{pmatrix} X + W^\\top YW & -W^\\top Y \\\\ -YW & Y \\end{pmatrix}, \\qquad
              X = A^{-1},\\ W = BX,\\ Y = (D - WB^\\top)^{-1}

    Nearly all of it are products of many matrices together; factors of many are made line by line.
    """
    if A.shape[1] <= LEAF:
        return _by_factor(torch, A)
    half, out = A.shape[1] // 2, torch.empty_like(A)
    B, Bt = A[:, half:, :half], A[:, :half, half:]
    X = _by_halves(torch, A[:, :half, :half])
    W = torch.bmm(B, X)
    Y = _by_halves(torch, torch.baddbmm(A[:, half:, half:], W, Bt, alpha=-1.0))
    YW = torch.bmm(Y, W)
    out[:, half:, half:] = Y
    out[:, half:, :half] = -YW
    out[:, :half, half:] = -YW.mT
    out[:, :half, :half] = torch.baddbmm(X, W.mT, YW)
    return out


def _product(K: "torch.Tensor", x: "torch.Tensor") -> "torch.Tensor":
    return (K @ x.to(K.dtype)[:, :, None])[:, :, 0].to(x.dtype)


def _into_planes(
    torch: ModuleType,
    v: "torch.Tensor",
    lo: "torch.Tensor",
    hi: "torch.Tensor",
    width: "torch.Tensor | None",
    groups: "torch.Tensor",
    sums: "torch.Tensor",
) -> "torch.Tensor":
    """The best point of the box with these sums: Π of v less a number for each group, which its sum falls with."""
    last = 2 * v.shape[1] - 1 if width is None else 4 * v.shape[1] - 1
    for own, s in _each(groups, sums):
        # The shifts at which a point leaves its upper bound and reaches the lower one; between them it stays at zero.
        if width is None:
            bends, steeper = [v - hi, v - lo], [-own, own]
        else:
            bends, steeper = [v - hi - width, v - width, v + width, v - lo + width], [-own, own, -own, own]
        at, order = torch.cat(bends, 1).sort(1)
        slopes = torch.cat(steeper, 1).gather(1, order).cumsum(1)
        fallen = (slopes[:, :-1] * at.diff(dim=1)).cumsum(1)
        excess = _sum(own * hi) - s  # of the sum at the first bend
        k = _sum(excess + fallen > 0.0).clamp(max=last - 1)
        left = (excess + fallen).gather(1, (k - 1).clamp(min=0))
        left = torch.where(k > 0, left, excess)
        low, high = at.gather(1, k), at.gather(1, k + 1)
        shift = torch.clamp(low + left / (-slopes.gather(1, k)).clamp(min=1e-300), low, high)
        v = torch.where(own > 0.0, v - shift, v)
    return _best(torch, v, lo, hi, width)


def _best(
    torch: ModuleType, v: "torch.Tensor", lo: "torch.Tensor", hi: "torch.Tensor", width: "torch.Tensor | None"
) -> "torch.Tensor":
    """Π(v)."""
    return torch.clamp(v if width is None else v - torch.clamp(v, -width, width), lo, hi)


def _steps(torch: ModuleType, at: Splitting, steps: int) -> "torch.Tensor":
    """Take these steps, in place; returns the v before the last of them."""
    P, fixed, lo, hi, v, width = at
    before = v
    for _ in range(steps):
        before, z = v.clone(), _best(torch, v, lo, hi, width)
        w = torch.sub(2.0 * z, v)
        if len(P) == 1:  # of which there is a faster product
            R = torch.addmv(fixed[0], P[0], w[0])[None]
        else:
            R = torch.baddbmm(fixed[:, :, None], P, w[:, :, None])[:, :, 0]
        v.add_(R.sub_(z), alpha=RELAXATION)
    return before


_RECORDED: OfThread[tuple[Any, Splitting, "torch.Tensor"]] = OfThread()
"""The graphs of this thread, whose matrices no other thread writes to."""


def _walk(torch: ModuleType, given: Splitting, steps: int) -> tuple["torch.Tensor", "torch.Tensor"]:
    """The v after these steps, a multiple of `AT_ONCE`, and the one before the last.

    On a GPU `AT_ONCE` of them are one graph, recorded at the first block of this size and played again ever after.
    Steps of several blocks take longer than their calls.
    """
    P = given.P
    if P.device.type != "cuda" or len(P) > 1:
        before = _steps(torch, given, steps)
        return given.v, before
    graphs, key = _RECORDED.kept, (P.device, P.dtype, P.shape, given.width is None)
    if key not in graphs:
        while len(graphs) >= RECORDED:
            graphs.pop(next(iter(graphs)))
        graphs[key] = _record(torch, given)
    graph, own, last = graphs[key]
    for mine, one in zip(own, given, strict=True):
        if mine is not None and one is not None:
            mine.copy_(one)
    for _ in range(steps // AT_ONCE):
        graph.replay()
    return own.v, last


def _record(torch: ModuleType, given: Splitting) -> tuple[Any, Splitting, "torch.Tensor"]:
    """A graph of steps, the arrays that it reads and writes, and the v before its last step."""
    own = given._replace(**{name: one.clone() for name, one in given._asdict().items() if one is not None})
    with tf32(torch, False):  # one thread at a time
        _steps(torch, own, 2)  # what libraries make ready at a first call cannot be recorded
        torch.cuda.synchronize(own.P.device)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            last = _steps(torch, own, AT_ONCE)
    return graph, own, last
