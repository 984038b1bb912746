"""Stochastic dual coordinate ascent with kernels."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hinge.compiled import compiled
from hinge.constraints import Constraints, count
from hinge.problems import Expansion, KernelRegularized
from hinge.problems.base import Cost
from hinge.sampling import key_of
from hinge.solvers.ascent.active_rows import shuffle
from hinge.solvers.base import Paper
from hinge.solvers.kernel.conjugate_steps import TINY
from hinge.solvers.papers.kernel_rows import DualRowSolver


class KernelSDCAState(NamedTuple):
    """β, its responses r, how far each β has moved in all, the relative gap when it was last computed.

    `tile` are the points whose rows were computed together last: kernel values may be rounded otherwise in other tiles.
    """

    beta: np.ndarray
    r: np.ndarray
    path: np.ndarray
    tile: np.ndarray
    gap: float
    t: int
    key: np.uint64


@dataclass(frozen=True)
class KernelSDCA(DualRowSolver[KernelSDCAState]):
    """Exact steps in one dual coordinate after another, in a fresh random order each epoch.

    With :math:`w = \\sum_i\\beta_i\\phi(x_i)` and the responses :math:`r = K\\beta`, visiting point i
    maximises the dual over :math:`\\beta_i`:

    .. math:: y_i\\beta_i \\leftarrow \\Pi_{[0,\\,c_i/\\lambda]}\\Big(y_i\\beta_i
              + \\frac{1 - y_i r_i}{K_{ii}}\\Big), \\qquad r \\leftarrow r + \\Delta\\beta_i K_{i\\cdot}

    A point that cannot move costs nothing; one that moves costs its row of n kernel values, where the
    cache lacks it, and O(n) sums. β is dual feasible at all times, so the certificate is exact: it costs
    O(n), and is computed sixteen times an epoch.

    Parameters
    ----------
    block : int
        When a row is wanted, the rows of those among the next `block` points that would move are computed
        together, several times faster than one by one. The steps are the same, one after another, but for the
        rounding of kernel values; a few of these points will not move when their turn comes, and 1 computes
        no row in vain.

    Notes
    -----
    *Differs* from the talk: points are visited without replacement. An earlier answer to begin from is
    scaled into the box, which costs no kernel value.

    References
    ----------
    S. Shalev-Shwartz, *SVM Optimization: a Machine Learning Perspective*, 2008; C.-J. Hsieh, K.-W. Chang,
    C.-J. Lin, S. S. Keerthi, S. Sundararajan, *A Dual Coordinate Descent Method for Large-scale Linear SVM*,
    2008; section 4.3 of the SBP paper.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hinge import Stop, solve
    >>> from hinge.kernels import Gaussian
    >>> from hinge.problems import KernelRegularized
    >>> from hinge.solvers import KernelSDCA
    >>> X, y = make_moons(60, noise=0.1, random_state=0)
    >>> problem = KernelRegularized(X, 2 * y - 1, 0.01, Gaussian(gamma=2.0))
    >>> result = solve(problem, KernelSDCA(), stop=Stop(tol=1e-2, max_iter=10**5))
    >>> bool(result.certificate.gap <= 1e-2)
    True
    """

    block: int = 32

    paper = Paper(
        "SVM Optimization: a Machine Learning Perspective", "Shalev-Shwartz", 2008, "stochastic dual coordinate ascent"
    )
    constraints = Constraints(block=count())
    no_bias = "moves single coordinates, which a free bias forbids; use BlockDual or SMO."

    def init(self, problem: KernelRegularized, seed: int = 0, start: Expansion | None = None) -> KernelSDCAState:
        beta, r = np.zeros(problem.n), np.zeros(problem.n)
        if start is not None and (start.beta * problem.y >= 0).all() and start.beta.any():
            used = start.beta != 0
            share = min(1.0, float((problem.boxes[used] / np.abs(start.beta[used])).min()))
            beta, r = share * start.beta, share * start.responses
        tile = np.empty(0, np.int64)
        return KernelSDCAState(beta, r, np.abs(beta), tile, self.gap(problem, beta, r), 0, key_of(seed))

    def advance(self, problem: KernelRegularized, state: KernelSDCAState, n_iter: int) -> KernelSDCAState:
        gram, n, y, box = problem.gram, problem.n, problem.y, problem.boxes
        beta, r, path, tile, gap, t, key = state
        end, stride = t + n_iter, self.stride(problem)
        order, epoch = np.empty(n, np.int64), -1
        one, ahead = np.empty(1, np.int64), np.empty(min(self.block, gram.capacity), np.int64)
        place, rows = {int(j): k for k, j in enumerate(tile)}, None  # where in the tile the row of a point is
        gram.focus(None)
        while t < end:
            if t // n != epoch:
                epoch = t // n
                shuffle(order, n, key, epoch * n)
            last = min(end, (epoch + 1) * n, (t // stride + 1) * stride)
            if _movers(order, t % n, last - epoch * n, y, beta, box, r, one) == 0:
                t = last
            else:
                i = int(order[one[0]])
                if i not in place:
                    found = _movers(order, one[0], min(n, one[0] + len(ahead)), y, beta, box, r, ahead)
                    tile = order[ahead[:found]]
                    place, rows = {int(j): k for k, j in enumerate(tile)}, None
                if rows is None:
                    rows = gram.rows(tile)
                    curve = np.maximum(np.diagonal(gram.host(rows.block())), TINY)
                alpha = float(y[i] * beta[i] + (1.0 - y[i] * r[i]) / np.float64(curve[place[i]]))
                new = y[i] * min(max(alpha, 0.0), box[i])
                delta = np.zeros(len(place))
                delta[place[i]] = new - beta[i]
                path[i] += abs(new - beta[i])
                beta[i] = new
                r += gram.host(rows.combine(delta))  # one row at a time, so that sums do not depend on `block`
                t = epoch * n + int(one[0]) + 1
            if t % stride == 0:
                gap = self.gap(problem, beta, r)
        return KernelSDCAState(beta, r, path, tile, gap, t, key)

    def solution(self, problem: KernelRegularized, state: KernelSDCAState) -> Expansion:
        return Expansion(state.beta, 0.0, state.r, state.path, state.t + problem.n)

    def cost(self, problem: KernelRegularized, state: KernelSDCAState | None = None) -> Cost:
        return Cost(kernel_values=min(self.block, problem.n) * problem.n, a_pass=problem.n)


@compiled
def _movers(order, first, last, y, beta, box, r, places):
    """Write the places in order[first:last] whose points would move now, and return their number."""
    found = 0
    for p in range(first, last):
        i = order[p]
        alpha, pull = y[i] * beta[i], 1.0 - y[i] * r[i]
        if (pull > 0.0 and alpha < box[i]) or (pull < 0.0 and alpha > 0.0):
            places[found] = p
            found += 1
            if found == len(places):
                break
    return found
