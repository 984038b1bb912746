"""A Newton step of several classes together: over all dual weights that are positive, with the others left alone.

Where few rows have weights on more than one class, the row steps of the ascent go round and round among them, and
one linear system says where they lead.
"""

import numpy as np

from hinge.compiled import compiled
from hinge.problems import Multiclass
from hinge.solvers.newton.systems import solved

MOST = 1024
"""Free weights that a step is made for."""
CALL = 1e6
"""Multiplications in the time that a step takes besides its products."""
ROUNDS = 8
"""Solutions of a step, each without the weights that the one before made negative."""
DAMPING = 1e-4
"""By which a step does not go too far where the system is singular, as a share of the diagonal."""
FEW = 128
"""So few free weights are given up one by one, as the dual wants it."""


def rows_read(problem: Multiclass) -> int:
    """Rows that a step reads at most."""
    return min(problem.n, MOST)


def step_work(problem: Multiclass, rows: int, count: int) -> float:
    """The cost of a step over some rows and free weights, in multiplications of a row step; none is too large."""
    if rows > rows_read(problem) or count > MOST:
        return np.inf
    products = rows**2 * problem.matrix.n_cells / problem.n + count**2 * (problem.k + count / 6.0)
    return products + 8.0 * count**2 + CALL


def face_step(problem: Multiclass, p: np.ndarray, V: np.ndarray, rows: np.ndarray) -> float:
    """Move the weights of these rows, in place, to the optimum of their face or one near it, if the dual rises by that.

    With a pivot class :math:`q_i` for each row, a free weight (i, a) moves along :math:`e_a - e_{q_i}`. The dual's
    slope there is :math:`s_i(G_{ia} - G_{iq_i})`, its curvature between (i, a) and (j, b) the product of
    :math:`s_is_j\\langle x_i, x_j\\rangle/\\Lambda` and :math:`\\langle e_a - e_{q_i}, e_b - e_{q_j}\\rangle`. Weights
    that become negative by the step are given up, one by one where they are few, and it is made again without them.
    Of the way from the old weights to these, which are all feasible, the best length is taken.

    Returns
    -------
    float
        By how much the dual has risen, times Σ s.
    """
    Lam, constant = problem.lam * problem.total, problem.bias_scale
    X, s = problem.matrix.gather(rows), np.broadcast_to(problem.weight, (problem.n,))[rows]
    with np.errstate(all="ignore"):  # what is not finite is seen, and no step
        old, G = p[rows], (X.products(V[:-1]) + constant * V[-1]) / Lam + 1.0
        G[np.arange(len(rows)), problem.labels[rows]] -= 1.0
        K, slope = (X.inner_products() + constant * constant) * (s[:, None] / Lam * s), s[:, None] * G
        if not (np.isfinite(K).all() and np.isfinite(slope).all()):
            return 0.0
        new = _optimum(K, slope, old)
        _project_rows(new)
        moved = s[:, None] * (new - old)
        down = np.vstack([X.combinations(moved), constant * moved.sum(axis=0)])
        rate, bend = float(np.vdot(moved, G)), float(np.vdot(down, down)) / Lam
    if not (0.0 < rate < np.inf and bend < np.inf):
        return 0.0
    length = min(1.0, rate / bend) if bend > 0.0 else 1.0
    p[rows] = old + length * (new - old)
    V -= length * down
    return length * rate - 0.5 * length**2 * bend


def _optimum(K: np.ndarray, slope: np.ndarray, old: np.ndarray) -> np.ndarray:
    """The weights at the optimum of the face, or of what is left of it when the negative ones are given up."""
    new, rows, classes = old.copy(), np.arange(len(old)), np.eye(old.shape[1])
    few = np.count_nonzero(old > 0) - len(old) <= FEW
    damping = 0.0 if few else DAMPING
    for _ in range(FEW if few else ROUNDS):
        pivot, free = new.argmax(axis=1), new > 0
        new[rows, pivot] += 1.0 - new.sum(axis=1)  # what was given up
        free[rows, pivot] = False
        i, a = np.nonzero(free)
        if len(i) == 0:
            break
        along, g = classes[a] - classes[pivot[i]], slope - K @ (new - old)
        H = K[np.ix_(i, i)] * (along @ along.T)
        H[np.diag_indices(len(i))] *= 1.0 + damping
        direction = np.zeros_like(new)
        np.add.at(direction, i, solved(H, g[i, a] - g[i, pivot[i]])[:, None] * along)
        whole = bool((new + direction >= 0).all())
        if not whole and few:  # up to the first that vanishes
            reach = np.where(direction < 0, new / -direction, np.inf)
            first = reach <= reach.min()
            direction *= reach.min()
            direction[first] = -new[first]
        elif not whole and damping == 0.0:
            break
        new = np.maximum(new + direction, 0.0)
        if whole and damping == 0.0:
            break
        damping = 0.0 if whole else damping  # once more, to the optimum itself
    return new


@compiled
def _project_rows(z):
    for i in range(len(z)):
        project(z[i], z.shape[1])


@compiled
def project(z, m):
    """The nearest point of the simplex to the first m entries, in their place: max(0, z - θ).

    Where θ is below its place, a Newton step, (Σ z - 1)/count over the entries above θ, brings it up, and never too
    far (Michelot). The largest entry less one is below.
    """
    theta = z[0] - 1.0
    for j in range(1, m):
        theta = max(theta, z[j] - 1.0)
    for _ in range(m + 1):
        total, count = -1.0, 0
        for j in range(m):
            if z[j] > theta:
                total += z[j]
                count += 1
        if count == 0 or not total / count > theta:
            break
        theta = total / count
    for j in range(m):
        z[j] = max(0.0, z[j] - theta)
