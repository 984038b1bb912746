"""
Anomalies
=========

`OneClassSVM` learns where rows usually lie, without any label. ν is the share that may lie outside.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import hinge

rng = np.random.default_rng(0)
X, _ = make_moons(500, noise=0.07, random_state=0)
strange = rng.uniform([-1.8, -1.2], [2.8, 1.7], (25, 2))
rows = np.vstack([X, strange])

grid_x, grid_y = np.meshgrid(np.linspace(-1.9, 2.9, 120), np.linspace(-1.3, 1.8, 90))
fig, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", sharey=True)
for ax, nu in zip(axes, (0.05, 0.2), strict=True):
    model = hinge.OneClassSVM(nu=nu, gamma=5.0).fit(rows)
    values = model.decision_function(np.column_stack([grid_x.ravel(), grid_y.ravel()])).reshape(grid_x.shape)
    outside = model.predict(rows) == -1
    ax.contourf(grid_x, grid_y, values, levels=[0, values.max()], colors=["#cfe3f5"])
    ax.contour(grid_x, grid_y, values, levels=[0], colors="tab:blue")
    ax.scatter(*rows[~outside].T, s=8, color="tab:blue")
    ax.scatter(*rows[outside].T, s=24, marker="x", color="tab:red")
    ax.set_title(f"ν = {nu}: {outside.mean():.1%} outside")
    print(f"ν = {nu}: gap {model.gap_:.1e}, {len(model.support_)} support vectors, {outside[500:].sum()} of 25 found")
plt.show()

# %%
# The smallest ball
# -----------------
# A related question has an answer of its own: the smallest ball about all rows, to a certified interval.

ball = hinge.enclosing_ball(rows, eps=1e-4)
print(f"centre {ball.center.round(3)}, radius between {ball.radius[0]:.5f} and {ball.radius[1]:.5f}")
