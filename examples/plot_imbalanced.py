"""
Rare positives: probabilities and a threshold
=============================================

One row in thirty is positive. The machine with the smallest loss then hardly ever says so; its probabilities, and a
threshold by cost, put that right without another fit.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split

from hinge import LinearSVC, choose_threshold
from hinge.display import CalibrationDisplay

X, y = make_classification(6000, 20, n_informative=5, weights=[0.97], class_sep=0.8, flip_y=0.01, random_state=3)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
model = LinearSVC(C=0.1).fit(X, y)
print(f"{y.mean():.1%} of the rows are positive, {model.predict(X_test).mean():.1%} are predicted to be")

# %%
# Probabilities from the same fit
# -------------------------------
# `calibrate` learns what decision values mean from the values that rows would have had without them, which the solution
# tells. On held-out rows, what was said should be what was so.

model.calibrate(X, y)
CalibrationDisplay.from_estimator(model, X_test, y_test)

# %%
# A threshold by cost
# -------------------
# To miss a positive shall cost twenty times a false alarm.

found = choose_threshold(model, X, y, cost_fp=1.0, cost_fn=20.0)
values = model.decision_function(X_test)
marks = np.linspace(values.min(), values.max(), 200)
cost = [((values > t) & (y_test == 0)).mean() + 20 * ((values <= t) & (y_test == 1)).mean() for t in marks]
fig, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
ax.plot(marks, cost, color="tab:blue")
ax.axvline(0, color="grey", ls=":", label="zero, what predict takes")
ax.axvline(found.threshold, color="tab:orange", label="chosen on training rows")
ax.set(xlabel="threshold", ylabel="mean cost of a held-out row", title="What a threshold costs")
ax.legend()
plt.show()

print(f"expected cost {found.cost:.3f} in place of {found.cost_at_zero:.3f}")
print("by zero:\n", confusion_matrix(y_test, values > 0))
print("by the threshold:\n", confusion_matrix(y_test, values > found.threshold))
