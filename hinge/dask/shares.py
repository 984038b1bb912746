"""What a worker adds to the certificate: its rows' shares of the loss and of the dual, rounding included.

It is the certificate of `Regularized`, cut where its sums are: over the rows of a part here, over parts at the client.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hinge.dask.local_rounds import Kept, taken
from hinge.dask.parts import Part, Task, problems_of
from hinge.problems import Certificate
from hinge.problems.svm.penalized import primal_value, relative_gap
from hinge.problems.svm.regularized import DualShare, dual_value


class Question(NamedTuple):
    """Which answers are to be certified: w and b of some tasks, at the places `at` among all.

    `step` is that of the last round. α of the side of the sign `side` is scaled by `ratio`, for a free bias.
    """

    tasks: tuple[Task, ...]
    at: np.ndarray
    step: np.ndarray
    w: np.ndarray
    b: np.ndarray
    side: np.ndarray
    ratio: np.ndarray


class TaskShare(NamedTuple):
    """Shares of one task: its loss at most, its dual, its unit, and the terms added up one after the other."""

    loss: float
    dual: DualShare
    unit: float
    terms: int


class Asked(NamedTuple):
    """Shares of all tasks, with the responses ⟨w, x⟩ of the rows, which stay with the part; and cells read."""

    shares: tuple[TaskShare, ...]
    responses: tuple[np.ndarray, ...]
    cells: int


def asked(part: Part, kept: Kept, question: Question) -> Asked:
    """The shares of a part. It reads its rows twice; rows with α = 0 once."""
    alpha = taken(kept, question.step)
    found = [
        _asked(part, task, alpha[t], question, k)
        for k, (task, t) in enumerate(zip(question.tasks, question.at, strict=True))
    ]
    shares, responses, cells = zip(*found, strict=True)
    return Asked(shares, responses, sum(cells))


def shares_of(found: Asked) -> tuple[tuple[TaskShare, ...], int]:
    """What goes to the client."""
    return found.shares, found.cells


def losses(part: Part, found: Asked, question: Question, biases: np.ndarray) -> np.ndarray:
    """Shares of the losses, at most, at other biases: a row for each task. It reads no row."""
    out = np.zeros(biases.shape)
    for k, task in enumerate(question.tasks):
        first = 0
        for problem, block in zip(problems_of(part, task), part.blocks, strict=True):
            r = found.responses[k][first : first + len(block.y)]
            first += len(block.y)
            for at, b in enumerate(biases[k] if problem is not None else ()):
                assert problem is not None
                out[k, at] += problem.total_loss(r, float(b), problem.response_error(question.w[k], float(b)))
    return out


def _asked(part: Part, task: Task, alpha: np.ndarray, question: Question, k: int) -> tuple[TaskShare, np.ndarray, int]:
    """One task over all blocks."""
    w, b, responses, shares, cells, first = question.w[k], float(question.b[k]), np.zeros(part.n), [], 0, 0
    for problem, block in zip(problems_of(part, task), part.blocks, strict=True):
        here = slice(first, first + len(block.y))
        first = here.stop
        if problem is None:
            continue
        a = alpha[here]
        if task.free:
            a = problem.side_scaled(a, int(question.side[k]), float(question.ratio[k]))
        responses[here] = problem.responses(w)  # which measures the rows, too
        loss = problem.total_loss(responses[here], b, problem.response_error(w, b))
        dual = problem.dual_share(a, problem.combination(a), task.parts + len(part.blocks))
        shares.append(TaskShare(loss, dual, problem.unit, problem.terms))
        cells += problem.reads
    return together(shares, len(w)), responses if task.free else responses[:0], cells


def together(shares: Sequence[TaskShare], d: int) -> TaskShare:
    """The shares of several blocks, or parts, added up in their order."""
    duals = [share.dual for share in shares]
    z = sum((dual.z for dual in duals), np.zeros(d))
    sums = [float(sum(column)) for column in list(zip(*duals, strict=True))[1:-1]] if duals else [0.0] * 6
    dual = DualShare(z, *sums, *[max((dual.largest for dual in duals), default=0.0)])
    terms = max((share.terms for share in shares), default=0)
    return TaskShare(
        sum(share.loss for share in shares), dual, sum(share.unit for share in shares), terms + len(shares)
    )


def certificate(share: TaskShare, task: Task, w: np.ndarray, b: float) -> Certificate:
    """P at most, D at least, and the relative gap between them, of all rows."""
    paid, constant_sq = 0.5 * float(w @ w), 0.0
    if task.bias == "penalized":
        paid, constant_sq = paid + 0.5 * (b / task.bias_scale) ** 2, task.bias_scale**2
    primal = primal_value(task.lam, paid, len(w), share.loss, share.terms)
    dual = dual_value(share.dual, task.lam, task.loss, constant_sq, share.terms)
    return Certificate(primal, dual, relative_gap(primal, dual, share.unit), b)
