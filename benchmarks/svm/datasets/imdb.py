"""IMDB: 25,000 film reviews."""

from typing import Any

from benchmark_utils.sets import stored
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Film reviews, for or against."""

    name = "imdb"

    def get_data(self) -> dict[str, Any]:
        """Training and test rows, or why there are none."""
        return stored("imdb")
