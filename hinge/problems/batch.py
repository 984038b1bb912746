"""Several problems over the same rows: one class against the rest for each class, folds, values of C."""

from collections.abc import Sequence
from itertools import starmap
from typing import Any, NamedTuple

import numpy as np

from hinge.access import Matrix
from hinge.problems.base import Certificate, Problem
from hinge.problems.svm.regularized import Regularized


class BatchSolution(NamedTuple):
    """The answers of all members."""

    members: tuple[Any, ...]


class BatchCertificate(Certificate):
    """The sums of objectives and bounds, and the largest gap; `each` has those of the members, or their rows."""

    each: Sequence[Certificate] | np.ndarray = ()

    @property
    def members(self) -> tuple[Certificate, ...]:
        """The certificates of all members."""
        return tuple(starmap(Certificate, self.each.tolist() if isinstance(self.each, np.ndarray) else self.each))

    def column(self, name: str) -> np.ndarray:
        """One field of all members."""
        return np.asarray(self.each, np.float64)[:, self._fields.index(name)]


class Batch(Problem[BatchSolution]):
    """Problems over one matrix that a solver treats jointly, so that its rows are read once for all of them.

    The objective is the sum of the members' objectives, the gap of a certificate the largest of their gaps.

    Parameters
    ----------
    members : sequence of Regularized
        All with the same matrix.
    """

    def __init__(self, members: Sequence[Regularized]) -> None:
        self.members = tuple(members)
        self.n, self.matrix, self.loss = members[0].n, members[0].matrix, members[0].loss
        if any(member.matrix is not self.matrix for member in members):
            raise ValueError("The problems of a batch must have the same matrix.")

    @property
    def reads(self) -> int:  # type: ignore[override]
        """Cells read so far."""
        return self.matrix.reads

    @property
    def pass_cells(self) -> int:  # type: ignore[override]
        """Cells read by one pass over the data."""
        return self.matrix.n_cells

    def objective(self, answer: BatchSolution) -> float:
        """The sum of the members' objectives."""
        return sum(member.objective(one) for member, one in zip(self.members, answer.members, strict=True))

    def certificate(self, answer: BatchSolution) -> Certificate:
        """The certificates of all members, combined; without a free bias by two products with all of them."""
        pairs, matrix = list(zip(self.members, answer.members, strict=True)), self.matrix
        if not isinstance(matrix, Matrix) or any(m.bias == "free" or one.alpha is None for m, one in pairs):
            return combine_certificates([member.certificate(one) for member, one in pairs])
        R = matrix.products(np.array([one.w for _, one in pairs]).T).T
        Z = matrix.combinations(np.array([one.alpha * member.y * member.share() for member, one in pairs]).T).T
        every = zip(pairs, R, Z, strict=True)
        return combine_certificates([member.certificate_of_sums(one, r, z) for (member, one), r, z in every])

    def sharpened(self, answer: BatchSolution, found: Certificate, wanted: float) -> Certificate:
        """Each member's certificate, tighter where rounding errors or the length of w keep it above `wanted`."""
        if found.gap <= wanted or not isinstance(found, BatchCertificate):
            return found
        every = zip(self.members, answer.members, found.members, strict=True)
        return combine_certificates([member.sharpened(one, old, wanted) for member, one, old in every])

    def final_answer(self, answer: BatchSolution, certificate: Certificate) -> BatchSolution:
        """Each member's answer as its certificate has it."""
        if not isinstance(certificate, BatchCertificate):
            return answer
        every = zip(self.members, answer.members, certificate.members, strict=True)
        return BatchSolution(tuple(member.final_answer(one, known) for member, one, known in every))


def members_of(problem: Problem) -> tuple[Regularized, ...]:
    """The members of a batch; of a problem that is none, the problem itself."""
    return problem.members if isinstance(problem, Batch) else (problem,)  # type: ignore[return-value]


def combine_certificates(members: Sequence[Certificate] | np.ndarray) -> BatchCertificate:
    """The certificate of a batch, from the certificates of its members, or from an array with a row for each."""
    objectives, bounds, gaps = np.asarray(members, np.float64).T[:3]
    found = BatchCertificate(float(objectives.sum()), float(bounds.sum()), float(gaps.max()))  # nan, if one is
    found.each = members
    return found
