"""
Hard rows, and mislabelled ones
===============================

Twenty labels are turned over on purpose. The margin of a row that pulls the machine to its own label does not show it;
what the machine would say *without* the row does.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from hinge import SVC
from hinge.explain import influential_rows, margin_rows, row_table, suspicious_rows

digits = load_digits()
few = np.isin(digits.target, [3, 8])
X, y = digits.data[few], digits.target[few].copy()
rng = np.random.default_rng(0)
turned = rng.choice(len(y), 20, replace=False)
y[turned] = 11 - y[turned]  # 3 becomes 8, and 8 becomes 3

model = SVC(C=10.0, gamma=0.001).fit(X, y)
suspects = suspicious_rows(model, X, y)
found = np.isin(suspects.row[:20], turned).sum()
print(f"Of the 20 most suspicious rows {found} are those that were turned over.")
print("most influential:", influential_rows(model, X, y, top=5).row)
print("nearest to the margin:", margin_rows(model, X, y, top=5).row)

# %%
# With the row, and without it
# ----------------------------

table = row_table(model, X, y)
wrong = np.isin(table.row, turned)
fig, ax = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
ax.scatter(table.margin[~wrong], table.without[~wrong], s=14, alpha=0.5, label="as it should be")
ax.scatter(table.margin[wrong], table.without[wrong], s=40, marker="x", color="tab:red", label="turned over")
ax.axhline(0, color="grey", lw=0.8)
ax.set(xlabel="margin in the fit", ylabel="margin without the row", title="Where labels were turned over")
ax.legend()

# %%
# The eight least probable labels.

fig, axes = plt.subplots(1, 8, figsize=(11, 1.9), layout="constrained")
for ax, row in zip(axes, suspects.row, strict=False):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"said to be {y[row]}", fontsize=9)
    ax.axis("off")
plt.show()
