"""``python -m tests.certificates --cases 20000 --seed 0 [--only FAMILY ...] [--case NUMBER]``."""

import argparse
import sys
import time

from tests.certificates.engine import SHOWN, check, names


def main() -> int:
    """Run the families, print a line for each, and end with 1 where a certificate is false."""
    parser = argparse.ArgumentParser(prog="python -m tests.certificates", description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000, help="random problems in all families together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=names(), default=names(), metavar="FAMILY")
    parser.add_argument("--case", type=int, help="this one alone")
    parser.add_argument("--max-time", type=float, default=float("inf"), help="seconds for each family")
    asked = parser.parse_args()
    violated = total = 0
    for k, name in enumerate(asked.only):
        share = (asked.cases + len(asked.only) - 1 - k) // len(asked.only)
        numbers = range(share) if asked.case is None else range(asked.case, asked.case + 1)
        end = time.perf_counter() + asked.max_time
        tally = check(name, numbers, asked.seed, late=lambda end=end: time.perf_counter() > end)
        print(tally, *tally.failures[:SHOWN], sep="\n  ", flush=True)
        violated, total = violated + tally.violated, total + tally.cases
    print(f"{total} cases, {violated} violated.")
    return int(violated > 0)


if __name__ == "__main__":
    sys.exit(main())
