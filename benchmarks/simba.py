"""Simba: what an iteration costs, and where reading rows and columns pays.

    python benchmarks/simba.py [--only lazy rare classes] [--seeds 10] [--repeats 7]

`lazy`: microseconds of processor time an iteration of the exact, the lazy and the capped form on synthetic
Zipf text, 50,000 words, about 64 a row, by tf-idf and by plain counts; with these the columns that are read
are those of the most frequent words. The forms take turns, and medians are printed.

`rare`: 16,000 dense rows of 20,000 features without label noise, of which a few need a second direction.
Cells read and seconds until the error is a tenth of the share of these, against Pegasos and SDCA. Every
method is tuned on draws of the data that are not used again, looks at its error equally often, off the
clock, starts from nothing, and runs three times, by turns. The error is that of the distribution, not of a
sample. Needs 10 GB.

`classes`: ten classes at once, cells read until the margin is nine tenths of the widest one, against Pegasos: the
digits of scikit-learn, and dense rows of as many features, of which a few need a direction of their own class that no
other row has.
"""

import argparse
import os
import statistics
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from scipy.special import ndtr  # noqa: E402

from hinge.access import DenseTable  # noqa: E402
from hinge.experiments.measure import growing  # noqa: E402
from hinge.monitoring import Stop  # noqa: E402
from hinge.problems import Multiclass, MulticlassSlackConstrained, Regularized, SlackConstrained  # noqa: E402
from hinge.solvers import SDCA, MulticlassPegasos, MulticlassSDCA, MulticlassSimba, Pegasos, Simba, solve, trace  # noqa: E402

# --- what an iteration costs --------------------------------------------------------------


def zipf_text(n, tf_idf, d=50_000, words=78, seed=0):
    """Unit rows of about 64 distinct words, drawn by Zipf's law; labels by a random direction."""
    rng = np.random.default_rng(seed)
    law = np.cumsum(1.0 / np.arange(1, d + 1))
    blocks = []
    for lo in range(0, n, 20_000):
        m = min(20_000, n - lo)
        index = np.searchsorted(law, rng.random((m, words)) * law[-1]).astype(np.int32).ravel()
        start = np.arange(0, m * words + 1, words, dtype=np.int32)
        S = sp.csr_array((np.ones(m * words, np.float32), index, start), shape=(m, d))
        S.sum_duplicates()
        blocks.append(S)
    X = sp.vstack(blocks, format="csr")
    if tf_idf:
        X.data *= np.log(n / np.bincount(X.indices, minlength=d).clip(1)).astype(np.float32)[X.indices]
    X.data /= np.repeat(np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1])), np.diff(X.indptr))
    y = np.where(X @ rng.standard_normal(d) + 0.1 * rng.standard_normal(n) > 0, 1, -1)
    return X, y


def lazy(args):
    print(f"us of an iteration {'n':>8} {'nonzeros':>10} {'exact':>8} {'lazy':>7} {'capped':>7}", end="")
    print("   exact/lazy  exact/capped   cells read an iteration by each")
    for tf_idf, n in ((kind, n) for kind in (True, False) for n in (20_000, 100_000, 320_000)):
        X, y = zipf_text(n, tf_idf)
        problem = SlackConstrained(X, y, 0.005)
        forms = {form: Simba(form, radius=1.0) for form in ("exact", "lazy", "capped")}
        states = {form: solver.advance(problem, solver.init(problem), 100) for form, solver in forms.items()}
        times: dict[str, list[float]] = {form: [] for form in forms}
        reads = dict.fromkeys(forms, 0)
        counts = {"exact": 10, "lazy": 200, "capped": 200}
        for _ in range(args.repeats):
            for form, solver in forms.items():
                before, read = time.process_time(), problem.reads
                states[form] = solver.advance(problem, states[form], counts[form])
                times[form].append((time.process_time() - before) / counts[form] * 1e6)
                reads[form] += problem.reads - read
        us = {form: statistics.median(values) for form, values in times.items()}
        each = ", ".join(f"{reads[form] / counts[form] / args.repeats:.0f}" for form in forms)
        gain = {form: us["exact"] / us[form] for form in forms}
        print(
            f"{'tf-idf' if tf_idf else 'counts':18} {n:8} {X.nnz:10} {us['exact']:8.0f} {us['lazy']:7.0f} "
            f"{us['capped']:7.0f} {gain['lazy']:12.1f} {gain['capped']:13.1f}   {each}",
            flush=True,
        )


# --- rare hard points ---------------------------------------------------------------------

N, D = 16_000, 20_000
COMMON, RARE = (0.65, 0.0, 0.0), (-0.1, 0.6, 0.6)
"""Margins of the two kinds of points in three directions. The best w has .41 in both kinds, and nothing in
the third direction: there half of the rare points lie on the one side and half on the other, so that one
of them does not teach the others."""


class Rare:
    """Unit rows, a share r of them of the rare kind; what is left of their norm is isotropic noise."""

    def __init__(self, r, seed):
        rng = np.random.default_rng(seed)
        self.r, n_rare = r, round(r * N)
        self.axes = np.linalg.qr(rng.standard_normal((D, 3)))[0].T.copy()
        margins = np.tile(COMMON, (N, 1))
        margins[:n_rare] = RARE
        margins[: n_rare // 2, 2] *= -1
        rng.shuffle(margins)
        self.y = rng.choice([-1, 1], N)
        self.X = np.empty((N, D), np.float32)
        axes = self.axes.astype(np.float32)
        for lo in range(0, N, 500):
            part = margins[lo : lo + 500]
            G = rng.standard_normal((500, D), dtype=np.float32)
            G -= G @ axes.T @ axes
            left = np.sqrt(1.0 - (part**2).sum(axis=1)) / np.linalg.norm(G, axis=1)
            G *= (left * self.y[lo : lo + 500])[:, None].astype(np.float32)
            G += (self.y[lo : lo + 500, None] * part).astype(np.float32) @ axes
            self.X[lo : lo + 500] = G
        before = time.perf_counter()
        self.columns = np.empty((D, N), np.float32)
        for lo in range(0, N, 500):
            self.columns[:, lo : lo + 500] = self.X[lo : lo + 500].T
        self.copying = time.perf_counter() - before

    def error(self, w):
        """Of the distribution: a margin is what it is in the three directions, plus noise, all but normal."""
        along = self.axes @ w
        across = max(float(w @ w - along @ along), 1e-300)

        def wrong(*margins):
            noise = np.sqrt(across * (1.0 - np.square(margins).sum()) / (D - 3))
            return float(ndtr(-(along @ margins) / noise))

        of_rare = (wrong(*RARE) + wrong(*RARE[:2], -RARE[2])) / 2
        return (1 - self.r) * wrong(*COMMON) + self.r * of_rare


METHODS = {
    "Simba": lambda cap: Simba("capped", cap=cap, eta_scale=3.0, output="last", radius=1.0),
    "Pegasos": lambda lam: Pegasos(output="last"),
    "SDCA": lambda lam: SDCA(),
}
GRIDS = {"Simba": (1e-3, 2e-4, 5e-5), "Pegasos": (1e-2, 1e-3, 1e-4, 1e-5), "SDCA": (1e-2, 1e-3, 1e-4, 1e-5)}


def first_hit(name, setting, data, seed, passes=4):
    """Cells read and seconds until the error is r/10; infinite where it is not within some passes."""
    if name == "Simba":
        problem = SlackConstrained(DenseTable(data.X, data.columns), data.y, min(1.0, setting))
    else:
        problem = Regularized(data.X, data.y, setting)
    for now in trace(problem, METHODS[name](setting), growing(), seed=seed):
        if data.error(now.solution.w) <= data.r / 10:
            return now.feature_reads, now.seconds
        if now.feature_reads >= passes * N * D:
            break
    return np.inf, np.inf


def rare(args):
    tiny = Rare.__new__(Rare)
    tiny.X = np.eye(40, 50, dtype=np.float32)
    tiny.columns, tiny.y, tiny.r = np.ascontiguousarray(tiny.X.T), np.where(np.arange(40) % 2, 1, -1), 0.0
    tiny.error = lambda w: 1.0
    for name in METHODS:  # compile
        first_hit(name, GRIDS[name][0], tiny, 0, passes=3000 / (N * D))
    print(f"{'r':>8} {'method':8} {'setting':>8} {'hits':>6} {'reads':>10} {'ms':>8}", end="")
    print("   medians over draws of the data; ratios to Simba, medians of pairs")
    for r in (0.001, 0.00025):
        tuning = [Rare(r, 10_000 + k) for k in range(3)]
        best = {}
        for name, grid in GRIDS.items():
            tried = {s: [first_hit(name, s, data, seed)[0] for data in tuning for seed in (0, 1)] for s in grid}
            best[name] = min(tried, key=lambda s: sum(tried[s]))
            print(f"{r:8g} {name:8} tuned: " + ", ".join(f"{s:g}: {np.mean(t):.1e}" for s, t in tried.items()))
        del tuning
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in METHODS}
        copying = []
        for seed in range(args.seeds):
            data = Rare(r, seed)
            copying.append(data.copying)
            runs = [[first_hit(name, best[name], data, seed) for name in METHODS] for _ in range(3)]
            for name, (reads, seconds) in zip(METHODS, np.median(runs, axis=0), strict=True):
                found[name].append((reads, seconds))
        ours = np.array(found["Simba"])
        for name, values in found.items():
            value = np.array(values)
            hits = int(np.isfinite(value[:, 0]).sum())
            reads, seconds = np.median(value, axis=0)
            line = f"{r:8g} {name:8} {best[name]:8g} {hits:3}/{args.seeds:<2} {reads:10.2e} {1e3 * seconds:8.1f}"
            if name != "Simba":
                ratios = np.median(value / ours, axis=0)
                line += f"   {ratios[0]:6.1f} x reads (goal 20), {ratios[1]:5.1f} x time (goal 2)"
            print(line, flush=True)
        print(f"         the copy by columns took {statistics.median(copying):.1f} s, not counted", flush=True)


# --- several classes ----------------------------------------------------------------------


def digits(seed):
    """Two thirds of scikit-learn's digits, at unit norm."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(y))[: 2 * len(y) // 3]
    return X[rows] / np.linalg.norm(X[rows], axis=1)[:, None], y[rows], 1e-3


def rare_classes(seed, n=4000, k=10, share=0.01):
    """As many rows as features: a row has its class's direction; one in a hundred has a second one in its place."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, 2 * k)))[0].T
    y, hard = rng.integers(0, k, n), rng.random(n) < share
    X = Q[np.where(hard, y + k, y)] + rng.standard_normal((n, n)) * 0.3 / np.sqrt(n)
    return X / np.linalg.norm(X, axis=1)[:, None], y, 1e-4


def classes(args):
    print(f"{'':12} {'rows':>6} {'columns':>8} {'SIMBA':>9} {'Pegasos':>9}   cells read to 0.9 of the widest margin")
    for make in (digits, rare_classes):
        found = {"SIMBA": [], "Pegasos": []}
        for seed in range(args.seeds):
            X, y, lam = make(seed)
            known = Multiclass(X, y, lam)
            W = solve(known, MulticlassSDCA(), stop=Stop(tol=1e-4)).solution.w
            unit = np.sqrt(2.0) * np.linalg.norm(W)  # Lemma 2.1: of which slack, and with which margin, W is the best
            slack = MulticlassSlackConstrained(X, y, known.mean_loss(W) / unit)
            runs = {
                "SIMBA": (MulticlassSlackConstrained(X, y, slack.nu), MulticlassSimba()),
                "Pegasos": (Multiclass(X, y, lam), MulticlassPegasos()),
            }
            for name, (problem, solver) in runs.items():
                for now in trace(problem, solver, growing(), seed=seed):
                    if slack.objective(now.solution) >= 0.9 / unit:
                        break
                found[name].append(now.feature_reads)
        print(f"{make.__name__:12} {X.shape[0]:6} {X.shape[1]:8}", *(f"{np.median(r):9.2e}" for r in found.values()))


def main():
    parts = {"lazy": lazy, "rare": rare, "classes": classes}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], choices=[*parts])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    for name, part in parts.items():
        if not args.only or name in args.only:
            part(args)


if __name__ == "__main__":
    main()
