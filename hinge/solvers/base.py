"""What a solver is: settings, and three verbs over a state that is a plain value."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from hinge.monitoring import Status

P = TypeVar("P")
S = TypeVar("S")


class Paper(NamedTuple):
    """Where an algorithm comes from."""

    title: str
    authors: str
    year: int
    place: str


@dataclass(frozen=True)
class Solver(Generic[P, S]):
    """A method and its settings; it holds no data.

    A run is ``state = init(problem, seed)``, then ``state = advance(problem, state, n_iter)`` as often
    as wanted, then ``solution(problem, state)``. `advance` consumes the state it is given. Cutting a
    run into pieces changes nothing, bit for bit.
    """

    paper: ClassVar[Paper]
    exact_estimate: ClassVar[bool] = False
    """Whether `estimate` is more than a guess, so that no certificate is ever computed to check it."""

    takes_tables: ClassVar[bool] = False
    """Whether it can read rows, columns or cells of data that is not in memory."""

    keeps_cells: ClassVar[bool] = False
    """Whether it keeps the cells it reads: then each is billed once, and a budget is its first control."""

    finished: ClassVar[Status] = Status.FINISHED
    """What it means that `pause` is 0."""

    def init(self, problem: P, seed: int = 0, start: Any = None) -> S:
        """The first state; `start` warms it where the method can use an earlier answer."""
        raise NotImplementedError

    def advance(self, problem: P, state: S, n_iter: int) -> S:
        """Run `n_iter` iterations."""
        raise NotImplementedError

    def solution(self, problem: P, state: S) -> Any:
        """The answer so far: a `Solution`, or an `Expansion` of a kernel problem."""
        raise NotImplementedError

    def view(self, problem: P, state: S) -> Any:
        """The answer so far, in arrays that the next `advance` may overwrite: saves memory."""
        return self.solution(problem, state)

    def glimpse(self, problem: P, state: S) -> Any:
        """The answer as far as it is known without computing anything; no certificate is made of it."""
        return self.solution(problem, state)

    def iterations(self, state: S) -> int:
        """Iterations run so far."""
        return int(state.t)  # type: ignore[attr-defined]

    def per_pass(self, problem: P) -> int:
        """Iterations that read as much as one pass over the data."""
        raise NotImplementedError

    def max_reads(self, problem: P) -> int:
        """No iteration reads more cells than this."""
        raise NotImplementedError

    def max_cost(self, problem: P) -> float:
        """No iteration reads cells of a higher price in all."""
        table = problem.table  # type: ignore[attr-defined]
        dearest = 1.0 if table.bill.prices is None else float(table.bill.prices.max(initial=0.0))
        return dearest * self.max_reads(problem)

    def max_evals(self, problem: P, state: S) -> int:
        """The next iteration, and a look at the answer after it, compute no more kernel values than this."""
        return 0

    def certificate(self, problem: P, state: S, answer: Any) -> Any:
        """The certificate of an answer; one with an infinite gap where it would cost too much."""
        return problem.certificate(answer)  # type: ignore[attr-defined]

    def certificate_reads(self, problem: P) -> int:
        """No certificate reads more cells than this."""
        return 2 * problem.pass_cells  # type: ignore[attr-defined]

    def setup_reads(self, problem: P) -> int:
        """Cells that the first iteration reads besides its own."""
        return 0

    def pause(self, problem: P, state: S) -> int:
        """Iterations to the next place where looking at the answer is worth while; 0 when finished."""
        raise NotImplementedError

    def estimate(self, problem: P, state: S) -> float:
        """A cheap guess of the certificate's gap, by which the driver decides when to compute it."""
        return 0.0

    def refresh(self, problem: P, state: S) -> S:
        """Told that a certificate was not good enough: drop what was only guessed."""
        return state

    def rejects(self, problem: Any) -> str | None:
        """Why this method cannot solve `problem`, and what can; None if it can."""
        return None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Settings by name, as scikit-learn's grids ask for them."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def set_params(self, **params: Any) -> "Solver":
        """Change settings in place, which only scikit-learn's grids (on their own clones) need."""
        known = {f.name for f in fields(self)}
        for name, value in params.items():
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} has no setting {name!r}; it has {', '.join(sorted(known))}."
                )
            object.__setattr__(self, name, value)
        if hasattr(self, "__post_init__"):
            self.__post_init__()
        return self
