"""A given slack: intervals of the water level, by SIMBA, by a path of regularised problems, and made up."""

import numpy as np

from hinge import SlackConstrained, Stop, solve
from hinge.problems import Solution
from hinge.solvers import Simba, solve_slack
from tests.certificates import exact, references
from tests.certificates.draws import cut, examples
from tests.certificates.engine import Claim

REFERENCE = "Clarabel's second-order cone program, its level in long double; and our own answer's"


def case(rng):
    """One ν, with or without a bias."""
    X, full, y, weight = examples(rng, largest=25)
    n, d = full.shape
    c = exact.shares(weight, n)
    bias = ("none", "free")[rng.integers(2)]
    nu = min(1.0, float(10.0 ** rng.uniform(-4, 0)))
    problem = SlackConstrained(X, y, nu, weight=weight, bias=bias)
    kind = rng.integers(3)
    stop = Stop(10.0 ** rng.uniform(-9, -1), max_iter=int(10 ** rng.uniform(0, 2.5)), **cut(rng, n * d))
    norm = 1.0
    if kind == 0 or (weight is not None and kind == 1):
        alpha = rng.uniform(0, 1, n) if rng.random() < 0.5 else rng.integers(0, 2, n).astype(float)
        w = problem.combination(alpha) if rng.random() < 0.5 else rng.standard_normal(d)
        name, answer = "made up", Solution(w, 0.0, alpha)
        certificate = problem.certificate(answer)
    elif kind == 1:
        result = solve(problem, Simba(), stop=stop, seed=int(rng.integers(99)))
        name, answer, certificate, norm = (
            "Simba",
            result.solution,
            result.certificate,
            problem.norm(result.solution.w),
        )
    else:
        result = solve_slack(problem, stop=stop)
        name, answer, certificate, norm = ("path", result.solution, result.certificate, problem.norm(result.solution.w))
    if np.isnan(certificate.objective):
        return []
    b = certificate.b / (norm or 1.0)
    s = problem.level(answer)[2]
    lengths = [1.0, s, 0.0, *np.linspace(0.1, 0.9, 5)]
    own, own_off = max(_level(full, y, c, nu, answer.w, b, length) for length in lengths)
    w, b = references.slack_constrained(full, y, c, nu, bias == "free")
    biases = [b, problem.level(Solution(w))[1]] if bias == "free" else [0.0]
    others = [_level(full, y, c, nu, w, b, length) for b in biases for length in (1.0, 0.5, 0.1)]
    best, best_off = max([(own, own_off), *others])
    what = f"{name}, n={n} d={d} nu={nu:.3g} size={references.size(full):.3g} bias={bias} {X.dtype}"
    return [
        Claim(f"level of {what}", certificate.objective, own, own_off),
        Claim(f"bound of {what}", best, certificate.bound, best_off),
        Claim(f"gap of {what}", (best - own) / own, certificate.gap, (own_off + best_off) / own, gap=True),
    ]


def _level(X, y, c, nu, w, b, length):
    """At this length; w = 0 has the level ν."""
    if length == 0.0:
        return exact.LONG(nu) / c.sum(), 8 * len(y) * exact.EPS
    return exact.level(X, y, c, nu, w, b, length)
