"""Run the benchmark with benchopt and print a table of the seconds to reach two accuracies.

    python benchmarks/svm/run.py -d adult [-d DATASET ...] [-s SOLVER ...] [-o OBJECTIVE] [-n 12] [-r 3]
    python benchmarks/svm/run.py --results FILE.parquet

The same as ``benchopt run benchmarks/svm``, one thread for linear algebra, nothing taken from benchopt's
cache. Suboptimality is relative to the best certified lower bound among the results, which hinge-auto gives;
without it, to the best value found.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # read when NumPy is imported

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

LEVELS = (1e-2, 1e-3)


def tables(results: pd.DataFrame) -> Iterator[str]:
    """A table in Markdown for each data set and λ."""
    for (dataset, objective), part in results.groupby(["dataset_name", "objective_name"], sort=False):
        bounds = part["objective_value"] / (1.0 + part["objective_gap"])
        certified = bool(bounds.max() > 0)
        least = bounds.max() if certified else part["objective_value"].min()
        head = [f"s to {level:g}" for level in LEVELS]
        yield "\n".join(
            [
                f"{dataset}, {objective}; minimum {'at least' if certified else 'not certified, best found'} "
                f"{least:.6g}",
                "",
                f"| solver | {' | '.join(head)} | best reached | in s | test error there |",
                "|---" * (len(head) + 4) + "|",
                *(_line(str(name), curve, least) for name, curve in part.groupby("solver_name", sort=False)),
            ]
        )


def _line(name: str, runs: pd.DataFrame, least: float) -> str:
    columns = ["time", "objective_value", "objective_test_error", "objective_inside"]
    runs = runs[(runs["stop_val"] > 0) & (runs["stop_val"] < 1e30)]  # benchopt's first point is w = 0
    if runs.empty:
        return f"| {name} |{' no point in time |' * (len(LEVELS) + 3)}"
    curve = runs.groupby("stop_val")[columns].median().sort_values("time")
    above = curve["objective_value"] / least - 1.0
    best = above.idxmin()
    cells = [_seconds(curve[above <= level]) for level in LEVELS]
    error = curve.loc[best, "objective_test_error"]
    return f"| {name} | {' | '.join(cells)} | {above[best]:.1e} | {_seconds(curve.loc[[best]])} | {error:.2%} |"


def _seconds(points: pd.DataFrame) -> str:
    """benchopt's seconds of the fastest point, and the peer's own where there are such."""
    if points.empty:
        return "not reached"
    point = points.iloc[0]
    inside = point["objective_inside"]
    return f"{point['time']:.3g}" + ("" if np.isnan(inside) else f" ({inside:.3g})")


def main() -> None:
    """Run or read, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--results", type=Path, help="a file of earlier results, which is only read")
    parser.add_argument("-d", "--dataset", action="append", help="all, if none is named")
    parser.add_argument("-s", "--solver", action="append", help="all, if none is named")
    parser.add_argument("-o", "--objective", action="append", help="such as SVM[lam=1e-6]")
    parser.add_argument("-n", "--max-runs", type=int, default=12, help="points on each curve")
    parser.add_argument("-r", "--repetitions", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for each curve")
    args = parser.parse_args()
    path: Any = args.results
    if path is None:
        from benchopt import run_benchmark

        path = run_benchmark(
            str(Path(__file__).parent),
            solver_names=args.solver,
            dataset_names=args.dataset,
            objective_filters=args.objective,
            max_runs=args.max_runs,
            n_repetitions=args.repetitions,
            timeout=args.timeout,
            plot_result=False,
            no_cache=True,
        )
    for table in tables(pd.read_parquet(path)):
        print(table, end="\n\n")


if __name__ == "__main__":
    main()
