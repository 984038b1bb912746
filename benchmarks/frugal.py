"""Frugal against those who read whole rows: how many cells a good linear SVM takes.

    python benchmarks/frugal.py [--only cells never stop curves] [--sets NAME ...] [--seeds 5] [--out DIR]

Protocol. The training part is cut 80/20 into rows to learn from and rows to validate on, anew for each seed;
test rows only report. Rows have unit norm, the bias is a feature of value 0.3. "Best" is the SVM of all rows.
Random rows, and rows of both classes alike (weighted back), are trained to optimum, with C picked on the
validation rows at each checkpoint. Frugal reads with C = 3 on every set, at its defaults but for the stop;
the C of the final fit on its sample, which costs no reads, is picked in the same way. The mean curve of
all seeds is made monotone, over the shares that all of them have, and the table says where it first reaches
1.05, 1.1 and 1.2 times the mean test error of best: a stop that nobody has in practice, but the same for all.

cells   share of distinct cells read, every cell counting; of nonzeros in brackets; "≤": by the first look.
never   rows of both classes alike against Frugal on all sets, at 1.05; six times the seeds on sets of under
        2000 rows, where five say little: the shares of madelon differ by a factor of two from five to five.
stop    where the flip rule ends a run at C = 1, and the error there against the SVM of all rows at that C.
curves  test error against reads, as a figure, a CSV and a table. Pegasos, SDCA and Simba pay for every read;
        Frugal and random rows keep the cells that they have read, and pay for them once.

Sets are read from $HINGE_DATA (or ../shared/data); a missing set is said and left out. Finished parts are
kept in DIR, by default in the system's temporary folder, and not computed again: delete it to begin anew.
"""

import argparse
import csv
import json
import os
import tempfile
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from scipy.optimize import isotonic_regression  # noqa: E402

from hinge import datasets  # noqa: E402
from hinge.access import SparseTable  # noqa: E402
from hinge.monitoring import Stop  # noqa: E402
from hinge.problems import Regularized, SlackConstrained  # noqa: E402
from hinge.solvers import SDCA, Pegasos, Simba, solve, trace  # noqa: E402
from hinge.solvers.cells.frugal import Frugal  # noqa: E402

HOME = os.environ.get("HINGE_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
BIAS = dict(bias="penalized", bias_scale=0.3)
CS, CS_WIDE = (0.3, 1.0, 3.0, 10.0, 30.0), (3.0, 10.0, 30.0)
SHARES = (
    0.002,
    0.004,
    0.006,
    0.01,
    0.014,
    0.02,
    0.03,
    0.04,
    0.06,
    0.08,
    0.1,
    0.13,
    0.17,
    0.22,
    0.28,
    0.36,
    0.46,
    0.6,
    0.77,
    1.0,
)
SHARES_WIDE = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 1.0)
FACTORS = (1.05, 1.1, 1.2)
READING_C, STOPPING_C = 3.0, 1.0
FEWEST_ROWS, MOST_ROWS = 10, 60_000
ENOUGH = 0.6  # share of the cells of a wide set after which nothing is left to see

# The ratio to random rows that we aim at, and the factor at which.
GOALS = {
    "reuters_money_fx": (1.05, 2.5),
    "imdb_unigram": (1.05, 2.5),
    "news20_unigram": (1.05, 2.5),
    "mnist": (1.05, 1.5),
    "a9a": (1.05, 1.2),
    "news20_trigram": (1.1, 3.0),
}
NEVER_BELOW = 0.8
SMALL, MORE_SEEDS = 2000, 6
WIDE = ("news20_trigram",)
ALL = (*GOALS, "covtype", "arcene", "madelon", "basehock", "rcv1_small")
CURVES = ("reuters_money_fx", "news20_trigram", "a9a", "mnist")
FLIPS = (0.15, 0.2, 0.25)
PASSES, LOOKS = 6.0, 40  # of the methods that read on and on
CAPS, ETAS = (0.03, 0.1, 0.3), (1.0, 3.0)


class Split(NamedTuple):
    """Rows to learn from, to validate on and to report."""

    X: sp.csr_array
    y: np.ndarray
    X_val: sp.csr_array
    y_val: np.ndarray
    X_test: sp.csr_array
    y_test: np.ndarray

    def errors(self, solution):
        """On the validation and the test rows."""
        pairs = ((self.X_val, self.y_val), (self.X_test, self.y_test))
        return [float(np.mean((X @ solution.w + solution.b > 0) != (y > 0))) for X, y in pairs]


@lru_cache(1)
def data(name):
    found = datasets.load(name, home=HOME)
    return unit(found.X_train), found.y_train, unit(found.X_test), found.y_test


def unit(X):
    X = sp.csr_array(X, dtype=np.float64)
    norm = np.sqrt(X.power(2).sum(axis=1))
    return sp.csr_array(sp.diags_array(1 / np.where(norm > 0, norm, 1)) @ X, dtype=np.float32)


def split(name, seed):
    X, y, X_test, y_test = data(name)
    rows = np.random.default_rng(seed).permutation(len(y))[: MOST_ROWS if name == "covtype" else None]
    cut = len(rows) * 4 // 5
    return Split(X[rows[:cut]], y[rows[:cut]], X[rows[cut:]], y[rows[cut:]], X_test, y_test)


# --- the methods: each gives a list of looks ------------------------------------------------


def look(cells, nonzeros, parts, C, **more):
    return dict(cells=float(cells), nonzeros=float(nonzeros), val=parts[0], test=parts[1], C=C, **more)


def fit(X, y, C, weight=None, tol=1e-2):
    problem = Regularized.from_C(X, y, C, weight=weight, **BIAS)
    return solve(problem, SDCA(), stop=Stop(tol, max_iter=1000 * len(y))).solution


def picked(parts, X, y, name, weight=None):
    """Errors of the SVM of these rows at the C that is best on the validation rows, and that C."""
    Cs = CS_WIDE if name in WIDE else CS
    return min(((parts.errors(fit(X, y, C, weight)), C) for C in Cs), key=lambda found: found[0][0])


def best(name, parts, seed):
    return [look(1.0, 1.0, *picked(parts, parts.X, parts.y, name))]


def some_rows(name, parts, seed, alike):
    """Random rows, or those of both classes alike, more and more of them."""
    X, y = parts.X, parts.y
    order = np.random.default_rng(100 + seed).permutation(len(y))
    classes = sorted((order[y[order] > 0], order[y[order] < 0]), key=len)
    out = []
    for share in SHARES_WIDE if name in WIDE else SHARES:
        k = int(np.ceil(share * len(y)))
        rows, weight = order[:k], None
        if alike:
            half = min(len(classes[0]), k // 2)
            taken = (half, k - half)
            rows = np.concatenate([side[:m] for side, m in zip(classes, taken, strict=True)])
            each = [len(side) / max(1, m) for side, m in zip(classes, taken, strict=True)]
            weight = np.repeat(each, taken) * k / len(y)
        if k >= FEWEST_ROWS and len(np.unique(y[rows])) == 2:
            out.append(look(k / len(y), X[rows].nnz / X.nnz, *picked(parts, X[rows], y[rows], name, weight)))
    return out


def frugal(name, parts, seed, solver):
    """Looks at the sample whenever it has grown by a seventh, to the end: nothing is left to read."""
    enough = ENOUGH if name in WIDE else 1.0
    problem = Regularized.from_C(parts.X, parts.y, READING_C, **BIAS)
    out, last = [], 0.0
    for now in trace(problem, solver, seed=seed):
        bill = problem.table.bill
        cells, nonzeros = bill.cells / (problem.n * problem.d), bill.nonzeros / parts.X.nnz
        if cells > 1.15 * last or solver.pause(problem, now.state) == 0:
            last, (_, sample) = cells, solver.sample(problem, now.state)
            held = problem.table.held(np.flatnonzero(now.state.pi))
            out.append(look(cells, nonzeros, *picked(parts, held, sample.y, name, sample.weight)))
        if last >= enough:
            break
    return out


def stopped(name, parts, seed, flips):
    """Where the flip rule ends the run."""
    problem = Regularized.from_C(parts.X, parts.y, STOPPING_C, **BIAS)
    result = solve(problem, Frugal(flips=flips), stop=Stop(0), seed=seed)
    bill = problem.table.bill
    cells, nonzeros = bill.cells / (problem.n * problem.d), bill.nonzeros / parts.X.nnz
    return [look(cells, nonzeros, parts.errors(result.solution), STOPPING_C)]


def all_rows(name, parts, seed):
    return [look(1.0, 1.0, parts.errors(fit(parts.X, parts.y, STOPPING_C, tol=1e-3)), STOPPING_C)]


def by_rows(name, parts, seed, solver):
    """Pegasos or SDCA: whole rows, each read paid for; distinct ones as expected of the draws."""
    n, looks = len(parts.y), []
    for C in CS_WIDE if name in WIDE else CS:
        problem, of_C = Regularized.from_C(parts.X, parts.y, C, **BIAS), []
        at = np.unique(np.geomspace(min(n, max(20, n // 500)), PASSES * n, LOOKS).astype(int))
        for now in trace(problem, solver, at, seed=seed):
            t, nonzeros = now.iteration, now.feature_reads / parts.X.nnz
            distinct = min(1.0, t / n) if isinstance(solver, SDCA) else 1.0 - (1.0 - 1.0 / n) ** t
            of_C.append(look(t / n, nonzeros, parts.errors(now.solution), C, distinct=float(distinct)))
        looks.append(of_C)
    return [min(same, key=lambda one: one["val"]) for same in zip(*looks, strict=True)]


def simba(name, parts, seed):
    """Rows and columns in turn; the constant feature is a column of the data."""
    wider = [
        sp.csr_array(sp.hstack([X, np.full((X.shape[0], 1), BIAS["bias_scale"], X.dtype)]))
        for X in (parts.X, parts.X_val, parts.X_test)
    ]
    X, X_val, X_test = wider
    n, d = X.shape
    whole, looks = n * d, []
    columns = X.tocsc()
    parts = Split(X, parts.y, X_val, parts.y_val, X_test, parts.y_test)
    for cap in CAPS:
        for eta in ETAS:
            solver = Simba("capped", cap=cap, eta_scale=eta, certify=False)
            problem, of_one = SlackConstrained(SparseTable(X, columns), parts.y, cap / 10), []
            at = np.unique(np.geomspace(20, PASSES * whole / (n + d), LOOKS).astype(int))
            for now in trace(problem, solver, at, seed=seed):
                bill, errors = problem.table.bill, parts.errors(now.solution)
                one = look(bill.cells / whole, bill.nonzeros / X.nnz, errors, cap, eta=eta)
                of_one.append(one | dict(distinct=bill.distinct / whole))
            looks.append(of_one)
    return [min(same, key=lambda one: one["val"]) for same in zip(*looks, strict=True)]


METHODS = {
    "best": best,
    "random rows": partial(some_rows, alike=False),
    "rows alike": partial(some_rows, alike=True),
    "Frugal": partial(frugal, solver=Frugal(flips=0.0)),
    "all rows": all_rows,
    **{f"stop {flips:g}": partial(stopped, flips=flips) for flips in FLIPS},
    "Pegasos": partial(by_rows, solver=Pegasos()),
    "SDCA": partial(by_rows, solver=SDCA()),
    "Simba": simba,
}


def runs(method, name, seeds, out):
    """The looks of each seed, from the folder where they are there."""
    found = []
    for seed in range(seeds):
        path = Path(out) / f"{name} {seed} {method}.json".replace(" ", "_")
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            looks = METHODS[method](name, split(name, seed), seed)
            half = path.with_suffix(".part")
            half.write_text(json.dumps(looks))
            half.replace(path)
        found.append(json.loads(path.read_text()))
    return found


def present(sets):
    """Those that are here; the others are said."""
    for name in sets:
        try:
            data(name)
            yield name
        except datasets.DatasetNotFoundError as missing:
            print(missing)


# --- curves ---------------------------------------------------------------------------------


def common(seeds, of, error="test", points=400):
    """Shares that the curves of all seeds have, and their errors there, by interpolation in log share."""
    low, high = max(looks[0][of] for looks in seeds), min(looks[-1][of] for looks in seeds)
    at = np.geomspace(low, max(low, high), points)
    lines = [
        np.interp(np.log(at), np.log([one[of] for one in looks]), [one[error] for one in looks]) for looks in seeds
    ]
    return at, np.array(lines)


def crossings(seeds, level, of, error="test"):
    """Where the mean curve, made monotone, first reaches each factor of the level; and if at its start."""
    at, lines = common(seeds, of, error)
    mean = isotonic_regression(lines.mean(axis=0), increasing=False).x
    out = {}
    for factor in FACTORS:
        hit = np.flatnonzero(mean <= factor * level)
        out[factor] = (float(at[hit[0]]), bool(hit[0] == 0)) if len(hit) else (np.nan, False)
    return out


def mean_error(seeds, error="test"):
    return float(np.mean([looks[-1][error] for looks in seeds]))


def share(crossing):
    value, first = crossing
    return "-" if np.isnan(value) else f"{'≤' if first else ''}{value:.3f}"


def ratio(one, other):
    """one / other, with the sign of a bound where either was met at once."""
    value = one[0] / other[0]
    sign = "≥" * other[1] + "≤" * one[1]
    return "-" if np.isnan(value) else f"{'~' if len(sign) == 2 else sign}{value:.2f}"


# --- tables ---------------------------------------------------------------------------------


def cells(sets, seeds, out):
    print(
        f"{'set':18} {'n x d':>16} {'best':>7} {'within':>6}  {'random rows':>15} {'rows alike':>15} "
        f"{'Frugal':>15}  {'random/Frugal':>13} {'alike/Frugal':>13}  goal"
    )
    for name in present(sets):
        three = [runs(method, name, seeds, out) for method in ("random rows", "rows alike", "Frugal")]
        level, size = mean_error(runs("best", name, seeds, out)), "{} x {}".format(*split(name, 0).X.shape)
        dense, nonzeros = ([crossings(seeds_, level, of) for seeds_ in three] for of in ("cells", "nonzeros"))
        for f in FACTORS:
            values = [f"{share(a[f])} ({share(b[f])})" for a, b in zip(dense, nonzeros, strict=True)]
            ratios = [
                f"{ratio(a[f], dense[2][f])} ({ratio(b[f], nonzeros[2][f])})"
                for a, b in zip(dense[:2], nonzeros[:2], strict=True)
            ]
            goal, met = "", dense[0][f][0] / dense[2][f][0]
            if GOALS.get(name, (0, 0))[0] == f:
                goal = f"{GOALS[name][1]:g} {'met' if met >= GOALS[name][1] else 'MISSED'}"
            print(
                f"{name:18} {size:>16} {100 * level:6.2f}% {f:6g}  "
                + " ".join(f"{v:>15}" for v in values)
                + "  "
                + " ".join(f"{r:>13}" for r in ratios)
                + f"  {goal}",
                flush=True,
            )


def never(sets, seeds, out):
    print(f"{'set':18} {'seeds':>5} {'best':>7}  {'rows alike':>10} {'Frugal':>10}  {'alike/Frugal at 1.05':>20}  goal")
    for name in present(sets):
        k = seeds * (MORE_SEEDS if split(name, 0).X.shape[0] < SMALL else 1)
        level = mean_error(runs("best", name, k, out))
        alike, ours = (
            crossings(runs(method, name, k, out), level, "cells")[1.05] for method in ("rows alike", "Frugal")
        )
        goal = f"{NEVER_BELOW} {'met' if alike[0] / ours[0] >= NEVER_BELOW else 'MISSED'}"
        print(
            f"{name:18} {k:5} {100 * level:6.2f}%  {share(alike):>10} {share(ours):>10}  "
            f"{ratio(alike, ours):>20}  {goal}",
            flush=True,
        )


def stop(sets, seeds, out):
    print(f"{'set':18} {'all rows':>8}  " + "  ".join(f"{f'flips {f:g}: cells (nnz) error':>30}" for f in FLIPS))
    for name in present(sets):
        level = mean_error(runs("all rows", name, seeds, out))
        line = f"{name:18} {100 * level:7.2f}%"
        for flips in FLIPS:
            found = runs(f"stop {flips:g}", name, seeds, out)
            read, nonzeros = (mean_error(found, of) for of in ("cells", "nonzeros"))
            line += f"  {f'{read:.3f} ({nonzeros:.3f}) x{mean_error(found) / level:.3f}':>30}"
        print(line, flush=True)


# --- the figure -----------------------------------------------------------------------------

PANELS = {
    "cells": "every read (every cell counts)",
    "nonzeros": "every read (nonzeros count)",
    "distinct": "distinct cells (every cell counts)",
}
# Okabe and Ito's colours, which do not need the difference of red and green.
LINES = {
    "Pegasos": ("#E69F00", "--"),
    "SDCA": ("#009E73", "-."),
    "Simba": ("#CC79A7", ":"),
    "random rows": ("#56B4E9", "-"),
    "Frugal": ("#000000", "-"),
}
PAYING = ("Pegasos", "SDCA", "Simba")  # for every read


def curves(sets, seeds, out):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(present(sets))
    figure, axes = plt.subplots(len(names), 3, figsize=(13, 3.4 * len(names)), squeeze=False)
    rows = []
    print(f"{'set':18} {'count':9} " + " ".join(f"{method:>22}" for method in LINES))
    for axis, name in zip(axes, names, strict=True):
        level = mean_error(runs("best", name, seeds, out))
        found = {method: runs(method, name, seeds, out) for method in LINES}
        for panel, (of, label) in zip(axis, PANELS.items(), strict=True):
            reached = []
            for method, (colour, style) in LINES.items():
                kept = [
                    [one | {"distinct": one.get("distinct", one["cells"])} for one in looks] for looks in found[method]
                ]
                at, lines = common(kept, of, points=100)
                low, high = np.quantile(lines, [0.1, 0.9], axis=0)
                panel.fill_between(at, 100 * low, 100 * high, color=colour, alpha=0.18, linewidth=0)
                mean, legend = lines.mean(axis=0), method if method in PAYING else f"{method} (cells kept)"
                panel.plot(at, 100 * mean, style, color=colour, label=legend, linewidth=1.8)
                rows += [(name, of, method, *row) for row in zip(at, mean, low, high, strict=True)]
                reached.append("/".join(share(c) for c in crossings(kept, level, of).values()))
            print(f"{name:18} {of:9} " + " ".join(f"{r:>22}" for r in reached), flush=True)
            panel.axhline(100 * level, color="0.5", linewidth=1, label="SVM of all rows")
            panel.set(
                xscale="log",
                xlabel=f"share of all, {label}",
                title=name,
                ylim=(85 * level, min(250 * level, panel.get_ylim()[1])),
            )
        axis[0].set_ylabel("test error, %")
    axes[0][0].legend(fontsize=9)
    figure.tight_layout()
    figure.savefig(Path(out) / "curves.png", dpi=120)
    with open(Path(out) / "curves.csv", "w", newline="") as file:
        csv.writer(file).writerows([("set", "count", "method", "share", "mean", "low", "high"), *rows])
    print(f"Shares at 1.05/1.1/1.2 of best; the figure and its numbers: {Path(out) / 'curves.png'}, .csv")


TABLES = {"cells": cells, "never": never, "stop": stop, "curves": curves}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--sets", nargs="*", default=[])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", default=Path(tempfile.gettempdir()) / "hinge_frugal")
    args = parser.parse_args()
    for table in args.only:
        print(f"\n{table}")
        TABLES[table](args.sets or {"cells": GOALS, "curves": CURVES}.get(table, ALL), args.seeds, args.out)


if __name__ == "__main__":
    main()
