"""What can be known of the error when the frugal learner should stop: two answers compared on rows new to both.

    python benchmarks/when_to_stop.py [--sets covtype a9a reuters_money_fx] [--seeds 2]

At every batch of the first pass, the answer before and the one before that are tried on the kept rows of the batch,
weighted by 1/π: what the later one gains, and the standard error of that, both in units of the error, beside the share
of cells and the test error over that of the SVM of all rows (C = 1, the splits of `frugal.py`). To know that an error
is within 5% of what is to come, the standard error would have to be about 2.5%.

Beside it the gain that is not counted but expected, by which the learner stops in its first pass: Platt's sigmoid of
new rows says how probable each label is, and so what the newest answer gains where it differs from the last. It is
less noisy, and rather too large, since the newest answer was trained on these rows.
"""

import argparse

import frugal
import numpy as np

from hinge.problems import Regularized, Solution
from hinge.solvers import Frugal, trace

ENOUGH = 0.2  # share of the cells


class Paired(Frugal):
    """The frugal learner, which writes down how its last two answers do on new rows."""

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


FOUND = []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=["covtype", "a9a", "reuters_money_fx"])
    parser.add_argument("--seeds", type=int, default=2)
    args = parser.parse_args()
    for name in args.sets:
        for seed in range(args.seeds):
            parts = frugal.split(name, seed)
            full = frugal.all_rows(name, parts, seed)[0]["test"]
            problem = Regularized.from_C(parts.X, parts.y, frugal.STOPPING_C, **frugal.BIAS)
            solver = Paired(flips=1e-9)  # never stops, but solves what the stop would look at
            FOUND.clear()
            print(f"{name}, split {seed}: {'cells':>6} {'error':>7} {'gain':>7} {'± s.e.':>7} {'expected':>9}")
            for now in trace(problem, solver, seed=seed):
                cells = problem.table.bill.cells / (problem.n * problem.d)
                s = now.state.s
                answer = Solution(now.state.before, s.b_before) if solver.by_rows(problem) else now.solution
                error = parts.errors(answer)[1] / full
                _, gain, spread = FOUND[-1]
                expected = s.gained / max(s.error, 1e-9)
                said = f"{cells:{len(name) + 16}.3f}  ×{error:.3f} {gain:+7.3f} {spread:7.3f} {expected:+9.3f}"
                print(said, flush=True)
                if cells > ENOUGH or s.pass_number > 1:
                    break


if __name__ == "__main__":
    main()
