"""Pegasos for structured outputs, which section 4 of the paper announces.

::

    input: S, λ, T, k                                                                           # 0
    w_1 ← 0                                                                                     # 1
    for t = 1, ..., T:                                                                          # 2
        choose A_t ⊆ S of k examples                                                            # 3
        ŷ_i ← argmax_ŷ Δ(y_i, ŷ) + ⟨w_t, ψ(x_i, ŷ)⟩ for all i ∈ A_t                             # 4
        η_t ← 1/(λt)                                                                            # 5
        w_{t+1} ← (1 - η_t λ) w_t + (η_t/k) Σ over A_t of ψ(x_i, y_i) - ψ(x_i, ŷ_i)             # 6
    output: the mean of w_2, ..., w_{T+1} with weights t, or w_{T+1}                            # 7
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hinge.constraints import Constraints, count
from hinge.problems import Structured, StructuredSolution
from hinge.problems.base import Cost, rounding
from hinge.sampling import key_of
from hinge.solvers.ascent.active_rows import shuffle
from hinge.solvers.base import Solver
from hinge.solvers.papers.pegasos import Pegasos


class StructuredPegasosState(NamedTuple):
    """w = v/(λkt), where v is the sum of all steps' directions; line 6 is an addition to v.

    Each array comes with what the mean of the iterates lacks of it, in which a direction counts t - 1 times.

    ================  ========================================================================================
    `v`, `late_v`     the sum of all δ = ψ(x, y) - ψ(x, ŷ)
    `N`, `late_N`     how often each example had another output than its own: its dual weights, but for a factor
    `loss`            the two sums of Δ(y, ŷ)
    `length`          the sum of ‖δ‖
    ================  ========================================================================================
    """

    v: np.ndarray
    late_v: np.ndarray
    N: np.ndarray
    late_N: np.ndarray
    loss: np.ndarray
    length: float
    t: int
    key: np.uint64


@dataclass(frozen=True)
class StructuredPegasos(Solver[Structured, StructuredPegasosState]):
    """Stochastic sub-gradient descent with step 1/(λt) on `Structured`.

    With :math:`\\hat y_i = \\arg\\max_{\\hat y}\\Delta(y_i, \\hat y) + \\langle w_t, \\psi(x_i, \\hat y)\\rangle`, the
    output that the user's decoder finds, and :math:`\\eta_t = 1/(\\lambda t)`

    .. math:: w_{t+1} = (1 - \\eta_t\\lambda) w_t + \\frac{\\eta_t}k\\sum_{i \\in A_t}\\delta_i
              = \\frac1{\\lambda kt}\\sum_{s \\le t}\\sum_{i \\in A_s}\\delta_i, \\qquad
              \\delta_i = \\psi(x_i, y_i) - \\psi(x_i, \\hat y_i) .

    An iteration decodes k examples and costs O(d) besides. The mean with weights t is
    :math:`O(G^2/(\\lambda T))`-accurate in expectation where :math:`\\|\\delta_i\\| \\le G`. The outputs that were
    found are a dual point: of the last iterate, an example that was decoded N times gives each of them the weight 1/N.
    So there is a duality gap, without any of the outputs being kept.

    Parameters
    ----------
    batch_size : int
        k.
    average : bool
        The mean with weights t (default); else the last iterate.

    Notes
    -----
    *Differs* from Figure 1 of the paper, which announces this generalisation without its details: there is no
    projection, since the radius of a ball with the optimum depends on the largest loss, which is not known; and
    examples are taken in a random order, a fresh one each pass, instead of independently. All have then been decoded
    equally often, which the dual point needs.

    `MulticlassPegasos` is the case of one label each, in compiled code and on sparse rows.

    References
    ----------
    S. Shalev-Shwartz, Y. Singer, N. Srebro, *Pegasos: Primal Estimated sub-GrAdient SOlver for SVM*, ICML 2007,
    section 4; the mean with weights t: S. Lacoste-Julien, M. Schmidt, F. Bach, arXiv:1212.2002, 2012.

    Examples
    --------
    Three classes as outputs, whose features are those of the input in the columns of the class:

    >>> import numpy as np
    >>> from hinge import Stop, solve
    >>> from hinge.problems import Structured
    >>> from hinge.solvers import StructuredPegasos
    >>> X, y = np.eye(3), [0, 1, 2]
    >>> problem = Structured(X, y, 0.1, features=lambda x, k: np.outer(np.eye(3)[k], x).ravel(),
    ...                      loss=lambda k, other: float(k != other),
    ...                      decode=lambda w, x, k: int(np.argmax(w.reshape(3, 3) @ x + (np.arange(3) != k))))
    >>> result = solve(problem, StructuredPegasos(), stop=Stop(tol=0.05, max_iter=10**4))
    >>> result.solution.w.reshape(3, 3).argmax(axis=1)
    array([0, 1, 2])
    """

    batch_size: int = 1
    average: bool = True

    paper = Pegasos.paper._replace(place="section 4")
    constraints = Constraints(batch_size=count())
    solves, instead = Structured, "Pegasos"

    def init(
        self, problem: Structured, seed: int = 0, start: StructuredSolution | None = None
    ) -> StructuredPegasosState:
        v, late_v = np.zeros((2, problem.d))
        N, late_N = np.zeros((2, problem.n), np.int64)
        return StructuredPegasosState(v, late_v, N, late_N, np.zeros(2), 0.0, 0, key_of(seed))

    def advance(self, problem: Structured, state: StructuredPegasosState, n_iter: int) -> StructuredPegasosState:
        v, late_v, N, late_N, losses, length, begun, key = state
        n, k, lam = problem.n, self.batch_size, problem.lam
        order, epoch = np.empty(n, np.int64), -1
        for t in range(begun + 1, begun + n_iter + 1):  # 2
            w = v / (lam * k * max(t - 1, 1))
            for c in range((t - 1) * k, t * k):
                if c // n != epoch:
                    epoch = c // n
                    shuffle(order, n, key, epoch * n)
                i = order[c % n]  # 3
                delta, loss = problem.worst_output(i, w)  # 4
                v += delta  # 5 and 6
                late_v += (t - 1) * delta
                losses += loss, (t - 1) * loss
                if loss > 0.0 or delta.any():  # else ŷ is y, which has no dual weight
                    N[i] += 1
                    late_N[i] += t - 1
                length += float(np.linalg.norm(delta))
        return StructuredPegasosState(v, late_v, N, late_N, losses, length, begun + n_iter, key)

    def solution(self, problem: Structured, state: StructuredPegasosState) -> StructuredSolution:
        v, late_v, N, late_N, losses, length, t, _ = state
        # Direction s is in w_{s+1}, ..., w_{T+1}, with 1/(λkt) in each: in the sum with weights t it counts T - s + 1.
        times, total = (t, (t + 1) / 2.0) if self.average else (1, 1.0)
        late = 1 if self.average else 0
        unit = 1.0 / (total * self.batch_size * max(t, 1))  # of the mean over all draws
        w, loss = (times * v - late * late_v) * (unit / problem.lam), (times * losses[0] - late * losses[1]) * unit
        alpha = problem.n * unit * (times * N - late * late_N)
        terms, size = self.batch_size * t, 2.0 * times * unit
        loss -= rounding(terms, size * losses[0])
        return StructuredSolution(w, alpha, float(loss), rounding(terms, size * length / problem.lam))

    def cost(self, problem: Structured, state: StructuredPegasosState | None = None) -> Cost:
        return Cost(rows=self.batch_size, certificate=problem.n, a_pass=max(1, problem.n // self.batch_size))

    def estimate(self, problem: Structured, state: StructuredPegasosState) -> float:
        """Unknown; but before a whole pass the dual point is far from the optimum."""
        return 0.0 if state.t >= self.cost(problem).a_pass else np.inf
