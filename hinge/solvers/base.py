"""What a solver is: settings, and three verbs over a state that is a plain value."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from hinge.monitoring import Status
from hinge.problems import KernelProblem, L1Regularized, Problem
from hinge.problems.base import Certificate
from hinge.problems.cost import Cost
from hinge.problems.svm.losses import HINGE

P = TypeVar("P", bound=Problem)
S = TypeVar("S")


class Paper(NamedTuple):
    """Where an algorithm comes from."""

    title: str
    authors: str
    year: int
    place: str


@dataclass(frozen=True)
class Settings:
    """Fields that scikit-learn's clones and grids can read and change."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Settings by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def set_params(self, **params: Any) -> "Settings":
        """Change settings in place, which only scikit-learn's grids (on their own clones) need."""
        known = {f.name for f in fields(self)}
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no setting {name!r}; it has {', '.join(sorted(known))}.")
            object.__setattr__(self, name, value)
        if hasattr(self, "__post_init__"):
            self.__post_init__()
        return self


@dataclass(frozen=True)
class Solver(Settings, Generic[P, S]):
    """A method and its settings; it holds no data.

    A run is ``state = init(problem, seed)``, then ``state = advance(problem, state, n_iter)`` as often
    as wanted, then ``solution(problem, state)``. `advance` consumes the state it is given, and ``state.t`` is
    the number of iterations so far. Cutting a run into pieces changes nothing, bit for bit.

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

    reads: ClassVar[Literal["rows", "blocks", "cells", "kept cells", "kernel"]] = "rows"
    """Whole rows of a matrix in memory; such rows in large blocks, of a stream too; single rows, columns or cells of
    any table; the same, each cell once and kept, so that a budget is the first control; or kernel values.
    """

    steps_are_short: ClassVar[bool] = False
    """Whether an iteration never takes long, so that Ctrl-C can wait for its end and no copy of the state is kept."""

    any_loss: ClassVar[bool] = False
    """Whether it takes losses other than the hinge."""

    tubes: ClassVar[bool] = False
    """Whether it takes the ε-insensitive loss, where it does not take any."""

    free_level: ClassVar[bool] = False
    """Whether it takes a free level in place of a margin, `pull` of the problem."""

    at_once: ClassVar[bool] = False
    """Whether it takes several problems over the same rows as one, `Tasks`."""

    exact_estimate: ClassVar[bool] = False
    """Whether `estimate` is more than a guess, so that no certificate is ever computed to check it."""

    finished: ClassVar[Status] = Status.FINISHED
    """What it means that `pause` is 0."""

    @property
    def parts(self) -> int:
        """Into how many parts it cuts its work, so that as many threads can share it: a setting, where it can."""
        return 1

    def init(self, problem: P, seed: int = 0, start: Any = None) -> S:
        """The first state; `start` warms it where the method can use an earlier answer."""
        raise NotImplementedError

    def advance(self, problem: P, state: S, n_iter: int) -> S:
        """Run `n_iter` iterations; or fewer, where the method was told what to aim at and should be there."""
        raise NotImplementedError

    def solution(self, problem: P, state: S) -> Any:
        """The answer so far: a `Solution`, or an `Expansion` of a kernel problem.

        Its arrays may be those of the state, which the next `advance` overwrites: copy them to keep them.
        """
        raise NotImplementedError

    def rejects(self, problem: Problem) -> str | None:
        """Why this method cannot solve `problem`, and what can; None if it can."""
        return None

    def cost(self, problem: P, state: S | None = None) -> Cost:
        """What the next iteration may read at most; without a state, what the first may."""
        raise NotImplementedError

    def pause(self, problem: P, state: S) -> int:
        """Iterations to the next place where looking at the answer is worth while; 0 when finished."""
        raise NotImplementedError

    def estimate(self, problem: P, state: S) -> float | Certificate:
        """A cheap guess of the certificate's gap, by which the driver decides when to compute it.

        Where the method itself knows what its answer is worth, that certificate: then no other is asked for.
        """
        return 0.0

    def refresh(self, problem: P, state: S) -> S:
        """Told that a certificate was not good enough: drop what was only guessed."""
        return state


def reason_against(solver: Solver, problem: Problem) -> str | None:
    """Why a solver cannot solve a problem, in one sentence: its own, or that of the loss; None if it can."""
    if isinstance(problem, Problem) and problem.pull and not solver.free_level:
        return f"{type(solver).__name__} wants a margin of 1, where this problem has a free level; use SDCA or Newton."
    reason = solver.rejects(problem)
    if reason is not None:
        if isinstance(problem, L1Regularized):
            return f"{type(solver).__name__} does not pay for the 1-norm of w (penalty='l1'); use CDN."
        return reason
    loss = problem.loss
    if loss == HINGE or solver.any_loss:
        return None
    if solver.tubes and loss.two_sided and not loss.curvature:
        return None
    others = "BlockDual" if isinstance(problem, KernelProblem) else "SDCA or Newton"
    return f"{type(solver).__name__} minimises the hinge loss, not the {loss.name} loss; use {others}."


def gap_of(estimate: float | Certificate) -> float:
    """The gap that an estimate promises."""
    return estimate.gap if isinstance(estimate, Certificate) else estimate


def certified(problem: P, solver: Solver[P, S], state: S) -> Certificate:
    """The certificate of the answer so far: the solver's own, or else the problem's."""
    known = solver.estimate(problem, state)
    return known if isinstance(known, Certificate) else problem.certificate(solver.solution(problem, state))
