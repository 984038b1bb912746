"""Bytes really read from a matrix on disk by a frugal fit, against the error of a fit to all of it.

    python benchmarks/on_disk.py [--data ../shared/data] [--folder DIR] [--keep-files]

MNIST, 8 against the rest, with every image also shifted by one pixel in all directions, as 4,096 random
Fourier features of the Gaussian kernel with sigma^2 = 25: 540,000 rows of float32, 8.85 GB, written as a pair
(by rows and by columns). The pages of its files are dropped from the cache before each fit. Bytes are
those of /proc/self/io, `read_bytes`: what came from the disk. The full fit reads the same file into memory. C
is 10 for both; nothing is tuned. The frugal fit has a budget of cells, its first control.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

SHIFTS = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)]
WIDTH, SIGMA_SQ, C = 4096, 25.0, 10.0
BLOCK = 20_000


def shifted(X, a, b):
    """Images moved by a rows and b columns, zeros where nothing is."""
    images = X.reshape(-1, 28, 28)
    out = np.zeros_like(images)
    out[:, max(0, a) : 28 + min(0, a), max(0, b) : 28 + min(0, b)] = images[
        :, max(0, -a) : 28 + min(0, -a), max(0, -b) : 28 + min(0, -b)
    ]
    return out.reshape(-1, 784)


def features(X):
    """Random Fourier features (Rahimi and Recht 2007), always the same."""
    rng = np.random.default_rng(0)
    W = (rng.standard_normal((X.shape[1], WIDTH)) / np.sqrt(SIGMA_SQ)).astype(np.float32)
    phase = rng.uniform(0, 2 * np.pi, WIDTH).astype(np.float32)
    return np.cos(X @ W + phase) * np.float32(np.sqrt(2 / WIDTH))


def blocks(X):
    for a, b in SHIFTS:
        for lo in range(0, len(X), BLOCK):
            yield features(shifted(X[lo : lo + BLOCK], a, b))


def read_bytes():
    """Bytes that this process has had fetched from disks."""
    with open("/proc/self/io") as counts:
        return next(int(line.split()[1]) for line in counts if line.startswith("read_bytes"))


def drop_cache(folder):
    for path in Path(folder).rglob("*"):
        if path.is_file():
            fd = os.open(path, os.O_RDONLY)
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    options.add_argument("--folder", type=Path, help="where to write the pair; else a temporary folder")
    options.add_argument("--keep-files", action="store_true")
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--shares", type=float, nargs="+", default=[0.04, 0.06, 0.09], help="budgets")
    given = options.parse_args()
    if not (given.data / "mnist.npz.xz").exists():
        sys.exit(f"There is no mnist.npz.xz in {given.data}: give --data.")
    sys.path.insert(0, str(given.data))
    from load import load
    from sklearn.exceptions import ConvergenceWarning

    from hinge import LinearSVC
    from hinge.access.two_way.reader import open_pair
    from hinge.access.two_way.writer import write_pair

    X, y, X_test, y_test = load("mnist", positive=8)
    y = np.tile(np.where(y > 0, 1, -1), len(SHIFTS))
    X_test, y_test = features(X_test), np.where(y_test > 0, 1, -1)
    shape = len(y), WIDTH
    base = given.folder or Path(tempfile.mkdtemp())
    folder = base / "mnist_features"
    if not folder.exists():
        began = time.perf_counter()
        write_pair(blocks(X), folder, shape=shape, dtype=np.float32)
        print(f"pair written in {time.perf_counter() - began:.0f} s")
    size = 4 * shape[0] * shape[1]
    print(f"{shape[0]:,} x {shape[1]} float32, {size / 1e9:.2f} GB by rows, and as much by columns")
    print(f"{'':24}{'error %':>9}{'read MB':>10}{'of file %':>11}{'rows %':>8}{'seconds':>9}")
    try:
        for share in given.shares:
            for seed in range(given.seeds):
                drop_cache(folder)
                before, began = read_bytes(), time.perf_counter()
                budget = int(share * shape[0] * shape[1])
                model = LinearSVC(loss="hinge", intercept="free", C=C, random_state=seed, max_reads=budget).fit(
                    open_pair(folder), y
                )
                name = f"budget {100 * share:g}%, seed {seed}"
                report(name, model, began, read_bytes() - before, size, shape, X_test, y_test)
        drop_cache(folder)
        before, began = read_bytes(), time.perf_counter()
        whole = np.fromfile(folder / "rows", np.float32).reshape(shape)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LinearSVC(
                loss="hinge", intercept="free", C=C, random_state=0, solver="sdca", tol=1e-2, max_iter=60
            ).fit(whole, y)
        name = f"all of it, gap {model.gap_:.2g}"
        report(name, model, began, read_bytes() - before, size, shape, X_test, y_test)
    finally:
        if not given.keep_files:
            shutil.rmtree(folder)


def report(name, model, began, read, size, shape, X_test, y_test):
    error = 100 * np.mean(model.predict(X_test) != y_test)
    rows = 100 * getattr(model, "n_distinct_reads_", shape[0] * shape[1]) / (shape[0] * shape[1])
    print(
        f"{name:24}{error:9.2f}{read / 1e6:10.0f}{100 * read / size:11.2f}{rows:8.2f}"
        f"{time.perf_counter() - began:9.1f}  {model.stop_reason_}",
        flush=True,
    )


if __name__ == "__main__":
    main()
