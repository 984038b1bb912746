"""Several problems over the same rows: one class against the rest for each class, folds, values of C."""

from collections.abc import Sequence
from functools import cached_property
from itertools import starmap
from typing import Any, NamedTuple

import numpy as np

from hinge.access import Matrix
from hinge.problems.base import Certificate, Problem, Solution
from hinge.problems.svm.regularized import DualShare, Regularized, dual_sums, dual_value


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


class Stacked(NamedTuple):
    """The members' data, a row each: labels, targets, shares :math:`c_i`, :math:`c_iy_i`, penalties.

    Where all rows and members have the same target or share, it is one number. The penalties are λ for each weight and
    for the bias, as a multiple of :math:`b^2/2`; λ of a bias that stays 0.
    """

    y: np.ndarray
    target: np.ndarray | float
    share: np.ndarray | float
    signed: np.ndarray
    penalty: np.ndarray

    @classmethod
    def of(cls, members: Sequence[Regularized]) -> "Stacked":
        """Those of problems over the same rows."""
        first, shares = members[0], [member.share() for member in members]
        y = np.array([member.y for member in members], np.float64)
        target = np.array([member.target for member in members]) if first.loss.two_sided else 1.0
        if all(isinstance(one, float) and one == shares[0] for one in shares):
            share: np.ndarray | float = float(shares[0])
        else:
            share = np.array([member.row_shares() for member in members])
        penalty = np.repeat([[member.lam] for member in members], first.d + 1, 1)
        penalty[:, -1] /= [member.constant_sq or 1.0 for member in members]
        return cls(y, target, share, share * y, penalty)

    def among(self, some: list[int]) -> "Stacked":
        """Those of some members."""
        return Stacked._make(part if isinstance(part, float) else part[some] for part in self)


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
        self.pass_cells = members[0].pass_cells
        if any(member.matrix is not self.matrix for member in members):
            raise ValueError("The problems of a batch must have the same matrix.")
        if any((one.loss, one.bias, one.pull) != (self.loss, members[0].bias, 0.0) for one in members):
            raise ValueError("The problems of a batch must have the same loss and the same kind of bias.")

    @cached_property
    def stacked(self) -> Stacked:
        """The members' labels, targets and shares."""
        return Stacked.of(self.members)

    @property
    def reads(self) -> int:  # type: ignore[override]
        """Cells read so far."""
        return self.matrix.reads

    def objective(self, answer: BatchSolution) -> float:
        """The sum of the members' objectives."""
        return sum(member.objective(one) for member, one in zip(self.members, answer.members, strict=True))

    def certificate(self, answers: BatchSolution) -> Certificate:
        """The certificates of all members, combined; without a free bias by two products with all of them."""
        pairs, matrix = list(zip(self.members, answers.members, strict=True)), self.matrix
        if not isinstance(matrix, Matrix) or any(m.bias == "free" or one.alpha is None for m, one in pairs):
            return combine_certificates([member.certificate(one) for member, one in pairs])
        alpha = np.array([one.alpha for one in answers.members])
        R = matrix.products(np.array([one.w for one in answers.members]).T).T
        Z = matrix.combinations((alpha * self.stacked.signed).T).T
        errors = [member.response_error(one.w, one.b) for member, one in pairs]
        R += np.array([[one.b] for one in answers.members])
        sums = np.sum(self.members[0].over_blocks(lambda lo, hi: self._sums(alpha, R, errors, lo, hi)), axis=0)
        every = zip(pairs, alpha, Z, sums.T.tolist(), strict=True)
        return combine_certificates([_certified(*pair, a, z, own) for pair, a, z, own in every])

    def _sums(self, alpha: np.ndarray, R: np.ndarray, errors: list[float], lo: int, hi: int) -> np.ndarray:
        """Contribution of some rows to all mean losses, and to the sums of all duals; R includes the biases."""
        target, share = (part if isinstance(part, float) else part[:, lo:hi] for part in self.stacked[1:3])
        y = self.stacked.y[:, lo:hi]
        losses = target - y * R[:, lo:hi]
        for j, error in enumerate(errors):
            losses[j] = self.loss.values(losses[j], error)
        longest = np.array([member.largest_target for member in self.members])
        return np.vstack([(losses * share).sum(1), dual_sums(self.loss, alpha[:, lo:hi], y, target, share, longest)])

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


def _certified(
    member: Regularized, answer: Solution, alpha: np.ndarray, z: np.ndarray, sums: list[float]
) -> Certificate:
    """The certificate of a member from its sums, which were added up in any order."""
    loss, positive, negative, linear, size, square = sums
    off = member.combination_error(positive + negative, chain=member.n)
    share = DualShare(z, off, positive, negative, linear, size, square, member.fullness(alpha))
    primal = member.primal_at(answer.w, answer.b, loss)
    bound = dual_value(share, member.lam, member.loss, member.constant_sq, member.terms)
    return Certificate(primal, bound, member.relative(primal, bound), answer.b)


def members_of(problem: Problem) -> tuple[Regularized, ...]:
    """The members of a batch; of a problem that is none, the problem itself."""
    return problem.members if isinstance(problem, Batch) else (problem,)  # type: ignore[return-value]


def combine_certificates(members: Sequence[Certificate] | np.ndarray) -> BatchCertificate:
    """The certificate of a batch, from the certificates of its members, or from an array with a row for each."""
    objectives, bounds, gaps = np.asarray(members, np.float64).T[:3]
    found = BatchCertificate(float(objectives.sum()), float(bounds.sum()), float(gaps.max()))  # nan, if one is
    found.each = members
    return found
