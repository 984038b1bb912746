"""Regret of `solver="auto"`: its time over that of the best solver, on the same problem to the same certified gap.

    python benchmarks/regret.py [--sets a9a covtype] [--lams 1e-4 1e-6] [--tols 1e-3] [--loss squared_hinge]
    python benchmarks/regret.py --shapes 20 [--seed 7]

Every row: CPU time of `auto` (the choice included) and of each rival, of one thread, runs interleaved, medians,
compiled code warm; a rival that takes much longer than the others is cut off. A run of a few milliseconds is repeated
more often. Sets are read from $HINGE_DATA (or ../shared/data), or are random shapes: rows from 500 to 500,000, features
from 5 to 100,000, 5 cells of a row to all, of even or uneven columns, with more or less noise in the labels. Every
fourth has raw units: columns of sizes from 1 to 1e6, or a few numbers as they were measured beside one-hot columns. The
last line has the median, the geometric mean and the largest regret, and how many runs of `auto` did not converge.
"""

import argparse
import os
import statistics
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402

from hinge import datasets  # noqa: E402
from hinge.compiled import compiling_all  # noqa: E402
from hinge.monitoring import Status, Stop  # noqa: E402
from hinge.problems import Regularized  # noqa: E402
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE  # noqa: E402
from hinge.solvers import SDCA, CentralPath, FiniteNewton, Newton, choose, solve  # noqa: E402

HOME = os.environ.get("HINGE_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
LAMS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
TOLS = (1e-2, 1e-3, 1e-4)
LOSSES = {"hinge": HINGE, "squared_hinge": SQUARED_HINGE}
RIVALS = {"SDCA": SDCA(), "subspace": SDCA(acceleration="subspace"), "Newton": Newton()}
SMALL = {"hinge": CentralPath(), "squared_hinge": FiniteNewton()}
"""What `auto` takes where a fit is a matter of milliseconds."""
MOST_CELLS = 60_000_000  # of a random shape
SETS = {  # the name in the catalogue, the class that is told from the others, whether columns are standardised
    "a9a": ("adult", None, False),
    "basehock": ("basehock", None, False),
    "rcv1_small": ("rcv1-small", None, False),
    "reuters": ("reuters-money-fx", None, False),
    "news20_unigram": ("news20-unigram", None, False),
    "news20_trigram": ("news20-trigram", None, False),
    "imdb": ("imdb-unigram", None, False),
    "madelon_std": ("madelon", None, True),
    "arcene_std": ("arcene", None, True),
    "mnist": ("mnist", 8, False),
    "covtype": ("covertype", 1, False),
}


def set_of(name):
    """Rows and labels of a stored set."""
    stored, positive, standard = SETS[name]
    found = datasets.load(stored, home=HOME, **({} if positive is None else {"positive": positive}))
    X, y = found.X_train, np.where(found.y_train > 0, 1, -1)
    if standard:
        X = X.toarray() if sp.issparse(X) else X
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    return (X if sp.issparse(X) else np.ascontiguousarray(X, np.float32)), y


def shape_of(number, seed):
    """A random shape: rows, labels, and what it is."""
    rng = np.random.default_rng([seed, number])
    if number % 4 == 3:
        return raw_units(rng)
    while True:
        n, d = (round(10 ** rng.uniform(np.log10(lo), np.log10(hi))) for lo, hi in ((500, 500_000), (5, 100_000)))
        full = d <= 2000 and rng.random() < 0.5
        cells = d if full else round(10 ** rng.uniform(np.log10(5), np.log10(min(d, 300))))
        if n * cells <= MOST_CELLS:
            break
    uneven, noise = rng.uniform(0.0, 1.2), rng.choice([0.0, 0.05, 0.2])
    sizes = np.arange(1, d + 1) ** -uneven
    if full:
        X = rng.standard_normal((n, d), np.float32) * sizes.astype(np.float32) + rng.uniform(0, 1)
    else:
        columns = np.minimum(d - 1, (d * rng.random((n, cells)) ** (1.0 + 2.0 * uneven)).astype(np.int64))
        values = rng.exponential(size=n * cells).astype(np.float32)
        X = sp.csr_array((values, columns.ravel(), np.arange(n + 1) * cells), shape=(n, d))
        X.sum_duplicates()
    y = labels_of(X @ (rng.standard_normal(d) * (rng.random(d) < max(0.1, 10 / d))), noise, rng)
    what = f"{n} x {d}, {'all' if full else cells} cells, uneven {uneven:.1f}, noise {noise:g}"
    if rng.random() < 0.5:  # half of them as people should: rows, or columns, of unit size
        what += ", scaled"
        if full:
            X /= np.maximum(X.std(axis=0), 1e-12)
        else:
            X = sp.csr_array(sp.diags_array(1.0 / np.maximum(np.sqrt(X.multiply(X).sum(axis=1)), 1e-12)) @ X)
    return (X.astype(np.float32) if sp.issparse(X) else X), y, what


def raw_units(rng):
    """Columns of sizes from 1 to 1e6; or one-hot columns of some categories beside such columns."""
    n, noise = round(10 ** rng.uniform(2.7, 5.0)), rng.choice([0.0, 0.05, 0.2])
    numbers = round(10 ** rng.uniform(0.0, 1.7))
    sizes = 10.0 ** rng.uniform(0.0, 6.0, numbers)
    raw = rng.standard_normal((n, numbers)) + rng.uniform(0, 3, numbers)
    if rng.random() < 0.5:
        y = labels_of(raw @ rng.standard_normal(numbers), noise, rng)
        return (raw * sizes).astype(np.float32), y, f"{n} x {numbers} in raw units, noise {noise:g}"
    numbers = min(numbers, 5)
    levels = [round(10 ** rng.uniform(0.5, 3.2)) for _ in range(rng.integers(1, 6))]
    hot = sp.hstack([one_hot(rng.integers(0, level, n), level) for level in levels], format="csr")
    score = raw[:, :numbers] @ rng.standard_normal(numbers) + hot @ rng.standard_normal(hot.shape[1])
    X = sp.csr_array(sp.hstack([raw[:, :numbers] * sizes[:numbers], hot]), dtype=np.float32)
    what = f"{n} x {X.shape[1]}, {numbers} raw beside {len(levels)} categories, noise {noise:g}"
    return X, labels_of(score, noise, rng), what


def one_hot(codes, level):
    return sp.csr_array((np.ones(len(codes)), codes, np.arange(len(codes) + 1)), shape=(len(codes), level))


def labels_of(score, noise, rng):
    """Signs about the median, of which some are turned."""
    y = np.where(score > np.median(score), 1, -1)
    y[rng.random(len(y)) < noise] *= -1
    return y


def run(X, y, lam, tol, loss, bias, solver, most):
    """CPU seconds of one run, whether it converged, and which solver ran."""
    problem = Regularized(X, y, lam, loss=loss, bias=bias)
    began = time.process_time()
    chosen = solver or choose(problem, tol=tol).solver
    result = solve(problem, chosen, stop=Stop(tol=tol, max_time=most))
    return time.process_time() - began, result.status is Status.CONVERGED, chosen


def measure(X, y, lam, tol, args):
    """Medians by name, and what auto chose; None where auto itself was cut off."""
    loss = LOSSES[args.loss]
    first, done, chosen = run(X, y, lam, tol, loss, args.bias, None, args.most)
    if not done:
        return None, chosen
    taken = {"auto": [], **{name: [] for name in RIVALS}}
    slow, repeats = set(), args.repeats if first > 0.05 else 3 * args.repeats
    for _ in range(repeats if first < 2.0 else 1):
        for name in taken:
            if name in slow:
                continue
            solver = RIVALS.get(name)
            if solver is not None and solver.rejects(Regularized(X, y, lam, loss=loss, bias=args.bias)):
                slow.add(name)
                continue
            most = max(0.1, 6.0 * min([first, *taken["auto"]]))  # by the clock, of a busy machine
            seconds, done, _ = run(X, y, lam, tol, loss, args.bias, solver, args.most if name == "auto" else most)
            if done:
                taken[name].append(seconds)
            else:
                slow.add(name)
    return {name: statistics.median(all_of) for name, all_of in taken.items() if all_of and name not in slow}, chosen


def cases(args):
    """The name of each problem, its data, λ and tolerance."""
    if args.shapes:
        for number in range(args.first, args.shapes):
            X, y, what = shape_of(number, args.seed)
            for lam in args.lams:
                for tol in args.tols:
                    yield f"{number}: {what}", X, y, lam, tol
        return
    for name in args.sets:
        X, y = set_of(name)
        for lam in args.lams:
            for tol in args.tols:
                yield name, X, y, lam, tol


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--shapes", type=int, default=0, help="so many random shapes in place of the sets")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lams", nargs="*", type=float, default=LAMS)
    parser.add_argument("--tols", nargs="*", type=float, default=TOLS)
    parser.add_argument("--loss", choices=list(LOSSES), default="hinge")
    parser.add_argument("--bias", choices=("none", "free", "penalized"), default="none")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--most", type=float, default=20.0, help="seconds after which a run is cut off")
    args = parser.parse_args()
    compiling_all.set(True)  # else small fits are interpreted at first
    regrets, unconverged, last = [], 0, ""
    for name, X, y, lam, tol in cases(args):
        if name != last:
            for solver in (None, SMALL[args.loss], *RIVALS.values()):  # compiles
                if solver is None or not solver.rejects(Regularized(X, y, 1.0, loss=LOSSES[args.loss])):
                    run(X, y, 1.0, 0.1, LOSSES[args.loss], args.bias, solver, args.most)
            print(name, flush=True)
            last = name
        medians, chosen = measure(X, y, lam, tol, args)
        if medians is None or "auto" not in medians:
            print(f"  {lam:5.0e} {tol:5.0e}  auto has not converged in {args.most:g} s: {chosen}", flush=True)
            unconverged += 1
            continue
        best = min(medians, key=medians.__getitem__)
        regrets.append(medians["auto"] / medians[best])
        shown = "  ".join(f"{who} {1e3 * medians.get(who, np.nan):9.2f}" for who in (*RIVALS, "auto"))
        print(f"  {lam:5.0e} {tol:5.0e}  ms: {shown}   regret {regrets[-1]:5.2f}  {type(chosen).__name__}", flush=True)
    if regrets:
        geometric = float(np.exp(np.mean(np.log(regrets))))
        summary = f"median {np.median(regrets):.2f}, geometric {geometric:.2f}, largest {max(regrets):.2f}"
        print(f"regret of {len(regrets)}: {summary}; {unconverged} not converged")


if __name__ == "__main__":
    main()
