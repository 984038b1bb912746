"""Rounds of the block dual method on a device, of several problems together: a line of every array for each.

The loss of a point, divided by λ, is :math:`hi \\max(0, g - \\varepsilon) - lo \\max(0, -g - \\varepsilon)` with
:math:`g = y - r - b`: of the hinge one of the bounds is zero, and ε is. The β of a group sum to a given number, whose
multiplier is the group's bias b: with a free bias all β sum to zero, and in a ν-SVM the β of a class to ±M.
Nothing here waits for the device. Where problems differ in their numbers of points, lines are filled up with points
whose only β is zero and that weigh nothing.
"""

from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from hinge.access.gram.device import import_torch
from hinge.solvers.kernel.douglas_rachford import solve_blocks

if TYPE_CHECKING:
    import torch


class Lines(NamedTuple):
    """Problems, and where they are.

    Attributes
    ----------
    y, lo, hi : tensor of shape (p, n)
        Labels or targets, and the least and the largest β.
    groups, sums : tensor of shape (p, n, k) and (p, k)
        1 where a point is of a group, else 0, and the sum of the β of each group; without a bias k is zero.
    beta, r, path : tensor of shape (p, n)
        Coefficients, responses, and the way that each β has come; written in place.
    """

    y: "torch.Tensor"
    lo: "torch.Tensor"
    hi: "torch.Tensor"
    groups: "torch.Tensor"
    sums: "torch.Tensor"
    beta: "torch.Tensor"
    r: "torch.Tensor"
    path: "torch.Tensor"

    @property
    def between(self) -> "torch.Tensor":
        """Whether points are strictly between their bounds, of which zero is one."""
        return (self.beta > self.lo) & (self.beta < self.hi) & (self.beta != 0.0)

    def bias(self, b: "torch.Tensor") -> "torch.Tensor":
        """The bias of each point, from the biases of the groups."""
        return (self.groups @ b[:, :, None])[:, :, 0]

    def violation(self, b: "torch.Tensor", epsilon: float) -> "torch.Tensor":
        """By how much the slope of each point, at biases b of the groups, asks it to go where it can."""
        above = below = self.r - self.y + self.bias(b)
        if epsilon:
            above = torch_of(b).where(self.beta >= 0.0, below + epsilon, below - epsilon)
            below = torch_of(b).where(self.beta > 0.0, below + epsilon, below - epsilon)
        return (-above * (self.beta < self.hi)).clamp(min=0.0) + (below * (self.beta > self.lo)).clamp(min=0.0)


class Seen(NamedTuple):
    """The evaluation of each line: ‖w‖², Σ yβ - ε|β|, the loss divided by λ, its slope along w, counts, and biases.

    Counted are the points between their bounds, and of the others that violate their conditions. The biases are the
    best of each group, whose products with the sums are part of the loss.
    """

    sq: float
    linear: float
    loss: float
    pull: float
    free: int
    off: int
    b: tuple[float, ...]

    @classmethod
    def from_numbers(cls, found: list[float]) -> "Seen":
        """The numbers that `look` gives of a line."""
        sq, linear, loss, pull, free, off, *b = found
        return cls(sq, linear, loss, pull, int(free), int(off), tuple(b))


def first_sets(lines: Lines, size: int, u: "torch.Tensor") -> "torch.Tensor":
    """Points to begin with, by draws u: half of each class, or all of one and the more of the other."""
    torch = torch_of(u)
    score = torch.where(lines.hi > lines.lo, u, -1.0)
    for side in (lines.hi > 0.0, lines.lo < 0.0):
        drawn = torch.topk(torch.where(side, u, -1.0), size // 2, dim=1)[1]
        score.scatter_add_(1, drawn, side.gather(1, drawn).to(u.dtype))
    return torch.topk(score, size, dim=1)[1]


def working_sets(
    lines: Lines,
    b: "torch.Tensor",
    size: int,
    u: "torch.Tensor | None",
    drawn: "torch.Tensor",
    roomy: "torch.Tensor",
    epsilon: float = 0.0,
) -> "torch.Tensor":
    """All points between bounds if they fit, and violating points up to the size of the block.

    Parameters
    ----------
    b : tensor of shape (p, k)
        Biases of the groups.
    drawn, roomy : tensor of shape (p, 1)
        Whether points that violate are drawn (else the worst are taken), and whether there is room.
    size : int
    u : tensor of shape (p, n), optional
        Draws, where any are drawn.
    epsilon : float
    """
    torch = torch_of(b)
    violation = lines.violation(b, epsilon)
    share = violation / violation.amax(1, keepdim=True).clamp(min=1e-300)
    score = share if u is None else torch.where(drawn & (violation > 0.0), u, share)
    # Where there are too many between their bounds, these take turns with the others.
    score = torch.where(lines.between & roomy, 2.0 + share, score)
    return torch.topk(score, size, dim=1)[1]


def move(
    lines: Lines,
    work: "torch.Tensor",
    K: "torch.Tensor",
    b: "torch.Tensor",
    rho: "torch.Tensor",
    steps: int,
    epsilon: float = 0.0,
) -> "tuple[torch.Tensor, torch.Tensor]":
    """Solve the working sets, whose kernel values are K: the changes of their β, and by how much ρ should differ.

    Responses are left as they are.
    """
    beta, slopes, bias, lo, hi = (
        one.gather(1, work) for one in (lines.beta, lines.r - lines.y, lines.bias(b), lines.lo, lines.hi)
    )
    groups = lines.groups.gather(1, work[:, :, None].expand(-1, -1, lines.groups.shape[2]))
    others = lines.sums - (lines.groups * lines.beta[:, :, None]).sum(1)
    sums = others + (groups * beta[:, :, None]).sum(1)
    solved = solve_blocks(K, beta, slopes, lo, hi, bias, rho, steps, groups, sums, epsilon)
    change = solved.beta - beta
    lines.beta.scatter_(1, work, solved.beta)
    lines.path.scatter_add_(1, work, change.abs())
    return change, solved.balance


def look(lines: Lines, epsilon: float = 0.0) -> "torch.Tensor":
    """The fields of `Seen` of each line."""
    y, lo, hi, _, sums, beta, r, _ = lines
    b = best_biases(lines, epsilon)
    bias, between = lines.bias(b), lines.between
    above, below = y - r - bias - epsilon, r + bias - y - epsilon
    off = (lines.violation(b, epsilon) > 0.0) & ~between
    loss, pull = hi * above.clamp(min=0.0) - lo * below.clamp(min=0.0), (hi * (above > 0.0) + lo * (below > 0.0)) * r
    linear, level = (y * beta - epsilon * beta.abs()).sum(1), (b * sums).sum(1)
    found = (beta * r).sum(1), linear, loss.sum(1) + level, pull.sum(1), between.sum(1), off.sum(1), *b.unbind(1)
    return torch_of(r).stack(found, 1)


def best_biases(lines: Lines, epsilon: float = 0.0) -> "torch.Tensor":
    """The biases of each line with the least loss: the kink of the loss at which the mass of upper bounds is used up.

    In the middle of two kinks, where the loss does not change between them.
    """
    torch, (y, lo, hi, groups, sums), r = torch_of(lines.r), lines[:5], lines.r
    b = torch.zeros_like(sums)
    for g, own in enumerate(groups.unbind(2)):
        kinks, sizes = y - r, own * (hi - lo)
        if epsilon:
            kinks, sizes = torch.cat([kinks - epsilon, kinks + epsilon], 1), torch.cat([own * hi, -own * lo], 1)
        kinks, order = torch.where(sizes > 0.0, kinks, torch.inf).sort(1)
        mass = sizes.gather(1, order).cumsum(1)
        target = (own * hi).sum(1, keepdim=True) - sums[:, g : g + 1]
        at = (mass < (1.0 - 1e-12) * target).sum(1, keepdim=True).clamp(max=kinks.shape[1] - 1)
        here, after = kinks.gather(1, at), kinks.gather(1, (at + 1).clamp(max=kinks.shape[1] - 1))
        flat = ((mass.gather(1, at) - target).abs() <= 1e-12 * mass[:, -1:]) & after.isfinite()
        best = torch.where(flat, 0.5 * (here + after), here)
        b[:, g : g + 1] = torch.where(best.isfinite(), best, 0.0)  # no point of the group can move
    return b


def torch_of(array: "torch.Tensor") -> ModuleType:
    """The module that the array is of."""
    return import_torch(str(array.device))
