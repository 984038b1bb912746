"""
Where one solver overtakes another
==================================

Dual coordinate ascent is quick where λ is large, Newton's method where it is small; `solver="auto"` should be near the
better of the two everywhere. CPU time to a certified gap of 1e-3, medians of three runs.
"""

# %%
import time

import matplotlib.pyplot as plt
import numpy as np

from hinge import Regularized, Stop, solve
from hinge.datasets import load
from hinge.solvers import SDCA, Newton, choose

adult = load("adult")
X, y = adult.X_train[:8000], adult.y_train[:8000]
lams = np.geomspace(1e-2, 1e-6, 7)
stop = Stop(tol=1e-3, max_time=1.0)


def seconds(lam, solver):
    """The median of three runs; compiled code is warm."""
    took = []
    for seed in range(3):
        problem = Regularized(X, y, lam=lam, bias="penalized")
        began = time.process_time()
        chosen = choose(problem, tol=stop.tol).solver if solver == "auto" else solver
        solve(problem, chosen, stop=stop, seed=seed)
        took.append(time.process_time() - began)
    return np.median(took)


for solver in (SDCA(), Newton(), "auto"):
    seconds(1e-2, solver)  # compiles
curves = {"dual ascent (SDCA)": SDCA(), "Newton": Newton(), "auto": "auto"}
fig, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
for name, solver in curves.items():
    took = [1e3 * seconds(lam, solver) for lam in lams]
    ax.loglog(
        lams,
        took,
        "o-",
        label=name,
        lw=3 if name == "auto" else 1.5,
        zorder=1 if name == "auto" else 2,
        alpha=0.5 if name == "auto" else 1,
    )
    print(name, [f"{ms:.3g} ms" for ms in took])
ax.invert_xaxis()
ax.set(
    xlabel="λ (smaller to the right)", ylabel="milliseconds to a gap of 1e-3", title="Adult, 8,000 rows, 123 features"
)
ax.legend()
plt.show()

# %%
# What "auto" says of its choice
# ------------------------------

for lam in lams[::3]:
    choice = choose(Regularized(X, y, lam=lam, bias="penalized"), tol=1e-3)
    print(f"λ = {lam:.0e}: {type(choice.solver).__name__}, {choice.reason}")
