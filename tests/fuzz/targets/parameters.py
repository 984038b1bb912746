"""Parameters of every estimator: wrong types, ends of ranges, NaN, and all that grids may hand over."""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.base import clone

from hinge import SVC, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from hinge.kernels import Gaussian, Laplacian, Linear, Polynomial, Sigmoid
from hinge.solvers import registry

from ..judging import check_finite, check_fitted
from ..odd import NUMBERS, ODD, one_of, table

REGRESSORS = (LinearSVR, NuSVR)
FINE = {
    "solver": (
        "auto",
        *registry.names("linear", "cells", "1-norm", "kernel", "nu"),
        *(cls() for cls in registry.classes("linear")[:4]),
    ),
    "penalty": ("l2", "l1"),
    "dual": (False, True, "auto"),
    "loss": ("hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive"),
    "epsilon": (0.0, 0.1, 1e9),
    "kernel": (
        "linear",
        "rbf",
        "poly",
        "sigmoid",
        "laplacian",
        "precomputed",
        Linear(),
        Gaussian(0.5),
        Polynomial(2),
        Sigmoid(0.1),
        Laplacian(2.0),
    ),
    "gamma": ("scale", "auto", 0.5, 1e-9, 1e9),
    "degree": (0, 1, 2, 5, 20, 300),
    "coef0": (0.0, 1.0, -1.0, 1e9),
    "C": (1e-6, 1e6, 1e-90, 1e90),
    "lam": (1e-6, 1e6, 1e-90, 1e90),
    "slack": (0.0, 1e-6, 0.1, 1.0),
    "nu": (1e-9, 0.1, 1.0),
    "intercept": ("free", "penalized"),
    "multiclass": ("ovo", "ovr"),
    "multi_class": ("ovr", "crammer_singer"),
    "decision_function_shape": ("ovo", "ovr"),
    "class_weight": (
        "balanced",
        {1: 2.0},
        {-1: 0.0},
        {7: 1.0},
        {},
        {1: np.nan},
        {1: "x"},
        {1: None},
        {-1: 1e90, 1: 1e-90},
    ),
    "precision": ("float32", "tf32", "bf16"),
    "on_interrupt": ("raise", "keep"),
    "tol": (0.0, 1e-12, 1e-6, 0.5, 1e30),
    "max_iter": (1, 2, 100, -1),
    "max_time": (0, 0.01, 0.5),
    "max_reads": (0, 1, 10, 1000),
    "n_jobs": (1, 2, -1, 3),
    "max_kernel_evals": (0, 1, 10, 1000),
    "target_error": (0.0, 0.1, 0.9, 1.0),
    "validation_fraction": (0.01, 0.5, 0.99),
    "cache_size": (1e-9, 0.001, 1.0, 1e6),
    "warm_start": (True, False),
    "break_ties": (True, False),
    "verbose": (0,),
    "random_state": (0, 7, np.random.RandomState(3), None),
    "fit_intercept": (True, False),
}


def case(rng):
    """One to four parameters of an estimator changed, then everything that it can do."""
    cls = one_of(rng, (SVC, LinearSVC, LinearSVR, OneClassSVM, NuSVC, NuSVR))
    names = sorted(cls().get_params(deep=False))
    options = {"max_time": 0.3}
    for name in rng.choice(names, size=int(rng.integers(1, 5)), replace=False).tolist():
        fine = rng.random() < 0.5
        options[name] = one_of(rng, FINE.get(name, ODD) if fine else NUMBERS if rng.random() < 0.5 else ODD)
    if cls is LinearSVC and rng.random() < 0.3:
        options["multi_class"] = "crammer_singer"
    if "verbose" in options:
        options["verbose"] = 0  # a line for each look, and nothing else
    if options.get("cache_folder") is not None:
        folder = Path(tempfile.mkdtemp())
        options["cache_folder"] = one_of(rng, (folder, str(folder), folder / "new", 3, ["x"], np.nan, True))
    X, y = table(rng)
    if isinstance(options.get("kernel"), str) and options["kernel"] == "precomputed" and rng.random() < 0.8:
        X = X.toarray() if hasattr(X, "toarray") else X
        X = X @ X.T
    if rng.random() < 0.3:
        y = np.arange(len(y)) % int(rng.integers(1, 5))
    model = clone(cls(**options)) if rng.random() < 0.3 else cls(**options)
    for _ in range(1 + (rng.random() < 0.3)):
        model.fit(X) if cls is OneClassSVM else model.fit(X, y)
        check_fitted(model, None if cls in REGRESSORS else X)
    if hasattr(model, "partial_fit") and rng.random() < 0.3:
        model.partial_fit(X, y, **({"classes": np.unique(y)} if cls is LinearSVC else {}))
        check_fitted(model, None if cls in REGRESSORS else X)
    if cls in REGRESSORS:
        check_finite("predict", model.predict(X))
    if hasattr(model, "coef_"):
        check_finite("coef_", model.coef_)
