"""Names for the types that many signatures share; nothing here runs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:  # an optional package, and slow to import
    import torch

Vector: TypeAlias = NDArray[np.float64]
"""Numbers in float64."""

Indices: TypeAlias = NDArray[np.integer]
"""Whole numbers that say which rows, columns or points are meant."""

Sparse: TypeAlias = sp.sparray | sp.spmatrix
"""A sparse matrix of SciPy, in any format."""

MatrixLike: TypeAlias = ArrayLike | Sparse
"""What a user may give as a matrix, before it is checked: nested lists, arrays, frames, sparse matrices."""

Items: TypeAlias = MatrixLike | Sequence[Any]
"""Points for a kernel: a matrix by rows or, for a function of one's own, any sequence of things."""

Stored: TypeAlias = np.ndarray | sp.csr_array
"""A matrix that was checked: a dense array, or CSR."""

Array = TypeVar("Array", np.ndarray, "torch.Tensor")
"""An array of NumPy or a tensor of torch, in code that is written once for both: what goes in comes out."""
