"""``python -m tests.faults``: see the package."""

import argparse
import sys
import time
from collections import Counter


def main():
    """Kill, or press Ctrl-C; 1 if anything was lost or took too long."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", help="A writer, command or estimator; may be repeated.")
    parser.add_argument("--kill", type=int, help="This one alone.")
    parser.add_argument("--max-time", type=float, default=float("inf"), help="Seconds for all kills.")
    parser.add_argument("--ctrl-c", action="store_true", help="Press Ctrl-C instead.")
    parser.add_argument("--presses", type=int, default=200, help="Of Ctrl-C, spread over all.")
    parser.add_argument("--busy", type=int, default=3, help="Processes that keep the machine busy meanwhile.")
    options = parser.parse_args()
    if options.ctrl_c:
        from .presses import report

        return report(options.presses, options.seed, options.only, options.busy)
    return killed(options)


def killed(options):
    from .kills import one, rounds

    if options.kill is not None:
        lost = one(options.only[0], options.seed, options.kill)
        print(lost or "nothing was lost")
        return int(lost is not None)
    killed, losses, began = Counter(), Counter(), time.monotonic()
    for name, number, lost in rounds(options.kills, options.seed, options.only):
        killed[name] += 1
        if lost:
            losses[name] += 1
            again = f"python -m tests.faults --only '{name}' --seed {options.seed} --kill {number}"
            print(f"{name} {number}: {lost}\n    {again}", flush=True)
        if time.monotonic() - began > options.max_time:
            break
    for name in killed:
        print(f"{name:20} {killed[name]:6,} kills {losses[name]:4,} losses")
    print(f"{'all':20} {killed.total():6,} kills {losses.total():4,} losses")
    return int(bool(losses))


if __name__ == "__main__":
    sys.exit(main())
