"""
Parquet larger than memory
==========================

Rows that lie in several Parquet files are learned from in blocks. Here the files are small and the memory limit is
smaller still, so that everything happens as it would with a terabyte.
"""

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hinge import LinearSVC

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
true = rng.standard_normal(20)
for part in range(4):
    X = rng.standard_normal((5000, 20)).astype(np.float32)
    label = np.where(X @ true + rng.standard_normal(5000) > 0, "yes", "no")
    columns = {f"x{j}": X[:, j] for j in range(20)} | {"label": label}
    pq.write_table(pa.table(columns), folder / f"part{part}.parquet", row_group_size=1000)

# %%
# `y` is the name of a column. With a checkpoint rows are never loaded as a whole, and a fit that was killed continues
# from there to the same bits; `max_memory` would be the other way to say so.

model = LinearSVC(C=0.01, tol=1e-3, checkpoint=folder / "kept")
model.fit(str(folder / "*.parquet"), "label")
print(f"{model.solver_}: gap {model.gap_:.1e} after {model.n_iter_} passes, {model.bytes_read_ / 1e6:.1f} MB read")
cosine = model.coef_[0] @ true / np.linalg.norm(model.coef_) / np.linalg.norm(true)
print(f"angle to the true weights: {np.degrees(np.arccos(cosine)):.1f}°")

# %%
# Each pass certifies the answer that it began with.

fig, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
gaps = [record.gap for record in model.history_]
ax.semilogy(range(1, len(gaps) + 1), gaps, "o-")
ax.set_xticks(range(1, len(gaps) + 1))
ax.axhline(1e-3, color="grey", ls=":")
ax.set(xlabel="pass over the files", ylabel="certified relative gap", title="A gap for every pass")
plt.show()
