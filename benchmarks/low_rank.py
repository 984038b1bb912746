"""Landmarks against the exact kernel: certified gaps, seconds, and models that are compressed.

``python benchmarks/low_rank.py [--device cuda] [--sets a9a made covtype mnist] [--small] [--steps 50]``

A line for each fit: the number of landmarks, the certified gap, seconds of the second call of two (the first compiles,
and warms the device), CPU seconds, and the test error. Sets that are not in the folder of data are left out.
"""

import argparse
import time
import warnings

import numpy as np

from hinge import SVC
from hinge.datasets import load
from hinge.estimators.mixins import reduced_set

FITS = {
    "a9a": ({"gamma": 0.05}, ({"n_components": 500}, {"n_components": 2000}, {"n_components": 8000})),
    "made": (
        {"gamma": 0.1},
        ({"n_components": 1500}, {"n_components": 2000}, {"n_components": 4000}, {"n_components": "auto", "tol": 0.05}),
    ),
    "covtype": ({"gamma": 1.0}, ({"n_components": 4000}, {"n_components": 6000}, {"n_components": 8000})),
}
"""Of each set: the kernel, and the landmarks."""


def made(n, d, seed=0):
    """Points of a ball's inside and outside, with some labels flipped."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + 10_000, d)).astype(np.float32)
    y = np.where((X**2).sum(axis=1) > d, 1, -1)
    y[rng.random(len(y)) < 0.05] *= -1
    return X[:n], y[:n], X[n:], y[n:]


def data_of(name, small):
    if name == "made":
        return made(200_000 if small else 1_000_000, 20 if small else 10)
    split = load(name)
    return split.X_train, split.y_train, split.X_test, split.y_test


def timed(work):
    """What it gives, and the seconds and CPU seconds of its second call."""
    work()
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return found, time.perf_counter() - wall, time.process_time() - cpu


def show_fits(name, device, small):
    X, y, X_test, y_test = data_of(name, small)
    kernel, every = FITS[name]
    print(f"{name}: {X.shape[0]:,} x {X.shape[1]}, {kernel}, C=1, {device}", flush=True)
    for options in [every[0], {"n_components": "auto", "tol": 0.05}] if small else every:
        model = SVC(**kernel, **{"tol": 1e-3, **options}, device=device, n_jobs=2)
        model, wall, cpu = timed(lambda model=model: model.fit(X, y))
        error = 1.0 - model.score(X_test, y_test)
        print(
            f"  {options!s:45} {len(model.support_):6,} landmarks, gap {model.gap_:.4f}, {wall:8.2f} s, "
            f"{cpu:8.2f} s of CPU, {model.n_kernel_evals_:.2g} kernel values, test error {error:.4f}",
            flush=True,
        )


def show_compression(small, every):
    """The eights of MNIST against the rest, with a tenth of the support vectors, moved by so many steps."""
    split = load("mnist")
    rows = slice(0, 10_000 if small else None)
    X, y, X_test = split.X_train[rows], split.y_train[rows], split.X_test
    model = SVC(gamma=0.02, C=10.0, n_jobs=2).fit(X, y)
    for steps in every:
        reduced_set.STEPS = steps
        began = time.perf_counter()
        little = model.compress(X, n_support=len(model.support_) // 10)
        took = time.perf_counter() - began
        turns = [[timed(lambda one=one: one.predict(X_test))[2] for one in (model, little)] for _ in range(5)]
        changed = np.mean(model.predict(X_test) != little.predict(X_test))
        print(
            f"mnist 8, {len(X):,} rows: {len(model.support_):,} support vectors, compressed in {took:.1f} s by {steps} "
            f"steps: {little.compression_}; predictions {np.median([a / b for a, b in turns]):.1f} times as fast, "
            f"{changed:.4%} of test labels changed",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--sets", nargs="+", default=["a9a", "made", "covtype", "mnist"])
    parser.add_argument("--steps", type=int, nargs="+", default=[reduced_set.STEPS], help="of vectors that are moved")
    parser.add_argument("--small", action="store_true", help="fewer rows and fits: minutes on two cores")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in asked.sets:
        try:
            show_compression(asked.small, asked.steps) if name == "mnist" else show_fits(
                name, asked.device, asked.small
            )
        except FileNotFoundError as error:
            print(f"{name}: {error}")


if __name__ == "__main__":
    main()
