"""How many rows a certificate proves idle, gap by gap: what safe screening could spare beside today's shrinking.

    python benchmarks/idle_rows.py [--data ../shared/data] [--sets a9a mnist] [--rows 4000] [--kernel-rows 1500]

Each machine is fitted to relative gaps of 1e-1 to 1e-4; of each fit, the share of rows that `removable_rows` proves to
have no loss at the optimum, and the gap that it was proven by. A solver that screened at that gap could leave these
rows, and no others. The last column has the rows without a dual weight at the end. Sets with more rows are cut to the
first so many of a fixed permutation.
"""

import argparse
import os
import sys
import warnings
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from hinge import SVC, LinearSVC  # noqa: E402
from hinge.explain import removable_rows  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))
from certify import rows_of  # noqa: E402
from conformal import SHARED  # noqa: E402

GAPS = (1e-1, 1e-2, 1e-3, 1e-4)
MACHINES = {
    "linear hinge, C=1": LinearSVC(loss="hinge", max_iter=10_000),
    "linear hinge, C=.01": LinearSVC(loss="hinge", C=0.01, max_iter=10_000),
    "rbf, C=1": SVC(),
    "rbf, C=100": SVC(C=100.0),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[1] / "shared" / "data")
    parser.add_argument("--sets", nargs="+", default=SHARED.split())
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--kernel-rows", type=int, default=1500)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| set | machine | rows | " + " | ".join(f"tol={gap:g}" for gap in GAPS) + " | idle |")
    print("|---|---|---|" + "---|" * (len(GAPS) + 1))
    for name in options.sets:
        X, y = rows_of(name, options)
        for label, machine in MACHINES.items():
            n = min(len(y), options.kernel_rows if isinstance(machine, SVC) else options.rows)
            cells = []
            for gap in GAPS:
                model = machine.set_params(tol=gap).fit(X[:n], y[:n])
                share = len(removable_rows(model, X[:n], y[:n])) / n
                cells.append(f"{share:.3f} ({model.gap_:.0e})")
            cells.append(f"{1.0 - len(model.support_) / n:.3f}")
            print(f"| {name} | {label} | {n:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
