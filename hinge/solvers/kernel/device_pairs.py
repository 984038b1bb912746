"""Many kernel problems over the points of one `DeviceGram` together: all pairs of classes of a multiclass fit.

A pair of classes needs some five rounds, each of which is a few milliseconds of a card that is mostly idle: here the
rounds of all pairs are one, a line a pair, and wait for the device once. Pairs whose working sets are equally large go
together, up to what memory holds; pairs that are done leave. Each answer is certified on its own, by responses in
float64. Who is not done after `ROUNDS`, or not certified, is left to a run of its own, which can begin where it is.
"""

import copy
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hinge.access.gram.device import DeviceGram
from hinge.monitoring import History, Record, Status
from hinge.monitoring.clock import is_over
from hinge.problems import Expansion, KernelRegularized
from hinge.problems.base import Certificate
from hinge.sampling import draw_units, key_of
from hinge.solvers.base import Result
from hinge.solvers.kernel.device_block import GAINS, PATIENCE, ROOM, UNIFORM, DeviceBlock, balanced
from hinge.solvers.kernel.device_rounds import Lines, Seen, first_sets, look, move, working_sets

if TYPE_CHECKING:
    import torch

ROUNDS = 24
"""Rounds after which a pair is left to a run of its own, which looks for a better multiple of w as well."""
SURE = 0.9
"""Share of the tolerance that the gap is to have before rounding is known."""
OF_A_POINT, OF_A_VALUE = 200, 40
"""Bytes that a line has for each point, and for each kernel value of its working set."""


class _Pair(NamedTuple):
    """What the host knows of a line; see `DeviceBlockState`."""

    b: float = 0.0
    gap: float = np.inf
    free: int = 0
    off: int = 0
    rho: float = 1.0
    steps: int = 0
    t: int = 0
    evals: int = 0


def solve_pairs(
    problems: Sequence[KernelRegularized], solver: DeviceBlock, tol: float, seed: int = 0, ends: float | None = None
) -> list[Result]:
    """The answers of all problems, with their certificates; `STALLED` where it is above the tolerance.

    Parameters
    ----------
    problems : sequence of KernelRegularized
        With the hinge loss and one kind of bias, over parts of one `DeviceGram`.
    solver : DeviceBlock
    tol : float
    seed : int
    ends : float, optional
        When no more rounds begin, by `hinge.monitoring.clock.now`.
    """
    results: list[Result] = []
    while len(results) < len(problems):
        left = problems[len(results) :]
        gram, n = _gram(left[0]), max(problem.n for problem in left)
        block = min(n, solver.size(n, 0, 0))
        count = max(1, gram.free() // 4 // (OF_A_POINT * n + OF_A_VALUE * block**2))
        some = left[:count]
        beta, pairs = _solve(some, solver, tol, seed + len(results), ends)
        for problem, own, pair in zip(some, beta, pairs, strict=True):
            results.append(_certified(problem, own[: problem.n], pair, solver, tol))
    return results


def _solve(
    problems: Sequence[KernelRegularized], solver: DeviceBlock, tol: float, seed: int, ends: float | None
) -> tuple[np.ndarray, list[_Pair]]:
    """Rounds for all problems, until each has a gap of `tol` or time is up."""
    gram, free = _gram(problems[0]), problems[0].bias == "free"
    lines, rows = _placed(gram, problems)
    rho = float(gram.diag.mean()) or 1.0
    pairs = [_Pair(off=problem.n, rho=rho, steps=solver.steps) for problem in problems]
    left, key = list(range(len(pairs))), key_of(seed)
    for t in range(ROUNDS):
        balances = np.empty(len(pairs))
        drawn = any(pairs[q].gap > UNIFORM for q in left)
        u = gram.array(draw_units(key, t * rows.numel(), rows.numel())).reshape(rows.shape) if drawn else None
        waiting = [
            (some, _round(gram, lines, rows, [pairs[q] for q in some], some, u, size, free))
            for size, some in _groups(gram, solver, problems, pairs, left)
        ]
        seen = gram.host(look(lines, free))
        for some, balance in waiting:
            balances[some] = gram.host(balance)
        for q in left:
            pairs[q] = _after(problems[q], solver, pairs[q], Seen(*seen[q].tolist()), float(balances[q]))
        left = [q for q in left if not pairs[q].gap <= SURE * tol]
        if not left or is_over(ends):
            break
    return gram.host(lines.beta), pairs


def _groups(
    gram: DeviceGram, solver: DeviceBlock, problems: Sequence[KernelRegularized], pairs: list[_Pair], left: list[int]
) -> Iterator[tuple[int, list[int]]]:
    """Pairs whose next working sets are equally large and take equally many steps, up to what memory holds."""
    alike: dict[tuple[int, int], list[int]] = {}
    for q in left:
        size = solver.size(problems[q].n, pairs[q].free, pairs[q].off)
        alike.setdefault((size, pairs[q].steps), []).append(q)
    for (size, _), some in alike.items():
        most = max(1, gram.free() // 2 // (OF_A_VALUE * size**2))
        for lo in range(0, len(some), most):
            yield size, some[lo : lo + most]


def _round(
    gram: DeviceGram,
    lines: Lines,
    rows: "torch.Tensor",
    pairs: list[_Pair],
    which: list[int],
    u: "torch.Tensor | None",
    size: int,
    free: bool,
) -> "torch.Tensor":
    """A working set for each of these lines: chosen, solved, and its change spread over their responses."""
    at = gram.array(np.array(which))
    some, rows, size = Lines(*(one[at] for one in lines)), rows[at], min(size, rows.shape[1])
    u = None if u is None else u[at]
    known = [[pair.b, pair.rho, pair.gap > UNIFORM, pair.free <= ROOM * size] for pair in pairs]
    b, rho, drawn, roomy = gram.array(np.array(known, np.float64)).split(1, dim=1)
    if u is not None and not pairs[0].t:
        work = first_sets(some, size, u)
    else:
        work = working_sets(some, b, size, u, drawn > 0.0, roomy > 0.0)
    points = rows.gather(1, work)
    change, balance = move(some, work, gram.among(points), b, rho, pairs[0].steps, free)
    some.r.add_(gram.sums(rows, points, change))
    for whole, own in zip(lines[-3:], some[-3:], strict=True):
        whole[at] = own
    return balance


def _after(problem: KernelRegularized, solver: DeviceBlock, pair: _Pair, seen: Seen, balance: float) -> _Pair:
    """What is known of a line after a round and an evaluation."""
    lam, size = problem.lam, min(problem.n, solver.size(problem.n, pair.free, pair.off))
    primal, dual = 0.5 * lam * seen.sq + seen.loss, lam * (seen.linear - 0.5 * seen.sq)
    gap = (primal - dual) / dual if dual > 0.0 else np.inf
    slow = pair.t > 0 and gap > (1.0 - GAINS) * pair.gap
    return _Pair(
        seen.b,
        gap,
        int(seen.free),
        int(seen.off),
        balanced(pair.rho, balance),
        min(2 * pair.steps, PATIENCE * solver.steps) if slow else pair.steps,
        pair.t + 1,
        pair.evals + size * (size + problem.n),
    )


def _gram(problem: KernelRegularized) -> DeviceGram:
    assert isinstance(problem.gram, DeviceGram)
    return problem.gram.origin


def _placed(gram: DeviceGram, problems: Sequence[KernelRegularized]) -> "tuple[Lines, torch.Tensor]":
    """The lines of the problems at β = 0, and which points of the whole their rows are."""
    shape = len(problems), max(problem.n for problem in problems)
    rows, (y, box, c) = np.zeros(shape, np.int64), np.zeros((3, *shape))
    for q, problem in enumerate(problems):
        at = getattr(problem.gram, "at", None)
        rows[q, : problem.n] = np.arange(problem.n) if at is None else at
        y[q, : problem.n], box[q, : problem.n], c[q, : problem.n] = problem.y, problem.boxes, problem.share()
    there = [gram.array(one) for one in (y, np.where(y < 0, -box, 0.0), np.where(y > 0, box, 0.0), c)]
    return Lines(*there, *(there[0].new_zeros(shape) for _ in range(3))), gram.array(rows)


def _certified(problem: KernelRegularized, beta: np.ndarray, pair: _Pair, solver: DeviceBlock, tol: float) -> Result:
    """The answer with responses in float64, and the certificate that they give."""
    gram, used = problem.gram, np.flatnonzero(beta)
    assert isinstance(gram, DeviceGram)
    gram.evals, gram.asked = gram.evals + pair.evals, gram.asked + pair.evals
    own = gram if gram.at is None else gram.origin.part(gram.at)  # whose points in float64 are gone at the end
    finer = own.finer or own
    r = gram.host(finer.pass_over(used, beta[used], np.arange(problem.n)))
    exact = copy.copy(problem)
    exact.gram = finer
    answer = Expansion(beta.copy(), pair.b, r, None, len(used) + 1)
    certificate: Certificate = exact.certificate(answer)
    answer = problem.finished(answer, certificate)
    status = Status.CONVERGED if certificate.gap <= tol else Status.STALLED
    gram.evals += len(used) * problem.n
    record = Record(pair.t, 0.0, 0, gram.evals, certificate.objective, certificate.gap, np.nan)
    certificate = certificate._replace(b=answer.b)
    return Result(answer, certificate, status, pair.t, 1, History([record]), None, solver)
