"""`hinge.dask.SVC` on two workers, and on one: certified gaps of the exact kernel, passes and kernel values.

    python benchmarks/dask_kernel.py [--rows 200000] [--components 2000] [--gammas 0.02] [--workers 1 2] [--local]

Workers are processes of one thread each. A line for each fit; with `--local` one of `hinge.SVC` with the same landmarks
besides. All fits of a kernel on any number of workers should be the same, bit for bit: the last line says so.
Needs hinge[dask].
"""

import argparse
import os
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import dask.array as da  # noqa: E402
from distributed import Client, LocalCluster  # noqa: E402
from low_rank import made  # noqa: E402

import hinge  # noqa: E402
from hinge.dask import SVC  # noqa: E402


def show(label, model, seconds, error):
    print(
        f"  {label:10} {len(model.support_):6,} landmarks, gap {model.gap_:.4f}, objective {model.objective_:.9f}, "
        f"{int(model.n_iter_.max()):3} passes, {model.n_kernel_evals_:.2g} kernel values, {seconds:7.1f} s, "
        f"test error {error:.4f}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--components", type=int, default=2000)
    parser.add_argument("--gammas", type=float, nargs="+", default=[0.02])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--tol", type=float, default=0.05)
    parser.add_argument("--local", action="store_true")
    asked = parser.parse_args()
    X, y, X_test, y_test = made(asked.rows, 20)
    chunks = -(-asked.rows // 8)
    rows, labels = da.from_array(X, chunks=(chunks, X.shape[1])), da.from_array(y, chunks=chunks)
    for gamma in asked.gammas:
        print(f"{asked.rows:,} x {X.shape[1]}, gamma={gamma:g}, C=1, tol={asked.tol:g}")
        settings, found = dict(gamma=gamma, n_components=asked.components, tol=asked.tol), []
        for count in asked.workers:
            with (
                LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0") as cluster,
                Client(cluster) as client,
            ):
                began = time.perf_counter()
                model = SVC(client=client, parts=max(asked.workers), **settings).fit(rows, labels)
                show(f"{count} workers", model, time.perf_counter() - began, 1 - model.to_local().score(X_test, y_test))
                found.append(model.dual_coef_.tobytes())
        if asked.local:
            began = time.perf_counter()
            model = hinge.SVC(n_jobs=max(asked.workers), **settings).fit(X, y)
            show("local", model, time.perf_counter() - began, 1 - model.score(X_test, y_test))
        print(f"  the same bits: {len(set(found)) == 1}")


if __name__ == "__main__":
    main()
