"""The regularised problem with losses other than the hinge, and the estimators that have them."""

from importlib.util import find_spec

import numpy as np

from hinge import LinearSVC, LinearSVR, Regularized, Stop, solve
from hinge.dask.parts import ClusterTask, part_of, prepared
from hinge.dask.rounds import CertificateQuery, certify_part, kept_from, together
from hinge.dask.rounds import certificate as of_shares
from hinge.problems import Solution
from hinge.problems.svm.examples import FAINT, balance
from hinge.problems.svm.losses import SQUARED_HINGE, epsilon_insensitive, squared_epsilon_insensitive
from hinge.solvers import SDCA, BlockAscent, BlockNewton, CoCoA, DeviceNewton, Frugal, Newton
from tests.certificates import exact, references
from tests.certificates.draws import cut, examples
from tests.certificates.engine import Claim

REFERENCE = "Clarabel's quadratic program and our finished run, evaluated in long double"


def case(rng):
    """One problem with labels or with targets of any size, solved, cut off, or judged at random answers."""
    X, full, y, weight = examples(rng, decades=15.0)
    n, d = full.shape
    c, s = exact.shares(weight, n), references.size(full)
    loss = SQUARED_HINGE
    if rng.random() < 0.6:
        y = _targets(rng, full / s)
        epsilon = float(references.size(y) * rng.choice([0.0, 0.0, 1e-3, 0.1, 1.0]))
        loss = (epsilon_insensitive, squared_epsilon_insensitive)[rng.integers(2)](epsilon)
    elif len(np.unique(y)) < 2:
        return []
    kind = ("none", "free", "penalized")[rng.integers(3)]
    scale = float(10.0 ** rng.uniform(-1, 1)) if kind == "penalized" else None
    lam = 10.0 ** rng.uniform(-6, 3) * s * s
    problem = Regularized(X, y, lam, weight=weight, bias=kind, bias_scale=scale or 1.0, loss=loss)
    name, answer, certificate = _answer(rng, problem, X, y, weight)
    value, error = exact.of_loss(full, y, c, lam, answer.w, certificate.b, scale, loss)
    points = [(np.zeros(d), 0.0), (answer.w, certificate.b)]
    points.append(references.of_loss(full, y, c, lam, scale or ("free" if kind == "free" else None), loss))
    if n * d <= 400 and rng.random() < 0.3:
        finished = solve(problem, Newton(), stop=Stop(1e-13, max_iter=200))
        points.append((finished.solution.w, finished.certificate.b))
    found = [exact.of_loss(full, y, c, lam, w, b, scale, loss) for w, b in points if np.isfinite(w).all()]
    best, slack = min(found)
    targets = exact.of_loss(full, y, c, lam, np.zeros(d), 0.0, scale, loss._replace(epsilon=0.0))[0]
    unit = max(best, FAINT * targets if loss.two_sided else 0)
    what = f"{name}, {loss.name} epsilon={loss.epsilon:.3g} n={n} d={d} lam={lam:.3g} size={s:.3g} bias={kind}"
    claims = [
        Claim(f"objective of {what}", value, certificate.objective, error),
        Claim(f"bound of {what}", certificate.bound, best, slack),
    ]
    if unit > 0:
        claims.append(Claim(f"gap of {what}", (value - best) / unit, certificate.gap, (error + slack) / unit, gap=True))
    return claims


def _targets(rng, X):
    """A line with noise, a constant, or noise alone, of any size."""
    n, d = X.shape
    size = 10.0 ** rng.uniform(-12, 12)
    t = X.astype(float) @ rng.standard_normal(d) * rng.integers(0, 2) + rng.integers(0, 2) * 3.0
    return size * (t + rng.choice([0.0, 1e-6, 0.1, 1.0]) * rng.standard_normal(n))


def _answer(rng, problem, X, y, weight):
    """An answer of this problem, by whom, and the certificate it came with."""
    loss, n, d = problem.loss, problem.n, problem.d
    how = rng.random()
    if how < 0.2:
        alpha = np.clip(rng.standard_normal(n) * 2 * problem.spread ** (loss.curvature > 0), loss.low, loss.high)
        w = problem.combination(alpha) / problem.lam
        answer = Solution(w, float(rng.standard_normal() if problem.bias != "none" else 0.0), alpha)
        if rng.random() < 0.5:
            return "made up, by parts", answer, _by_parts(rng, problem, X, y, weight, answer)
        return "made up", answer, problem.certificate(answer)
    tol = 10.0 ** rng.uniform(-12, -1)
    if how < 0.6:
        options = dict(
            lam=problem.lam,
            tol=tol,
            fit_intercept=problem.bias != "none",
            intercept=problem.bias if problem.bias != "none" else "free",
            intercept_scaling=problem.bias_scale,
            max_iter=int(10 ** rng.uniform(0, 2)),
        )
        if loss.two_sided:
            model = LinearSVR(loss=loss.name, epsilon=loss.epsilon, **options).fit(X, y, weight)
        else:
            model = LinearSVC(loss=loss.name, **options).fit(X, y, weight)
        answer = Solution(model.coef_.ravel(), float(model.intercept_[0]))
        bound = np.nan if not np.isfinite(model.gap_) else -np.inf
        certificate = problem.certificate(answer)._replace(
            objective=model.objective_, gap=model.gap_, bound=bound, b=answer.b
        )
        return type(model).__name__, answer, certificate
    every = [SDCA(), CoCoA(2, least=1), BlockAscent(), BlockNewton(30), Newton()]
    every += [DeviceNewton(device="cpu")] if find_spec("torch") else [Newton()]
    every += [] if loss.two_sided else [Frugal()]
    solver = every[rng.integers(len(every))]
    passes = int(10 ** rng.uniform(0, 2)) * solver.cost(problem).a_pass
    stop = Stop(tol, max_iter=max(1, int(passes * rng.uniform(0.1, 1))), **cut(rng, n * d))
    result = solve(problem, solver, stop=stop, seed=int(rng.integers(100)))
    return type(solver).__name__, result.solution, result.certificate


def _by_parts(rng, problem, X, y, weight, answer):
    """The certificate as a cluster makes it: summed from the shares of parts."""
    targets, n = problem.loss.two_sided, problem.n
    pieces = [rows for rows in np.split(np.arange(n), np.sort(rng.integers(0, n + 1, 2))) if len(rows)]
    task = ClusterTask(
        1, None, problem.lam, problem.total, problem.loss, problem.bias, problem.bias_scale, 0.0, len(pieces)
    )
    side, ratio = balance(*problem.class_mass(answer.alpha))
    b = problem.best_bias(problem.responses(answer.w)) if problem.bias == "free" else answer.b
    at = np.array([0])
    question = CertificateQuery((task,), at, np.ones(1), answer.w[None], *(np.array([one]) for one in (b, side, ratio)))
    found = []
    for k, rows in enumerate(pieces):
        loaded = prepared(k, targets, [X[rows]], [y[rows]], None if weight is None else [weight[rows]])
        part = part_of(loaded, None if targets else np.array([-1, 1]))
        alpha = answer.alpha[rows] if part.n else answer.alpha[:0]
        found.append(certify_part(part, kept_from(alpha[None]), question).shares[0])
    return of_shares(together(found, problem.d), task, answer.w, b)
