"""
Regression in a tube
====================

Residuals up to ε cost nothing. `SVR` is given ε; `NuSVR` is given the share ν of targets that may lie outside, and
finds it.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from hinge import SVR, SVRCV, NuSVR

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(-4, 4, (160, 1)), axis=0)
t = np.sinc(X[:, 0]) + 0.12 * rng.standard_normal(160)
at = np.linspace(-4, 4, 400)[:, None]

fig, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", sharey=True)
for ax, model in zip(axes, (SVR(C=10.0, epsilon=0.2, gamma=1.0), NuSVR(C=10.0, nu=0.3, gamma=1.0)), strict=True):
    model.fit(X, t)
    line = model.predict(at)
    outer = np.zeros(len(t), bool)
    outer[model.support_] = True
    ax.plot(at, line, color="tab:blue")
    if isinstance(model, SVR):
        ax.fill_between(at[:, 0], line - model.epsilon, line + model.epsilon, alpha=0.2)
    ax.scatter(X[~outer], t[~outer], s=10, color="grey", label="within the tube")
    ax.scatter(X[outer], t[outer], s=16, color="tab:orange", label="support vectors")
    ax.set_title(f"{type(model).__name__}: {outer.sum()} support vectors, gap {model.gap_:.1e}")
axes[0].legend()
plt.show()

# %%
# C and γ by leave-one-out
# ------------------------
# One fit for each pair: the solution tells what every row would get without it.

search = SVRCV(Cs=5, gammas=4, cv="loo", epsilon=0.1).fit(X, t)
print(f"C = {search.C_:.3g}, γ = {search.gamma_:.3g}, R² = {search.best_score_:.3f}")
