"""Kernels: settings only, evaluated in array-API code, so NumPy here and torch on a GPU.

A kernel of inner products says how a block of them becomes kernel values (`of_dots`), which is all that
the counted access in `hinge.access` needs; `Laplacian` needs the points themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hinge.kernels.exponential import gaussian_of_dots


def namespace(A: Any) -> Any:
    """The module whose functions work on `A`: NumPy, or torch where `A` is one of its tensors."""
    return np if isinstance(A, np.ndarray | np.generic) else __import__(type(A).__module__.split(".")[0])


@dataclass(frozen=True)
class Kernel:
    """A positive semidefinite function K(x, z), or one that hopes to be."""

    shifts: ClassVar[bool] = False
    """Whether a common shift of all points leaves K unchanged, so that points may be centred."""

    of_dots: ClassVar[Any]

    @property
    def indefinite(self) -> bool:
        """Whether there are points whose Gram matrix has a negative eigenvalue."""
        return False

    def sum_errors(
        self, exactness: "tuple[np.ndarray, float, float, np.ndarray]", i: np.ndarray, size: np.ndarray,
        columns: np.ndarray, sums: np.ndarray,
    ) -> np.ndarray | None:  # fmt: skip
        """What sums Σ size K(xᵢ, ·) of values that are never negative are off by; None if that is not known.

        Parameters
        ----------
        exactness : tuple
            What `errors` takes.
        i, columns : ndarray
            The points summed over, and those whose sums they are.
        size : ndarray
            Not negative.
        sums : ndarray
            As computed.
        """
        return None

    def __call__(self, X: Any, Z: Any) -> Any:
        """The block K(X, Z) of dense points, by rows of `X`."""
        return self.of_dots(X @ Z.T, (X * X).sum(1), (Z * Z).sum(1))

    def diag(self, sq: Any) -> Any:
        """K(x, x) from the squared norms of the points."""
        dots = namespace(sq).asarray(sq)[:, None] * 1.0
        return self.of_dots(dots, sq, None)[:, 0]


@dataclass(frozen=True)
class Linear(Kernel):
    """:math:`\\langle x, z\\rangle`."""

    def of_dots(self, G: Any, sq_x: Any, sq_z: Any) -> Any:
        """The inner products themselves."""
        return G

    def errors(
        self, norms: np.ndarray, eta: float, unit: float, off: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """|δ⟨x, z⟩| ≤ η‖x‖‖z‖ + what the points are off by."""
        far = norms + off
        return np.stack([norms, off, far]), np.stack([(eta + unit) * norms, far, off])


@dataclass(frozen=True)
class Gaussian(Kernel):
    """:math:`\\exp(-\\gamma\\|x - z\\|^2)`, with :math:`\\gamma = 1/(2\\sigma^2)` in the SBP paper."""

    gamma: float = 1.0
    shifts = True

    def of_dots(self, G: Any, sq_x: Any, sq_z: Any) -> Any:
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

    def errors(
        self, norms: np.ndarray, eta: float, unit: float, off: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The squared distance D is off by δ ≤ 2η(‖x‖² + ‖z‖²), so K by e^{γδ} - 1, and by 1 at most.

        Points that are off by ρ move K by the largest slope of exp(-γs²), √(2γ/e), times the ρ of both.
        """
        one, slope = np.ones(len(norms)), np.sqrt(2.0 * self.gamma / np.e)
        x = np.minimum(2.0 * self.gamma * eta * norms**2, 1.0)
        # e^s - 1 is at most (1 + s)s up to 1, where s is the sum of two x; there 2s is more than 1, the most.
        own = np.minimum((1.0 + min(1.0, 2.0 * float(x.max(initial=0.0)))) * x + slope * off, 1.0)
        return np.stack([own, one]), np.stack([one, own + unit])

    def sum_errors(
        self, exactness: tuple[np.ndarray, float, float, np.ndarray], i: np.ndarray, size: np.ndarray,
        columns: np.ndarray, sums: np.ndarray,
    ) -> np.ndarray | None:  # fmt: skip
        """What values are off by: (e^{γδ} - 1)K, their own rounding, and that of the exponent.

        The last is relative to -K ln K, which is concave: its sum is at most that of equal values K.
        """
        norms, eta, unit, off = exactness
        x = 2.0 * self.gamma * eta * norms**2
        far = 2.0 * float(x.max(initial=0.0))
        total = float(size.sum())
        if not far < 0.25 or total == 0.0:
            return None
        sums = np.clip(sums, 1e-30 * total, total)
        # Relative to the values as they are, which may be that much larger than those that were computed.
        own = ((x[columns] + float(x[i].max())) * (1.0 + far) + unit) / (1.0 - np.expm1(far))
        slope = np.sqrt(2.0 * self.gamma / np.e)
        error = sums * (own + 0.5 * unit * np.log(total / sums))
        return 1.02 * error + slope * (total * off[columns] + float(size @ off[i]))


@dataclass(frozen=True)
class Polynomial(Kernel):
    """:math:`(\\gamma\\langle x, z\\rangle + c_0)^p`."""

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0

    def of_dots(self, G: Any, sq_x: Any, sq_z: Any) -> Any:
        """Kernel values from inner products, in place."""
        G *= self.gamma
        G += self.coef0
        G **= self.degree
        return G

    @property
    def indefinite(self) -> bool:
        """Not where γ and c₀ are not negative: sums and products of kernels are kernels."""
        return self.gamma < 0 or self.coef0 < 0

    def errors(
        self, norms: np.ndarray, eta: float, unit: float, off: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The base s = γ⟨x, z⟩ + c₀ has |s| ≤ a(x)a(z) with a² = γ‖x‖² + c₀; sᵖ is off by p times as much."""
        p, off = float(self.degree), np.where(norms > 0, off / np.maximum(norms, 1e-300), 0.0)
        a = (abs(self.gamma) * norms**2 + abs(self.coef0)) ** (p / 2)
        share = p * (eta + 2.0 * unit + 2.0 * float(off.max(initial=0.0)))
        return a[None], (np.expm1(min(share, 700.0)) + unit) * a[None]


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """:math:`\\tanh(\\gamma\\langle x, z\\rangle + c_0)`, which is not positive for all settings."""

    gamma: float = 1.0
    coef0: float = 0.0

    def of_dots(self, G: Any, sq_x: Any, sq_z: Any) -> Any:
        """Kernel values from inner products, in place."""
        G *= self.gamma
        G += self.coef0
        return namespace(G).tanh(G, out=G)

    indefinite = True

    def errors(
        self, norms: np.ndarray, eta: float, unit: float, off: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """tanh has no slope above 1."""
        far, g = norms + off, abs(self.gamma)
        one = np.ones(len(norms))
        return np.stack([norms, off, far, one]), np.stack(
            [g * eta * norms, g * far, g * off, (2.0 + abs(self.coef0)) * unit * one]
        )


@dataclass(frozen=True)
class Laplacian(Kernel):
    """:math:`\\exp(-\\gamma\\|x - z\\|_1)`."""

    gamma: float = 1.0
    shifts = True

    def __call__(self, X: Any, Z: Any) -> Any:
        """The block K(X, Z), by rows of `X`; sparse NumPy points too."""
        if namespace(X) is np or hasattr(X, "indptr"):
            from sklearn.metrics.pairwise import manhattan_distances

            return np.exp(-self.gamma * manhattan_distances(_short(X), _short(Z)))
        import torch

        return torch.exp(-self.gamma * torch.cdist(X, Z, p=1.0))

    def diag(self, sq: Any) -> Any:
        """One for every point."""
        return namespace(sq).ones_like(sq)

    def errors(
        self, norms: np.ndarray, eta: float, unit: float, off: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sums of absolute differences s are off by ηs, and s exp(-s) is at most 1/e."""
        one = np.ones(len(norms))
        return one[None], (eta + unit) * one[None]


def _short(S: Any) -> Any:
    """Compressed rows with indices of 32 bits, which is what scikit-learn's distances take."""
    if not hasattr(S, "indptr") or S.indices.dtype == np.int32:
        return S
    return type(S)((S.data, S.indices.astype(np.int32), S.indptr.astype(np.int32)), shape=S.shape)


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The Gram matrix is given in place of points."""


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
    """

    function: Callable[[Any, Any], Any]
    on: str = "pairs"

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"kernel must be a name or a callable, got {self.function!r}.")
        if not isinstance(self.on, str) or self.on not in ("pairs", "blocks", "indices"):
            raise ValueError(f"A callable kernel works on 'pairs', 'blocks' or 'indices', not {self.on!r}.")
