"""`LinearSVC(multi_class="crammer_singer")` as it is fitted, of few rows of any scale: the gap of `coef_`."""

from fractions import Fraction

import numpy as np

from hinge import LinearSVC
from tests.certificates import fitted
from tests.certificates.engine import Claim
from tests.certificates.rationals import Quadratic, exact, minimiser

REFERENCE = "an active-set method in exact rationals"
LEAST = Fraction(1, 10**6)  # shares of a row below this are left out of the start: an interior point has no zeros
MOST_ROWS = 7  # each is as many variables as there are classes


def case(rng):
    """One fit of two to four classes."""
    data = fitted.Rows(*(None if part is None else part[:MOST_ROWS] for part in fitted.rows(rng)))
    n, X, k = len(data.s), data.exact, int(rng.integers(2, 5))
    y = rng.permutation(np.arange(n) % k)
    if rng.random() < 0.5:
        y = np.argsort(np.argsort(X[:, 0], kind="stable"), kind="stable") * k // n
    classes = sorted(set(y.tolist()))
    if len(classes) < 2:
        return []
    y, k = np.searchsorted(classes, y), len(classes)
    options = dict(
        C=float(10.0 ** rng.uniform(-3, 5)),
        tol=float(rng.choice([1e-1, 1e-3, 1e-4, 1e-6, 1e-9])),
        fit_intercept=bool(rng.random() < 0.6),
        intercept_scaling=float(rng.choice([1.0, 10.0, 0.3])),
        solver=str(rng.choice(["auto", "auto", "newton", "sdca"])),
        max_time=3.0,
        random_state=0,
    )
    if rng.random() < 0.3:
        options["C"] = min(options["C"] / (float(max((X**2).sum(axis=1))) or 1.0), 1e9)
    model = LinearSVC(multi_class="crammer_singer", **options).fit(data.X, y, data.weight)
    scale = Fraction(options["intercept_scaling"]) if options["fit_intercept"] else Fraction(0)
    rows, box, wrong = np.hstack([X, np.full((n, 1), scale, object)]), Fraction(options["C"]) * data.s, _but(y, k)

    def primal(W):
        G = rows.dot(W) + wrong
        return (W * W).sum() / 2 + box.dot(G.max(axis=1) - G[np.arange(n), y])

    W = np.vstack([exact(model.coef_).T, exact(model.intercept_) / (scale or 1)])
    if k == 2:  # the difference, of which each class has half: of all such W the shortest
        W = np.hstack([-W, W]) / 2
    value = primal(W)
    least = min(value, primal(0 * W), primal(_optimum(rows, box, y, wrong, _dual_of(model, box, y, k))))
    if not np.isfinite(model.gap_):
        return []
    what = f"{options}, shape={data.X.shape}, k={k}, {data.X.dtype}, {model.solver_}"
    reported = Fraction(float(model.objective_)) * Fraction(options["C"]) * data.s.sum()
    return [
        Claim(f"coef_ of {what}", (value - least) / least, model.gap_, 0.0, True),
        Claim(f"objective_ of {what}", value, reported, 0.0),
    ]


def _but(y, k):
    """[k ≠ yᵢ] of all rows and classes."""
    return np.array([[Fraction(int(one != label)) for one in range(k)] for label in y], object)


def _dual_of(model, box, y, k):
    """A feasible z near the model's dual: the active-set method has few steps from there."""
    z = np.full((len(y), k), Fraction(0), object)
    dual = exact(model.dual_coef_)
    z[model.support_] = (np.vstack([-dual, dual]) / 2 if k == 2 else dual).T
    for row, most, right in zip(z, box, y, strict=True):
        row[:] = [-one if label != right and -one > most * LEAST else Fraction(0) for label, one in enumerate(row)]
        row *= min(Fraction(1), most / row.sum()) if any(row) else 1
        row[right] = most - row.sum()
    return z


def _optimum(rows, box, y, wrong, z):
    """The optimal W, by the dual from a feasible z = Cs·p, of which the classes of a row sum to Cs."""
    n, k = wrong.shape
    first = (box[:, None] * (1 - wrong)).ravel()
    Q = np.kron(rows.dot(rows.T), np.array([[Fraction(int(a == b)) for a in range(k)] for b in range(k)], object))
    program = Quadratic(Q, Q.dot(first) + wrong.ravel(), 0 * first, np.repeat(box, k), np.repeat(np.arange(n), k))
    return rows.T.dot((first - minimiser(program, z.ravel())[0]).reshape(n, k))
