"""Answers along C, up to where C holds nothing back any more."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def until_settled(
    Cs: Sequence[float],
    solved: Callable[[float, T | None], T | None],
    holds_back: Callable[[T, float], bool],
    as_for: Callable[[T, float], T],
) -> Iterator[T]:
    """The answer for each C, solved for one after the other, or for several at once.

    Dual weights that stay below all bounds are feasible for every larger C, with the same dual objective. And what an
    answer costs grows with C. So where an answer for the largest C is feasible for smaller ones, its relative gap
    for these is at most the one that was certified for the largest, and it is the answer for all of them. It is asked
    for as soon as no dual weight is at its bound: from there on the optimum does not change, as a rule.

    Parameters
    ----------
    Cs : sequence of float
        In ascending order.
    solved : callable
        Gives the answer for C, begun from that of a smaller one; None if time is up, which ends it all.
    holds_back : callable
        Whether C is a bound that a dual weight of the answer meets, or exceeds.
    as_for : callable
        The answer in the terms of another C.
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
