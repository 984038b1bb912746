"""
Four pictures of a fit
======================

How it converged, what it traded, what more rows buy, and which rows are hard. Adult comes with hinge; one label in
fifty is turned over, to see whether the hard rows tell.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from hinge import LinearSVC
from hinge.datasets import load
from hinge.display import ConvergenceDisplay, HardRowsDisplay, LearningRuntimeDisplay, ParetoFrontDisplay

adult = load("adult")
X, y = adult.X_train[:4000], adult.y_train[:4000].copy()
X_test, y_test = adult.X_test[:4000], adult.y_test[:4000]
turned = np.random.default_rng(0).random(len(y)) < 0.02
y[turned] *= -1

fig, axes = plt.subplots(2, 2, figsize=(12, 9), layout="constrained")
model = LinearSVC(lam=1e-3, solver="sdca").fit(X, y)
slow = LinearSVC(lam=1e-4, solver="sdca", tol=1e-5)
ConvergenceDisplay.from_estimator(slow, X, y, ax=axes[0, 0], quantity="gap")
ParetoFrontDisplay.from_estimator(LinearSVC(), X, y, points=12, ax=axes[0, 1])
LearningRuntimeDisplay.from_estimator(LinearSVC(lam=1e-3), X, y, X_test, y_test, ax=axes[1, 0])
hard = HardRowsDisplay.from_estimator(model, X, y, noise=turned, ax=axes[1, 1])
plt.show()

first = hard.ranking[: turned.sum()]
print(f"Of the {turned.sum()} hardest rows {turned[first].sum()} have a label that was turned over.")
