"""
A new solver in forty lines
===========================

A solver is a frozen dataclass with three verbs: `init` makes a state, `advance` runs some iterations of it, `solution`
makes an answer. It also says what an iteration reads (`cost`) and when a look at it is worth while (`pause`). The
driver adds limits, certificates, history, Ctrl-C and resumption.
"""

# %%
# A dual step on a row drawn at random
# ------------------------------------
# The row gets as much dual weight as its margin needs, between 0 and 1. Since w is the sum that the dual weights say,
# they prove how good it is.

from dataclasses import dataclass
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from hinge import LinearSVC, Regularized, Solution, Stop, solve, trace
from hinge.access import add_row, dot, read_row, sq_norm
from hinge.compiled import compiled
from hinge.datasets import load
from hinge.problems import Cost
from hinge.sampling import draw_index, key_of
from hinge.solvers import SDCA, Pegasos, Solver


class DrawnState(NamedTuple):
    """Dual weights, w, the number of iterations, and the key of the random draws."""

    alpha: np.ndarray
    w: np.ndarray
    t: int
    key: np.uint64


@compiled
def steps(A, y, scale, alpha, w, t, n_iter, key):
    """Draw number t is a function of the key and of t: a run in pieces is the run in one piece."""
    for k in range(t, t + n_iter):
        i = draw_index(key, k, len(y))
        row = read_row(A, i)  # counted
        wanted = alpha[i] + (1.0 - y[i] * dot(A, row, w)) / (scale * max(sq_norm(A, row), 1e-300))
        step = min(max(wanted, 0.0), 1.0) - alpha[i]
        alpha[i] += step
        add_row(A, row, scale * step * y[i], w)


@dataclass(frozen=True)
class Drawn(Solver):
    """Exact dual steps on rows that are drawn with replacement."""

    def init(self, problem, seed=0, start=None):
        return DrawnState(np.zeros(problem.n), np.zeros(problem.d), 0, key_of(seed))

    def advance(self, problem, state, n_iter):
        scale = 1.0 / (problem.lam * problem.n)
        steps(problem.matrix.rows, problem.y, scale, state.alpha, state.w, state.t, n_iter, state.key)
        return state._replace(t=state.t + n_iter)

    def solution(self, problem, state):
        return Solution(state.w, 0.0, state.alpha)

    def cost(self, problem, state=None):
        return Cost(rows=1, a_pass=problem.n)

    def pause(self, problem, state):
        return problem.n


# %%
# It has all that the others have
# -------------------------------

adult = load("adult")
X, y = adult.X_train[:6000], adult.y_train[:6000]
problem = Regularized(X, y, lam=1e-3)
result = solve(problem, Drawn(), stop=Stop(tol=1e-3, max_time=20))
print(f"{result.status.name} after {result.n_iter / problem.n:.0f} passes, gap {result.certificate.gap:.1e}")
model = LinearSVC(lam=1e-3, loss="hinge", fit_intercept=False, solver=Drawn(), tol=1e-2).fit(X, y)
print(f"as solver= of an estimator: error {1 - model.score(adult.X_test, adult.y_test):.3f}, gap {model.gap_:.1e}")

# %%
# A race
# ------
# `trace` runs a solver from mark to mark. What is done with a snapshot is on no clock and no bill.

best = solve(problem, SDCA(), stop=Stop(tol=1e-9)).certificate.objective
fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for solver in (Drawn(), SDCA(), Pegasos()):
    looks = list(trace(problem, solver, [1, 2, 4, 8, 16, 32], unit="passes"))
    excess = [problem.objective(look.solution) / best - 1 for look in looks]
    ax.loglog([look.feature_reads for look in looks], excess, "o-", label=type(solver).__name__)
ax.set(xlabel="cells read", ylabel="relative suboptimality", title="Drawn rows against rows in a random order")
ax.legend()
plt.show()

# %%
# A line in ``hinge/solvers/registry.py`` would give it a name, and hold it to the laws that all solvers obey: see
# :doc:`/contributing`.
