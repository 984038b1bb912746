"""Memory, latency and cost per nonzero of a fit.

    python benchmarks/footprint.py [first]

Peak extra memory is the larger of two readings, in a fresh process after a warm-up fit of the same
types: the growth of the resident set during `fit`, and what its allocations were traced to take.
First fits, which are all that `first` measures, include the import of the estimator, in fresh processes with an empty
and with a filled compilation cache. The floor
is the machine's own: gather and multiply-add over indices that stay in cache.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc

import numpy as np

CASES = (
    "dense float32",
    "CSR float32",
    "memory-mapped float32",
    "scikit-learn dense float32",
    "scikit-learn CSR float32",
)


def resident_peak() -> int:
    """High-water mark of the resident set in bytes."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def memory(case: str) -> None:
    """One case, in this process: prints peak extra memory over the size of X."""
    from sklearn.svm import LinearSVC as Liblinear

    from hinge import LinearSVC, datasets

    rng = np.random.default_rng(0)
    if "CSR" in case:
        text = datasets.make_text(150_000, seed=0)
        X, y = text.X_train, text.y_train
        size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    else:
        X = rng.random((250_000, 200), dtype=np.float32)
        y = np.where(X @ rng.normal(size=200) + rng.normal(size=len(X)) > 0, 1, -1)
        size = X.nbytes
    if "mapped" in case:
        name = os.path.join(tempfile.mkdtemp(), "X.npy")
        np.save(name, X)
        X = np.load(name, mmap_mode="r")
        size = X.nbytes
        float(X.sum())  # in memory before the measurement, so that its own pages do not count
    model = Liblinear(loss="hinge", C=1.0, tol=1.0) if "scikit" in case else LinearSVC(loss="hinge", lam=1e-4, tol=1e-2)
    model.fit(X[:2000], y[:2000])
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")
    before = resident_peak()
    model.fit(X, y)
    resident = resident_peak() - before
    tracemalloc.start()  # sees what the allocator had kept from before, but not what C code takes
    model.fit(X, y)
    print(json.dumps(max(resident, tracemalloc.get_traced_memory()[1]) / size))


FIRST = """
import json, sys, time
import numpy as np
import sklearn.svm
from sklearn.datasets import load_diabetes, load_iris
from sklearn.preprocessing import scale
import hinge.compiled
name, rows, tier = sys.argv[1:]
if tier == "compiled":
    hinge.compiled.A_WHILE = hinge.compiled.A_MOMENT = 0.0
rng = np.random.default_rng(0)
X, y = (load_diabetes if "SVR" in name else load_iris)(return_X_y=True)
X = scale(X)
if rows == "wide":
    X = rng.normal(size=(500, 2000))
    y = np.where(X[:, 0] + rng.normal(size=500) > 0, 1, -1)
seconds = [time.process_time()]
for machine in (getattr(sklearn.svm if tier == "peer" else hinge, name) for _ in range(2)):
    machine().fit(X, *([] if name == "OneClassSVM" else [y]))
    seconds.append(time.process_time())
print(json.dumps(seconds[1] - seconds[0]))
"""


def first() -> None:
    """First fits: scikit-learn's, ours with and without code in the cache, and if all were compiled at once."""
    print("first fit of a process, processor's seconds: scikit-learn; ours ever, again, ever and all compiled")
    sets = [(name, "toy") for name in ("LinearSVC", "LinearSVR", "SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM")]
    for name, rows in [*sets, ("LinearSVC", "wide")]:
        with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as other:
            tiers = (("peer", other), ("tiered", cache), ("tiered", cache), ("compiled", other))
            shown = "".join(f"{fresh(name, rows, *tier):8.2f}" for tier in tiers)
            print(f"{name:12} {rows:5} {shown}", flush=True)


def fresh(name: str, rows: str, tier: str, cache: str) -> float:
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FIRST, name, rows, tier],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(run.stdout.splitlines()[-1])


def per_nonzero() -> None:
    from hinge import datasets
    from hinge.access.matrix import Matrix, _responses
    from hinge.problems import Regularized
    from hinge.solvers import SDCA

    text = datasets.make_text(200_000, seed=0)
    problem, solver = Regularized(text.X_train, text.y_train, 1e-4), SDCA()
    nnz = problem.matrix.n_cells

    def best(run, cells, repeats=5):
        times = []
        for _ in range(repeats):
            before = time.perf_counter()
            run()
            times.append(time.perf_counter() - before)
        return min(times) / cells * 1e9

    near = text.X_train[:4000].copy()
    near.indices %= 4096
    floor, w, out = Matrix(near), np.ones(problem.d), np.empty(problem.n)
    _responses(floor.rows, w, 0, 10, out, False)
    solver.advance(problem, solver.init(problem), 10)
    states = [solver.init(problem, seed) for seed in range(3)]
    rows = {
        "floor: gather and multiply-add in cache": best(
            lambda: _responses(floor.rows, w, 0, 4000, out, False), floor.n_cells
        ),
        "one pass of the certificate": best(lambda: _responses(problem.matrix.rows, w, 0, problem.n, out, False), nnz),
        "SDCA, first epoch": min(best(lambda s=s: solver.advance(problem, s, problem.n), nnz, 1) for s in states),
        "SDCA, second epoch": min(best(lambda s=s: solver.advance(problem, s, problem.n), nnz, 1) for s in states),
    }
    for name, ns in rows.items():
        print(f"{name:44} {ns:6.2f} ns per nonzero")


def main() -> None:
    if sys.argv[1:] == ["first"]:
        return first()
    if len(sys.argv) > 1:
        return memory(sys.argv[1])
    for case in CASES:
        run = subprocess.run(
            [sys.executable, "-W", "ignore", __file__, case], capture_output=True, text=True, check=True
        )
        print(f"peak extra memory, {case:28} {json.loads(run.stdout.splitlines()[-1]):6.2f} x X")
    first()
    per_nonzero()


if __name__ == "__main__":
    main()
