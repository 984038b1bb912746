"""hinge.SVC against scikit-learn's SVC on small sets: the cost of a fit, and whether the machines agree.

    python benchmarks/small.py [--only times toys] [--repeats 15]

Tables: times (of `fit`, interleaved, medians, compiled code warm, one thread) and toys: scikit-learn's toy
sets as they are, four kernels, three C; fits that raise, whose training accuracy differs from the peer's by
more than 4%, or that differ between two calls. The peer is stopped after twenty million iterations, which
unscaled features take up.
"""

import argparse
import os
import statistics
import time
import warnings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from sklearn import datasets  # noqa: E402
from sklearn.svm import SVC as Libsvm  # noqa: E402

from hinge import SVC  # noqa: E402

TOYS = ("iris", "wine", "breast_cancer", "digits")


def toy(name):
    return getattr(datasets, f"load_{name}")(return_X_y=True)


def many_classes(n_classes=50, rows=200, d=10):
    rng = np.random.default_rng(0)
    return rng.normal(size=(rows, d)), np.repeat(np.arange(n_classes), rows // n_classes)


def times(options):
    print("\nfit, milliseconds: set, SVC, ours, ours/SVC (at most)")
    sets = [("50 classes x 200 rows", many_classes(), 2.0)]
    sets += [(name, toy(name), most) for name, most in zip(TOYS, (1.5, 1.5, 1.5, 1.0), strict=True)]
    for name, (X, y), most in sets:
        SVC().fit(X, y)
        taken = {Libsvm: [], SVC: []}
        for _ in range(options.repeats):
            for make, seconds in taken.items():
                before = time.perf_counter()
                make().fit(X, y)
                seconds.append(time.perf_counter() - before)
        peer, ours = (1e3 * statistics.median(seconds) for seconds in taken.values())
        print(f"{name:24s} {peer:8.2f} {ours:8.2f} {ours / peer:6.2f} ({most:g})", flush=True)


def toys(options):
    print("\nset, kernel, C: accuracy of SVC and ours, gap, seconds of SVC and ours; * where something is wrong")
    wrong = 0
    for name in TOYS:
        X, y = toy(name)
        for kernel in ("linear", "poly", "rbf", "sigmoid"):
            for C in (0.1, 10.0, 1000.0):
                before = time.perf_counter()
                peer = Libsvm(C=C, kernel=kernel, max_iter=20_000_000).fit(X, y)
                middle = time.perf_counter()
                try:
                    ours, again = (SVC(C, kernel=kernel).fit(X, y) for _ in range(2))
                except Exception as error:
                    wrong += 1
                    print(f"{name:14s} {kernel:8s} {C:6g}  * {error}", flush=True)
                    continue
                after = time.perf_counter()
                scores = peer.score(X, y), ours.score(X, y)
                same = np.array_equal(ours.decision_function(X), again.decision_function(X))
                bad = abs(scores[0] - scores[1]) > 0.04 or not same
                wrong += bad
                seconds = f"{middle - before:7.3f} {(after - middle) / 2:7.3f} {'*' * bad}"
                row = f"{name:14s} {kernel:8s} {C:6g}  {scores[0]:.4f} {scores[1]:.4f}  {ours.gap_:8.1e}"
                print(f"{row}  {seconds}", flush=True)
    print(f"{wrong} of {len(TOYS) * 12} wrong")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=("times", "toys"), default=("times", "toys"))
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for table in options.only:
        globals()[table](options)


if __name__ == "__main__":
    main()
