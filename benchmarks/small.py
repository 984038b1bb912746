"""hinge's machines against scikit-learn's on small sets: the cost of a fit, and whether the machines agree.

    python benchmarks/small.py [--only times linear overhead toys] [--repeats 15]

Tables: times of `SVC` (of `fit`, interleaved, medians, compiled code warm, one thread); linear, the same of `LinearSVC`
and `LinearSVR` as they come, with objectives, since both sides have a tolerance of their own; overhead, a fit of
`LinearSVC` on 150 rows of 4 features against the steps and the certificate of its solver alone, in time of the
processor; and toys: scikit-learn's toy sets as they are, four kernels, three C; fits that raise, whose training
accuracy differs from the peer's by more than 4%, or that differ between two calls. The peer is stopped after twenty
million iterations, which unscaled features take up.
"""

import argparse
import os
import statistics
import time
import warnings
from functools import partial

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from sklearn import datasets  # noqa: E402
from sklearn import svm as peers  # noqa: E402
from sklearn.preprocessing import scale  # noqa: E402
from sklearn.svm import SVC as Libsvm  # noqa: E402

from hinge import SVC, LinearSVC, LinearSVR, Regularized  # noqa: E402
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE  # noqa: E402

TABLES = ("times", "linear", "overhead", "toys")
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


def linear(options):
    print("\nfit, milliseconds: set, machine, peer, ours, peer/ours, our passes or steps, both objectives (last class)")
    sets = [(name, *toy(name)) for name in TOYS[:3]]
    sets += [(f"{name}, scaled", scale(X), y) for name, X, y in sets[1:]]
    for n, d in ((20, 2), (100, 20), (300, 20), (1000, 20), (1000, 200), (3000, 20), (10_000, 20)):
        X, y = datasets.make_classification(n, d, n_informative=min(d, 5), n_redundant=0, random_state=0)
        sets.append((f"{n} x {d}", X, y))
    for name, X, y in sets:
        for loss in ("squared_hinge", "hinge"):
            _race(name, X, y, peers.LinearSVC, LinearSVC, {"loss": loss}, options.repeats)
    for n, d in ((20, 2), (100, 20), (300, 20), (3000, 20)):
        X, y = datasets.make_regression(n, d, noise=10.0, random_state=0)
        _race(f"{n} x {d}", X, y, peers.LinearSVR, LinearSVR, {}, options.repeats)


def _race(name, X, y, peer, ours, settings, repeats):
    taken, models = {peer: [], ours: []}, {}
    ours(**settings).fit(X, y)
    for _ in range(repeats):
        for make, seconds in taken.items():
            before = time.perf_counter()
            models[make] = make(random_state=0, **settings).fit(X, y)
            seconds.append(time.perf_counter() - before)
    first, second = (1e3 * statistics.median(seconds) for seconds in taken.values())
    values = " / ".join(f"{_objective(model, X, y):.6g}" for model in models.values())
    what = settings.get("loss", "regression")
    steps = models[ours].n_iter_
    print(f"{name:22s} {what:14s} {first:8.2f} {second:8.2f} {first / second:6.2f} {steps:4d}  {values}", flush=True)


def _objective(model, X, y):
    w, b = np.atleast_2d(model.coef_)[-1], float(np.ravel(model.intercept_)[-1])
    if isinstance(model, (LinearSVR, peers.LinearSVR)):
        losses = np.maximum(0.0, np.abs(y - X @ w - b) - model.epsilon)
    else:
        losses = np.maximum(0.0, 1.0 - np.where(y == model.classes_[-1], 1.0, -1.0) * (X @ w + b))
        losses = losses**2 if model.loss == "squared_hinge" else losses
    return 0.5 * float(w @ w + b * b) + model.C * float(losses.sum())


def overhead(options):
    print("\nprocessor milliseconds on 150 x 4, two classes: loss, fit, its solver alone, the difference")
    X, y = toy("iris")[0], toy("iris")[1] == 1
    for loss in (SQUARED_HINGE, HINGE):
        model = LinearSVC(loss=loss.name).fit(X, y)
        solver, steps = model.solver_, model.history_[-1].iteration

        def alone(loss=loss, solver=solver, steps=steps):
            problem = Regularized.from_C(X, np.where(y, 1, -1), 1.0, bias="penalized", loss=loss)
            state = solver.advance(problem, solver.init(problem), steps)
            problem.certificate(solver.solution(problem, state))

        taken = {partial(model.fit, X, y): [], alone: []}
        for _ in range(20 * options.repeats):
            for run, seconds in taken.items():
                before = time.process_time()
                run()
                seconds.append(time.process_time() - before)
        fit, bare = (1e3 * statistics.median(seconds) for seconds in taken.values())
        print(f"{loss.name:14s} {fit:8.2f} {bare:8.2f} {fit - bare:8.2f}", flush=True)


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
    parser.add_argument("--only", nargs="*", choices=TABLES, default=TABLES)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for table in options.only:
        globals()[table](options)


if __name__ == "__main__":
    main()
