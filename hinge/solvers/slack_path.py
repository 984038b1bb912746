"""Slack-constrained problems by root-finding in λ."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from hinge.monitoring import History, Status, Stop
from hinge.problems import Certificate, KernelSlackConstrained, Regularized, SlackConstrained
from hinge.solvers.base import Result, Solver
from hinge.solvers.driver import solve
from hinge.solvers.root_search import next_place

SMALLEST, LARGEST = 1e-13, 1e13  # limits of λ: beyond, one part of the objective is lost in the other's rounding


def solve_slack(
    problem: SlackConstrained | KernelSlackConstrained,
    solver: Solver | None = None,
    *,
    stop: Stop | None = None,
    passes: int | None = None,
    **options: Any,
) -> Result:
    """Solve a slack-constrained problem by a sequence of regularised ones (Lemma 2.1 of the SIMBA and SBP papers).

    At the optimum of the regularised problem with λ, :math:`\\nu(\\lambda) = \\hat L(w)/\\|w\\|`, which increases with
    λ. The root of ν(λ) = ν is found by the secant method in logarithms within a bracket; each solve starts from the
    dual weights of the one before. The run ends when the certificate *of the slack-constrained problem*, the interval
    [γ, D(p)], is within ``stop.tol``; it does not rely on the root-finding.

    Parameters
    ----------
    problem : SlackConstrained or KernelSlackConstrained
        With a positive ν.
    solver : Solver, optional
        A solver of regularised problems; by default the one that suits the data.
    stop : Stop, optional
    passes : int, optional
        Limit of the passes over the data, for each λ.
    **options
        As for `solve`.

    Returns
    -------
    Result
        Its solution has the scale of the regularised problem: w/‖w‖ is the slack-constrained answer.

    Examples
    --------
    >>> from hinge import SlackConstrained, Stop, solve_slack
    >>> from hinge.datasets import make_known_optimum
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> result = solve_slack(SlackConstrained(made.X_train, made.y_train, nu=0.1), stop=Stop(tol=1e-3))
    >>> result.certificate.gap <= 1e-3
    True
    """
    from hinge.solvers.ascent.sdca import SDCA
    from hinge.solvers.choice.auto import choose

    if problem.nu <= 0:
        by_kernel = isinstance(problem, KernelSlackConstrained)
        other = "SBP" if by_kernel else "Simba, or hinge.max_margin"
        raise ValueError(f"nu must be positive here, since no λ > 0 gives nu = 0: use {other}.")
    stop = Stop() if stop is None else stop
    history = History()
    lam, low, high = problem.nu, SMALLEST, LARGEST
    inner_tol, gap = min(0.1, 10 * stop.tol), np.inf
    start: Any = options.pop("start", None)
    points: list[tuple[float, float]] = []
    seconds, n_iter = 0.0, 0
    reads_before, evals_before = problem.reads, problem.kernel_evals
    while True:
        inner = problem.regularized(lam)
        used, evals = problem.reads - reads_before, problem.kernel_evals - evals_before
        left = replace(
            stop,
            tol=inner_tol,
            max_iter=None if stop.max_iter is None else max(0, stop.max_iter - n_iter),
            max_time=None if stop.max_time is None else max(0.0, stop.max_time - seconds),
            max_reads=None if stop.max_reads is None else max(0, stop.max_reads - used),
            max_kernel_evals=(None if stop.max_kernel_evals is None else max(0, stop.max_kernel_evals - evals)),
        )
        # If reads are limited, use SDCA: each λ starts from the last answer, and an iteration reads one row.
        limited = stop.max_reads is not None and isinstance(inner, Regularized)
        method: Solver = solver or (SDCA() if limited else choose(inner, tol=inner_tol).solver)
        result = solve(inner, method, stop=left, passes=passes, start=start, **options)
        start = result.solution
        history += [
            r._replace(
                iteration=r.iteration + n_iter,
                seconds=r.seconds + seconds,
                feature_reads=r.feature_reads + used,
                kernel_evals=r.kernel_evals + evals,
                objective=np.nan,  # the objective of the regularised problem is of no interest
                gap=np.inf,
            )
            for r in result.history
        ]
        seconds = history[-1].seconds
        n_iter += result.n_iter
        norm, loss = problem.criteria_of(result.solution)
        nu = loss / norm if norm > 0 else np.inf
        used = problem.reads - reads_before
        if stop.max_reads is not None and used + 2 * problem.pass_cells > stop.max_reads:
            return _result(problem, result, Certificate.unknown(), Status.MAX_READS, n_iter, history)
        certificate = problem.certificate(result.solution)
        history[-1] = history[-1]._replace(
            feature_reads=problem.reads - reads_before, objective=certificate.objective, gap=certificate.gap
        )
        if certificate.gap <= stop.tol:
            return _result(problem, result, certificate, Status.CONVERGED, n_iter, history)
        if result.status is not Status.CONVERGED:
            return _result(problem, result, certificate, result.status, n_iter, history)
        low, high = (lam, high) if nu < problem.nu else (low, lam)
        closed = low >= high * (1 - 1e-6)
        if (closed or certificate.gap > 0.3 * gap) and inner_tol > 1e-10:
            # The inner accuracy is what limits it, and may have misjudged the side of the root.
            inner_tol, low, high = max(inner_tol / 3, 1e-10), max(low / 3, SMALLEST), min(high * 3, LARGEST)
            closed = False
        gap = certificate.gap
        points.append((math.log(lam), math.log(max(nu, 1e-300) / problem.nu)))
        lam = next_place(points, low, high)
        if closed or not SMALLEST < lam < LARGEST:
            return _result(problem, result, certificate, Status.STALLED, n_iter, history)


def _result(
    problem: SlackConstrained | KernelSlackConstrained,
    result: Result,
    certificate: Certificate,
    status: Status,
    n_iter: int,
    history: History,
) -> Result:
    solution = problem.final_answer(result.solution, certificate)
    certificate = certificate._replace(b=solution.b)
    return replace(result, certificate=certificate, status=status, n_iter=n_iter, solution=solution, history=history)
