"""The regularised problem: the duality gaps that its solvers stop by, and those of answers made up."""

from functools import partial
from importlib.util import find_spec

import numpy as np

from hinge import Regularized, Stop, solve
from hinge.problems import Solution
from hinge.solvers import (
    SDCA,
    BlockAscent,
    BlockNewton,
    ByPasses,
    CoCoA,
    CuttingPlane,
    DeviceNewton,
    Frugal,
    Newton,
    Pegasos,
    RowSpace,
    StaleSDCA,
    Switch,
    choose,
)
from tests.certificates import exact, references
from tests.certificates.draws import cut, examples
from tests.certificates.engine import Claim

REFERENCE = "Clarabel's quadratic program and our finished run, evaluated in long double"

SUBSPACE = partial(SDCA, acceleration="subspace")
PARTS = partial(CoCoA, 3, least=1)
NEAR = partial(BlockNewton, 30)  # few rows within reach, the others by means
TURNS = partial(Switch, newton_passes=0.0)
BY_TORCH = partial(DeviceNewton, device="cpu") if find_spec("torch") else Newton
SOLVERS = (  # the last has no free bias
    SDCA,
    SUBSPACE,
    RowSpace,
    PARTS,
    TURNS,
    BlockAscent,
    BlockNewton,
    NEAR,
    ByPasses,
    BY_TORCH,
    Newton,
    Newton,
    StaleSDCA,
    Pegasos,
    Frugal,
    CuttingPlane,
)


def case(rng):
    """One problem, solved to some accuracy or cut off, or judged at random answers."""
    X, full, y, weight = examples(rng)
    n, d = full.shape
    c, s = exact.shares(weight, n), references.size(full)
    lam = 10.0 ** rng.uniform(-7, 2) * (s * s if rng.random() < 0.7 else 1.0)
    if not 0 < lam < 1e300:
        lam = 1.0
    bias = ("none", "free", "penalized")[rng.integers(3)]
    scale = float(10.0 ** rng.uniform(-1, 1)) if bias == "penalized" else None
    problem = Regularized(X, y, lam, weight=weight, bias=bias, bias_scale=scale or 1.0)
    if rng.random() < 0.25:
        alpha = rng.uniform(0, 1, n) if rng.random() < 0.5 else rng.integers(0, 2, n).astype(float)
        w = problem.combination(alpha) / lam if rng.random() < 0.5 else rng.standard_normal(d) / s
        answer = Solution(w, float(rng.standard_normal() if bias != "none" else 0.0), alpha)
        name, certificate = "made up", problem.certificate(answer)
    else:
        solver = SOLVERS[rng.integers(len(SOLVERS) - (bias == "free"))]()
        passes = int(10 ** rng.uniform(0, 2)) * solver.cost(problem).a_pass
        stop = Stop(10.0 ** rng.uniform(-13, -1), max_iter=max(1, int(passes * rng.uniform(0.1, 1))), **cut(rng, n * d))
        if rng.random() < 0.2:  # unwatched, to its own tolerance
            solver, stop = choose(problem, tol=max(stop.tol, 1e-5)).solver, Stop(max(stop.tol, 1e-5), max_iter=10**6)
        result = solve(problem, solver, stop=stop, seed=int(rng.integers(100)))
        name, answer, certificate = type(solver).__name__, result.solution, result.certificate
    value, error = exact.regularized(full, y, c, lam, answer.w, certificate.b, scale)
    points = [(np.zeros(d), 0.0), (np.zeros(d), 1.0 if bias != "none" else 0.0), (answer.w, certificate.b)]
    points.append(references.svm(full, y, c, lam, scale or ("free" if bias == "free" else None)))
    if n * d <= 400 and rng.random() < 0.3:
        finished = solve(problem, Newton(), stop=Stop(1e-13, max_iter=200))
        points.append((finished.solution.w, finished.certificate.b))
    best, slack = min(exact.regularized(full, y, c, lam, w, b, scale) for w, b in points)
    what = f"{name}, n={n} d={d} lam={lam:.3g} size={s:.3g} bias={bias}"
    return [
        Claim(f"objective of {what}", value, certificate.objective, error),
        Claim(f"bound of {what}", certificate.bound, best, slack),
        Claim(f"gap of {what}", (value - best) / best, certificate.gap, (error + slack) / best, gap=True),
    ]
