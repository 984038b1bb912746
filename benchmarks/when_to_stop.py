"""When the frugal learner should stop, when it does, and what can be known of the error by then.

    python benchmarks/when_to_stop.py [--sets covtype a9a reuters_money_fx] [--seeds 2] [--enough 0.7] [--minutes 5]

A run that never stops (C = 1, the splits of `frugal.py`) is looked at after every batch: the share of cells, and the
test error over that of the SVM of all rows. "ideal" is the first look from which on that stays within 5%, "stops" the
one at which the learner, left to itself, would have ended. Beside them, in the first pass, what one can know: two
successive answers tried on rows new to both, weighted by 1/π (what the later one gains, and the standard error of that,
both in units of the error; to know an error to 5% it would have to be about 2.5%), and the gain to come that is not
counted but expected, by which the learner stops: Platt's sigmoid of new rows says how probable each label is.
"""

import argparse
import time

import frugal
import numpy as np

from hinge.problems import Regularized, Solution
from hinge.solvers import Frugal, trace
from hinge.solvers.cells import frugal as learner

FLIPS = Frugal().flips
WITHIN = 1.05


class Watched(Frugal):
    """The frugal learner, which writes down how its last two answers do on new rows, and when it would have stopped."""

    def _learn(self, problem, state):
        s = state.s
        if s.pass_number <= 1 and not s.completing:
            scanning = not self.by_rows(problem)
            last = Solution(state.w.copy(), s.b) if scanning else Solution(state.before.copy(), s.b_before)
            rows, inner = self.sample(problem, state)
            weight = inner.weight * np.isin(rows, state.queue[: s.queued])
            earlier = FOUND[-1][0] if FOUND else last
            wrong = [(inner.responses(one.w) + one.b > 0) != (inner.y > 0) for one in (earlier, last)]
            error = max(float(np.average(wrong[1], weights=weight)), 1e-9)
            gain = float(np.average(wrong[0] * 1.0 - wrong[1], weights=weight))
            spread = np.sqrt(weight**2 @ (wrong[0] != wrong[1]) + weight.max() ** 2) / weight.sum()  # one flip more
            FOUND.append((last, gain / error, spread / error))
        super()._learn(problem, state)

    def _next(self, problem, state):
        """The rule of `Frugal._next` at its default share, which ends nothing here."""
        s, whole = state.s, self.by_rows(problem)
        still = s.flips <= FLIPS * np.sqrt(s.error * s.fitted)
        last_pass = not s.completing and s.pass_number != 2 and s.scanned + s.queued >= problem.n
        enough = still and (s.t >= learner.FEWEST_ROWS if whole else last_pass)
        STOPS.append(bool(enough or learner._settled(state, FLIPS, whole)))
        super()._next(problem, state)


FOUND: list = []
STOPS: list = []


def looks(problem, parts, full, seed, enough, minutes):
    """Cells, error over that of all rows, and whether it would have stopped, after every batch."""
    solver, began, found = Watched(flips=1e-9), time.monotonic(), []  # never stops, but solves what the stop looks at
    FOUND.clear()
    STOPS.clear()
    for now in trace(problem, solver, seed=seed):
        cells, s = problem.table.bill.cells / (problem.n * problem.d), now.state.s
        answer = Solution(now.state.before, s.b_before) if solver.by_rows(problem) else now.solution
        found.append((cells, parts.errors(answer)[1] / full, STOPS[-1]))
        if s.pass_number <= 1:
            _, gain, spread = FOUND[-1]
            to_come = s.to_come / max(s.error, 1e-9)
            print(f"{cells:12.3f}  ×{found[-1][1]:.3f} {gain:+7.3f} {spread:7.3f} {to_come:+9.3f}", flush=True)
        if cells > enough or time.monotonic() - began > 60 * minutes:
            break
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=["covtype", "a9a", "reuters_money_fx"])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--enough", type=float, default=0.7, help="share of the cells at which a run is broken off")
    parser.add_argument("--minutes", type=float, default=5.0, help="after which a run is broken off")
    args = parser.parse_args()
    for name in args.sets:
        for seed in range(args.seeds):
            parts = frugal.split(name, seed)
            full = frugal.all_rows(name, parts, seed)[0]["test"]
            problem = Regularized.from_C(parts.X, parts.y, frugal.STOPPING_C, **frugal.BIAS)
            print(f"{name}, split {seed}:\n{'cells':>12} {'error':>7} {'gain':>7} {'± s.e.':>7} {'to come':>9}")
            found = looks(problem, parts, full, seed, args.enough, args.minutes)
            good = len(found) - next((k for k, look in enumerate(found[::-1]) if look[1] > WITHIN), len(found))
            stop = next((look for look in found if look[2]), found[-1])
            ended = "stops" if stop[2] else "has not stopped"
            ideal = f"ideal {found[good][0]:.3f}, {stop[0] / found[good][0]:.2f} times it" if good < len(found) else "-"
            print(f"{name}, split {seed}: {ended} at {stop[0]:.3f} (×{stop[1]:.3f}); {ideal}", flush=True)


if __name__ == "__main__":
    main()
