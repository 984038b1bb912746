"""A cache of the most recently used arrays, with a limit in bytes."""

from collections import OrderedDict
from collections.abc import Hashable

import numpy as np


class Recent:
    """A least-recently-used cache of arrays.

    Parameters
    ----------
    budget : int
        Limit of the arrays' bytes; a larger array is not stored.

    Attributes
    ----------
    budget, nbytes : int
        Bytes allowed, and bytes used.
    """

    def __init__(self, budget: int) -> None:
        if budget < 0:
            raise ValueError(f"The budget of a cache is a number of bytes, 0 for no cache, got {budget}.")
        self.budget, self.nbytes = int(budget), 0
        self._arrays: OrderedDict[Hashable, np.ndarray] = OrderedDict()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._arrays

    def __len__(self) -> int:
        return len(self._arrays)

    def get(self, key: Hashable) -> np.ndarray | None:
        """The array of this key, which becomes the most recently used; None if it is not stored."""
        array = self._arrays.get(key)
        if array is not None:
            self._arrays.move_to_end(key)
        return array

    def put(self, key: Hashable, array: np.ndarray) -> None:
        """Store an array, which must not be written to afterwards; it should own its memory."""
        old = self._arrays.pop(key, None)
        if old is not None:
            self.nbytes -= old.nbytes
        if array.nbytes > self.budget:
            return
        self._arrays[key] = array
        self.nbytes += array.nbytes
        while self.nbytes > self.budget:
            self.nbytes -= self._arrays.popitem(last=False)[1].nbytes
