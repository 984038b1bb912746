"""How fits on a cluster grow with rows, workers and bytes: measured curves, and what they predict for more machines.

    python benchmarks/scale.py [--rows 50000 100000] [--workers 1 2 4] [--repeats 2]

Two kinds of rows: text-like ones of 10,000 features, 69 of them not zero, which CoCoA+ learns (lam=1e-4), and dense
ones of 50 features, eight times as many, which Newton's method learns (C=1). For each number of rows and of workers
(processes of one thread each): rounds and passes to a certified gap of 1e-3, bytes that the client moved in a round,
CPU seconds of the busiest worker, wall-clock seconds; the least of the repeats. Fits of a thousand rows show what a
round costs that has nothing to do. Then the rounds by the number of parts, which take turns in one process.

Last, the model of docs/scale.md with the constants that were found, for 10^9 rows on 100 machines. Needs hinge[dask].
"""

import argparse
import os
import time
from itertools import pairwise

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from distributed import Client, LocalCluster  # noqa: E402

from hinge import datasets  # noqa: E402
from hinge.dask import LinearSVC  # noqa: E402

TOL = 1e-3
SETTINGS = {
    "text": dict(loss="hinge", lam=1e-4, solver="cocoa"),
    "dense": dict(loss="squared_hinge", C=1.0, solver="blocknewton"),
}
EMPTY = 1000  # rows that are none, nearly
BANDWIDTH, TASK = 1e9, 1e-3  # assumed: bytes a second between machines, seconds of the scheduler for a task


def rows_of(kind, n):
    """Rows and labels."""
    if kind == "text":
        found = datasets.make_text(n, d=10_000, seed=0)
        return found.X_train, found.y_train
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 50), dtype=np.float32)
    return X, np.where((X @ rng.standard_normal(50) > 0) ^ (rng.random(n) < 0.1), 1, -1)


def chunks(X, y, count):
    """Stretches of neighbours."""
    ends = np.linspace(0, len(y), count + 1).astype(int)
    return [X[lo:hi] for lo, hi in pairwise(ends)], [y[lo:hi] for lo, hi in pairwise(ends)]


def settings(kind, n):
    """Of a fit; few rows are no hard problem."""
    return SETTINGS[kind] | (dict(lam=1.0) if n == EMPTY else {})


def fitted(kind, X, y, client, workers, repeats):
    """Rounds, cells, bytes a round, CPU seconds of the busiest worker, wall-clock seconds and passes of a fit."""
    Xs, ys = chunks(X, y, workers)
    Xs, ys = client.scatter(Xs), client.scatter(ys)
    found, cpus, walls = None, [], []
    for _ in range(repeats + 1):  # the first compiles
        before, began = client.run(time.process_time), time.perf_counter()
        model = LinearSVC(client=client, parts=workers, tol=TOL, random_state=0, **settings(kind, len(y))).fit(Xs, ys)
        wall, after = time.perf_counter() - began, client.run(time.process_time)
        assert model.gap_ <= TOL
        cpus.append(max(after[address] - before[address] for address in before))
        walls.append(wall)
        found = model.history_[-1]
    moved = model.bytes_moved_ / found.iteration
    return found.iteration, model.n_feature_reads_, moved, min(cpus[1:]), min(walls[1:]), found.passes


def by_parts(kind, X, y, counts):
    """Rounds, with the passes beside them, for each number of parts."""
    found = []
    for count in counts:
        model = LinearSVC(parts=count, tol=TOL, random_state=0, **SETTINGS[kind]).fit(*chunks(X, y, count))
        found.append(f"{count}: {model.history_[-1].iteration} ({model.history_[-1].passes})")
    return ", ".join(found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[50_000, 100_000])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    sizes = {"text": options.rows, "dense": [8 * n for n in options.rows]}
    data = {(kind, n): rows_of(kind, n) for kind in SETTINGS for n in [EMPTY, *sizes[kind]]}
    print("| rows | kind | workers | rounds (passes) | bytes a round | CPU s of the busiest | ns a cell | wall s |")
    print("|---|---|---|---|---|---|---|---|")
    speeds, waits = {kind: [] for kind in SETTINGS}, {kind: [] for kind in SETTINGS}
    for workers in options.workers:
        with (
            LocalCluster(workers, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=0) as own,
            Client(own, set_as_default=False) as client,
        ):
            for (kind, n), (X, y) in data.items():
                rounds, cells, moved, cpu, wall, passes = fitted(kind, X, y, client, workers, options.repeats)
                speed = cpu / (cells / workers) * 1e9
                if n == EMPTY:
                    waits[kind].append(wall / rounds)
                else:
                    speeds[kind].append(speed)
                shown = f"{n:,} | {kind} | {workers} | {rounds} ({passes}) | {moved:,.0f} | {cpu:.2f}"
                print(f"| {shown} | {speed:.2f} | {wall:.2f} |", flush=True)
    print("\nrounds (passes) by parts:")
    for kind in SETTINGS:
        X, y = data[kind, sizes[kind][-1]]
        print(f"  {kind}: {by_parts(kind, X, y, [1, 2, 4, 8, 16])}", flush=True)
    print("\n10^9 rows on 100 machines of 16 cores, 1,600 parts:")
    for kind, cells, rounds, reads, tasks, moved in (("text", 69, 4, 5, 5, 16e4), ("dense", 50, 6, 2, 1, 8 * 51**2)):
        speed, wait = float(np.median(speeds[kind])), float(np.median(waits[kind]))
        arithmetic = rounds * reads * 1e9 * cells / 1600 * speed * 1e-9
        # Tasks go out one after the other; sums come back in three levels of sixteen.
        between = rounds * (wait + tasks * TASK * 1600 + 3 * 16 * moved / BANDWIDTH)
        print(
            f"  {kind}: {speed:.1f} ns a cell, {1e3 * wait:.0f} ms a round; {rounds} rounds of {reads} reads: "
            f"{arithmetic:.0f} s of arithmetic, {between:.0f} s between machines"
        )


if __name__ == "__main__":
    main()
