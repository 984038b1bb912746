"""
A first fit
===========

Two classes that no line separates, a machine with a kernel, and what a fit says of itself.
"""

# %%
# The import is the only line that differs from scikit-learn.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

from hinge import SVC

X, y = make_moons(400, noise=0.2, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = SVC(C=10.0, probability=True).fit(X_train, y_train)
print(f"accuracy on new rows: {model.score(X_test, y_test):.3f}")

# %%
# The certificate: the objective is at most this much above the smallest possible one, relative to it.
print(f"gap {model.gap_:.1e}, asked for {model.tol:g}: {model.stop_reason_}")
print(f"{model.n_kernel_evals_:,} kernel values of {len(X_train) ** 2:,} were computed")

# %%
# Probabilities come from the same fit. Support vectors are ringed; the lines are those of equal probability.
fig, ax = plt.subplots(figsize=(6.4, 4.2))
across, up = np.meshgrid(np.linspace(-1.8, 2.8, 200), np.linspace(-1.3, 1.8, 200))
share = model.predict_proba(np.column_stack([across.ravel(), up.ravel()]))[:, 1].reshape(across.shape)
shades = ax.contourf(across, up, share, levels=np.linspace(0, 1, 11), cmap="RdBu", alpha=0.6)
ax.contour(across, up, share, levels=[0.5], colors="0.2")
ax.scatter(*X_train.T, c=y_train, cmap="RdBu", edgecolors="white", linewidths=0.6, s=30)
ax.scatter(*X_train[model.support_].T, facecolors="none", edgecolors="0.2", linewidths=0.9, s=60)
ax.set(title="Two moons, and what the machine makes of them", xlabel="first feature", ylabel="second feature")
fig.colorbar(shades, label="probability of class 1")
plt.show()
