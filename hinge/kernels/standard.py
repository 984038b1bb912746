"""The kernels with a name: formulas of inner products and distances, and kernels that others evaluate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hinge.kernels.base import Kernel, namespace
from hinge.kernels.exponential import gaussian_of_dots

if TYPE_CHECKING:  # which imports SciPy, and the help of the command line names kernels
    from hinge.types import Array, Stored


@dataclass(frozen=True)
class Linear(Kernel):
    """:math:`\\langle x, z\\rangle`.

    Examples
    --------
    >>> from hinge import SVC
    >>> from hinge.kernels import Linear
    >>> SVC(kernel=Linear()).fit([[0.0, 0.0], [1.0, 1.0]], [0, 1]).predict([[0.9, 0.9]])
    array([1])
    """

    def of_dots(self, G: Array, sq_x: Array, sq_z: Array | None) -> Array:
        """The inner products themselves."""
        return G

    def errors(self, norms: np.ndarray, eta: float, unit: float, off: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """|δ⟨x, z⟩| ≤ η‖x‖‖z‖ + what the points are off by."""
        far = norms + off
        return np.stack([norms, off, far]), np.stack([(eta + unit) * norms, far, off])


@dataclass(frozen=True)
class Gaussian(Kernel):
    """:math:`\\exp(-\\gamma\\|x - z\\|^2)`, with :math:`\\gamma = 1/(2\\sigma^2)` in the SBP paper.

    Examples
    --------
    >>> from hinge import SVC
    >>> from hinge.kernels import Gaussian
    >>> SVC(kernel=Gaussian(gamma=0.5)).fit([[0.0, 0.0], [1.0, 1.0]], [0, 1]).predict([[0.9, 0.9]])
    array([1])
    """

    gamma: float = 1.0
    shifts = True

    def of_dots(self, G: Array, sq_x: Array, sq_z: Array | None) -> Array:
        """Kernel values from inner products and squared norms, in place; no `sq_z`: x with itself."""
        if sq_z is None:
            G[...] = 1.0
            return G
        if isinstance(G, np.ndarray):
            gaussian_of_dots(G, sq_x, sq_z, self.gamma)
            return G
        G *= 2.0 * self.gamma
        G -= self.gamma * sq_x[:, None]
        G -= self.gamma * sq_z
        return G.clamp_(max=0.0).exp_()

    def errors(self, norms: np.ndarray, eta: float, unit: float, off: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The squared distance D is off by δ ≤ 2η(‖x‖² + ‖z‖²), so K by e^{γδ} - 1, and by 1 at most.

        Points that are off by ρ move K by the largest slope of exp(-γs²), √(2γ/e), times the ρ of both.
        """
        (A, B), slope = np.ones((2, 2, len(norms))), math.sqrt(2.0 * self.gamma / math.e)
        x = np.minimum(2.0 * self.gamma * eta * norms**2, 1.0)
        # e^s - 1 is at most (1 + s)s up to 1, where s is the sum of two x; there 2s is more than 1, the most.
        A[0] = np.minimum((1.0 + min(1.0, 2.0 * float(x.max(initial=0.0)))) * x + slope * off, 1.0)
        B[1] = A[0] + unit
        return A, B

    def shares(
        self, norms: np.ndarray, eta: float, unit: float, others: np.ndarray | None = None
    ) -> tuple[np.ndarray, float] | None:
        """What errors of distances and the rounding of values share of a sum, and that of the exponents, -K ln K.

        The `others` are the norms of the points that are summed over: all of them, if they are not given.
        """
        x, largest = 2.0 * self.gamma * eta * norms**2, norms if others is None else others
        most = 2.0 * self.gamma * eta * float(largest.max(initial=0.0)) ** 2
        far = 2.0 * max(float(x.max(initial=0.0)), most)
        if not far < 0.25:
            return None
        # Relative to the values as they are, which may be that much larger than those that were computed.
        return ((x + most) * (1.0 + far) + unit) / (1.0 - math.expm1(far)), 0.5 * unit

    def sum_errors(
        self,
        exactness: tuple[np.ndarray, float, float, np.ndarray],
        i: np.ndarray,
        size: np.ndarray,
        columns: np.ndarray,
        sums: np.ndarray,
    ) -> np.ndarray | None:
        """Errors of values: (e^{γδ} - 1)K, their own rounding, and the rounding of the exponent.

        The last is relative to -K ln K, which is concave: its sum is largest for equal values K.
        """
        norms, eta, unit, off = exactness
        shares, total = self.shares(norms[columns], eta, unit, norms[i]), float(size.sum())
        if shares is None or total == 0.0:
            return None
        sums = np.clip(sums, 1e-30 * total, total)
        slope = np.sqrt(2.0 * self.gamma / math.e)
        error = sums * (shares[0] + shares[1] * np.log(total / sums))
        return 1.02 * error + slope * (total * off[columns] + float(size @ off[i]))


@dataclass(frozen=True)
class Polynomial(Kernel):
    """:math:`(\\gamma\\langle x, z\\rangle + c_0)^p`.

    Examples
    --------
    >>> from hinge import SVC
    >>> from hinge.kernels import Polynomial
    >>> SVC(kernel=Polynomial(degree=2, coef0=1.0)).fit([[0.0, 0.0], [1.0, 1.0]], [0, 1]).predict([[0.9, 0.9]])
    array([1])
    """

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0

    def of_dots(self, G: Array, sq_x: Array, sq_z: Array | None) -> Array:
        """Kernel values from inner products, in place."""
        G *= self.gamma
        G += self.coef0
        G **= self.degree
        return G

    @property
    def indefinite(self) -> bool:
        """Not where γ and c₀ are not negative: sums and products of kernels are kernels."""
        return self.gamma < 0 or self.coef0 < 0

    def errors(self, norms: np.ndarray, eta: float, unit: float, off: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The base s = γ⟨x, z⟩ + c₀ has |s| ≤ a(x)a(z) with a² = γ‖x‖² + c₀; sᵖ is off by p times as much."""
        p, off = float(self.degree), np.where(norms > 0, off / np.maximum(norms, 1e-300), 0.0)
        a = (abs(self.gamma) * norms**2 + abs(self.coef0)) ** (p / 2)
        share = p * (eta + 2.0 * unit + 2.0 * float(off.max(initial=0.0)))
        return a[None], (np.expm1(min(share, 700.0)) + unit) * a[None]


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """:math:`\\tanh(\\gamma\\langle x, z\\rangle + c_0)`, which is not positive for all settings.

    Examples
    --------
    >>> from hinge.kernels import Sigmoid
    >>> Sigmoid(gamma=0.01, coef0=-1.0)
    Sigmoid(gamma=0.01, coef0=-1.0)
    """

    gamma: float = 1.0
    coef0: float = 0.0

    def of_dots(self, G: Array, sq_x: Array, sq_z: Array | None) -> Array:
        """Kernel values from inner products, in place."""
        G *= self.gamma
        G += self.coef0
        return namespace(G).tanh(G, out=G)

    indefinite = True

    def errors(self, norms: np.ndarray, eta: float, unit: float, off: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """tanh has no slope above 1."""
        far, g = norms + off, abs(self.gamma)
        one = np.ones(len(norms))
        return np.stack([norms, off, far, one]), np.stack(
            [g * eta * norms, g * far, g * off, (2.0 + abs(self.coef0)) * unit * one]
        )


@dataclass(frozen=True)
class Laplacian(Kernel):
    """:math:`\\exp(-\\gamma\\|x - z\\|_1)`.

    Examples
    --------
    >>> from hinge import SVC
    >>> from hinge.kernels import Laplacian
    >>> SVC(kernel=Laplacian(gamma=0.5)).fit([[0.0, 0.0], [1.0, 1.0]], [0, 1]).predict([[0.9, 0.9]])
    array([1])
    """

    gamma: float = 1.0
    shifts = True
    needs_points = True

    def __call__(self, X: Array, Z: Array) -> Any:
        """The block K(X, Z), by rows of `X`; sparse NumPy points too."""
        xp = namespace(X)
        if xp is np or hasattr(X, "indptr"):
            from sklearn.metrics.pairwise import manhattan_distances

            return np.exp(-self.gamma * manhattan_distances(_short(X), _short(Z)))
        return xp.exp(-self.gamma * xp.cdist(X, Z, p=1.0))

    def diag(self, sq: Array) -> Array:
        """One for every point."""
        return namespace(sq).ones_like(sq)

    def errors(self, norms: np.ndarray, eta: float, unit: float, off: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums of absolute differences s are off by ηs, and s exp(-s) is at most 1/e."""
        one = np.ones(len(norms))
        return one[None], (eta + unit) * one[None]


def _short(S: Stored) -> Stored:
    """Compressed rows with indices of 32 bits, which is what scikit-learn's distances take."""
    if isinstance(S, np.ndarray) or S.indices.dtype == np.int32:
        return S
    return type(S)((S.data, S.indices.astype(np.int32), S.indptr.astype(np.int32)), shape=S.shape)


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The Gram matrix is given in place of points.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import SVC
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> SVC(kernel="precomputed").fit(X @ X.T, [0, 1]).predict([[0.0, 1.8]])
    array([1])
    """


@dataclass(frozen=True)
class Function(Kernel):
    """A Python callable, evaluated where a value is needed and nowhere else.

    Parameters
    ----------
    function : callable
        ``function(x, z)`` gives one value; with ``on="blocks"``, ``function(xs, zs)`` gives the block of
        values for two lists of items (or arrays of rows).
    on : {"pairs", "blocks", "indices"}
        What it is called with: two items, two lists of items, or the numbers of two items.

    Examples
    --------
    >>> from hinge import SVC
    >>> from hinge.kernels import Function
    >>> def shared(a, b):
    ...     return len(set(a) & set(b))
    >>> words = ["spam", "maps", "ham", "eggs"]
    >>> SVC(kernel=Function(shared, on="pairs"), C=10.0).fit(words, [1, 1, 0, 0]).predict(["amps"])
    array([1])
    """

    function: Callable[[Any, Any], Any]
    on: str = "pairs"

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"kernel must be a name or a callable, got {self.function!r}.")
        if not isinstance(self.on, str) or self.on not in ("pairs", "blocks", "indices"):
            raise ValueError(f"A callable kernel works on 'pairs', 'blocks' or 'indices', not {self.on!r}.")
