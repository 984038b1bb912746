"""
Margin against slack
====================

Every support vector machine trades the margin against the slack that some rows need. Solving for a range of λ draws the
whole front, and the certificates prove a region empty: no linear model lies there.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from hinge import LinearSVC, Regularized, Stop, scalarizations, solve
from hinge.datasets import load
from hinge.display import ParetoFrontDisplay
from hinge.solvers import SDCA

adult = load("adult")
X, y = adult.X_train[:3000], adult.y_train[:3000]
ParetoFrontDisplay.from_estimator(LinearSVC(), X, y, points=14)

# %%
# Three names for a point of the front
# ------------------------------------
# A point is given by λ (the regularised problem), by ν (the slack at unit norm) or by B (a bound on the norm). One
# solution tells all three: Lemma 2.1 of the SIMBA and SBP papers.

lams = np.geomspace(1e-1, 1e-4, 8)
points = []
for lam in lams:
    problem = Regularized(X, y, lam=lam)
    points.append(scalarizations(problem, solve(problem, SDCA(), stop=Stop(tol=1e-3)).solution))
fig, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
ax.loglog(lams, [point.nu for point in points], "o-", label="ν, mean slack at unit norm")
ax.loglog(lams, [point.B for point in points], "s-", label="B, the norm")
ax.invert_xaxis()
ax.set(xlabel="λ", title="The same solutions in three parameters")
ax.legend()
plt.show()
for lam, point in zip(lams[::3], points[::3], strict=True):
    print(f"λ = {lam:.1e}: ν = {point.nu:.3f}, B = {point.B:.2f}, mean loss {point.loss:.3f}")
