"""Answers along a path of C, up to the C from which on the solution no longer changes."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def until_settled(
    Cs: Sequence[float],
    solved: Callable[[float, T | None], T | None],
    holds_back: Callable[[T, float], bool],
    as_for: Callable[[T, float], T],
) -> Iterator[T]:
    """The answer for each C, one after the other; a single answer serves all C from some point on.

    Dual weights below all bounds are feasible for every larger C, with the same dual objective, and the primal
    objective of a given w grows with C. So if the answer for the largest C is feasible for smaller ones, its relative
    gap for these is at most the one certified for the largest, and it is an answer for all of them. It is computed as
    soon as no dual weight is at its bound, since from there on the optimum usually does not change.

    Parameters
    ----------
    Cs : sequence of float
        In ascending order.
    solved : callable
        Returns the answer for C, started from that of a smaller one; None if time is up, which ends the path.
    holds_back : callable
        Whether a dual weight of the answer is at or above the bound for C.
    as_for : callable
        Converts the answer to another C.
    """
    last: T | None = None
    top: T | None = None
    for j, C in enumerate(Cs):
        if top is not None and (j + 1 == len(Cs) or not holds_back(top, C)):
            yield as_for(top, C)
            continue
        last = solved(C, last)
        if last is None:
            return
        yield last
        if top is None and j + 2 < len(Cs) and not holds_back(last, C):
            top = solved(Cs[-1], last)
            if top is None:
                return
