"""Reuters: news of the class money-fx against all other."""

from typing import Any

from benchmark_utils.sets import stored
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """News agency items, money-fx against the rest."""

    name = "reuters"

    def get_data(self) -> dict[str, Any]:
        """Training and test rows, or why there are none."""
        return stored("reuters")
