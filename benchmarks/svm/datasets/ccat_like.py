"""Synthetic text of CCAT's width and density."""

from typing import Any, ClassVar

from benchmark_utils.sets import parts
from benchopt import BaseDataset

from hinge.datasets import make_text


class Dataset(BaseDataset):
    """Rows of a topic model, SYNTHETIC; nothing here proves a claim about the real CCAT."""

    name = "ccat-like"
    parameters: ClassVar = {"rows": [100_000], "words": [47_236]}
    test_parameters: ClassVar = {"rows": [300], "words": [400]}

    def get_data(self) -> dict[str, Any]:
        """As many test rows as a tenth of the training rows, and 100 at least."""
        per_row = min(69, self.words // 4)
        return parts(make_text(self.rows, self.words, per_row, n_test=max(100, self.rows // 10), seed=0))
