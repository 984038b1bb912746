"""Every way in which rows of numbers come into the library, as functions of X and y, which is ±1."""

import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import hinge
from hinge.access import Gram, as_matrix, as_points, as_table
from hinge.kernels import Gaussian, Laplacian, Linear
from hinge.solvers import SDCA
from hinge.solvers.registry import names

from .judging import check_finite, check_fitted

KERNELS = ("linear", "rbf", "poly", "sigmoid", "laplacian")


def linear(X, y, rng):
    model = hinge.LinearSVC(
        lam=float(rng.choice([1e-3, 0.1])),
        loss=str(rng.choice(["hinge", "squared_hinge"])),
        solver=str(rng.choice(["auto", "sdca", "newton"])),
        fit_intercept=bool(rng.random() < 0.7),
        intercept=str(rng.choice(["penalized", "free"])),
        max_iter=50,
        max_time=2.0,
        random_state=0,
    )
    check_fitted(model.fit(X, y), X)
    check_fitted(model.calibrate(X, y), X)


def linear_1_norm(X, y, rng):
    model = hinge.LinearSVC(
        penalty="l1",
        C=float(rng.choice([1e-3, 0.1, 10.0])),
        fit_intercept=bool(rng.random() < 0.7),
        intercept=str(rng.choice(["penalized", "free"])),
        max_iter=50,
        max_time=2.0,
    )
    check_fitted(model.fit(X, y), X)
    check_fitted(model.calibrate(X, y), X)
    hinge.l1_min_c(X, y)


def regression(X, y, rng):
    model = hinge.LinearSVR(
        C=float(rng.choice([0.1, 10.0])),
        epsilon=float(rng.choice([0.0, 0.1])),
        loss=str(rng.choice(["epsilon_insensitive", "squared_epsilon_insensitive"])),
        solver=str(rng.choice(["auto", "sdca", "newton"])),
        max_iter=50,
        max_time=2.0,
    ).fit(X, y)
    check_fitted(model)
    check_finite("predict", model.predict(X))


def kernel_regression(X, y, rng):
    model = hinge.SVR(
        kernel=str(rng.choice(KERNELS)),
        C=float(rng.choice([0.1, 10.0])),
        epsilon=float(rng.choice([0.0, 0.1])),
        max_time=2.0,
    ).fit(X, y)
    check_fitted(model)
    check_finite("predict", model.predict(X))


def nu_regression(X, y, rng):
    model = hinge.NuSVR(
        kernel=str(rng.choice(KERNELS)),
        C=float(rng.choice([0.1, 10.0])),
        nu=float(rng.choice([0.1, 0.5, 1.0])),
        max_time=2.0,
    ).fit(X, y)
    check_fitted(model)
    check_finite("predict", model.predict(X))


def nu_classes(X, y, rng):
    check_fitted(hinge.NuSVC(kernel=str(rng.choice(KERNELS)), nu=0.1, max_time=2.0, probability=True).fit(X, y), X)


def linear_search(X, y, rng):
    kind = [hinge.LinearSVCCV, hinge.LinearSVRCV][int(rng.integers(2))]
    model = kind(Cs=3, cv=[2, "loo"][int(rng.integers(2))], max_iter=50, max_time=3.0).fit(X, y)
    check_fitted(model.best_estimator_)
    check_finite("predict", model.predict(X))


def kernel_search(X, y, rng):
    kind = [hinge.SVCCV, hinge.SVRCV][int(rng.integers(2))]
    kernel, cv = str(rng.choice(KERNELS)), [2, "loo"][int(rng.integers(2))]
    model = kind(Cs=3, gammas=2, cv=cv, kernel=kernel, max_time=3.0).fit(X, y)
    check_fitted(model.best_estimator_)
    check_finite("predict", model.predict(X))


def linear_slack(X, y, rng):
    check_fitted(hinge.LinearSVC(loss="hinge", slack=0.1, max_iter=20, max_time=2.0).fit(X, y), X)


def linear_any_solver(X, y, rng):
    name = str(rng.choice(sorted(names("linear", "cells"))))
    check_fitted(hinge.LinearSVC(loss="hinge", solver=name, max_iter=10, max_time=1.0, tol=0.1).fit(X, y), X)


def linear_together(X, y, rng):
    model = hinge.LinearSVC(
        multi_class="crammer_singer",
        C=float(rng.choice([0.1, 10.0])),
        solver=str(rng.choice(["auto", "pegasos"])),
        fit_intercept=bool(rng.random() < 0.7),
        max_iter=50,
        max_time=2.0,
    )
    check_fitted(model.fit(X, y), X)


def linear_few_reads(X, y, rng):
    check_fitted(hinge.LinearSVC(max_reads=int(rng.integers(1, 500)), max_time=2.0).fit(X, y), X)


def linear_in_pieces(X, y, rng):
    check_fitted(hinge.LinearSVC().partial_fit(X, y, classes=[-1, 1]), X)


def linear_predicts(X, y, rng):
    d = width(X)
    model = hinge.LinearSVC(max_time=1.0).fit(*clean(d))
    check_finite("decision_function", model.decision_function(X))
    check_finite("predict", model.predict(X))


def kernel(X, y, rng):
    model = hinge.SVC(kernel=str(rng.choice(KERNELS)), C=float(rng.choice([0.1, 10.0])), max_time=2.0)
    model.probability = bool(rng.random() < 0.5)
    check_fitted(model.fit(X, y), X)


def kernel_predicts(X, y, rng):
    d = width(X)
    model = hinge.SVC(kernel=str(rng.choice(KERNELS)), max_time=1.0).fit(*clean(d))
    check_finite("decision_function", model.decision_function(X))


def kernel_given(X, y, rng):
    check_fitted(hinge.SVC(kernel="precomputed", max_time=2.0, probability=True).fit(X, y), X)


def kernel_function(X, y, rng):
    def kernel(A, B):
        try:
            return np.asarray((A @ B.T).todense() if sp.issparse(A) else A @ B.T)
        except (TypeError, AttributeError) as error:
            raise TypeError(f"These are no rows of numbers: {A!r}.") from error

    check_fitted(hinge.SVC(kernel=kernel, max_time=2.0, probability=True).fit(X, y), X)


def one_class(X, y, rng):
    check_fitted(hinge.OneClassSVM(kernel=str(rng.choice(KERNELS[:3])), max_time=2.0).fit(X), X)


def margin(X, y, rng):
    found = hinge.max_margin(X, y, max_time=1.0)
    check_finite("direction", found.direction)


def ball(X, y, rng):
    check_finite("center", hinge.enclosing_ball(X, max_time=1.0).center)


def game(X, y, rng):
    check_finite("x", hinge.solve_game(X, max_time=1.0).x)


def semidefinite(X, y, rng):
    check_finite("x", hinge.semidefinite([X, X], max_time=1.0).x)


def matrix(X, y, rng):
    A = as_matrix(X)
    out = A.responses(np.ones(A.shape[1]), 0, A.shape[0])
    A.combine(out, 0, A.shape[0], np.zeros(A.shape[1]))
    A.largest_norm()
    A.gather(np.arange(A.shape[0]))


def table(X, y, rng):
    T = as_table(X, keep=bool(rng.random() < 0.5))
    n, d = T.shape
    for i in range(min(n, 5)):
        T.row(i)
    for j in range(min(d, 5)):
        T.column(j)
    T.block(np.arange(n), np.arange(d))
    T.held(np.arange(n))


def points(X, y, rng):
    kernel = (Linear(), Gaussian(0.5), Laplacian(0.5))[int(rng.integers(3))]
    Gram(as_points(X, kernel, exact=bool(rng.random() < 0.5))).rows(np.arange(min(3, len(y))))


def problem(X, y, rng):
    P = hinge.Regularized(X, y, lam=0.1, bias=str(rng.choice(["none", "free", "penalized"])))
    hinge.solve(P, SDCA(), stop=hinge.Stop(tol=0.1, max_time=1.0))


def pair(X, y, rng):
    with tempfile.TemporaryDirectory() as folder:
        hinge.write_pair(X, Path(folder) / "pair")
        with_pair(hinge.open_pair(Path(folder) / "pair"), y)


def with_pair(T, y):
    """All ways to read a table, and a fit."""
    n, d = T.shape
    w = np.ones(d)
    try:
        for i in range(min(n, 5)):
            T.row(i)
        for j in range(min(d, 5)):
            T.column(j)
        check_finite("block", T.block(np.arange(min(n, 50)), np.arange(min(d, 50))))
        for lo, hi in T.row_blocks():
            check_finite("responses", T.responses(w, lo, hi))
            T.combine(np.ones(hi - lo), lo, hi, np.zeros(d))
        check_fitted(hinge.LinearSVC(max_time=1.0, max_iter=10).fit(T, y[:n] if n <= len(y) else np.resize(y, n)))
    finally:
        getattr(T, "close", lambda: None)()


def width(X):
    """Columns of X, 3 where it has none."""
    return X.shape[1] if len(getattr(X, "shape", ())) == 2 and X.shape[1] else 3


def clean(d):
    """A small sound problem of so many features."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(12, d)) + np.resize([0.0, 1.0], 12)[:, None], np.resize([-1, 1], 12)


DOORS = (
    linear,
    linear_1_norm,
    linear_slack,
    linear_search,
    kernel_search,
    regression,
    kernel_regression,
    linear_any_solver,
    linear_together,
    linear_few_reads,
    linear_in_pieces,
    linear_predicts,
    kernel,
    kernel_predicts,
    kernel_given,
    kernel_function,
    one_class,
    nu_classes,
    nu_regression,
    margin,
    ball,
    game,
    semidefinite,
    matrix,
    table,
    points,
    problem,
    pair,
)
