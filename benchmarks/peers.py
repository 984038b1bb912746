"""hinge beside its peers: seconds to an equal objective, test error and memory, on the stored sets.

    python benchmarks/peers.py [--sets a9a covtype] [--problems hinge squared kernel] [--out FILE] [--lines LOG]

Three problems with the same data and objective for all who solve it: λ/2‖w‖² + mean loss without a bias, λ = 1e-4, with
the hinge (skglm has no bias, and no other loss) and its square, and `SVC` with the Gaussian kernel, C = 1, γ = "scale"
and a free bias, on the first rows of each set. A peer has the loosest tolerance (or fewest passes), of ten to a decade,
at which its objective is at most 1%, then 0.1%, above a certified lower bound. Each is a process of its own, warm, with
one thread, in turn; seconds are the processor's, in the training call, the median of three or more (of one above two
seconds). LIBLINEAR, lightning and skglm get rows that are converted beforehand, the others convert within the call;
TorchKM is spared its cross-validation. `MB` is the peak beyond the process with its raw data.

A peer that is not installed is said, and left out: LIBLINEAR, lightning and skglm may be in environments of their own,
as in benchmarks/svm. ThunderSVM is not here: its wheel for processors, 0.3.3 of 2019, ended silently or took rows for
classes beside today's NumPy and SciPy. Sets are read from $HINGE_DATA (or ../shared/data). With `--jobs`, sets
run beside each other. What is measured goes to standard error line by line; `--lines` adds those of earlier calls.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"

import argparse  # noqa: E402
import json  # noqa: E402
import statistics  # noqa: E402
import sys  # noqa: E402
import warnings  # noqa: E402
from concurrent.futures import ThreadPoolExecutor  # noqa: E402
from importlib.util import find_spec  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any, NamedTuple  # noqa: E402

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE / "svm")]

LAM, LEVELS = 1e-4, (1e-2, 1e-3)
TOLERANCES = tuple(10 ** (-k / 10) for k in range(61))
PASSES = tuple(sorted({round(10 ** (k / 10)) for k in range(31)}))
CERTIFIED = 1e-5  # the gap of the fit whose lower bound all are judged by


class Peer(NamedTuple):
    """Whom to run on which problem, what it is told, and what ends it."""

    problem: str
    name: str
    package: str
    serves: str
    task: dict[str, Any]
    stops: tuple[float, ...] = TOLERANCES


def peers() -> list[Peer]:
    """All that there are, ours first."""
    made = []
    for problem, loss in (("hinge", "hinge"), ("squared", "squared_hinge")):
        linear = {"loss": loss, "C": "1/(λn)", "fit_intercept": False, "random_state": 0}
        library, sgd = {**linear, "max_iter": 10**6}, {**linear, "alpha": LAM, "tol": None}
        del sgd["C"]
        made += [
            estimator(problem, "hinge", "hinge.LinearSVC", linear),
            estimator(problem, "scikit-learn, dual", "sklearn.svm.LinearSVC", {**library, "dual": True}),
            Peer(problem, "LIBLINEAR, dual", "liblinear-multicore", "", {"solver": 3 if problem == "hinge" else 1}),
            estimator(problem, "SGD", "sklearn.linear_model.SGDClassifier", sgd, PASSES),
            estimator(problem, "SGD, averaged", "sklearn.linear_model.SGDClassifier", {**sgd, "average": True}, PASSES),
        ]
        if problem == "squared":
            made += [
                estimator(problem, "scikit-learn, primal", "sklearn.svm.LinearSVC", {**library, "dual": False}),
                Peer(problem, "LIBLINEAR, primal", "liblinear-multicore", "", {"solver": 2}),
            ]
        else:
            made += [Peer(problem, "skglm", "skglm", "", {}, PASSES)]
            ways = ("dual-cd", "sdca")
            made += [
                Peer(problem, f"lightning, {way}", "lightning", "", {"method": way, "seed": 0}, PASSES) for way in ways
            ]
    kernel = {"C": 1.0, "cache_size": 1000}
    names = {"hinge": "hinge", "scikit-learn": "sklearn.svm", "sklearnex": "sklearnex.svm", "cuML": "cuml.svm"}
    made += [estimator("kernel", name, f"{module}.SVC", kernel) for name, module in names.items()]
    compressed = made[-3]._replace(name="scikit-learn, CSR")
    made += [compressed._replace(task={**compressed.task, "csr": True})]
    return [*made, estimator("kernel", "TorchKM", "torchkm.SVC", kernel)._replace(serves="torchkm")]


def estimator(problem: str, name: str, path: str, settings: dict[str, Any], stops: Any = TOLERANCES) -> Peer:
    """A class of scikit-learn's form in this interpreter."""
    task = {"class": path, "settings": settings, "stop": "max_iter" if stops is PASSES else "tol"}
    return Peer(problem, name, path.partition(".")[0], "estimator", task, stops)


def absent(peer: Peer) -> str | None:
    """Why a peer cannot run."""
    from benchmark_utils.peers import missing

    if not peer.serves:
        return missing(peer.package)
    return None if find_spec(peer.package) else f"{peer.name} is not installed."


def loaded(name: str) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Training and test rows of a stored set, in a random order, standardised where benchmarks/regret.py says so."""
    from benchmark_utils.sets import stored
    from regret import SETS

    catalogued, positive, standard = SETS[name]
    data = stored(catalogued, positive)
    if data.get("missing"):
        raise FileNotFoundError(data["missing"])
    X, X_test = data["X"], data["X_test"]
    if standard:
        X, X_test = (part.toarray() if sp.issparse(part) else part for part in (X, X_test))
        mean, spread = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-12)
        X, X_test = (np.float32((part - mean) / spread) for part in (X, X_test))
    return X, data["y"], X_test, data["y_test"]


class Case:
    """A problem on a set: what an answer is worth, and how wrong it is on test rows."""

    def __init__(self, problem: str, name: str, rows: int) -> None:
        from benchmark_utils.worker import gaussian
        from regret import LOSSES

        from hinge.problems import Regularized, Solution

        X, self.y, X_test, self.y_test = loaded(name)
        self.problem, self.name, self.X = problem, name, X
        if problem != "kernel":
            posed = Regularized(X, self.y, LAM, loss=LOSSES["squared_hinge" if problem == "squared" else "hinge"])
            self.objective = lambda w: posed.objective(Solution(w, 0.0))
            self.error = lambda w: np.mean(np.where(X_test @ w > 0, 1, -1) != self.y_test)
            return
        self.X, self.y, X_test, self.y_test = X[:rows], self.y[:rows], X_test[:rows], self.y_test[:rows]
        squares = self.X.multiply(self.X) if sp.issparse(self.X) else np.float64(self.X) ** 2
        self.gamma = float(1 / (self.X.shape[1] * (squares.mean() - self.X.mean(dtype=np.float64) ** 2)))
        K, K_test = (gaussian(others, self.X, self.gamma) for others in (self.X, X_test))
        short = lambda beta: np.maximum(0.0, 1 - self.y * (K @ beta[:-1] + beta[-1]))  # noqa: E731
        self.objective = lambda beta: 0.5 * beta[:-1] @ K @ beta[:-1] + short(beta).sum()
        self.error = lambda beta: np.mean(np.where(K_test @ beta[:-1] + beta[-1] > 0, 1, -1) != self.y_test)


class Runs:
    """A peer on a case: what each stop costs and reaches."""

    def __init__(self, peer: Peer, case: Case, most: float) -> None:
        from benchmark_utils.peers import Worker

        task = {**peer.task, "lam": LAM, "seed": 0, "warm": 100}
        if case.problem == "kernel":
            task["settings"] = {**task["settings"], "gamma": case.gamma}
        python = sys.executable if peer.serves else None
        self.worker = Worker(peer.serves or peer.package, case.X, case.y, task, python)
        self.stops, self.case, self.left, self.found = peer.stops, case, most, {}
        self.clock = "wall" if peer.name == "cuML" else "cpu"

    def train(self, stop: float) -> float:
        """Seconds."""
        wall = self.worker.train(stop)
        return wall if self.clock == "wall" else self.worker.cpu

    def at(self, k: int) -> tuple[float, float, float, float]:
        """Objective, test error, MB and seconds of the k-th stop."""
        if k not in self.found:
            seconds = self.train(self.stops[k])
            w, self.left = self.worker.weights(), self.left - seconds
            self.found[k] = (self.case.objective(w), self.case.error(w), self.worker.memory, seconds)
        return self.found[k]

    def reach(self, most: float, low: int = 0) -> int | None:
        """The first stop from `low` on with so small an objective: by steps of eight, and bisection of the last one."""
        if self.at(low)[0] <= most:
            return low
        high = low
        while self.at(high)[0] > most:
            if self.left <= 0 or high == len(self.stops) - 1:
                return None
            low, high = high, min(high + 8, len(self.stops) - 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.at(middle)[0] <= most else (middle, high)
        return high

    def median(self, k: int) -> float:
        """Seconds of a stop, of several runs."""
        seconds = [self.at(k)[3]]
        while len(seconds) < 3 or (sum(seconds) < 0.5 and len(seconds) < 15):
            if seconds[0] > 2:
                break
            seconds.append(self.train(self.stops[k]))
        return statistics.median(seconds)


def measure(case: Case, most: float, said: set[str]) -> list[dict[str, Any]]:
    """One line for each peer; why one failed goes into what is said."""
    lines, least = [], 0.0
    for peer in peers():
        compressed = peer.task.get("csr") and sp.issparse(case.X)  # as they are
        if peer.problem != case.problem or compressed or absent(peer):
            continue
        line = {"on": processor(), "problem": case.problem, "set": case.name, "rows": len(case.y), "peer": peer.name}
        try:
            runs = Runs(peer, case, most)
            if not least:
                runs.train(CERTIFIED)
                least = case.objective(runs.worker.weights()) / (1 + CERTIFIED)
            k: int | None = 0
            for level in LEVELS:
                k = None if k is None else runs.reach(least * (1 + level), k)
                line[f"{level:g}"] = None if k is None else runs.median(k)
        except RuntimeError as failed:
            said.add(f"{case.name}, {case.problem}: {failed}")
            continue
        best = min(runs.found.values()) if k is None else runs.at(k)
        runs.worker.close()
        assert best[0] >= least * (1 - 1e-9), f"{peer.name} is below the lower bound on {case.name}"
        lines.append({**line, "reached": best[0] / least - 1, "error": best[1], "memory": best[2]})
        print(json.dumps(lines[-1]), file=sys.stderr, flush=True)
    return lines


def table(lines: list[dict[str, Any]]) -> str:
    """Markdown: means over all sets; seconds, and times ours; a level that was not reached has the best that was."""
    shown = [
        "| problem | set | rows | peer | s to 1% | s to 0.1% | times hinge's | test error | MB |",
        "|---" * 9 + "|",
    ]
    ratios: dict[tuple[str, str], list[float]] = {}
    for line in lines:
        if line["peer"] == "hinge":
            ours = line["0.001"]
        if line["0.001"] and ours:
            ratios.setdefault((line["problem"], line["peer"]), []).append(line["0.001"] / ours)
        ended = f"ended {line['reached']:.1%} above" if line["reached"] < 9.0 else "ended far above"
        times = f"{line['0.001'] / ours:.2g}" if line["0.001"] and ours else ended
        seconds = (f"{line[f'{level:g}']:.3g}" if line[f"{level:g}"] else "–" for level in LEVELS)
        head = (line["problem"], line["set"], f"{line['rows']:,}", line["peer"], *seconds, times)
        shown.append(f"| {' | '.join(head)} | {line['error']:.2%} | {line['memory']:.0f} |")
    means = [
        "| problem | peer | times hinge's to 0.1%, geometric mean | lowest | sets that it reached |",
        "|---" * 5 + "|",
    ]
    for (problem, peer), found in ratios.items():
        if peer != "hinge":
            mean = np.exp(np.mean(np.log(found)))
            means.append(f"| {problem} | {peer} | {mean:.2g} | {min(found):.2g} | {len(found)} |")
    return "\n".join([*means, "", *shown])


def page(lines: list[dict[str, Any]], said: set[str]) -> str:
    """Where these lines were measured, their tables, and who was absent."""
    text = "\n\n".join([*sorted({line["on"] for line in lines}), table(lines), *sorted(said)])
    return text.replace(f"{HERE.parent}/", "")


def processor() -> str:
    """Its name, and how many cores this process may use."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{(named or ['unknown processor'])[0]}, {len(os.sched_getaffinity(0))} cores"


def main() -> None:
    """Measure, and print."""
    from regret import SETS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--problems", nargs="*", default=["hinge", "squared", "kernel"])
    parser.add_argument("--rows", type=int, default=4000, help="of the kernel machines")
    parser.add_argument("--most", type=float, default=30.0, help="seconds after which a peer tries no further stop")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="a file for the table")
    parser.add_argument("--lines", type=Path, nargs="*", default=[], help="what earlier calls wrote to standard error")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ.setdefault("HINGE_DATA", str(HERE.parents[1] / "shared" / "data"))

    def run(asked: tuple[str, str]) -> list[dict[str, Any]]:
        try:
            case = Case(*asked, args.rows)
        except FileNotFoundError as missing:
            said.add(str(missing))
            return []
        return measure(case, args.most, said)

    asked = [(problem, name) for name in args.sets for problem in args.problems]
    logged = [text for log in args.lines for text in log.read_text().splitlines()]
    lines: list[dict[str, Any]] = [json.loads(text) for text in logged if text.startswith("{")]
    there = {line["peer"] for line in lines}
    said = {reason for peer in peers() if peer.name not in there and (reason := absent(peer))}
    with ThreadPoolExecutor(args.jobs) as pool:
        for found in pool.map(run, asked):
            lines += found
            if args.out:  # what there is so far
                args.out.write_text(page(lines, said) + "\n")
    text = page(lines, said)
    if args.out:
        args.out.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
