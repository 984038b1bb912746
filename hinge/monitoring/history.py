"""What is written down while a solver runs."""

from typing import NamedTuple


class Record(NamedTuple):
    """One look at a run.

    Attributes
    ----------
    iteration : int
    seconds : float
        Time in the solver and its certificates; scores and callbacks are not on the clock.
    feature_reads, kernel_evals : int
        Cells of the data, and kernel values, handed out so far, those of certificates included.
    objective : float
        Exact objective; nan where no certificate was computed.
    certificate : float
        Upper bound on the suboptimality; inf where none is known.
    score : float
        Error on held-out rows; nan where none is asked for.
    """

    iteration: int
    seconds: float
    feature_reads: int
    kernel_evals: int
    objective: float
    certificate: float
    score: float


class History(list[Record]):
    """Records in order, with columns by name."""

    def column(self, name: str) -> list[float]:
        """One field of all records."""
        return [getattr(record, name) for record in self]
