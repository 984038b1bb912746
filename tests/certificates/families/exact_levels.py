"""`NuSVC`, `NuSVR` and `OneClassSVM` as they are fitted, of few rows of any scale."""

from fractions import Fraction

import numpy as np

from hinge import NuSVC, NuSVR, OneClassSVM
from hinge.problems.svm.examples import FAINT
from tests.certificates import fitted
from tests.certificates.engine import Claim
from tests.certificates.rationals import Quadratic, above, best, exact, gram, minimiser, root, summing_to

REFERENCE = "an active-set method in exact rationals"


def case(rng):
    """One fit of one of the three."""
    data, kind = fitted.rows(rng), int(rng.integers(3))
    options = fitted.kernel_of(rng, data.exact)
    options.update(tol=float(rng.choice([1e-1, 1e-3, 1e-3, 1e-6])), max_time=3.0)
    return (_classes, _targets, _one_class)[kind](rng, data, options)


def _classes(rng, data, options):
    n, s = len(data.s), data.s
    y = rng.permutation(np.arange(n) % 2 * 2 - 1)
    if rng.random() < 0.5:
        y = np.where(data.exact[:, 0] > sorted(data.exact[:, 0])[n // 2 - 1], 1, -1)
    light = min(s[y > 0].sum(), s[y < 0].sum()) if len(set(y.tolist())) == 2 else 0
    if not light:
        return []
    nu = float(2 * light / s.sum()) * float(rng.choice([0.1, 0.5, 0.9, 1.0])) * (1 - 1e-9)
    model = NuSVC(nu=nu, **options).fit(data.X, y, data.weight)
    if not model.lam_ > 0:  # no margin: nothing is certified
        return [] if np.isinf(model.gap_) else [Claim(f"nu={nu!r}, {options}", 1.0, 0.0)]
    K, mass, sign = gram(model.kernel_, data.exact), Fraction(nu) * s.sum() / 2, y * Fraction(1)

    def primal(found):
        m = sign * found.f
        losses = [s.dot(above(level - m)) - 2 * mass * level for level in m]
        return found.sq / 2 + min(losses)

    rho = Fraction(float(model.lam_)) * s.sum()
    found = fitted.predictors(model, data, K, rho)
    alpha = np.full(n, Fraction(0), object)
    alpha[model.support_] = abs(rho * exact(model.dual_coef_)[0])
    for label in (1, -1):
        alpha[y == label] = summing_to(alpha[y == label], s[y == label], mass)
    program = Quadratic(np.outer(sign, sign) * K, 0 * s, 0 * s, s, (y > 0).astype(int))
    w = sign * minimiser(program, alpha)[0]
    values = {name: primal(one) for name, one in found.items()}
    r = K.dot(w)
    biases = [sign[i] * r[i] - sign[j] * r[j] for i in range(n) for j in range(n) if y[i] > 0 > y[j]]
    least = min([primal(fitted.Predictor(r - b / 2, w.dot(r))) for b in biases])
    least = min(least, *(values[name] for name in values if name != "decision_function"))
    off = 2 * rho * s.dot(fitted.rounding(model, data, K)) + 16 * n * Fraction(fitted.EPS) * abs(least)
    what = f"NuSVC(nu={nu!r}), {options}, shape={data.X.shape}, {data.X.dtype}"
    unit = abs(values["dual_coef_"])  # the gap is relative to P
    return fitted.claims(what, model, values, least, unit or Fraction(1), off, Fraction(1))


def _targets(rng, data, options):
    n, size = len(data.s), 10.0 ** rng.uniform(-3, 6)
    y = size * (rng.standard_normal(n) + rng.integers(0, 2))
    nu, C = float(rng.choice([0.05, 0.3, 0.5, 0.9, 1.0])), float(10.0 ** rng.uniform(-3, 4))
    model = NuSVR(nu=nu, C=C, **options).fit(data.X, y, data.weight)
    K, t, box = gram(model.kernel_, data.exact), exact(y), Fraction(C) * data.s
    mass = Fraction(nu) * box.sum()

    def losses(off):
        off = abs(off)
        return min(mass * width + box.dot(above(off - width)) for width in [*off, Fraction(0)])

    def primal(found):
        return found.sq / 2 + losses(t - found.f)

    beta = np.full(n, Fraction(0), object)
    beta[model.support_] = exact(model.dual_coef_)[0]
    z = [summing_to(above(side), box, mass / 2) for side in (beta, -beta)]
    lo, hi = np.concatenate([0 * box, -box]), np.concatenate([box, 0 * box])
    program = Quadratic(np.block([[K, K], [K, K]]), np.concatenate([t, t]), lo, hi, np.repeat([0, 1], n))
    z = minimiser(program, np.concatenate([z[0], -z[1]]))[0]
    w = z[:n] + z[n:]
    values = {name: primal(one) for name, one in fitted.predictors(model, data, K).items()}
    least = min(values[name] for name in values if name != "decision_function")
    for beta in (w, 0 * w):
        r = K.dot(beta)
        kinks = t - r
        b = best(
            [losses(kinks - (p + q) / 2) for p in kinks for q in kinks], [(p + q) / 2 for p in kinks for q in kinks]
        )
        least = min(least, primal(fitted.Predictor(r + b, beta.dot(r))))
    unit = max(least, Fraction(FAINT) * box.dot(abs(t)))
    if unit == 0:
        return []
    off = 2 * box.dot(fitted.rounding(model, data, K)) + 16 * n * Fraction(fitted.EPS) * (least + box.dot(abs(t)))
    what = f"NuSVR(nu={nu!r}, C={C!r}), size={size:.3g}, {options}, shape={data.X.shape}, {data.X.dtype}"
    return fitted.claims(what, model, values, least, unit, off, Fraction(1))


def _one_class(rng, data, options):
    n, s, nu = len(data.s), data.s, float(rng.choice([0.05, 0.3, 0.5, 0.9, 1.0]))
    model = OneClassSVM(nu=nu, **options).fit(data.X, sample_weight=data.weight)
    K, mass = gram(model.kernel_, data.exact), Fraction(nu) * s.sum()
    alpha = np.full(n, Fraction(0), object)
    alpha[model.support_] = exact(model.dual_coef_)[0]
    z, ended = minimiser(Quadratic(K, 0 * s, 0 * s, s, np.zeros(n, int)), summing_to(alpha, s, mass))
    if not (ended and np.isfinite(model.gap_)):
        return []
    claims, own = [], alpha.dot(K.dot(alpha))
    what = f"OneClassSVM(nu={nu!r}), {options}, shape={data.X.shape}, {data.X.dtype}"
    if own > 0:
        apart = (alpha - z).dot(K.dot(alpha - z))
        claims.append(Claim(f"dual_coef_ of {what}", root(apart / own), model.gap_, 1e-30, gap=True))
    if hasattr(model, "coef_"):
        w = exact(model.coef_).ravel()
        star = data.exact.T.dot(z)
        if w.dot(w) > 0:
            apart = root((w - star).dot(w - star) / w.dot(w))
            claims.append(Claim(f"coef_ of {what}", apart, model.gap_, 1e-30, gap=True))
    return claims
