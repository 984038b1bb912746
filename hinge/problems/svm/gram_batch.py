"""Several kernel SVMs over one Gram matrix that lies on a device as a whole: folds, values of C, classes."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hinge.access.arrays import to_host
from hinge.problems.base import Certificate
from hinge.problems.batch import Batch, BatchCertificate, combine_certificates
from hinge.problems.svm.losses import Loss

if TYPE_CHECKING:
    import torch

ROWS = 2048
"""Rows of the matrix that are converted to float64 at a time."""

FLAT = 1e-10
"""Share of the mass below which a slope is rounding."""
INVERSES = 6
"""Inverses that are kept."""


class GramAnswers(NamedTuple):
    """The answers of all members, a column each, on the device.

    Attributes
    ----------
    beta, responses : tensor of shape (n, p)
        Coefficients, and ⟨w, φ(xᵢ)⟩ of all points, also of those that take no part; in float64.
    biases : tensor of shape (p,)
    """

    beta: "torch.Tensor"
    responses: "torch.Tensor"
    biases: "torch.Tensor"


class GramBatch(Batch):
    """Kernel SVMs with one Gram matrix; a point that takes no part in a member has a box of zero there.

    The dual of every member is the same quadratic function, in another box:

    .. math:: \\max_\\beta\\ y^\\top\\beta - \\varepsilon\\|\\beta\\|_1 - \\tfrac12\\beta^\\top K\\beta, \\qquad
              |\\beta_i| \\le B_i,\\quad \\beta_iy_i \\ge 0 \\text{ for labels},\\quad
              \\textstyle\\sum_i\\beta_i = 0 \\text{ with a free bias}

    Held-out rows of a fold have :math:`B_i = 0`, and their decision values come with the others. The gap is certified
    for the kernel values as they lie on the device, with sums in float64: their own rounding is not part of it.

    Parameters
    ----------
    K : tensor of shape (n, n)
    aims, boxes : tensor of shape (n, p)
        Labels -1 and +1, or targets; and B, in float64.
    loss : Loss
        The hinge, or the ε-insensitive loss.
    free : bool
        Whether there is a free bias.
    """

    def __init__(
        self, K: "torch.Tensor", aims: "torch.Tensor", boxes: "torch.Tensor", loss: Loss, *, free: bool = True
    ) -> None:
        self.K, self.aims, self.boxes, self.loss, self.free = K, aims, boxes, loss, free
        self.n, self.members = len(K), ()
        self._inverses: dict[float, torch.Tensor] = {}

    reads = 0
    kernel_evals = 0
    pass_cells = 0

    def responses(self, beta: "torch.Tensor") -> "torch.Tensor":
        """Kβ in float64."""
        out = beta.new_empty(beta.shape)
        for lo in range(0, self.n, ROWS):
            out[lo : lo + ROWS] = self.K[lo : lo + ROWS].double() @ beta
        return out

    def inverse(self, rho: float) -> "torch.Tensor":
        """(K + ρI)⁻¹, less what changes the sum of β with a free bias; kept for others of this ρ."""
        import torch

        if rho not in self._inverses:
            if len(self._inverses) >= INVERSES:
                self._inverses.clear()
            A = self.K.clone()
            A.diagonal().add_(rho)
            M = torch.cholesky_inverse(torch.linalg.cholesky_ex(A)[0])
            if self.free:
                g = M.sum(1)
                M.addr_(g, g / g.sum(), alpha=-1.0)
            self._inverses[rho] = M
        return self._inverses[rho]

    def limits(self, which: "torch.Tensor") -> "tuple[torch.Tensor, torch.Tensor]":
        """Bounds of β of some members."""
        aims, boxes = self.aims[:, which], self.boxes[:, which]
        if self.loss.two_sided:
            return -boxes, boxes
        return -boxes * (aims < 0), boxes * (aims > 0)

    def measured(
        self, answer: GramAnswers, which: "torch.Tensor | slice" = slice(None)
    ) -> "tuple[torch.Tensor, torch.Tensor, torch.Tensor]":
        """The best biases of some members' answers, and their primal and dual values, of shape (p,)."""
        (beta, r, b), aims, boxes, epsilon = answer, self.aims[:, which], self.boxes[:, which], self.loss.epsilon
        if self.free:
            b = self._best_biases(r, aims, boxes)
        sq = (beta * r).sum(0)
        if self.loss.two_sided:
            losses = ((aims - r - b).abs() - epsilon).clamp(min=0.0)
        else:
            losses = (1.0 - aims * (r + b)).clamp(min=0.0)
        primal = 0.5 * sq + (boxes * losses).sum(0)
        return b, primal, (aims * beta).sum(0) - epsilon * beta.abs().sum(0) - 0.5 * sq

    def _best_biases(self, r: "torch.Tensor", aims: "torch.Tensor", boxes: "torch.Tensor") -> "torch.Tensor":
        """The order statistic of the kinks of the loss, as a function of b, at which its slope changes sign."""
        kinks, mass, wanted = aims - r, boxes, (boxes * (aims > 0)).sum(0)
        if self.loss.two_sided:  # two kinks a point, ε on either side
            kinks, mass, wanted = kinks.repeat(2, 1), boxes.repeat(2, 1), boxes.sum(0)
            kinks[: self.n] -= self.loss.epsilon
            kinks[self.n :] += self.loss.epsilon
        order, last = kinks.argsort(0), len(kinks) - 1
        below = mass.gather(0, order).cumsum(0)
        ends = ((below < wanted * (1.0 - FLAT)).sum(0), (below <= wanted * (1.0 + FLAT)).sum(0))
        low, high = (kinks.gather(0, order.gather(0, at.clamp(max=last)[None]))[0] for at in ends)
        middle: torch.Tensor = 0.5 * (low + high)  # the loss is flat between them
        return middle

    def certificate(self, answer: GramAnswers) -> BatchCertificate:  # type: ignore[override]
        """The certificates of all members; those that have a bound of zero or less have no finite gap."""
        b, primal, dual = map(to_host, self.measured(answer))
        gaps = np.divide(primal - dual, dual, out=np.full(len(dual), np.inf), where=dual > 0.0)
        return combine_certificates(np.stack([primal, dual, gaps, b], axis=1))

    def sharpened(self, answer: GramAnswers, found: Certificate, wanted: float) -> Certificate:  # type: ignore[override]
        """The same."""
        return found

    def final_answer(self, answer: GramAnswers, certificate: Certificate) -> GramAnswers:  # type: ignore[override]
        """The answers, which have the biases of the certificate."""
        return answer

    def objective(self, answer: GramAnswers) -> float:  # type: ignore[override]
        """The sum of the members' objectives."""
        return float(self.measured(answer)[1].sum())
