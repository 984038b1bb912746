"""hinge.SVC against scikit-learn's SVC (LIBSVM): tables of ratios and counts.

    python benchmarks/kernel.py [--only TABLE ...] [--repeats 3] [--cache 2000]
    python benchmarks/kernel.py --only hard [--sets "a9a 10,000 100" checkerboard ...] [--rows 3000]

Tables: nu, peers, hard, first, threads, memory, strings, charges. Times are of `fit`, one process, one thread
unless said otherwise, runs interleaved, medians, compiled code warm. Both sides get the same cache. In
`peers` and `hard` (large C, few features, many classes) our tolerance is the duality gap that the peer's own answer
has, so that ours is at least as tight. In `hard` that gap is the one of the best multiple of the peer's answer, since
ours is one, and with many classes that of all class pairs together; the primal of both, ‖w‖²/2 + C Σ losses, is
computed from the models' coefficients. Its seconds are those of the processor: a busy machine changes them less.
In `first` the tolerances are a fixed grid, loosest first; the first that counts is the loosest from which
on every tighter one is within 0.1% absolute of the peer's test error. Real sets are read from $HINGE_DATA
(or ../shared/data); a missing set is said and left out.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
import tracemalloc
import warnings
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from sklearn.datasets import load_digits  # noqa: E402
from sklearn.svm import SVC as Libsvm  # noqa: E402

from hinge import SVC, datasets, trace  # noqa: E402
from hinge.access import Gram, as_points  # noqa: E402
from hinge.experiments.sbp.runtimes import RANGES  # noqa: E402
from hinge.kernels import Gaussian  # noqa: E402
from hinge.problems import Expansion, KernelRegularized, KernelSlackConstrained  # noqa: E402
from hinge.problems.svm.kernel_duality import best_scale  # noqa: E402
from hinge.solvers import SBP, SMO, BlockDual, KernelPegasos, KernelPerceptron, KernelSDCA  # noqa: E402

HOME = os.environ.get("HINGE_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
SETS = {"a9a": 10.0, "mnist": 25.0}  # σ² of the SBP paper's Table 2
PEERS = (("a9a", 1.0, 8), ("mnist", 1.0, 10), ("mnist", 1000.0, 10))
GRID = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)


def data(name):
    """Train and test rows; MNIST is 8 against the rest, pixels in [0, 1]."""
    loaded = datasets.load(name, home=HOME, positive=8 if name == "mnist" else None)
    y, y_test = (np.where(part == loaded.y_train.max(), 1, -1) for part in (loaded.y_train, loaded.y_test))
    return loaded.X_train, y, loaded.X_test, y_test


def clocked(make, X, y, clock=time.perf_counter):
    before = clock()
    model = make().fit(X, y)
    return clock() - before, model


def gap_of(model, X, y, C, gamma):
    """The relative duality gap of a peer's answer."""
    beta = np.zeros(len(y))
    dual = model.dual_coef_
    beta[model.support_] = (dual.toarray() if sp.issparse(dual) else dual)[0]
    gram = Gram(as_points(X, Gaussian(gamma)))
    used = np.flatnonzero(beta)
    answer = Expansion(beta, 0.0, gram.pass_over(used, beta[used], np.arange(len(y))))
    return KernelRegularized.from_C(gram, y, C, bias="free").certificate(answer).gap


def peers(options):
    print("\nset, C            SVC s   ours s  ratio  at least | float32  ratio | gap SVC / ours | test error %")
    for name, C, at_least in PEERS:
        X, y, X_test, y_test = data(name)
        gamma, cache = 1 / (2 * SETS[name]), options.cache
        # scikit-learn converts to float64 and is faster on compressed rows for both sets.
        X_peer, X_peer_test = sp.csr_matrix(X, dtype=np.float64), sp.csr_matrix(X_test, dtype=np.float64)
        SVC(C, gamma=gamma, tol=0.5).fit(X[:3000], y[:3000])
        fractions = X + np.float32(1e-4) if isinstance(X, np.ndarray) else None  # no multiples: float32
        times = {"peer": [], "ours": [], "float32": []}
        gap = None
        for _ in range(options.repeats if name == "a9a" else 1):
            seconds, peer = clocked(lambda: Libsvm(C=C, gamma=gamma, cache_size=cache), X_peer, y)  # noqa: B023
            times["peer"].append(seconds)
            gap = gap_of(peer, X, y, C, gamma) if gap is None else gap
            seconds, ours = clocked(lambda: SVC(C, gamma=gamma, cache_size=cache, tol=gap), X, y)  # noqa: B023
            times["ours"].append(seconds)
            if fractions is not None:
                seconds, _ = clocked(lambda: SVC(C, gamma=gamma, cache_size=cache, tol=gap), fractions, y)  # noqa: B023
                times["float32"].append(seconds)
        t = {who: statistics.median(values) if values else np.nan for who, values in times.items()}
        errors = [100 * np.mean(model.predict(rows) != y_test) for model, rows in ((peer, X_peer_test), (ours, X_test))]
        print(
            f"{name:6s} {C:6g}    {t['peer']:8.1f} {t['ours']:8.2f} {t['peer'] / t['ours']:6.1f} "
            f"{at_least:9d} | {t['float32']:7.1f} {t['peer'] / t['float32']:6.1f} | "
            f"{gap:.1e} / {ours.gap_:.1e} | {errors[0]:.2f} / {errors[1]:.2f}",
            flush=True,
        )
        yield name, C, t["peer"], errors[0], (X, y, X_test, y_test, gamma)


def hard_sets(options):
    """Name, rows, test rows, γ, C and the ratio aimed at; γ of a9a, MNIST and Forest is that of the SBP paper."""

    def asked(name, *numbers):
        return not options.sets or any(part in " ".join([name, *map("{:g}".format, numbers)]) for part in options.sets)

    name = "a9a 10,000"
    for C, at_least in ((1.0, 12), (100.0, 6), (1000.0, 5)):
        if asked(name, C):
            X, y, X_test, y_test = data("a9a")
            yield name, X[:10_000], y[:10_000], X_test, y_test, 1 / 20, C, at_least
    for n, digit, at_least in ((60_000, 8, 20), (10_000, None, 8)):
        name = f"mnist {n:,}" + (", 8" if digit else ", ten classes")
        if asked(name, 1.0):
            loaded = datasets.load("mnist", home=HOME, positive="all")
            y, y_test = (part if digit is None else part == digit for part in (loaded.y_train, loaded.y_test))
            yield name, loaded.X_train[:n], y[:n], loaded.X_test, y_test, 1 / 50, 1.0, at_least
    if asked("Forest raw", 1e4):
        loaded = datasets.load("covtype", home=HOME, positive=2)
        units = np.ones(loaded.X_train.shape[1], np.float32)
        units[: len(RANGES)] = RANGES
        rows = np.random.default_rng(0).permutation(len(loaded.y_train))[:12_000]
        test = loaded.X_test[:20_000] * units, loaded.y_test[:20_000]
        yield "Forest raw", loaded.X_train[rows] * units, loaded.y_train[rows], *test, 1e-4, 1e4, 5
    if asked("checkerboard", 100.0):
        rng = np.random.default_rng(0)
        X = rng.uniform(0, 4, (24_000, 2))
        y = np.floor(X).sum(axis=1) % 2
        yield "checkerboard", X[:20_000], y[:20_000], X[20_000:], y[20_000:], "scale", 100.0, 8
    if asked("digits, ten classes", 1.0):
        X, y = load_digits(return_X_y=True)
        yield "digits, ten classes", X, y, X, y, "scale", 1.0, 1.5


def bounds_of(model, X, y, C, gamma):
    """The primal of an answer, that of its best multiple and bias, and the dual; sums over class pairs.

    In float64, by the same arithmetic for either library. The best multiple is what `SVC` of hinge answers with.
    """
    coef = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    codes, ends = np.searchsorted(model.classes_, y), np.concatenate([[0], np.cumsum(model.n_support_)])
    sums = np.zeros(3)
    for k, (i, j) in enumerate(itertools.combinations(range(len(model.classes_)), 2)):
        beta = np.zeros(len(y))
        # Rows of dual_coef_ leave out the class itself: against j that of i is in row j - 1.
        beta[model.support_[ends[i] : ends[i + 1]]] = coef[j - 1, ends[i] : ends[i + 1]]
        beta[model.support_[ends[j] : ends[j + 1]]] = coef[i, ends[j] : ends[j + 1]]
        rows = np.flatnonzero((codes == i) | (codes == j))
        sign = -1 if len(model.classes_) == 2 else 1
        labels, beta = np.where(codes[rows] == i, sign, -sign), beta[rows]
        points = as_points(X[rows], Gaussian(gamma))
        gram, used = Gram(points.finer or points), np.flatnonzero(beta)
        answer = Expansion(beta, float(model.intercept_[k]), gram.pass_over(used, beta[used], np.arange(len(rows))))
        problem = KernelRegularized.from_C(gram, labels, C, bias="free")
        primal, dual = problem.objective(answer), problem.lam * float(labels @ beta - 0.5 * answer.sq_norm)
        b = problem.best_bias(answer.responses)
        known = problem.lam, answer.sq_norm, answer.responses, problem.y, problem.share(), b
        least = problem.objective(answer._replace(b=b))
        least = min(least, best_scale(*known, least - dual, None, True)[-1])
        sums += np.array([primal, least, dual]) / problem.lam
    return sums


def hard(options):
    print("\nset                   C    SVC s   ours s  ratio  at least | primal SVC / ours | gap SVC / ours | error %")
    for name, X, y, X_test, y_test, gamma, C, at_least in hard_sets(options):
        X, y = X[: options.rows], y[: options.rows]
        sparse = sp.issparse(X) or name.startswith("mnist")  # faster for the peer
        X_peer, X_peer_test = (sp.csr_matrix(Z, dtype=np.float64) if sparse else Z for Z in (X, X_test))
        if gamma == "scale":
            gamma = 1.0 / (X.shape[1] * float(X.var()))
        times = {"peer": [], "ours": []}
        for _ in range(options.repeats if X.shape[0] <= 2000 else 1):
            make = lambda: Libsvm(C=C, gamma=gamma, cache_size=options.cache)  # noqa: B023, E731
            seconds, peer = clocked(make, X_peer, y, time.process_time)
            times["peer"].append(seconds)
            if len(times["peer"]) == 1:
                primal, least, dual = bounds_of(peer, X, y, C, gamma)
                gap = least / dual - 1
            make = lambda: SVC(C, gamma=gamma, cache_size=options.cache, tol=gap)  # noqa: B023, E731
            if len(times["ours"]) == 0:
                make().fit(X[:3000], y[:3000])  # compiles what this tolerance needs, too
            seconds, ours = clocked(make, X, y, time.process_time)
            times["ours"].append(seconds)
        t = {who: statistics.median(values) for who, values in times.items()}
        errors = [100 * np.mean(model.predict(rows) != y_test) for model, rows in ((peer, X_peer_test), (ours, X_test))]
        print(
            f"{name:19s} {C:6g} {t['peer']:8.2f} {t['ours']:8.2f} {t['peer'] / t['ours']:6.1f} {at_least:9g} | "
            f"{primal:.6g} / {bounds_of(ours, X, y, C, gamma)[0]:.6g} | {gap:.1e} / {ours.gap_:.1e} | "
            f"{errors[0]:.2f} / {errors[1]:.2f}",
            flush=True,
        )


def first(options, results):
    print("\nfirst model within 0.1% of SVC's test error: tolerance, seconds, test error %, ratio (at least 15)")
    for name, C, t_peer, wanted, (X, y, X_test, y_test, gamma) in results:
        runs = []
        for tol in GRID:
            fits = [
                clocked(lambda: SVC(C, gamma=gamma, cache_size=options.cache, tol=tol, random_state=k), X, y)  # noqa: B023
                for k in range(min(2, options.repeats))
            ]
            seconds = statistics.median(seconds for seconds, _ in fits)
            worst = max(np.mean(model.predict(X_test) != y_test) for _, model in fits)
            runs.append((tol, seconds, 100 * worst))
        late = [k for k, (_, _, error) in enumerate(runs) if error > wanted + 0.1]
        tol, seconds, error = runs[min(len(runs) - 1, late[-1] + 1 if late else 0)]
        print(
            f"{name:6s} {C:6g}  tol={tol:g}  {seconds:6.2f} s  {error:.2f}%  {t_peer / seconds:6.1f}  all: "
            + ", ".join(f"{tol:g}: {s:.2f} s {e:.2f}%" for tol, s, e in runs),
            flush=True,
        )


def nu(options):
    print("\nν of Table 2 without bias, from the optimum: set, paper, ours, difference (within 1%)")
    for name, paper in (("a9a", 1.10e-2), ("mnist", 2.21e-4)):
        X, y, _, _ = data(name)
        model = SVC(1.0, gamma=1 / (2 * SETS[name]), fit_intercept=False, cache_size=options.cache, tol=1e-5)
        model.fit(X, y)
        print(f"{name:6s} {paper:.3e} {model.slack_:.4e} {100 * (model.slack_ / paper - 1):+.2f}%", flush=True)


def threads(options):
    print("\ntwo threads against one (at least 1.5): set, seconds, seconds, ratio")
    for name in SETS:
        X, y, _, _ = data(name)
        times = {1: [], 2: []}
        for _ in range(options.repeats):
            for jobs in times:
                make = lambda: SVC(1.0, gamma=1 / (2 * SETS[name]), cache_size=options.cache, n_jobs=jobs)  # noqa
                times[jobs].append(clocked(make, X, y)[0])
        one, two = (statistics.median(times[jobs]) for jobs in (1, 2))
        print(f"{name:6s} {one:6.2f} {two:6.2f} {one / two:5.2f}", flush=True)


def peak(name, cache):
    """Peak memory of a fit traced by tracemalloc, in a process of its own."""
    X, y, _, _ = data(name)
    gamma = 1 / (2 * SETS[name])
    SVC(1.0, gamma=gamma, tol=0.5).fit(X[:3000], y[:3000])
    tracemalloc.start()
    SVC(1.0, gamma=gamma, cache_size=cache).fit(X, y)
    print(json.dumps(tracemalloc.get_traced_memory()[1] / 1e6))


def memory(options):
    print("\npeak extra memory, MB: set, cache budget, measured, beyond the budget, of which 4 vectors of n")
    for name in SETS:
        for cache in (100, 400):
            ran = subprocess.run(
                [sys.executable, __file__, "--peak", name, str(cache)], capture_output=True, text=True, check=True
            )
            measured = float(ran.stdout.strip().splitlines()[-1])
            n = {"a9a": 32561, "mnist": 60000}[name]
            print(f"{name:6s} {cache:5d} {measured:8.1f} {measured - cache:8.1f} {4 * 8 * n / 1e6:8.1f}", flush=True)


def words(n, seed, apart):
    """Strings of two languages, made by two Markov chains over the same letters."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdefgh"))
    chains = rng.dirichlet(np.full(8, 0.7), size=(2, 8))
    chains[1] = (1 - apart) * chains[0] + apart * chains[1]
    y = rng.integers(0, 2, n)
    strings = []
    for language in y:
        at, text = rng.integers(8), []
        for _ in range(rng.integers(30, 60)):
            at = rng.choice(8, p=chains[language, at])
            text.append(letters[at])
        strings.append("".join(text))
    return strings, y


def strings(options):
    """A Gaussian kernel of the letter triples of 2,000 strings, called pair by pair."""
    print("\ncallable kernel on 2,000 strings: evaluations, share of the Gram matrix, test error % (at most 30%")
    print("at the error of the whole Gram matrix); languages that differ in 60% and in 45% of their habits")
    keys = {"".join(key): k for k, key in enumerate(itertools.product("abcdefgh", repeat=3))}
    for apart in (0.6, 0.45):
        texts, y = words(4000, 0, apart)
        profiles = np.zeros((4000, len(keys)))
        for profile, text in zip(profiles, texts, strict=True):
            np.add.at(profile, [keys[text[k : k + 3]] for k in range(len(text) - 2)], 1.0)
        profiles /= np.linalg.norm(profiles, axis=1, keepdims=True)
        place = dict(zip(texts, profiles, strict=True))
        calls = 0

        def kernel(a, b):
            nonlocal calls
            calls += 1
            if options.sleep:
                time.sleep(options.sleep)
            return float(np.exp(2.0 * (place[a] @ place[b] - 1.0)))  # noqa: B023

        G = np.exp(2.0 * (profiles @ profiles[:2000].T - 1.0))
        full = Libsvm(C=1.0, kernel="precomputed").fit(G[:2000], y[:2000])
        error = 100 * np.mean(full.predict(G[2000:]) != y[2000:])
        print(f"LIBSVM, the whole matrix   {2000**2:9d}  100.0%  {error:.2f}  ({len(full.support_)} SV)")
        for name, limits in (("to its tol", {}), ("limited to 30%", {"max_kernel_evals": 1_200_000})):
            calls = 0
            model = SVC(1.0, kernel=kernel, **limits).fit(texts[:2000], y[:2000])
            used, sv = calls, len(model.support_)
            assert used == model.n_kernel_evals_
            values = G[2000:][:, model.support_] @ model.dual_coef_[0] + model.intercept_[0]
            error = 100 * np.mean((values > 0) != y[2000:])
            print(f"hinge, {name:18s}  {used:9d}  {used / 4e4:5.1f}%  {error:.2f}  ({sv} SV)", flush=True)


def charges(options):
    """Test error against kernel rows, charged in both ways, for the methods of the paper's Figure 2."""
    X, y, X_test, y_test = data("a9a")
    n, both = len(y), sp.vstack([X, X_test]).tocsr()
    labels = np.concatenate([y, y_test])
    print("\na9a, no bias: test error % at rows charged (every iteration one row : rows really computed)")
    methods = {
        "SBP": SBP(),
        "SBP k=32": SBP(32),
        "Pegasos": KernelPegasos(),
        "SDCA": KernelSDCA(),
        "Perceptron": KernelPerceptron(passes=2),
        "SMO": SMO(),
        "block dual": BlockDual(),
    }
    for name, solver in methods.items():
        gram = Gram(as_points(X, Gaussian(1 / 20)), int(options.cache * 1e6))
        slack = name.startswith("SBP")
        problem = KernelSlackConstrained(gram, y, 1.0975e-2) if slack else KernelRegularized.from_C(gram, y, 1.0)
        per = getattr(solver, "batch_size", 1)
        rows = {"block dual": 1024}.get(name, per)
        shown = []
        for now in trace(problem, solver, [target // rows for target in (1000, 4000, 8000, 16000)]):
            beta = now.solution.beta
            used = np.flatnonzero(beta)
            apart = Gram(as_points(both, Gaussian(1 / 20)))
            scores = apart.pass_over(used, beta[used], np.arange(n, len(labels)))
            error = 100 * np.mean(np.where(scores > 0, 1, -1) != y_test)
            shown.append(f"{error:.2f} ({now.iteration * rows}:{now.kernel_evals // n})")
        print(f"{name:12s} " + "  ".join(shown), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tables = ("nu", "peers", "hard", "first", "threads", "memory", "strings", "charges")
    parser.add_argument("--only", nargs="*", choices=tables, default=tables)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cache", type=float, default=2000, help="MB, for both sides")
    parser.add_argument("--sets", nargs="*", default=(), help="parts of names and C of rows of the table `hard`")
    parser.add_argument("--rows", type=int, help="no more than so many training rows in the table `hard`")
    parser.add_argument("--sleep", type=float, default=0.0, help="seconds that a call of the string kernel takes")
    parser.add_argument("--peak", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.peak:
        return peak(options.peak[0], float(options.peak[1]))
    for table in options.only:
        if table == "peers":
            results = list(peers(options))
        elif table == "first":
            first(options, results if "peers" in options.only else list(peers(options)))
        else:
            globals()[table](options)


if __name__ == "__main__":
    main()
