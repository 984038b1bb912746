"""Thousands of fits of every estimator in one process, its memory watched.

``python -m tests.soak --fits 10000`` prints the resident memory after the first fits and at the end, and ends
with 1 if it grew by more than 5 MB in between.
"""

import argparse
import gc
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp

SETTLED = 500
"""Fits after which nothing more should be kept."""
MOST = 5.0
"""Megabytes that it may grow from then on."""


def fits():
    """One fit each, by name: small, so that there are many, and of changing sizes."""
    import hinge
    from hinge import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM, Oracle
    from hinge.kernels import Function

    rng = np.random.default_rng(0)

    def data():
        X = rng.standard_normal((int(rng.integers(40, 120)), int(rng.integers(3, 9))))
        return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(len(X)) > 0, "yes", "no")

    def on(model, form=lambda X: X, several=False):
        X, y = data()
        y = np.arange(len(X)) % 3 if several else y
        model.fit(form(X), y).predict(form(X))

    def streamed():
        X, y = data()
        model = LinearSVC()
        for half in (slice(None, 30), slice(30, None)):
            model.partial_fit(X[half], y[half], classes=["no", "yes"])

    def bought():
        X, y = data()

        class Seller:
            shape = X.shape
            row = staticmethod(lambda i: X[i])
            column = staticmethod(lambda j: X[:, j])

        LinearSVC().fit(Oracle(Seller(), timeout=10), y)

    def watched():
        X, y = data()
        hinge.SVC(max_time=5, target_error=0.4).fit(X, y)

    def pairs(x, z):
        return float(x @ z)

    found: dict[str, Callable[[], object]] = {
        "LinearSVC": lambda: on(LinearSVC()),
        "LinearSVC float32": lambda: on(LinearSVC(solver="sdca"), lambda X: X.astype(np.float32)),
        "LinearSVC sparse": lambda: on(LinearSVC(loss="hinge", solver="pegasos", tol=0.1), sp.csr_array),
        "LinearSVC classes": lambda: on(LinearSVC(n_jobs=2, max_time=10), several=True),
        "LinearSVC slack": lambda: on(LinearSVC(loss="hinge", slack=0.3, tol=0.1)),
        "LinearSVR": lambda: on(LinearSVR(C=0.1), several=True),
        "SVR": lambda: on(SVR(C=0.1), several=True),
        "LinearSVC few reads": lambda: on(LinearSVC(max_reads=300)),
        "LinearSVC warm": lambda: on(LinearSVC(warm_start=True)),
        "LinearSVC oracle": bought,
        "partial_fit": streamed,
        "SVC": lambda: on(SVC()),
        "SVC threads": lambda: on(SVC(n_jobs=2)),
        "SVC classes": lambda: on(SVC(), several=True),
        "SVC sparse": lambda: on(SVC(kernel="poly"), sp.csr_matrix),
        "SVC function": lambda: on(SVC(kernel=Function(pairs, on="pairs"), max_iter=3)),
        "SVC limits": watched,
        "NuSVC": lambda: on(NuSVC(nu=0.2)),
        "NuSVR": lambda: on(NuSVR(C=0.1), several=True),
        "OneClassSVM": lambda: OneClassSVM(nu=0.3).fit(data()[0]),
        "max_margin": lambda: hinge.max_margin(*data(), eps=0.1, max_iter=50),
        "enclosing_ball": lambda: hinge.enclosing_ball(data()[0]),
        "solve_game": lambda: hinge.solve_game(data()[0], eps=0.05),
        "semidefinite": lambda: hinge.semidefinite(rng.standard_normal((3, 4, 4)), eps=0.1, max_iter=50),
    }
    return found


def megabytes():
    """Memory that the process has, without what is garbage."""
    gc.collect()
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)


def soak(count, names=None, told=print):
    """Fit in turn; the megabytes grown since memory had settled."""
    chosen = {name: fit for name, fit in fits().items() if not names or name in names}
    settled, began = 0.0, time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(count):
            list(chosen.values())[k % len(chosen)]()
            if k + 1 == min(SETTLED, count // 2):
                settled = megabytes()
                told(f"{k + 1:7,} fits {settled:8.1f} MB {time.perf_counter() - began:7.0f} s")
            elif (k + 1) % max(1, count // 5) == 0:
                told(f"{k + 1:7,} fits {megabytes():8.1f} MB {time.perf_counter() - began:7.0f} s")
    return megabytes() - settled


def main():
    """Soak, and say what grew."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--fits", type=int, default=10_000)
    parser.add_argument("--only", action="append", help="An estimator; may be repeated.")
    options = parser.parse_args()
    grown = soak(options.fits, options.only, lambda line: print(line, flush=True))
    print(f"grown by {grown:.1f} MB after the first {min(SETTLED, options.fits // 2)}, {MOST:g} allowed")
    return int(grown > MOST)


if __name__ == "__main__":
    sys.exit(main())
