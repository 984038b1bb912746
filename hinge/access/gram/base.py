"""What kernel problems and solvers ask of a Gram matrix, wherever its rows are computed."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Generic, Protocol

import numpy as np

from hinge.kernels import namespace
from hinge.types import Array, Indices, Stored, Vector

FEATURES = 64
"""On a device, features are filled up with zeros to a multiple of this where the fused pass reads them."""


def whole(x: Array) -> Array:
    """`x` rounded down to int64."""
    return x.astype(np.int64) if isinstance(x, np.ndarray) else x.long()


def add_at(a: Array, i: Array, x: float) -> None:
    """``a[i] += x`` for a number x, where an index that occurs twice counts twice."""
    if isinstance(a, np.ndarray):
        np.add.at(a, i, x)
    else:
        a.index_add_(0, i, a.new_full((len(i),), x))


def counts_to(n: int, like: Array) -> Array:
    """1, 2, ..., n in the type and on the device of an array."""
    if isinstance(like, np.ndarray):
        return np.arange(1.0, n + 1.0)
    return namespace(like).arange(1, n + 1, device=like.device, dtype=like.dtype)


class KernelSums(Protocol):
    """Who can make the sums Σⱼ βⱼK(xⱼ, xᵢ), and says how exact they are."""

    evals: int
    """Kernel values computed so far."""

    @property
    def finer(self) -> "KernelSums | None":
        """The same sums more exactly; None where that cannot be had."""

    def error(self, size: Vector, terms: float) -> Vector:
        """A bound on the error of the sums, for every i; see `BaseGram.error`."""

    def again(self, i: Indices, coef: Vector, columns: Indices) -> tuple[Vector, Vector]:
        """``coef @ K[i, columns]``, and a bound on the error of each."""


class LinearSums(KernelSums, Protocol):
    """Who makes these sums by way of w = Σⱼ βⱼxⱼ."""

    rows: Stored
    """The points xⱼ."""
    norms: np.ndarray
    """Their norms."""


class SomeRows(Protocol[Array]):
    """Some complete rows of a Gram matrix."""

    def block(self) -> np.ndarray:
        """The kernel values of these points among themselves, on the host."""

    def in_place(self) -> tuple[np.ndarray, np.ndarray] | None:
        """A matrix that has these rows, against all columns, and their lines in it; None where there is none."""

    def combine(self, coef: Array) -> Array:
        """``coef @ rows`` in float64."""


class BaseGram(ABC, Generic[Array]):
    """The Gram matrix of n points, of which rows are computed when they are asked for.

    `Gram` computes in NumPy arrays, `DeviceGram` in torch tensors; methods that are written for both go from
    one to the other by `array` and `host`, and call the functions of `xp`.

    Attributes
    ----------
    n : int
        Number of points.
    xp : module
        NumPy or torch.
    dtype : numpy.dtype
        Of the kernel values.
    evals : int
        Kernel values computed so far.
    asked : int
        Kernel values asked for, those found in a cache included.
    by_value : bool
        Whether single values are expensive, so that none is computed twice.
    narrows : bool
        Whether rows against fewer columns are cheaper.
    on_device : bool
        Whether kernel values are where torch computes.
    largest_block : int
        The most points whose values among themselves are asked for in one block.
    columns : ndarray
        The points against which rows are computed.
    position : ndarray of shape (n,)
        Where among the columns each point is; -1 if it is not.
    part_of : (ndarray of shape (n,), int), optional
        The numbers of these points in a larger set, and how many that has: parts of one set can draw the same points.
    threads : int
        Threads that compute on the host.
    """

    n: int
    xp: Any
    dtype: np.dtype
    evals: int
    asked: int
    by_value: bool = False
    narrows: bool = False
    on_device: bool = False
    largest_block: int
    columns: np.ndarray
    position: np.ndarray
    part_of: tuple[np.ndarray, int] | None = None
    threads: int = 1

    # --- arrays ---------------------------------------------------------------------------

    @abstractmethod
    def array(self, a: np.ndarray | Array) -> Array:
        """`a` where this Gram computes."""

    def constant(self, a: np.ndarray) -> Array:
        """The same for an array that is never written, so that it need be sent only once."""
        return self.array(a)

    @abstractmethod
    def host(self, a: np.ndarray | Array) -> np.ndarray:
        """An array of this Gram's as one of NumPy's."""

    # --- what is known of the kernel ------------------------------------------------------

    @property
    @abstractmethod
    def diag(self) -> np.ndarray:
        """K(x, x) of every point."""

    @property
    def norms(self) -> np.ndarray:
        """The norms of the φ(xᵢ)."""
        return np.sqrt(np.maximum(self.diag, 0.0))

    @property
    @abstractmethod
    def indefinite(self) -> bool:
        """Whether the kernel is known not to be positive semidefinite in general."""

    def contradicts(self, beta: Vector) -> bool:
        """Whether a kernel that should be positive is found not to be, on the points of these β."""
        return False

    # --- rows and sums --------------------------------------------------------------------

    @property
    @abstractmethod
    def capacity(self) -> int:
        """Number of rows that are kept."""

    @property
    def most_rows(self) -> int:
        """Number of rows in one call of `rows` whose values among themselves are to fit into memory.

        They may be more than are kept, unless values are expensive.
        """
        return min(self.capacity, self.largest_block) if self.by_value else self.largest_block

    def focus(self, columns: Indices | None) -> None:
        """Compute rows against these columns only, from now on; None for all. Does nothing where all are cheap."""

    @abstractmethod
    def rows(self, i: Indices) -> SomeRows[Array]:
        """The rows of points `i`, at most `capacity` or `most_rows` of them, until the next call."""

    def whole(self) -> np.ndarray:
        """All values, on the host."""
        self.focus(None)
        return self.rows(np.arange(self.n)).block()

    def held(self) -> np.ndarray | None:
        """A copy of all values if they are in memory; None if some would have to be computed."""
        return None

    @abstractmethod
    def values(self, rows: Indices, columns: Indices) -> Array:
        """K[rows, columns], none of which is kept."""

    @abstractmethod
    def combine(self, i: Indices | Array, coef: Vector | Array) -> Array:
        """``coef @ K[i, columns]`` in float64."""

    @abstractmethod
    def pass_over(self, i: Indices | Array, coef: Vector | Array, columns: Indices | Array) -> Array:
        """``coef @ K[i, columns]`` in float64 for any columns, no row of which is kept."""

    # --- how exact the sums are -----------------------------------------------------------

    @abstractmethod
    def error(self, size: Vector, terms: float) -> Vector:
        """A bound on the error of the sums Σⱼ βⱼK(xⱼ, xᵢ) that were computed, for every i.

        Parameters
        ----------
        size : ndarray of shape (n,)
            By how much each β has moved in all while the sums were kept up to date.
        terms : float
            Additions, in float64, that made one sum.
        """

    @property
    def finer(self) -> KernelSums | None:
        """The same points with sums that are more exact; None where there are none."""
        return None

    @property
    def weights(self) -> LinearSums | None:
        """The same sums by way of w, which cost two passes over the rows; None where w is no vector of features."""
        return None

    @abstractmethod
    def sharper(self) -> Iterator[KernelSums]:
        """Those who can make the same sums more exactly, each better than the one before."""

    def again(self, i: Indices, coef: Vector, columns: Indices) -> tuple[Vector, Vector]:
        """``coef @ K[i, columns]``, and a bound on the error of each."""
        size = np.bincount(i, np.abs(coef), self.n).astype(np.float64, copy=False)
        return self.host(self.pass_over(i, coef, columns)), self.error(size, len(i) + 1)[columns]
