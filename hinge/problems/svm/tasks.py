"""Several binary problems over the same rows, such as one class against the rest for each class."""

from collections.abc import Sequence
from typing import NamedTuple

from hinge.problems.base import Certificate, Problem, Solution
from hinge.problems.svm.regularized import Regularized


class Answers(NamedTuple):
    """The answers of all tasks."""

    tasks: tuple[Solution, ...]


class Tasks(Problem[Answers]):
    """Problems over one matrix that are solved together, so that its rows are read once for all of them.

    The objective is the sum of theirs, the gap of a certificate the largest of theirs.

    Parameters
    ----------
    tasks : sequence of Regularized
        All with the same matrix.
    """

    def __init__(self, tasks: Sequence[Regularized]) -> None:
        self.tasks = tuple(tasks)
        self.n, self.matrix, self.loss = tasks[0].n, tasks[0].matrix, tasks[0].loss
        if any(task.matrix is not self.matrix for task in tasks):
            raise ValueError("Tasks that are solved together must have the same matrix.")

    @property
    def reads(self) -> int:  # type: ignore[override]
        """Cells read so far."""
        return self.matrix.reads

    @property
    def pass_cells(self) -> int:  # type: ignore[override]
        """Cells read by one pass over the data."""
        return self.matrix.n_cells

    def objective(self, answer: Answers) -> float:
        """The sum of the tasks' objectives."""
        return sum(task.objective(one) for task, one in zip(self.tasks, answer.tasks, strict=True))

    def certificate(self, answer: Answers) -> Certificate:
        """The sums of the tasks' objectives and bounds, and their largest gap."""
        every = [task.certificate(one) for task, one in zip(self.tasks, answer.tasks, strict=True)]
        return Certificate(sum(c.objective for c in every), sum(c.bound for c in every), max(c.gap for c in every))

    def finished(self, answer: Answers, certificate: Certificate) -> Answers:
        """The answer itself, since each task's answer has its bias already."""
        return answer
