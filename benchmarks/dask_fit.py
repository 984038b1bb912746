"""`hinge.dask.LinearSVC` on a LocalCluster: against the local fit, two workers against one, rounds by parts, kills.

    python benchmarks/dask_fit.py [--rows 800000] [--repeats 3] [--parts 2 4 8 16] [--kills 20] [--only NAME ...]
                                  [--solver auto] [--kill-rows 20000]

First table: the same problem (hinge, a penalised bias) to the same certified gap by `hinge.LinearSVC`, and on clusters
of one and of two worker processes of one thread each, rows loaded before the clock starts; runs interleaved, the least
wall-clock time of each. Beside it the CPU seconds of the worker that had most to do, which a busy machine changes less:
one worker's over two workers' is what two free cores would give, but for the way between them.

Second table: rounds, and local passes, to the same gap by the number of parts; parts take turns in this process.

Third: a worker is killed (SIGKILL) at a random moment of a fit on two, once a fit; these fits have no more than
`--kill-rows` rows and λ = 1e-3. Workers are processes of this program, without a nanny: the one that was killed is
started again after the fit, and no wait is longer than five minutes. All should finish, with the same bits.

Rows are written to a temporary folder, one file a chunk, and loaded by the workers. "CCAT-like" is synthetic; covtype
is read from $HINGE_DATA (or ../shared/data), and left out where it is missing. Needs hinge[dask].
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from dask.delayed import delayed  # noqa: E402
from distributed import Client, LocalCluster  # noqa: E402

import hinge  # noqa: E402
from hinge import datasets  # noqa: E402
from hinge.dask import LinearSVC  # noqa: E402

HOME = os.environ.get("HINGE_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
TOL = 1e-3
CHUNKS = 16
PATIENCE = 300.0


class Task(NamedTuple):
    """A set and its λ."""

    label: str
    X: Any
    y: np.ndarray
    lam: float


class Spread(NamedTuple):
    """The rows as delayed chunks."""

    X: list[Any]
    y: list[Any]


def tasks(rows: int, only: list[str]) -> Iterator[Task]:
    """All that are wanted."""
    sets: dict[str, Callable[[], Any]] = {
        "covtype": lambda: datasets.load("covertype", home=HOME, positive=1),
        "CCAT-like": lambda: datasets.make_text(rows, seed=0),
    }
    for label, load in sets.items():
        if only and not any(part.lower() in label.lower() for part in only):
            continue
        try:
            data = load()
        except (OSError, ValueError) as error:
            print(f"{label}: left out, {error}")
            continue
        yield Task(label, data.X_train, data.y_train, 1e-4)


def written(task: Task, folder: Path) -> Spread:
    """The rows, one file a chunk, and what loads them."""
    ends = np.linspace(0, len(task.y), CHUNKS + 1).astype(int)
    Xs, ys = [], []
    for k, (lo, hi) in enumerate(pairwise(ends)):
        path = folder / f"{task.label}-{k}"
        if sp.issparse(task.X):
            sp.save_npz(f"{path}.npz", task.X[lo:hi], compressed=False)
            Xs.append(delayed(sp.load_npz)(f"{path}.npz"))
        else:
            np.save(f"{path}.npy", task.X[lo:hi])
            Xs.append(delayed(np.load)(f"{path}.npy"))
        np.save(f"{path}.y.npy", task.y[lo:hi])
        ys.append(delayed(np.load)(f"{path}.y.npy"))
    return Spread(Xs, ys)


def settings(task: Task) -> dict[str, Any]:
    """The same for all fits."""
    return dict(loss="hinge", lam=task.lam, tol=TOL, random_state=0)


class Cluster:
    """Worker processes of one thread each, and their CPU seconds."""

    def __init__(self, workers: int) -> None:
        self.cluster = LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=0
        )
        self.client = Client(self.cluster, set_as_default=False)
        self.workers = workers

    def cpu(self) -> dict[str, float]:
        """CPU seconds of each worker so far."""
        return self.client.run(time.process_time)

    def close(self) -> None:
        """End the processes."""
        self.client.close()
        self.cluster.close()


class Mortal:
    """A scheduler, and two worker processes of one thread each that may be killed and are started again."""

    def __init__(self) -> None:
        self.cluster = LocalCluster(n_workers=0, processes=True, dashboard_address=":0")
        self.client = Client(self.cluster, set_as_default=False)
        self.workers: dict[str, subprocess.Popen] = {}
        self.count = 0

    def ready(self) -> None:
        """Start the workers that are missing, and wait until the scheduler knows these two and no others."""
        ends = time.perf_counter() + PATIENCE
        while self._known() != set(self.workers) or len(self.workers) != 2:
            if time.perf_counter() > ends:
                raise RuntimeError(
                    f"The scheduler knows {self._known()} after {PATIENCE:g} seconds, not {self.workers}."
                )
            self.workers = {name: worker for name, worker in self.workers.items() if worker.poll() is None}
            while len(self.workers) < 2:
                self._start()
            time.sleep(0.05)

    def _known(self) -> set[str]:
        return {str(worker["name"]) for worker in self.client.scheduler_info()["workers"].values()}

    def _start(self) -> None:
        self.count += 1
        command = [sys.executable, "-m", "distributed.cli.dask_worker", self.cluster.scheduler_address]
        command += [
            "--no-nanny",
            "--nthreads",
            "1",
            "--memory-limit",
            "0",
            "--no-dashboard",
            "--name",
            f"w{self.count}",
        ]
        self.workers[f"w{self.count}"] = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def kill(self, worker: int) -> None:
        """At once, and for good."""
        process = list(self.workers.values())[worker]
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)

    def close(self) -> None:
        """End the processes."""
        self.client.close()
        for worker in self.workers.values():
            worker.kill()
            worker.wait(PATIENCE)
        self.cluster.close()


def fitted(task: Task, spread: Spread, cluster: Cluster) -> tuple[float, float, LinearSVC]:
    """Wall-clock seconds of a fit on rows that are loaded, CPU seconds of its busiest worker, and the model."""
    Xs, ys = cluster.client.persist(spread.X), cluster.client.persist(spread.y)
    cluster.client.gather([cluster.client.submit(len, y) for y in cluster.client.compute(ys)])
    before, began = cluster.cpu(), time.perf_counter()
    model = LinearSVC(client=cluster.client, **settings(task)).fit(Xs, ys)
    wall, after = time.perf_counter() - began, cluster.cpu()
    return wall, max(after[address] - before[address] for address in before), model


def against(task: Task, spread: Spread, clusters: list[Cluster], repeats: int) -> str:
    """One row of the first table."""
    local = hinge.LinearSVC(solver="sdca", **settings(task))
    walls: dict[int, list[float]] = {0: [], 1: [], 2: []}
    cpus: dict[int, list[float]] = {1: [], 2: []}
    objectives, gaps = {}, {}
    for turn in range(repeats + 1):
        began = time.perf_counter()
        local.fit(task.X, task.y)
        walls[0].append(time.perf_counter() - began)
        objectives[0], gaps[0] = local.objective_, local.gap_
        for cluster in clusters:
            wall, cpu, model = fitted(task, spread, cluster)
            assert model.gap_ <= TOL
            objectives[cluster.workers], gaps[cluster.workers] = model.objective_, model.gap_
            if turn:  # the first compiles
                walls[cluster.workers].append(wall)
                cpus[cluster.workers].append(cpu)
    least = {k: min(values[-repeats:]) for k, values in walls.items()}
    busy = {k: min(values) for k, values in cpus.items()}
    shown = " ".join(f"{objectives[k]:.6f} {gaps[k]:.1e}" for k in (0, 1, 2))
    return (
        f"{task.label:10} {shown}  {least[0]:6.2f} {least[1]:6.2f} {least[2]:6.2f} {least[1] / least[2]:5.2f}  "
        f"{busy[1]:6.2f} {busy[2]:6.2f} {busy[1] / busy[2]:5.2f}"
    )


def rounds(task: Task, parts: list[int]) -> str:
    """One row of the second table: rounds, passes, and passes that were read, certificates included."""
    chunks = np.array_split(np.arange(len(task.y)), max(parts))
    Xs, ys = [task.X[rows] for rows in chunks], [task.y[rows] for rows in chunks]
    cells, found = task.X.nnz if sp.issparse(task.X) else task.X.size, []
    for count in parts:
        model = LinearSVC(parts=count, **settings(task)).fit(Xs, ys)
        assert model.gap_ <= TOL
        last = model.history_[-1]
        found.append(f"{last.iteration:4d} {last.passes:5d} {model.n_feature_reads_ / cells:6.1f} {last.sigma:5.2f}")
    return f"{task.label:10} {'   '.join(found)}"


def kills(task: Task, spread: Spread, count: int, solver: str, seed: int = 0) -> str:
    """One row of the third table."""
    rng, same, took, killed, cluster = np.random.default_rng(seed), 0, [], 0, Mortal()

    def fit() -> tuple[float, LinearSVC]:
        began = time.perf_counter()
        model = LinearSVC(client=cluster.client, parts=2, solver=solver, **settings(task)).fit(*spread)
        return time.perf_counter() - began, model

    cluster.ready()
    fit()
    plain, model = fit()
    for _ in range(count):
        cluster.ready()
        timer = threading.Timer(rng.uniform(0.0, 0.9 * plain), cluster.kill, (int(rng.integers(2)),))
        timer.start()
        seconds, again = fit()
        killed += not timer.is_alive()  # before the fit ended
        timer.join()
        took.append(seconds)
        same += again.coef_.tobytes() == model.coef_.tobytes() and again.gap_ == model.gap_
    cluster.close()
    times = f"{plain:.2f} s undisturbed, {np.median(took):.2f} s with a kill"
    return (
        f"{task.label:10} {len(task.y):,} rows: {len(took)} of {count} finished, {killed} with a kill before the end, "
        f"{same} with the same bits; {times}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=800_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--parts", type=int, nargs="*", default=[2, 4, 8, 16])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--solver", default="auto", help="of the fits that are killed")
    parser.add_argument("--kill-rows", type=int, default=20_000)
    options = parser.parse_args()
    clusters = [Cluster(workers) for workers in (1, 2)] if options.repeats else []
    with tempfile.TemporaryDirectory() as folder:
        for task in tasks(options.rows, options.only):
            if options.parts:
                print(f"rounds, passes, passes read, sigma for {options.parts} parts", flush=True)
                print(rounds(task, options.parts), flush=True)
            if options.repeats:
                spread = written(task, Path(folder))
                print("objective and gap: local, 1 and 2 workers; seconds of each, ratio; CPU of the busiest, ratio")
                print(against(task, spread, clusters, options.repeats), flush=True)
            if options.kills:
                few = min(len(task.y), options.kill_rows)
                some = task._replace(X=task.X[:few], y=task.y[:few], lam=1e-3)
                print(kills(some, written(some, Path(folder)), options.kills, options.solver), flush=True)
    for cluster in clusters:
        cluster.close()


if __name__ == "__main__":
    main()
