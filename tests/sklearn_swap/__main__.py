"""``python -m tests.sklearn_swap [module ...]``: all tests of scikit-learn's modules that use our estimators."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.sklearn_swap.runs import MODULES, faults, run_modules


def main() -> int:
    """Run the modules, print a line for each, and end with 1 where a test ended otherwise than listed."""
    parser = argparse.ArgumentParser(prog="python -m tests.sklearn_swap", description=__doc__)
    parser.add_argument("modules", nargs="*", default=MODULES, metavar="module", help=f"of {', '.join(MODULES)}")
    asked = parser.parse_args()
    total = {"with ours": 0, "passed": 0, "as listed": 0, "unexpected": 0}
    print(f"{'module':<56}" + "".join(f"{head:>12}" for head in (*total, "s")))
    for module in asked.modules:
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            tests = run_modules(Path(folder), [module], sample=False)
        found = faults(tests, [module])
        passed = sum(test["outcome"] == "passed" for test in tests.values())
        counts = (len(tests), passed, len(tests) - passed - len(found), len(found))
        total = {head: total[head] + count for head, count in zip(total, counts, strict=True)}
        seconds = time.perf_counter() - began
        print(f"{module:<56}" + "".join(f"{count:>12}" for count in counts) + f"{seconds:>12.0f}", flush=True)
        for fault in found:
            print(f"  {fault}", flush=True)
    print(f"{'all':<56}" + "".join(f"{count:>12}" for count in total.values()))
    return int(total["unexpected"] > 0)


if __name__ == "__main__":
    sys.exit(main())
