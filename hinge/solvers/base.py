"""The base class of solvers: settings, and methods that act on a state, which is a plain value; the result of a run."""

import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar, cast

from hinge.access.streams.base import Streamed
from hinge.constraints import Constraints
from hinge.monitoring import History, Status
from hinge.problems import KernelProblem, L1Regularized, Problem
from hinge.problems.base import Certificate, Cost, OnData
from hinge.problems.batch import members_of
from hinge.problems.svm.losses import HINGE

P = TypeVar("P", bound=Problem)
S = TypeVar("S")


class Paper(NamedTuple):
    """The publication that an algorithm comes from."""

    title: str
    authors: str
    year: int
    place: str


@dataclass(frozen=True)
class Settings:
    """A dataclass whose fields scikit-learn's clones and grids can read and change."""

    constraints: ClassVar[Constraints] = Constraints()
    """What fields may be; a class that checks more does so in `__post_init__`."""

    def __post_init__(self) -> None:
        self.constraints.check(self)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Settings by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def set_params(self, **params: Any) -> "Settings":
        """Change settings in place; only for scikit-learn's grids, on their own clones."""
        known = {f.name for f in fields(self)}
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no setting {name!r}; it has {', '.join(sorted(known))}.")
            object.__setattr__(self, name, value)
        self.__post_init__()
        return self


@dataclass(frozen=True)
class Solver(Settings, Generic[P, S]):
    """An algorithm and its settings; it holds no data.

    A run is ``state = init(problem, seed)``, then any number of ``state = advance(problem, state, n_iter)``, then
    ``solution(problem, state)``. `advance` may overwrite the state it is given, and ``state.t`` is the number of
    iterations so far. Dividing a run into several calls of `advance` changes no bit of the result.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import SDCA
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> result = solve(problem, SDCA(), stop=Stop(tol=1e-3, max_iter=10**6))
    >>> isinstance(result.solver, SDCA), result.solver.paper.year
    (True, 2008)
    """

    paper: ClassVar[Paper]

    solves: ClassVar[type] = object
    """The kind of problem that it solves."""

    kind: ClassVar[str] = ""
    """What these are called, if not as their class."""

    instead: ClassVar[str] = ""
    """What to use for problems of other kinds."""

    reads: ClassVar[Literal["rows", "blocks", "cells", "kept cells", "kernel"]] = "rows"
    """What it reads: "rows" of a matrix in memory; "blocks" of rows, also of a stream; "cells": single rows, columns or
    cells of any table; "kept cells": the same, but each cell once, and kept, so that a budget of reads is the main
    limit; or "kernel" values.
    """

    steps_are_short: ClassVar[bool] = False
    """Whether iterations are always short: then Ctrl-C waits for the end of one, and no copy of the state is kept."""

    first_is_long: ClassVar[bool] = False
    """Whether the time of the first iteration tells nothing of that of others."""

    any_loss: ClassVar[bool] = False
    """Whether it supports all piecewise quadratic losses, not only the hinge."""

    any_conjugate: ClassVar[bool] = False
    """Whether it supports losses that are not piecewise quadratic, too."""

    tubes: ClassVar[bool] = False
    """Whether it supports the ε-insensitive loss (if not `any_loss`)."""

    free_level: ClassVar[bool] = False
    """Whether it supports problems with a free level, `Problem.pull`, such as `OneClass`."""

    joint: ClassVar[bool] = False
    """Whether it solves the members of a `Batch` jointly."""

    ends_itself: ClassVar[bool] = False
    """Whether `advance` ends when it expects to have reached the gap in the setting `tol`, if that is positive."""

    exact_estimate: ClassVar[bool] = False
    """Whether `estimate` is reliable, so that no certificate is computed merely to check it."""

    own_dual: ClassVar[bool] = True
    """Whether coefficients of an `Expansion` are dual weights of their rows."""

    status_at_end: ClassVar[Status] = Status.FINISHED
    """The status of a run that ends because `pause` is 0."""

    @property
    def parts(self) -> int:
        """Number of parts of its work, and so of threads that can share it; a setting of solvers that can do that."""
        return 1

    def init(self, problem: P, seed: int = 0, start: Any = None) -> S:
        """The first state; `start` is an earlier answer, which some solvers can use."""
        raise NotImplementedError

    def restart(self, problem: P, state: S) -> S:
        """A first state for a problem with the same data and another λ, at the answer of a run that has ended.

        It may overwrite the state that it is given, and keeps what of it stays true.
        """
        return self.init(problem, 0, self.solution(problem, state))

    def advance(self, problem: P, state: S, n_iter: int) -> S:
        """Run `n_iter` iterations; fewer if the solver has a target of its own and expects to have reached it."""
        raise NotImplementedError

    def solution(self, problem: P, state: S) -> Any:
        """The answer so far: a `Solution`, or an `Expansion` of a kernel problem.

        Its arrays may belong to the state, which the next `advance` overwrites: copy them to keep them.
        """
        raise NotImplementedError

    def rejects(self, problem: Problem) -> str | None:
        """Why this solver cannot solve `problem`, and which can; None if it can."""
        for member in members_of(problem) if self.joint and not isinstance(problem, self.solves) else (problem,):
            if not isinstance(member, self.solves):
                instead, kind = f"; use {self.instead}" if self.instead else "", self.kind or self.solves.__name__
                return f"{type(self).__name__} solves {kind} problems, not {type(member).__name__}{instead}."
            if (reason := self._limits(member)) is not None:
                return reason
        return None

    def _limits(self, problem: Any) -> str | None:
        """Why it cannot solve this one of the kind that it `solves`; None if it can."""
        return None

    def cost(self, problem: P, state: S | None = None) -> Cost:
        """Upper bounds on what the next iteration reads; without a state, the first iteration."""
        raise NotImplementedError

    def pause(self, problem: P, state: S) -> int:
        """Number of iterations until the answer should next be evaluated; 0 if the run is finished.

        By default 1/16 of a pass, and then a quarter more iterations each time. An unwatched run of a solver that
        `ends_itself` is evaluated at its own end instead.
        """
        t, a_pass = cast(Any, state).t, self.cost(problem).a_pass
        return max(math.ceil(t * 0.25), a_pass // 16, 1)

    def estimate(self, problem: P, state: S) -> float | Certificate:
        """A cheap estimate of the certificate's gap, by which the driver decides when to compute the certificate.

        If the solver itself knows a certificate of its answer, that certificate: then no other is computed.
        """
        return 0.0

    def refresh(self, problem: P, state: S) -> S:
        """Called if a certificate was not good enough: the solver drops what was only estimated."""
        return state


@dataclass(frozen=True)
class Result:
    """The result of a run.

    Attributes
    ----------
    solution : Solution or Expansion
    certificate : Certificate
        The certificate of this solution; its gap is infinite if none is known or affordable.
    status : Status
    n_iter : int
    per_pass : int
        Number of iterations that together read as much as one pass over the data.
    history : History
    state : Any
        The final state; continue with ``solve(..., state=state)``.
    solver : Solver
        The solver that ran.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import SDCA
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> result = solve(problem, SDCA(), stop=Stop(tol=1e-3, max_iter=10**6))
    >>> result.status.name, result.solution.w.shape, type(result.solver).__name__
    ('CONVERGED', (5,), 'SDCA')
    """

    solution: Any
    certificate: Certificate
    status: Status
    n_iter: int
    per_pass: int
    history: History
    state: Any
    solver: Solver


def reason_against(solver: Solver, problem: Problem) -> str | None:
    """Why a solver cannot solve a problem, by its own `rejects` or because of the loss; None if it can."""
    if isinstance(problem, Problem) and problem.pull and not solver.free_level:
        return f"{type(solver).__name__} needs a margin of 1, and this problem has a free level; use SDCA or Newton."
    reason = solver.rejects(problem)
    if reason is not None:
        if isinstance(problem, L1Regularized):
            return f"{type(solver).__name__} does not solve problems with the 1-norm (penalty='l1'); use CDN."
        return reason
    loss = problem.loss
    if not (loss.piecewise or solver.any_conjugate):
        return f"{type(solver).__name__} needs a piecewise quadratic loss, which the {loss.name} loss is not; use SDCA."
    if loss == HINGE or solver.any_loss:
        return None
    if solver.tubes and loss.two_sided and not loss.curvature:
        return None
    others = "BlockDual" if isinstance(problem, KernelProblem) else "SDCA or Newton"
    return f"{type(solver).__name__} minimises the hinge loss, not the {loss.name} loss; use {others}."


def cannot_read(problem: Problem, solver: Solver) -> str | None:
    """Why this solver cannot read the problem's data; None if it can."""
    if solver.reads in ("cells", "kept cells") or problem.in_memory or not isinstance(problem, OnData):
        return None
    name = type(solver).__name__
    if isinstance(problem.matrix, Streamed):
        if solver.reads == "blocks":
            return None
        return f"{name} takes rows of arrays in memory, not of a stream: use ByPasses, or read it into an array."
    table = problem.table
    if table.in_memory:
        return (
            f"{name} reads rows without adding up prices, and the cells of this {type(table).__name__} have some: "
            f"use {problem.readers}, or give the array itself."
        )
    return (
        f"{name} takes rows of arrays in memory, not those of {type(table).__name__}: "
        f"use {problem.readers}, or read it into an array."
    )


def gap_of(estimate: float | Certificate) -> float:
    """The gap of an estimate."""
    return estimate.gap if isinstance(estimate, Certificate) else estimate


def certified(problem: P, solver: Solver[P, S], state: S) -> Certificate:
    """The certificate of the present answer: the solver's own, or else the problem's."""
    known = solver.estimate(problem, state)
    return known if isinstance(known, Certificate) else problem.certificate(solver.solution(problem, state))
