"""A step of the dual along what the last epoch changed, and along the last such step.

Where C is large the epochs of dual coordinate ascent move ever the same way. With p for what the last epoch changed of
α, and q for what the last step of this kind did, the dual is maximised over :math:`\\alpha + \\tau_0p + \\tau_1q`, a
parabola in two variables: with :math:`v = \\sum_is_i\\alpha_iy_ix_i` and :math:`\\Lambda = \\lambda\\sum_is_i`, and
:math:`v_p`, :math:`v_q` for the same sums over p and q,

.. math:: H\\tau = g, \\qquad
          g_p = \\sum_is_ip_i(t_i - \\ell^{*\\prime}(\\alpha_i)) - \\langle v, v_p\\rangle/\\Lambda, \\qquad
          H_{pq} = q\\sum_is_ip_iq_i + \\langle v_p, v_q\\rangle/\\Lambda,

with q for the curvature of :math:`\\ell^*`. What leaves the bounds of α is projected onto them, v follows, and the best
part of the way is gone: as conjugate gradients do, from one epoch to the next, and the dual never falls. It costs
O(n + d), and a read of the rows that were projected.

A bias adds :math:`-\\beta u - cu^2/2\\Lambda` to the dual, with :math:`u = \\sum_is_i\\alpha_iy_i`: one that is
penalised as the weight of a feature of squared value c has β = 0; a free one has its multiplier, and the κ of `SDCA`.
"""

import numpy as np

from hinge.access import add_row, read_row
from hinge.compiled import compiled

SUMS = {"reassoc", "contract", "nsz"}  # sums may be reordered, which lets them use vector instructions
TINY = float(np.finfo(np.float64).tiny)  # the smallest divisor


# Conditions in place of `min`, `max` and `sign`: Numba compiles a function for each of these, a tenth of a second. Sums
# are reordered in functions of their own: what others call is then compiled once, as `visit` has it.


@compiled
def subspace_step(A, y, target, weight, loss, full, c, beta, alpha, v, dual, walk, p, v_p, q, v_q):
    """Move α along p and q to the maximum of the dual.

    p, `v_p` and ``walk.u_before`` are α, v and u as they were at the beginning of the epoch, and then as they are at
    the end of the step; q, `v_q` and ``walk.u_step`` are the last step, and then this one.
    """
    u, u_p, u_q = dual.u, dual.u - walk.u_before, walk.u_step
    tau_p, tau_q = _best(target, weight, loss, full, c, beta, alpha, v, u, p, v_p, u_p, q, v_q, u_q)
    for j in range(len(v)):
        v_q[j] = tau_p * v_p[j] + tau_q * v_q[j]
    u_q, slope, bend, pushed = tau_p * u_p + tau_q * u_q, 0.0, 0.0, False
    for i in range(len(alpha)):
        q[i] = step = wanted = tau_p * p[i] + tau_q * q[i]
        if wanted != 0.0:
            a, s, t = alpha[i], weight[i] if len(weight) > 1 else weight[0], target[i] if len(target) > 1 else target[0]
            low = 0.0 if loss.epsilon > 0.0 and a > 0.0 else loss.low  # the dual has a kink at 0
            high = 0.0 if loss.epsilon > 0.0 and a < 0.0 else loss.high
            if not low <= a + wanted <= high:
                q[i] = step = (high if a + wanted > high else low) - a
                change = s * (step - wanted) * y[i]
                u_q += change
                add_row(A, read_row(A, np.uint64(i)), change, v_q)
                pushed = True
            rise = t - loss.curvature * a
            slope += s * step * (rise - loss.epsilon if a > 0.0 or a == 0.0 < step else rise + loss.epsilon)
            bend += s * step * step
    tau = 1.0
    if pushed:  # g and H as at the top of this file
        across, square = products(v, v_q)
        slope -= beta * u_q + (across + c * u * u_q) / full
        bend = loss.curvature * bend + (square + c * u_q * u_q) / full
        tau = slope / (bend if bend > TINY else TINY)
        tau = tau if 0.0 <= tau <= 1.0 else 1.0 if tau > 1.0 else 0.0
    for j in range(len(v)):
        v_q[j] *= tau
        v[j] += v_q[j]
        v_p[j] = v[j]
    for i in range(len(alpha)):
        q[i] *= tau
        moved = alpha[i] + q[i]
        if not loss.low <= moved <= loss.high:
            moved = loss.high if moved > loss.high else loss.low
        p[i] = alpha[i] = moved
    walk.u_step = tau * u_q
    dual.u = walk.u_before = u + walk.u_step


@compiled(fastmath=SUMS, no_cpython_wrapper=True)
def _best(target, weight, loss, full, c, beta, alpha, v, u, p, v_p, u_p, q, v_q, u_q):
    """The steps along p and q to the maximum on their plane, or towards it; p and `v_p` become the changes."""
    h_p, h_q, h_pq, g_p, g_q = c * u_p * u_p, c * u_q * u_q, c * u_p * u_q, c * u * u_p, c * u * u_q
    for j in range(len(v)):
        now, other = v[j], v_q[j]
        change = now - v_p[j]
        v_p[j] = change
        h_p += change * change
        h_q += other * other
        h_pq += change * other
        g_p += now * change
        g_q += now * other
    h_p, h_q, h_pq, g_p, g_q = h_p / full, h_q / full, h_pq / full, -g_p / full - beta * u_p, -g_q / full - beta * u_q
    for i in range(len(alpha)):
        a, other = alpha[i], q[i]
        change = a - p[i]
        p[i] = change
        if change != 0.0 or other != 0.0:
            s, t = weight[i] if len(weight) > 1 else weight[0], target[i] if len(target) > 1 else target[0]
            rise, to_p, to_q = t - loss.curvature * a, s * change, s * other
            g_p += to_p * (rise - loss.epsilon if a > 0.0 or a == 0.0 < change else rise + loss.epsilon)
            g_q += to_q * (rise - loss.epsilon if a > 0.0 or a == 0.0 < other else rise + loss.epsilon)
            h_p += loss.curvature * to_p * change
            h_q += loss.curvature * to_q * other
            h_pq += loss.curvature * to_p * other
    apart = h_p * h_q - h_pq * h_pq
    tau_p, tau_q = g_p / (h_p if h_p > TINY else TINY), 0.0
    if apart > 1e-10 * h_p * h_q:  # the squared sine of the angle between both directions
        tau_p, tau_q = (h_q * g_p - h_pq * g_q) / apart, (h_p * g_q - h_pq * g_p) / apart
    # At most 100 p: where the dual is nearly linear its maximum is far away, and v would be all rounding. At most q:
    # longer steps would let the rounding of v_q grow from step to step.
    longest, other = abs(tau_p) / 100.0, abs(tau_q)
    longest = other if other > longest else longest
    shorter = 1.0 / (longest if longest > 1.0 else 1.0)
    return shorter * tau_p, shorter * tau_q


@compiled(fastmath=SUMS, no_cpython_wrapper=True)
def products(x, z):
    """⟨x, z⟩ and ‖z‖²."""
    across, square = 0.0, 0.0
    for j in range(len(x)):
        across += x[j] * z[j]
        square += z[j] * z[j]
    return across, square
