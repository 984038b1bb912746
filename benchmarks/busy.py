"""`SVC()` and `OneClassSVM()` as they come, beside busy processes: wall-clock and CPU against ``n_jobs=1``.

    python benchmarks/busy.py [--busy 2] [--repeats 5] [--rows 8000] [--features 20]

As they come means that nothing limits the threads of BLAS: the environment's limits are dropped first. The others are
processes that count without end, as many as asked for. Runs are interleaved, compiled code is warm, and of each the
median counts. At most 1.1 times the wall-clock of ``n_jobs=1`` was aimed at; CPU seconds are those of all threads.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
    os.environ.pop(name, None)

from sklearn.datasets import make_classification  # noqa: E402

from hinge import SVC, OneClassSVM  # noqa: E402


def seconds(model, *data):
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(*data)
    return time.perf_counter() - wall, time.process_time() - cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("busy", 2), ("repeats", 5), ("rows", 8000), ("features", 20)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    X, y = make_classification(options.rows, options.features, n_informative=10, flip_y=0.05, random_state=0)
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.busy)]
    try:
        print("machine        wall, n_jobs=1 / None  ratio (at most 1.1) | CPU, n_jobs=1 / None  ratio")
        for machine, data in ((SVC, (X, y)), (OneClassSVM, (X,))):
            times = {1: [], None: []}
            for repeat in range(options.repeats + 1):
                for jobs in times:
                    taken = seconds(machine(n_jobs=jobs), *data)
                    if repeat:  # the first may compile
                        times[jobs].append(taken)
            (wall, cpu), (wall_none, cpu_none) = (
                [statistics.median(one) for one in zip(*times[jobs], strict=True)] for jobs in (1, None)
            )
            print(
                f"{machine.__name__:12s} {wall:10.3f} / {wall_none:5.3f} {wall_none / wall:8.2f} {'':14s} | "
                f"{cpu:8.3f} / {cpu_none:5.3f} {cpu_none / cpu:8.2f}",
                flush=True,
            )
    finally:
        for other in others:
            other.kill()


if __name__ == "__main__":
    main()
