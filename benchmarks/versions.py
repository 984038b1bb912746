"""The time of fits beside those of another version of hinge, with a checkout of its sources.

    git worktree add ../before TAG
    python benchmarks/versions.py ../before [--repeats 3] [--only hinge small kernel search]

Both run in processes of their own, in turn, with one thread: CPU seconds of each fit, compiled code warm, the median of
the processes. Four kinds: 36 linear fits with the hinge, six sets, three λ and two tolerances; small sets, all machines
with their default settings; kernel machines; searches. A line for each fit: the seconds of both, and the other's time
over this one's; at the end of each kind the geometric mean and the lowest. Sets are read from $HINGE_DATA (or
../shared/data).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from sklearn import datasets as toys  # noqa: E402

HERE = Path(__file__).resolve()
HOME = os.environ.get("HINGE_DATA") or HERE.parents[2] / "shared" / "data"
KINDS = ("hinge", "small", "kernel", "search")
LINEAR = {"adult": None, "rcv1-small": None, "reuters-money-fx": None, "imdb-unigram": None, "mnist": 8, "covertype": 1}
MOST_ROWS = 50_000
MOMENT = 0.5  # seconds for which a fit is repeated in a process, three times at least


def fits(kinds: list[str]) -> Iterator[tuple[str, str, Callable]]:
    """The kind and the name of each fit, and what makes it."""
    import hinge

    def read(name: str, positive: int | None, rows: int) -> tuple:
        found = hinge.datasets.load(name, home=HOME, **({} if positive is None else {"positive": positive}))
        return found.X_train[:rows], found.y_train[:rows]

    if "hinge" in kinds:
        for name, positive in LINEAR.items():
            X, y = read(name, positive, MOST_ROWS)
            for lam in (1e-3, 1e-4, 1e-5):
                for tol in (1e-2, 1e-3):
                    model = hinge.LinearSVC(loss="hinge", lam=lam, tol=tol, fit_intercept=False, random_state=0)
                    yield "hinge", f"{name} {lam:g} {tol:g}", lambda model=model, X=X, y=y: model.fit(X, y)
    if "small" in kinds:
        for name in ("iris", "wine", "breast_cancer", "digits", "diabetes"):
            X, y = getattr(toys, f"load_{name}")(return_X_y=True)
            if name == "diabetes":
                machines = [hinge.LinearSVR(), hinge.SVR(), hinge.NuSVR(), hinge.OneClassSVM()]
            else:
                machines = [hinge.LinearSVC(), hinge.LinearSVC(loss="hinge"), hinge.SVC(), hinge.NuSVC(nu=0.1)]
            for model in machines:
                yield "small", f"{name} {model}", lambda model=model, X=X, y=y: model.fit(X, y)
    if "kernel" in kinds:
        rng = np.random.default_rng(0)
        for name, positive, gamma in (("adult", None, 0.05), ("mnist", 8, 0.02), ("covertype", 1, 1.0)):
            X, y = read(name, positive, 6000)
            for C in (1.0, 100.0):
                model = hinge.SVC(gamma=gamma, C=C)
                yield "kernel", f"{name} C={C:g}", lambda model=model, X=X, y=y: model.fit(X, y)
        X = rng.standard_normal((4000, 10))
        y = np.sin(X).sum(axis=1) + 0.1 * rng.standard_normal(4000)
        for model in (hinge.SVR(), hinge.OneClassSVM(nu=0.1), hinge.NuSVR()):
            yield "kernel", f"made {model}", lambda model=model, X=X, y=y: model.fit(X, y)
    if "search" in kinds:
        for name in ("iris", "breast_cancer", "digits"):
            X, y = getattr(toys, f"load_{name}")(return_X_y=True)
            for model in (hinge.LinearSVCCV(), hinge.SVCCV()):
                yield "search", f"{name} {model}", lambda model=model, X=X, y=y: model.fit(X, y)


def times(kinds: list[str]) -> dict[str, float]:
    """CPU seconds of each fit, the median of some after one that compiles what `hinge.warm` did not."""
    import hinge

    getattr(hinge, "warm", lambda: None)()
    found = {}
    for kind, name, fit in fits(kinds):
        fit()
        taken: list[float] = []
        while len(taken) < 3 or sum(taken) < MOMENT:
            began = time.process_time()
            fit()
            taken.append(time.process_time() - began)
        found[f"{kind}: {name}"] = statistics.median(taken)
    return found


def times_of(sources: Path, kinds: list[str]) -> dict[str, float]:
    """The same by a process that imports hinge from some sources."""
    command = [sys.executable, str(HERE), str(sources), "--child", "--only", *kinds]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(sources)}, capture_output=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, help="the folder of the other version")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        warnings.simplefilter("ignore")
        print(json.dumps(times(options.only)))
        return
    taken: dict[Path, list[dict[str, float]]] = {options.other.resolve(): [], HERE.parents[1]: []}
    for _ in range(options.repeats):
        for sources, runs in taken.items():
            runs.append(times_of(sources, options.only))
    other, this = ({fit: statistics.median(run[fit] for run in runs) for fit in runs[0]} for runs in taken.values())
    print("CPU milliseconds: there, here, there over here")
    for kind in options.only:
        ratios = {fit: other[fit] / this[fit] for fit in this if fit.startswith(f"{kind}:")}
        for fit, ratio in ratios.items():
            print(f"{fit:48.48} {1e3 * other[fit]:9.2f} {1e3 * this[fit]:9.2f} {ratio:6.2f}")
        least = min(ratios, key=ratios.__getitem__)
        mean = statistics.geometric_mean(ratios.values())
        print(f"{kind}: geometric mean {mean:.2f}, lowest {ratios[least]:.2f} ({least})", flush=True)


if __name__ == "__main__":
    main()
