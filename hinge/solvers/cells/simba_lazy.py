"""SIMBA in the sparse case: an iteration costs the nonzeros of one row and of one column.

Three things make Algorithm 1 cost O(n + d) an iteration, and each has its remedy.

1. *Every weight changes.* A point that the column does not touch is multiplied by a factor that only depends
   on its label and its ξ. So points form groups, and p is kept as :math:`p_i \\propto q_i s_{g(i)}`: an
   untouched point costs nothing, a touched one is divided by the factor of its group.
2. *Draws.* The points, and the squares of u, are leaves of sum trees.
3. *Averages.* :math:`w_t = s_t u_t`, so that :math:`\\sum_t w_t = C u - z` with :math:`C = \\sum_t s_t` and
   z the sum of the changes of u, each times the C before it. Because :math:`s_t \\ge 1/\\sqrt{2t}` falls
   slowly, the difference loses a digit or two and no more. Likewise
   :math:`\\sum_t p_t(i) = G_{g(i)} q_i + r_i` with :math:`G_g = \\sum_t s_g(t)/Z_t`, begun anew at every
   refresh.

What remains is ξ, which sits on the largest p: it is settled anew every K iterations, in O(n). Where the
weights are capped instead, that is when the cap is restored exactly.
"""

from typing import NamedTuple, cast

import numpy as np

from hinge.compiled import Scalars, compiled, scalars_array
from hinge.constraints import FAR
from hinge.sampling import SumTree, draw_unit, find, group_total, resum, set_leaf, sum_tree
from hinge.solvers.cells.simba_exact import OUTSIDE, TIES, cut_of, sign_of, sq_length
from hinge.solvers.saddle.primal_dual import factor


class Lazy(NamedTuple):
    """p and u² as sum trees, and what makes the averages; group 2k + [y > 0] has the slack ``xi[2k]``.

    `numbers` has C = Σ s_t, the bias and its sum, Z, and the last cut.
    """

    points: SumTree
    coords: SumTree
    u: np.ndarray
    z: np.ndarray
    p_sum: np.ndarray
    G: np.ndarray
    xi: np.ndarray
    numbers: np.ndarray


def start(y: np.ndarray, d: int, capped: bool) -> Lazy:
    """u = 0 and p uniform; where weights are capped there is no slack, and two groups are enough."""
    groups = 2 if capped else 6
    xi = np.repeat([0.0, 0.0, 2.0], 2)[:groups]
    return Lazy(
        sum_tree(np.ones(len(y)), (y > 0).astype(np.uint8), groups),
        sum_tree(np.zeros(d)),
        np.zeros(d),
        np.zeros(d),
        np.zeros(len(y)),
        np.zeros(groups),
        xi,
        scalars_array(C=0.0, b=0.0, b_sum=0.0, Z=0.0, cut=0.0),
    )


def sums(s: Lazy) -> tuple[np.ndarray, np.ndarray, float]:
    """The sums of all w, p and b so far."""
    n = cast(Scalars, s.numbers[()])
    return n.C * s.u - s.z, s.p_sum + s.G[s.points.group] * s.points.leaves, float(n.b_sum)


def bare(s: Lazy) -> tuple[np.ndarray, ...]:
    """The arrays as a plain tuple: calls of compiled code are three times as fast as with a named one."""
    return (*s.points, *s.coords, *s[2:])


@compiled
def named(a):
    """The inverse of `bare`."""
    points, coords = SumTree(a[0], a[1], a[2], a[3], a[4]), SumTree(a[5], a[6], a[7], a[8], a[9])
    return Lazy(points, coords, a[10], a[11], a[12], a[13], a[14], a[15])


@compiled
def choose_point(arrays, y, t, key, free, amount, refresh):
    """p_t, the best bias for it, and line 4."""
    s = named(arrays)
    scale, n = s.points.scale, s.numbers[()]
    if (t - 1) % refresh == 0 or scale.max() > FAR or scale.min() < 1.0 / FAR or n.Z > FAR:
        settle(s, amount)
    total, balance = 0.0, 0.0
    for g in range(len(scale)):
        mass = group_total(s.points, g)
        total += mass
        balance += mass * (2 * (g & 1) - 1)
    for g in range(len(scale)):
        s.G[g] += scale[g] / total
    n.Z = total
    n.b = sign_of(balance / total) if free else 0.0
    n.b_sum += n.b
    return find(s.points, draw_unit(key, 2 * t) * total)


@compiled
def settle(s, amount):
    """All weights as they are, the largest of them one; then a new ξ, or the cap; and all sums anew."""
    q, group, scale = s.points.leaves, s.points.group, s.points.scale
    top = 0.0
    for i in range(len(q)):
        g = group[i]
        s.p_sum[i] += q[i] * s.G[g]
        q[i] *= scale[g]
        top = max(top, q[i])
    scale[:] = 1.0
    s.G[:] = 0.0
    if len(scale) == 2:
        top = cap_of(q, amount)
    for i in range(len(q)):
        q[i] = max(min(q[i] / top, 1.0), 1e-15)  # smaller weights would drown in the rounding of the sums
    if len(scale) > 2:
        give_slack(s, amount)
    resum(s.points)


@compiled
def give_slack(s, amount):
    """The greedy ξ of line 5: groups by whether a point gets all, a part or nothing of it."""
    q, group, n = s.points.leaves, s.points.group, s.numbers[()]
    # The largest weights are among those near the last cut and above, if these are enough.
    large, k = np.empty(len(q)), 0
    for i in range(len(q)):
        if q[i] >= 0.5 * n.cut:
            large[k] = q[i]
            k += 1
    cut, part = cut_of(large[:k] if k > amount + 1 else q, amount)
    n.cut = cut
    s.xi[2] = s.xi[3] = 2.0 * part
    for i in range(len(q)):
        level = 2 if q[i] > cut * (1.0 + TIES) else (1 if q[i] >= cut * (1.0 - TIES) else 0)
        group[i] = 2 * level + (group[i] & 1)


@compiled
def cap_of(q, kappa):
    """θ with Σ min(qᵢ, θ) = κθ, by Newton's method from above; the largest q where none is over 1/κ."""
    theta, over = q.sum() / kappa, -1
    while True:
        rest, above = 0.0, 0
        for i in range(len(q)):
            if q[i] > theta:
                above += 1
            else:
                rest += q[i]
        if above == 0 and over < 0:
            return q.max()
        if above <= over or above >= kappa:  # it decreases until it ends; a step that does not is rounding
            return theta
        theta, over = rest / (kappa - above), above


@compiled
def add_point(arrays, at, x, step, t, key, limit):
    """Lines 5 to 7: j and ‖w‖²/w(j); -1 where w = 0, -2 where x is longer than the limit."""
    s = named(arrays)
    if limit < np.inf and sq_length(x) > limit:
        return OUTSIDE, 0.0
    u, z, coords, n = s.u, s.z, s.coords, s.numbers[()]
    before = n.C
    for k in range(len(x)):
        j, change = np.uint64(at[k] if len(at) else k), step * x[k]
        u[j] += change
        z[j] += before * change
        set_leaf(coords, j, 0, u[j] * u[j])
    if t % 1024 == 0:  # now and then, since sums that are updated drift
        resum(coords)
    sq = group_total(coords, 0)
    shrink = 1.0 / max(1.0, np.sqrt(sq))
    n.C += shrink
    j = find(coords, draw_unit(key, 2 * t + 1) * sq)
    return j, (shrink * sq / u[j] if j >= 0 else 0.0)


@compiled
def reweigh(arrays, y, at, x, ratio, eta, t, amount, refresh):
    """Lines 8 to 13, for the points that column j touches; all others by their groups' factors."""
    s = named(arrays)
    points, n = s.points, s.numbers[()]
    q, group, scale = points.leaves, points.group, points.scale
    fixed, inverse, most = np.empty(6), np.empty(6), np.full(6, np.inf)
    for g in range(len(scale)):
        fixed[g] = eta * (s.xi[g] + n.b * (2 * (g & 1) - 1))
        inverse[g] = 1.0 / factor(fixed[g])
        if len(scale) == 2 and t % refresh != 0:  # else the cap is about to be restored exactly
            most[g] = n.Z / (amount * scale[g])
    slope = eta * ratio
    for k in range(len(x)):
        i = np.uint64(at[k] if len(at) else k)
        g = group[i]
        side = 2.0 * (g & 1) - 1.0
        new = min(q[i] * factor(side * slope * x[k] + fixed[g]) * inverse[g], max(q[i], most[g]))
        s.p_sum[i] += (q[i] - new) * s.G[g]
        set_leaf(points, i, g, new)
    for g in range(len(scale)):
        scale[g] /= inverse[g]
