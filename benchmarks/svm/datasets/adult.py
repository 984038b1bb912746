"""Adult (a9a): 32,561 rows, 123 sparse features; comes with hinge."""

from typing import Any

from benchmark_utils.sets import stored
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Census rows; is the income above 50,000 dollars?"""

    name = "adult"

    def get_data(self) -> dict[str, Any]:
        """Training and test rows, or why there are none."""
        return stored("adult")
