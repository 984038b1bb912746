"""``python -m tests.fuzz``: see the package."""

import argparse
import sys
import time
from collections import Counter

from . import TARGETS
from .pool import run_case, run_cases


def main() -> int:
    """Run the cases, print each failure with what reproduces it, and a count of each target."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--cases", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", help="A target; may be given several times.")
    parser.add_argument("--case", type=int, help="Run this one here, with its traceback.")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--max-time", type=float, default=float("inf"), help="Seconds for all.")
    options = parser.parse_args()
    names = options.only or list(TARGETS)
    if options.case is not None:
        run_case(names[0], options.seed, options.case)
        return 0
    end = time.monotonic() + options.max_time
    dealt = ((names[k % len(names)], k // len(names)) for k in range(options.cases) if time.monotonic() < end)
    ran, failed = Counter(), Counter()
    for name, number, fault in run_cases(dealt, options.seed, options.jobs):
        ran[name] += 1
        if fault:
            failed[name] += 1
            again = f"python -m tests.fuzz --only {name} --seed {options.seed} --case {number}"
            print(f"{name} {number}: {fault}\n    {again}", flush=True)
    for name in names:
        print(f"{name:20} {ran[name]:8,} cases {failed[name]:6,} failed")
    print(f"{'all':20} {ran.total():8,} cases {failed.total():6,} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
