"""The SVM of structured outputs: sequences, trees, rankings; whatever a user's decoder finds the best of."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hinge.problems.base import ROUNDING_32, Certificate, Cost, Problem, rounding
from hinge.problems.svm.penalized import checked_lam, relative_gap


class StructuredSolution(NamedTuple):
    """An answer of a `Structured` problem: w, and what is needed of the dual point that w is the combination of.

    Attributes
    ----------
    w : ndarray of shape (d,)
    alpha : ndarray of shape (n,) or None
        The sum of each example's dual weights :math:`\\alpha_i(\\hat y)` over the wrong outputs.
    loss : float
        :math:`\\frac1n\\sum_i\\sum_{\\hat y}\\alpha_i(\\hat y)\\,\\Delta(y_i, \\hat y)`, rounded down.
    error : float
        A bound on the norm of what w differs by from the combination :math:`w(\\alpha)`, the rounding of its updates.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.problems import StructuredSolution
    >>> StructuredSolution(np.zeros(3)).alpha is None
    True
    """

    w: np.ndarray
    alpha: np.ndarray | None = None
    loss: float = 0.0
    error: float = 0.0


class Structured(Problem[StructuredSolution]):
    """One weight vector for inputs and outputs together, given by two functions and a decoder.

    .. math::
        P(w) = \\frac\\lambda2\\|w\\|^2 + \\frac1n\\sum_i\\max_{\\hat y}
               \\big(\\Delta(y_i, \\hat y) - \\langle w, \\delta_i(\\hat y)\\rangle\\big), \\qquad
        \\delta_i(\\hat y) = \\psi(x_i, y_i) - \\psi(x_i, \\hat y) .

    The dual weights of an example are nonnegative, over all its wrong outputs, and have a sum of at most one:

    .. math::
        D(\\alpha) = \\frac1n\\sum_i\\sum_{\\hat y}\\alpha_i(\\hat y)\\,\\Delta(y_i, \\hat y)
                     - \\frac\\lambda2\\|w(\\alpha)\\|^2, \\qquad
        w(\\alpha) = \\frac1{\\lambda n}\\sum_i\\sum_{\\hat y}\\alpha_i(\\hat y)\\,\\delta_i(\\hat y) .

    The certificate is the relative duality gap :math:`(P - D)/D`. Its bound D holds whatever the decoder finds, P only
    if that is a maximum, but for the rounding of the scores that the decoder compares.

    Parameters
    ----------
    inputs, outputs : sequence
        The examples :math:`x_i` and :math:`y_i`, which are passed on to the functions, and not looked at.
    lam : float
    features : callable
        ``features(x, y)`` is the joint feature map ψ: a vector of the same length for all x and y.
    loss : callable
        ``loss(y, other)`` is Δ, what it costs to predict `other` in place of y: at least 0, and 0 for y itself.
    decode : callable
        ``decode(w, x, y)`` is an output that maximises
        :math:`\\Delta(y, \\hat y) + \\langle w, \\psi(x, \\hat y)\\rangle`.

    Notes
    -----
    Reads are counted in examples: one each time that an example is decoded.

    References
    ----------
    B. Taskar, C. Guestrin, D. Koller, *Max-Margin Markov Networks*, NIPS 2003; I. Tsochantaridis, T. Hofmann,
    T. Joachims, Y. Altun, *Support Vector Machine Learning for Interdependent and Structured Output Spaces*, ICML 2004.

    Examples
    --------
    Outputs are pairs of signs, which prefer to be equal:

    >>> import itertools
    >>> import numpy as np
    >>> from hinge import Stop, solve
    >>> from hinge.problems import Structured
    >>> from hinge.solvers import StructuredPegasos
    >>> def features(x, y):
    ...     return np.array([x[0] * y[0] + x[1] * y[1], y[0] * y[1]])
    >>> def loss(y, other):
    ...     return (y[0] != other[0]) + (y[1] != other[1])
    >>> def decode(w, x, y):
    ...     return max(itertools.product((-1, 1), repeat=2), key=lambda out: loss(y, out) + w @ features(x, out))
    >>> inputs, outputs = [(1.0, 0.2), (-1.0, -0.1), (0.1, 1.0), (-2.0, 0.3)], [(1, 1), (-1, -1), (1, 1), (-1, -1)]
    >>> problem = Structured(inputs, outputs, 0.1, features=features, loss=loss, decode=decode)
    >>> result = solve(problem, StructuredPegasos(), stop=Stop(tol=0.05, max_iter=10**4))
    >>> result.status.name, bool(result.certificate.gap <= 0.05)
    ('CONVERGED', True)
    """

    readers = "StructuredPegasos"

    def __init__(
        self,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        lam: float,
        *,
        features: Callable[[Any, Any], ArrayLike],
        loss: Callable[[Any, Any], float],
        decode: Callable[[np.ndarray, Any, Any], Any],
    ) -> None:
        if len(inputs) != len(outputs) or len(inputs) == 0:
            raise ValueError(
                f"There are {len(inputs)} inputs and {len(outputs)} outputs: one or more of each, as many."
            )
        self.inputs, self.outputs, self.lam = inputs, outputs, checked_lam(lam)
        self.features, self.output_loss, self.decode = features, loss, decode
        self.n = self.pass_cells = len(inputs)
        self.d = np.size(features(inputs[0], outputs[0]))
        self._features(0, outputs[0])  # or an error, before anything is decoded
        for i, y in enumerate(outputs):
            if loss(y, y) != 0.0:
                raise ValueError(f"loss(y, y) is {loss(y, y)!r} for the output of example {i}: it must be 0.")

    def worst_output(self, i: int, w: np.ndarray, billed: bool = True) -> tuple[np.ndarray, float]:
        """:math:`\\delta_i(\\hat y)` and :math:`\\Delta(y_i, \\hat y)` of the output that the decoder finds at w."""
        self.reads += billed
        y = self.outputs[i]
        found = self.decode(w, self.inputs[i], y)
        delta = self._features(i, y) - self._features(i, found)
        loss = float(self.output_loss(y, found))
        if not 0.0 <= loss < np.inf:
            raise ValueError(f"The loss of example {i} is {loss!r}: it must be a number of at least 0.")
        if loss - float(w @ delta) < -self._error(delta, loss, w):
            raise ValueError(
                f"decode(w, x, y) found an output of example {i} that is worse than y itself by "
                f"{float(w @ delta) - loss:.3g}: it must maximise loss(y, ŷ) + w @ features(x, ŷ)."
            )
        return delta, loss

    def objective(self, answer: StructuredSolution) -> float:
        """P(w); reads are not counted."""
        return 0.5 * self.lam * float(answer.w @ answer.w) + self._mean_loss(answer.w, billed=False)[0]

    def certificate(self, answer: StructuredSolution) -> Certificate:
        """The relative duality gap, for which all examples are decoded; all rounding but the decoder's included."""
        sq, (loss, error) = float(answer.w @ answer.w), self._mean_loss(answer.w, billed=True)
        primal = 0.5 * self.lam * (sq + rounding(self.d, sq)) + loss + error
        dual = self.dual(answer)
        if dual > primal * (1.0 + ROUNDING_32):  # a decoder compares rounded scores
            raise ValueError(
                f"decode(w, x, y) does not find the maximum: by what it found, the objective is {primal:.6g}, and it "
                f"is proved to be {dual:.6g} at least. It must maximise loss(y, ŷ) + w @ features(x, ŷ)."
            )
        return Certificate(primal, dual, relative_gap(primal, dual, 0.0))

    def dual(self, answer: StructuredSolution) -> float:
        """D at the best feasible multiple of the answer's dual point; -inf where it has none."""
        if answer.alpha is None:
            return -np.inf
        if not answer.loss > 0.0:
            return 0.0
        norm = float(np.linalg.norm(answer.w))
        norm += rounding(self.d, norm) + answer.error
        quadratic, most = self.lam * norm * norm, float(answer.alpha.max()) * (1.0 + rounding(0, 1.0))
        scale = min(1.0 / most, answer.loss / quadratic if quadratic > 0.0 else np.inf)
        return scale * answer.loss - 0.5 * scale**2 * quadratic - rounding(0, scale * answer.loss)

    def cells_of(self, cost: Cost) -> int:
        """Examples that an iteration decodes at most."""
        return cost.rows

    def _mean_loss(self, w: np.ndarray, billed: bool) -> tuple[float, float]:
        """The mean of the structured hinge losses, and a bound on its rounding error."""
        total = errors = 0.0
        for i in range(self.n):
            delta, loss = self.worst_output(i, w, billed)
            total += max(0.0, loss - float(w @ delta))
            errors += self._error(delta, loss, w)
        return total / self.n, errors / self.n + rounding(self.n, total / self.n)

    def _features(self, i: int, y: Any) -> np.ndarray:
        """ψ of input i and an output."""
        found = np.asarray(self.features(self.inputs[i], y), np.float64)
        if found.shape != (self.d,) or not np.isfinite(found).all():
            raise ValueError(
                f"features of example {i} must be a vector of finite numbers, and as long for all inputs and outputs."
            )
        return found

    def _error(self, delta: np.ndarray, loss: float, w: np.ndarray) -> float:
        """A bound on the rounding error of an example's loss."""
        return rounding(self.d + 1, float(np.abs(w) @ np.abs(delta)) + loss)
