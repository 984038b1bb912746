"""Type aliases that many signatures share."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:  # an optional package, and slow to import
    import torch

Vector: TypeAlias = NDArray[np.float64]
"""A float64 array."""

Indices: TypeAlias = NDArray[np.integer]
"""Integer indices of rows, columns or points."""

Sparse: TypeAlias = sp.sparray | sp.spmatrix
"""A sparse matrix of SciPy, in any format."""

MatrixLike: TypeAlias = ArrayLike | Sparse
"""A matrix as users may give it, before validation: nested lists, arrays, frames, sparse matrices."""

Items: TypeAlias = MatrixLike | Sequence[Any]
"""Points for a kernel: a matrix by rows or, for a kernel function, any sequence of items."""

Stored: TypeAlias = np.ndarray | sp.csr_array
"""A validated matrix: a dense array, or CSR."""

Array = TypeVar("Array", np.ndarray, "torch.Tensor")
"""A NumPy array or a torch tensor, in code that is written once for both; the output has the type of the input."""
