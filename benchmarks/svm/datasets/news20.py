"""20 newsgroups as words, pairs and triples of words: rows of very many features."""

from typing import Any

from benchmark_utils.sets import stored
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Posts to newsgroups, two groups of topics."""

    name = "news20"

    def get_data(self) -> dict[str, Any]:
        """Training and test rows, or why there are none."""
        return stored("news20")
