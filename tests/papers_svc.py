"""The papers' problem by the estimator: the hinge loss and a free bias, to the gap at which most tests look."""

from typing import Any

from hinge import LinearSVC


def papers_svc(C: float = 1.0, **options: Any) -> LinearSVC:
    """A `LinearSVC` of the papers' problem, with these parameters."""
    return LinearSVC(C=C, **{"loss": "hinge", "intercept": "free", "tol": 1e-3, **options})
