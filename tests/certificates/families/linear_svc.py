"""`LinearSVC` as users call it: C, weights, limits, intercepts, slack."""

from importlib.util import find_spec

import numpy as np

from hinge import LinearSVC, SlackConstrained
from hinge.problems import Solution
from tests.certificates import exact, references
from tests.certificates.draws import cut, examples
from tests.certificates.engine import Claim

REFERENCE = "Clarabel's programs, evaluated in long double; and our own answer"


def case(rng):
    """A fit by C or λ, or by a given slack."""
    X, full, y, weight = examples(rng, decades=15.0)
    n, d = full.shape
    if len(np.unique(y)) < 2:
        return []
    kind = ("none", "free", "penalized")[rng.integers(3)]
    scaling = float(10.0 ** rng.uniform(-1, 1)) if kind == "penalized" else 1.0
    limits = [{"max_iter": int(10 ** rng.uniform(0, 2))}, cut(rng, n * d)][rng.integers(2)]
    options = dict(
        fit_intercept=kind != "none",
        intercept=kind if kind != "none" else "free",
        intercept_scaling=scaling,
        tol=10.0 ** rng.uniform(-10, -1),
        random_state=int(rng.integers(99)),
        **limits,
    )
    c, size = exact.shares(weight, n), references.size(full)
    what = f"n={n} d={d} size={size:.3g} {X.dtype} {type(X).__name__} {options}"
    if kind != "penalized" and rng.random() < 0.2:
        nu = float(10.0 ** rng.uniform(-3, 0))
        model = LinearSVC(loss="hinge", slack=nu, **options).fit(X, y, weight)
        s = SlackConstrained(X, y, nu, weight=weight, bias=kind).level(Solution(model.coef_[0]))[2]
        return _slack(model, full, y, c, nu, kind == "free", s, what)
    total = n if weight is None else float(weight.sum())
    C = 10.0 ** rng.uniform(-3, 6) / size**2
    device = "cpu:0" if find_spec("torch") and rng.random() < 0.2 else None
    model = LinearSVC(loss="hinge", C=C, device=device, **options).fit(X, y, weight)
    what = f"{what} {device}"
    lam, scale = 1.0 / (C * total), scaling if kind == "penalized" else None
    w, b = model.coef_[0], model.intercept_[0]
    value, off = exact.regularized(full, y, c, lam, w, b, scale)
    points = [
        (w, b),
        (np.zeros(d), 0.0),
        references.svm(full, y, c, lam, scale or ("free" if kind == "free" else None)),
    ]
    best, slack = min(exact.regularized(full, y, c, lam, *point, scale) for point in points)
    return [
        Claim(f"objective, C={C:.3g} {what}", value, model.objective_, off),
        Claim(f"gap, C={C:.3g} {what}", (value - best) / best, model.gap_, (off + slack) / best, gap=True),
    ]


def _slack(model, X, y, c, nu, free, s, what):
    w, size = model.coef_[0], exact.norm(model.coef_[0])
    lengths = [1.0, s, *np.linspace(0.1, 0.9, 5)]
    own, off = max(exact.level(X, y, c, nu, w, model.intercept_[0] / (size or 1), s) for s in lengths)
    own = max(own, exact.LONG(nu))
    best, slack = max((own, off), exact.level(X, y, c, nu, *references.slack_constrained(X, y, c, nu, free)))
    return [Claim(f"gap, slack={nu:.3g} {what}", (best - own) / own, model.gap_, (off + slack) / own, gap=True)]
