"""Four pictures of a fit: how it converged, what it traded, what more rows buy, and which rows are hard.

Adult comes with hinge. One label in fifty is turned over, to see whether the hard rows tell.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from hinge import LinearSVC
from hinge.datasets import load
from hinge.display import ConvergenceDisplay, HardRowsDisplay, LearningRuntimeDisplay, ParetoFrontDisplay

parser = argparse.ArgumentParser(description="Draw four pictures of a fit.")
parser.add_argument("file", nargs="?", type=Path, help="where to put the picture, such as displays.png")
target = parser.parse_args().file  # an option in its place is an error, not the name of a file

adult = load("adult")
X, y = adult.X_train[:4000], adult.y_train[:4000].copy()
X_test, y_test = adult.X_test[:4000], adult.y_test[:4000]
turned = np.random.default_rng(0).random(len(y)) < 0.02
y[turned] *= -1

figure = Figure(figsize=(12, 9), layout="constrained")
FigureCanvasAgg(figure)
axes = figure.subplots(2, 2)
model = LinearSVC(lam=1e-3, solver="sdca").fit(X, y)
ConvergenceDisplay.from_estimator(LinearSVC(lam=1e-3, solver="sdca"), X, y, ax=axes[0, 0], quantity="gap")
ParetoFrontDisplay.from_estimator(LinearSVC(), X, y, points=12, ax=axes[0, 1])
LearningRuntimeDisplay.from_estimator(LinearSVC(lam=1e-3), X, y, X_test, y_test, ax=axes[1, 0])
hard = HardRowsDisplay.from_estimator(model, X, y, noise=turned, ax=axes[1, 1])

first = hard.ranking[: turned.sum()]
print(f"Of the {turned.sum()} hardest rows {turned[first].sum()} have a label that was turned over.")
if target is not None:
    figure.savefig(target)
