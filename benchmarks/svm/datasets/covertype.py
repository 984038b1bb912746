"""Covertype: half a million rows, 54 features; class 1 against the rest."""

from typing import Any

from benchmark_utils.sets import stored
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Forest cover, class 1 against the rest, scaled to [0, 1]."""

    name = "covertype"

    def get_data(self) -> dict[str, Any]:
        """Training and test rows, or why there are none."""
        return stored("covertype", positive=1)
