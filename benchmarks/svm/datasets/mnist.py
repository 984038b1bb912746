"""MNIST: 60,000 digits of 784 pixels; 8 against the rest."""

from typing import Any

from benchmark_utils.sets import stored
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Digits, 8 against the rest."""

    name = "mnist"

    def get_data(self) -> dict[str, Any]:
        """Training and test rows, or why there are none."""
        return stored("mnist", positive=8)
