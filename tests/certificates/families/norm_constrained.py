"""The least loss within a ball: absolute gaps."""

import numpy as np

from hinge import NormConstrained, Stop, solve
from hinge.problems import Solution
from hinge.solvers import SGD
from tests.certificates import exact, references
from tests.certificates.draws import cut, examples
from tests.certificates.engine import Claim

REFERENCE = "Clarabel's second-order cone program, its loss in long double; and our own answer's"


def case(rng):
    """One B; most answers are made up, as the only solver is a rough one."""
    X, full, y, weight = examples(rng, largest=25)
    n, d = full.shape
    c, B = exact.shares(weight, n), float(10.0 ** rng.uniform(-3, 3)) / references.size(full)
    bias = ("none", "free")[rng.integers(2)]
    problem = NormConstrained(X, y, B, weight=weight, bias=bias)
    w, b = references.ball_constrained(full, y, c, B, bias == "free")
    if bias == "none" and weight is None and rng.random() < 0.6:
        stop = Stop(10.0 ** rng.uniform(-9, -1), max_iter=int(10 ** rng.uniform(0, 4)), **cut(rng, n * d))
        result = solve(problem, SGD(), stop=stop, seed=int(rng.integers(99)))
        name, answer, certificate = "SGD", result.solution, result.certificate
    else:
        alpha = rng.uniform(0, 1, n) if rng.random() < 0.5 else rng.integers(0, 2, n).astype(float)
        answer = Solution(
            [w, problem.combination(alpha) * (B * n), 2 * B * rng.standard_normal(d)][rng.integers(3)], b, alpha
        )
        name, certificate = "made up", problem.certificate(answer)
    own, own_off = exact.hinge(full, y, c, _within(answer.w, B), certificate.b)
    best, best_off = min(
        [(own, own_off), exact.hinge(full, y, c, _within(w, B), b), exact.hinge(full, y, c, np.zeros(d))]
    )
    what = f"{name}, n={n} d={d} B={B:.3g} bias={bias}"
    return [
        Claim(f"objective of {what}", own, certificate.objective, own_off),
        Claim(f"bound of {what}", certificate.bound, best, best_off),
        Claim(f"gap of {what}", own - best, certificate.gap, own_off + best_off, gap=True),
    ]


def _within(w, B):
    """w, or the nearest point of the ball: in the ball to the last bit of a long double."""
    size = exact.norm(w)
    return exact.long(w) if size <= B else exact.long(w) * (exact.LONG(B) / size * (1 - 4 * exact.EPS))
