"""Data, weights and parameters in units from 1e-320 to 1e300, through every door: refused, or finite."""

import numpy as np
import scipy.sparse as sp

import hinge
from hinge import SVC, LinearSVC, NuSVC, OneClassSVM
from hinge.estimators.mixins.probabilities import METHODS

from ..judging import check_finite, check_fitted
from ..odd import one_of, scaled, table


def case(rng):
    """One of the doors, with one to three things out of the ordinary."""
    X, y = table(rng)
    if rng.random() < 0.7:
        X = scaled(rng, X)
    if rng.random() < 0.25:
        return _max_min(X, y, rng)
    cls = one_of(rng, (SVC, SVC, LinearSVC, OneClassSVM, NuSVC))
    options = {"max_time": 0.3}
    for name in ("C", "lam", "slack", "gamma", "coef0", "nu", "intercept_scaling", "tol"):
        if name in cls().get_params() and rng.random() < 0.15 and not {"lam", "slack"} & set(options):
            options[name] = float(10.0 ** rng.uniform(*one_of(rng, ((-320, -90), (-90, 0), (0, 90), (90, 308)))))
    if cls is not LinearSVC:
        options["kernel"] = one_of(rng, ("linear", "rbf", "rbf", "poly", "sigmoid", "laplacian"))
        options["degree"] = int(rng.choice([0, 1, 2, 3, 3, 3, 50, 400]))
    if cls is not OneClassSVM and rng.random() < 0.2:
        options["class_weight"] = one_of(rng, ("balanced", {1: float(10.0 ** rng.uniform(-300, 300))}))
    if cls is LinearSVC and rng.random() < 0.4:
        options["solver"] = one_of(rng, ("sdca", "newton", "pegasos", "simba", "cuttingplane", "frugal"))
        options["fit_intercept"] = bool(rng.random() < 0.5)
    elif cls is LinearSVC and rng.random() < 0.3:
        options["penalty"] = "l1"
    if cls is LinearSVC and rng.random() < 0.3:
        options["multi_class"] = "crammer_singer"
    weight = None
    if rng.random() < 0.3:
        low, high = sorted(rng.uniform(-320, 308, 2)) if rng.random() < 0.5 else (-2, 2)
        weight = 10.0 ** rng.uniform(low, high, len(y))
        weight[rng.random(len(y)) < 0.1] = 0.0
    model = cls(**options)
    if cls is OneClassSVM:
        model.fit(X, sample_weight=weight)
    else:
        y = np.arange(len(y)) % 3 if rng.random() < 0.2 else y
        model.fit(X, y, sample_weight=weight)
        if rng.random() < 0.4:
            model.calibrate(X, y, weight, held_out=bool(rng.random() < 0.2), method=one_of(rng, METHODS))
    check_fitted(model, X)
    if rng.random() < 0.3:  # new rows in other units
        check_fitted(model, scaled(rng, X))


def _max_min(X, y, rng):
    """Margins, balls, games and semidefinite feasibility."""
    eps = float(10.0 ** rng.uniform(*one_of(rng, ((-8, 0), (-8, 0), (-300, 300)))))
    options = {"max_time": 0.3, "relative": bool(rng.random() < 0.7)}
    door = one_of(rng, (hinge.max_margin, hinge.enclosing_ball, hinge.solve_game, hinge.semidefinite))
    if door is hinge.max_margin:
        found = door(X, y, eps, **options)
    elif door is hinge.semidefinite:
        A = X.toarray() if sp.issparse(X) else X
        found = door(np.einsum("ki,kj->kij", A, A) - np.eye(A.shape[1]) * float(np.abs(A).mean()), eps, **options)
    else:
        found = door(X, eps, **options)
    check_finite("x", found.x)
    check_finite("p", found.p)
    assert not np.isnan([found.lower, found.upper]).any()
