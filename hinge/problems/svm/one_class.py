"""The one-class SVM with a kernel."""

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import BaseGram
from hinge.kernels import Kernel
from hinge.problems.svm.kernelized import Expansion, gram_of
from hinge.problems.svm.level_gap import ONE_CLASS
from hinge.problems.svm.levels import KernelLevels
from hinge.types import Items


class KernelOneClass(KernelLevels):
    """The one-class SVM: a hyperplane ⟨w, φ(x)⟩ = ρ that a fraction of at most ν of the points lie below.

    .. math:: P(w, \\rho) = \\tfrac12\\|w\\|^2 - \\nu S\\rho
              + \\sum_i s_i\\max(0, \\rho - \\langle w, \\phi(x_i)\\rangle)

    with :math:`S = \\sum_i s_i`: one level, and all signs positive. Where :math:`K(x, x) = \\kappa` for all x,
    :math:`w/(\\nu S)` is the centre of the smallest enclosing ball that penalises points outside: see `radius`.

    The certificate is :math:`\\sqrt{P - D}/\\|w\\|`, a bound on the relative error of w, and so of the decision
    function. It is never above 1, since the optimal w is no farther from w than 0 is, and it stays there if the optimal
    w is zero. An answer is an `Expansion` with β = α and b = -ρ.

    Parameters
    ----------
    X : Gram, or points for `kernel`
    nu : float in (0, 1]
    kernel : Kernel, optional
        Where `X` is not a `Gram` already.
    weight : array of shape (n,), optional
        The :math:`s_i`, all one where not given.
    """

    form = ONE_CLASS
    signs = (1,)

    def __init__(
        self, X: Items | BaseGram, nu: float, kernel: Kernel | None = None, *, weight: ArrayLike | None = None
    ) -> None:
        gram = gram_of(X, kernel)
        every = np.ones(gram.n, np.int8)
        super().__init__(gram, every, nu, every, weight=weight)

    def bias_of(self, levels: np.ndarray) -> float:
        """-ρ."""
        return -float(levels[0])

    def objective(self, answer: Expansion) -> float:
        """P at w and ρ."""
        short = np.maximum(-answer.b - answer.responses, 0.0)
        return 0.5 * self.checked(answer) + self.mass * answer.b + float(self.boxes @ short)

    def radius(self, answer: Expansion) -> float:
        """The radius of the ball about :math:`w/(\\nu S)`, where K(x, x) is the same for all x.

        .. math:: R^2 = \\kappa - 2\\rho/(\\nu S) + \\|w\\|^2/(\\nu S)^2

        Points outside the ball are those with :math:`\\langle w, \\phi(x)\\rangle < \\rho`. Returns nan if K(x, x)
        differs between points.
        """
        diag = self.gram.diag
        if np.ptp(diag) > 1e-6 * diag.max():
            return np.nan
        sq = diag.mean() + 2.0 * answer.b / self.mass + self.checked(answer) / self.mass / self.mass
        return float(np.sqrt(max(sq, 0.0)))
