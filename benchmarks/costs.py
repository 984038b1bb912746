"""The unit costs of :mod:`hinge.solvers.newton.systems` on this machine: nanoseconds of one thread, medians of repeats.

    python benchmarks/costs.py [--repeats 9]

Printed beside the stored ones. Only ratios decide, so what matters is the last column: how far this machine is from the
stored one, relative to the median over all units.
"""

import argparse
import os
import statistics
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from scipy.linalg.lapack import dposv  # noqa: E402

from hinge.monitoring import Stop  # noqa: E402
from hinge.problems import Multiclass, Regularized  # noqa: E402
from hinge.problems.svm.losses import SQUARED_HINGE  # noqa: E402
from hinge.solvers import SDCA, MulticlassNewton, Newton, solve  # noqa: E402
from hinge.solvers.choice import cost_model  # noqa: E402
from hinge.solvers.newton import systems  # noqa: E402
from hinge.solvers.newton.row_sums import add_outers  # noqa: E402

RNG = np.random.default_rng(0)
ROWS = 300_000  # more than caches hold


def median(work, repeats):
    """Median nanoseconds of a call; the first one, which compiles, is left out."""
    work()
    taken = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return 1e9 * statistics.median(taken)


def dense(d):
    return RNG.standard_normal((ROWS, d), np.float32)


def sparse(cells, d=5000):
    columns = RNG.integers(0, d, ROWS * cells)
    values = RNG.exponential(size=ROWS * cells).astype(np.float32)
    return sp.csr_array((values, columns, np.arange(ROWS + 1) * cells), shape=(ROWS, d))


def problem_of(X, **options):
    return Regularized(X, np.where(RNG.random(X.shape[0]) < 0.5, 1, -1), 1e-3, **options)


def epoch(X, repeats):
    """An epoch of dual ascent over all rows, divided by their number."""
    problem, solver = problem_of(X), SDCA("plain", shrinking=False)
    state = solver.init(problem)
    return median(lambda: solver.advance(problem, state, problem.n), repeats) / problem.n


def line(short, long, repeats):
    """What a row costs, and each of its cells, by rows of two lengths."""
    (few, at_few), (many, at_many) = ((cells, epoch(X, repeats)) for cells, X in (short, long))
    cell = (at_many - at_few) / (many - few)
    return at_few - cell * few, cell


def newton_step(repeats):
    problem = problem_of(RNG.standard_normal((60, 3)), loss=SQUARED_HINGE)
    solver = Newton()
    start = solver.advance(problem, solver.init(problem), 1)
    return median(lambda: solver.advance(problem, start, 5), repeats) / 5


def measure(repeats):
    """All units by name."""
    row, cell = line((8, dense(8)), (64, dense(64)), repeats)
    _, nonzero = line((8, sparse(8)), (64, sparse(64)), repeats)
    B = RNG.standard_normal((2000, 500))
    A, H = problem_of(sparse(30, 300)).matrix.rows, np.zeros((301, 301))
    rows, weight = np.arange(2000, dtype=np.uint32), np.ones(1)
    return {
        "ROW": row,
        "CELL": cell,
        "NONZERO": nonzero,
        "FLOP": median(lambda: B.T @ B, repeats) / (2000 * 500**2),
        "SPARSE_FLOP": median(lambda: add_outers(A, rows, weight, 1.0, H), repeats) / (2000 * 30**2),
        "STEP": newton_step(repeats),
    }


def class_steps(problems=40):
    """Median steps of Newton's method on random problems of several classes, to a gap of 1e-3: `PATH_STEPS`."""
    steps, rng = [], np.random.default_rng(1)
    for _ in range(problems):
        k, n, d = rng.integers(3, 9), int(10 ** rng.uniform(2, 3.3)), int(10 ** rng.uniform(0.5, 1.5))
        X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1, d)
        y = np.argmax(X @ rng.standard_normal((d, k)) + 3.0 * rng.standard_normal((n, k)), axis=1)
        problem = Multiclass(X, y, 10.0 ** rng.uniform(-6, -1), n_classes=int(k))
        steps.append(solve(problem, MulticlassNewton(), stop=Stop(tol=1e-3)).n_iter)
    return statistics.median(steps)


def factor(repeats):
    """A factorisation for each d³, in units of FLOP: `factor_cost` says one."""
    X = RNG.standard_normal((800, 400))
    return median(lambda: dposv(X.T @ X, X[0]), repeats) / 400**3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=9)
    args = parser.parse_args()
    found = measure(args.repeats)
    ratios = {name: value / getattr(systems, name) for name, value in found.items()}
    typical = statistics.median(ratios.values())
    print(f"{'':12} {'here':>10} {'stored':>10} {'ratio':>7}")
    for name, value in found.items():
        print(f"{name:12} {value:10.3g} {getattr(systems, name):10.3g} {ratios[name] / typical:7.2f}")
    print(f"{'PATH_STEPS':12} {class_steps():10.3g} {cost_model.PATH_STEPS:10.3g}")
    print(f"a factorisation costs {factor(args.repeats) / found['FLOP']:.2f} FLOP for each d³, products included")


if __name__ == "__main__":
    main()
