"""
A Dask cluster
==============

Rows stay with the workers. In each round every part climbs the dual on its own rows, one vector travels each way, and
the certificate is over all parts. Here the cluster is a few threads of this process.
"""

# %%
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

from hinge.dask import LinearSVC

rng = np.random.default_rng(0)
rows = rng.standard_normal((8000, 100)).astype(np.float32)
labels = rows @ rng.standard_normal(100) + 4 * rng.standard_normal(8000) > 0
X, y = da.from_array(rows, chunks=(1000, 100)), da.from_array(labels, chunks=1000)

cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
client = Client(cluster)
rounds = {}
for parts in (1, 2, 4, 8):
    model = LinearSVC(C=1e-3, loss="hinge", tol=1e-3, parts=parts, client=client).fit(X, y)
    rounds[str(parts)] = len(model.history_)
    print(f"{parts} parts: gap {model.gap_:.1e}, {len(model.history_)} rounds, {model.bytes_moved_ / 1e3:.0f} kB moved")
fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.bar(rounds.keys(), rounds.values())
ax.set(
    xlabel="parts that work at once", ylabel="rounds to a certified gap of 1e-3", title="More parts need more rounds"
)
plt.show()

# %%
# Predictions of chunks are chunks, to be computed when they are wanted; `to_local` is a plain estimator.

print(f"error {float((model.predict(X) != y).mean()):.3f}")
print(model.to_local())
client.close()
cluster.close()
