"""``python -m tests.agreement --problems 200 --seed 0 [--only MACHINE ...] [--case NUMBER]``."""

import argparse
import sys
import time

import numpy as np

from tests.agreement.machines import MACHINES, compared

HEAD = ("estimator", "loss or kernel", "problems", "violations", "uncertified", "ours above, in certificates")
BELOW = "theirs above, relative: median, largest"


def main() -> int:
    """Run the problems, print a line for each machine, and end with 1 where an objective contradicts a certificate."""
    parser = argparse.ArgumentParser(prog="python -m tests.agreement", description=__doc__)
    parser.add_argument("--problems", type=int, default=200, help="random problems of each machine")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=[str(machine) for machine in MACHINES], metavar="MACHINE")
    parser.add_argument("--case", type=int, help="this one alone")
    asked = parser.parse_args()
    print(f"{HEAD[0]:<11}{HEAD[1]:<29}" + "".join(f"{head:>{len(head) + 2}}" for head in (*HEAD[2:], BELOW, "s")))
    violations = 0
    for machine in MACHINES:
        if asked.only and str(machine) not in asked.only:
            continue
        began = time.perf_counter()
        numbers = range(asked.problems) if asked.case is None else [asked.case]
        found = {number: compared(machine, asked.seed, number) for number in numbers}
        bad = [number for number, one in found.items() if one.violated]
        known = [one for one in found.values() if np.isfinite(float(one.certified))]
        above, below = max((one.above for one in known), default=0.0), [one.below for one in found.values()]
        print(
            f"{machine.estimator:<11}{machine.kernel or machine.loss:<29}{len(found):>10}{len(bad):>12}"
            f"{len(found) - len(known):>13}{above:>30.6f}{np.median(below):>24.1e}{max(below):>19.1e}"
            f"{time.perf_counter() - began:>5.0f}",
            flush=True,
        )
        for number in bad:
            print(
                f"  python -m tests.agreement --seed {asked.seed} --only '{machine}' --case {number}: {found[number]}"
            )
        violations += len(bad)
    print(f"{violations} violations.")
    return int(violations > 0)


if __name__ == "__main__":
    sys.exit(main())
