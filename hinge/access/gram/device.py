"""Kernel rows on a GPU: the points go there once, and nothing of length n comes back until asked for.

The same interface as `Gram`. No row is kept: there a row costs less to compute again than to find in a cache, and
nothing of size n x n is ever stored. Needs torch.
"""

import contextlib
import copy
import importlib.util
import threading
import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse as sp

from hinge.access.arrays import count_copy, is_tensor, to_host
from hinge.access.gram.base import FEATURES, BaseGram, KernelSums
from hinge.access.gram.inner_points import ROUNDINGS, VALUE_ROUNDINGS
from hinge.kernels import Function, Gaussian, Kernel, Precomputed
from hinge.types import Stored

if TYPE_CHECKING:  # imported by `import_torch` when a device is asked for
    import torch

DIGIT = 256
LARGEST = DIGIT**2
"""Whole numbers up to DIGIT have no more digits than bf16; those up to LARGEST are made of two such."""

TILE_BYTES = 1 << 28
"""A tile of kernel values is at most this large, or an eighth of the free memory if that is less."""

TILE_ROWS = 1 << 14
"""Rows whose kernel values with a working set are computed together."""


def import_torch(device: str) -> Any:
    """torch, or a sentence that says what is missing."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f'device="{device}" needs torch, which is not installed: pip install torch, or use device="cpu".'
        ) from error
    if str(device).startswith("cuda") and not torch.cuda.is_available():
        raise RuntimeError(f'device="{device}" was asked for, but torch finds no GPU here; use device="cpu".')
    return torch


_FLAG = threading.RLock()


@contextlib.contextmanager
def tf32(torch: ModuleType, allowed: bool) -> Iterator[None]:
    """Let float32 products use tf32 or not, whatever the process has set; the flag is one for all threads."""
    flags = torch.backends.cuda.matmul
    with _FLAG:
        before, flags.allow_tf32 = flags.allow_tf32, allowed
        try:
            yield
        finally:
            flags.allow_tf32 = before


class DeviceGram(BaseGram["torch.Tensor"]):
    """The Gram matrix of points that lie on a device.

    Parameters
    ----------
    X : array, CSR matrix or tensor
        Copied to the device as it is (bytes stay bytes on the way), and to float32 there; a tensor that lies there is
        not copied first.
    kernel : Kernel
    device : str
        A torch device.
    precision : {"float64", "float32", "tf32", "bf16"}
        Of the products, which are summed in float32 but for the first. tf32 keeps 10 bits of each factor,
        bf16 7: exact for whole numbers up to 2048 and 256, such as pixels, else a relative error of the inner
        products of about 5e-4 and 4e-3.
    split : bool
        Whether whole numbers are taken apart for products in "float32": x = 256h + l, both of which bf16 holds, so that
        one product of bf16 numbers is the product of x, with four columns in place of one. Numbers up to 256 need no
        more than one. A quarter of the work of three tf32 products, and as exact.

    Attributes
    ----------
    evals, asked : int
        Kernel values computed so far, which here are all that were asked for.
    at : ndarray, optional
        Which points of the `origin` a part consists of.
    """

    on_device = True

    def __init__(
        self,
        X: "Stored | torch.Tensor",
        kernel: Kernel,
        device: str = "cuda",
        precision: str = "float32",
        split: bool = True,
    ) -> None:
        torch = import_torch(device)
        if isinstance(kernel, Function | Precomputed):
            raise ValueError("A callable or precomputed kernel is evaluated on the host: device='cpu'.")
        if precision not in ("float64", "float32", "tf32", "bf16"):
            raise ValueError(f"precision is 'float64', 'float32', 'tf32' or 'bf16', not {precision!r}.")
        self.xp, self.device, self.kernel, self.precision = torch, torch.device(device), kernel, precision
        self.n = X.shape[0]
        self.dtype = np.dtype(np.float64 if precision == "float64" else np.float32)
        self.xp_type = torch.float64 if precision == "float64" else torch.float32
        self.evals = self.asked = 0
        self._finer: DeviceGram | None = None
        self._pinned: Any = None
        self._sent: dict[int, tuple[np.ndarray, Any]] = {}
        self._origin: DeviceGram | None = None
        self.at: np.ndarray | None = None
        self._given = points = self._send(X)
        self._centre = None
        # Far from 0 the products would cancel; products of whole numbers are exact.
        if kernel.shifts and points.is_floating_point():
            self._centre = points.mean(0, dtype=torch.float64).to(self.xp_type)
        self._large: Any = None  # which columns are split, and how many
        self._n_large = 0
        if split and precision == "float32" and self._fused:
            self._take_apart(points)
        self._points, self._sq = self._prepared(points)
        self.columns = self.position = np.arange(self.n)

    def _send(self, X: "Stored | torch.Tensor") -> "torch.Tensor":
        torch = self.xp
        if isinstance(X, torch.Tensor):
            return X.to(self.device).contiguous()  # as the fused code reads rows
        if sp.issparse(X):
            S = cast(sp.csr_array, X)
            parts = [S[lo : lo + 65536].toarray() for lo in range(0, X.shape[0], 65536)]
            return torch.cat([torch.from_numpy(part).to(self.device) for part in parts])
        X = np.ascontiguousarray(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns of read-only arrays, but we do not write to it
            tensor = torch.from_numpy(X.view(np.uint8) if X.dtype == bool else X)
        return tensor.to(self.device)

    def _take_apart(self, points: "torch.Tensor") -> None:
        """See which columns are to be split; none, where a number is not whole or too large."""
        centre = None if self._centre is None else self._centre.round()
        shifted = points.to(self.xp_type) if centre is None else points.to(self.xp_type) - centre
        size = shifted.abs().amax(0)
        whole = not points.is_floating_point() or bool((shifted == shifted.round()).all())
        if whole and bool((size <= LARGEST).all()):
            self._centre, self._large = centre, size > DIGIT
            self._n_large = int(self._large.sum())

    def _prepared(self, points: "torch.Tensor") -> "tuple[torch.Tensor, torch.Tensor]":
        """Points centred and in the type of the products, and their squared norms."""
        torch = self.xp
        points = points.to(self.xp_type)
        if self._centre is not None:
            points = points - self._centre
        sq = torch.cat([(part.to(torch.float64) ** 2).sum(1) for part in points.split(1 << 16)]).to(self.xp_type)
        if self._large is not None:
            high = (points[:, self._large] / DIGIT).round() * DIGIT
            low = points[:, self._large] - high
            points = torch.cat([high, high, low, low, points[:, ~self._large]], 1)
        spare = -points.shape[1] % FEATURES
        if spare and self._fused:  # pad with zeros, so that every row is aligned for vector loads
            points = torch.nn.functional.pad(points, (0, spare))
        return (points.to(torch.bfloat16) if self._product == "bf16" else points), sq

    @property
    def _product(self) -> str:
        """What is multiplied."""
        return self.precision if self._large is None else "bf16"

    def _factors(self, i: "torch.Tensor") -> "torch.Tensor":
        """Points as second factors: of those taken apart, high parts meet low ones and the other way round."""
        points, k = self._points[i], self._n_large
        if not k:
            return points
        same, high, low, rest = points.split((k, k, k, points.shape[-1] - 3 * k), -1)
        return self.xp.cat([same, low, high, rest], -1)

    # --- arrays ---------------------------------------------------------------------------

    def array(self, a: "np.ndarray | torch.Tensor") -> "torch.Tensor":
        """An array of NumPy's on the device."""
        if isinstance(a, self.xp.Tensor):
            return a
        return self.xp.from_numpy(np.array(a)).to(self.device)

    def constant(self, a: np.ndarray) -> "torch.Tensor":
        """An array that is never written, sent to the device once."""
        if id(a) not in self._sent:
            self._sent[id(a)] = a, self.array(a)
        return self._sent[id(a)][1]

    def host(self, a: "np.ndarray | torch.Tensor") -> np.ndarray:
        """An array of the device as one of NumPy's."""
        return to_host(a) if isinstance(a, self.xp.Tensor) else np.asarray(a)

    def pinned(self, shape: Sequence[int]) -> "torch.Tensor":
        """Memory of the host that copies from the device go to directly; used again at the next call."""
        size = int(np.prod(shape))
        if self._pinned is None or len(self._pinned) < size:
            self._pinned = self.xp.empty(size, dtype=self.xp.float32, pin_memory=True)
        return self._pinned[:size].reshape(tuple(shape))

    # --- what solvers use -----------------------------------------------------------------

    @cached_property
    def diag(self) -> np.ndarray:
        """K(x, x) of every point."""
        return self.host(self.kernel.diag(self._sq.clone())).astype(np.float64)

    @property
    def indefinite(self) -> bool:
        """Whether the kernel is known not to be positive semidefinite in general."""
        return self.kernel.indefinite

    def error(self, size: np.ndarray, terms: float) -> np.ndarray:
        """A bound on the error of sums, as `Gram.error`; below float64 nothing is known of the chip."""
        if self.precision != "float64":
            return np.full(self.n, 1e290)  # so that responses are computed again, in float64
        unit, own = float(np.finfo(np.float64).eps) / 2, self.norms
        eta = (self._points.shape[1] + ROUNDINGS) * unit
        norms = np.sqrt(self.host(self._sq))
        A, B = self.kernel.errors(norms, eta, VALUE_ROUNDINGS * unit, np.zeros(self.n))
        return (B @ size) @ A + ((terms + self.n) * unit * float(own @ size)) * own

    @property
    def finer(self) -> "DeviceGram | None":
        """The same points in float64, made of those that were sent when they are asked for first."""
        if self._finer is None and self.precision != "float64":
            self._finer = DeviceGram(self._given, self.kernel, str(self.device), "float64")
        return self._finer

    def sharper(self) -> Iterator[KernelSums]:
        """This Gram in float64, or the one that is."""
        level = self if self.precision == "float64" else self.finer
        if level is not None:
            yield level

    @property
    def capacity(self) -> int:
        """Number of rows that one call of `rows` can compute."""
        return max(1, self.free() // 8 // (4 * self.n))

    @property
    def largest_block(self) -> int:  # type: ignore[override]
        """Points whose values among themselves are solved for on the host."""
        return min(self.capacity, 2048)

    def part(self, i: np.ndarray) -> "DeviceGram":
        """The Gram matrix of some of the points, which are copied when they are first used."""
        part = copy.copy(self)
        for name in ("_points", "_sq", "_given", "diag"):
            part.__dict__.pop(name, None)
        part.n, part.evals, part.asked, part._sent, part._finer = len(i), 0, 0, {}, None
        part._origin, part.at = self.origin, np.asarray(i) if self.at is None else self.at[i]
        part.columns = part.position = np.arange(part.n)
        part.part_of = part.at, self.origin.n
        return part

    @property
    def origin(self) -> "DeviceGram":
        """That of which this is a part; itself, if it is none."""
        return self if self._origin is None else self._origin

    def _rows_of_origin(self, name: str) -> "torch.Tensor":
        assert self._origin is not None and self.at is not None
        taken: torch.Tensor = getattr(self._origin, name)[self.array(self.at)]
        return taken

    _points = cached_property(lambda self: self._rows_of_origin("_points"))
    _sq = cached_property(lambda self: self._rows_of_origin("_sq"))
    _given = cached_property(lambda self: self._rows_of_origin("_given"))

    def among(self, i: "torch.Tensor") -> "torch.Tensor":
        """The kernel values of these points among themselves, on the device; of several sets, a line of `i` each."""
        self._count(i.shape[-1] * i.numel())
        if i.dim() > 1 and not self._fused:
            return self.xp.stack([self._values(self._factors(j), self._sq[j], self._points[j], self._sq[j]) for j in i])
        return self._values(self._factors(i), self._sq[i], self._points[i], self._sq[i])

    def sums(self, rows: "torch.Tensor", i: "torch.Tensor", coef: "torch.Tensor") -> "torch.Tensor":
        """``coef[q] @ K[i[q], rows[q]]`` for every q, in float64."""
        self._count(rows.shape[1] * i.numel())
        if self._fused:
            return self._fused_sum(self._points, self._sq, i, coef, rows).to(self.xp.float64)
        out = self.xp.empty(rows.shape, device=self.device, dtype=self.xp_type)
        for own, j, c, to in zip(rows, i, coef.to(self.xp_type), out, strict=True):
            mine, sq = self._factors(j), self._sq[j]
            for some, part in zip(own.split(TILE_ROWS), to.split(TILE_ROWS), strict=True):
                part.copy_(c @ self._values(mine, sq, self._points[some], self._sq[some]))
        return out.to(self.xp.float64)

    def rows(self, i: np.ndarray) -> "DeviceRows":
        """The rows of points `i`, on the device."""
        return DeviceRows(self, self.array(i))

    def values(self, rows: "np.ndarray | torch.Tensor", columns: "np.ndarray | torch.Tensor") -> "torch.Tensor":
        """K[rows, columns], on the device."""
        self._count(len(rows) * len(columns))
        i, j = self.array(rows), self.array(columns)
        return self._values(self._factors(i), self._sq[i], self._points[j], self._sq[j])

    def combine(self, i: "np.ndarray | torch.Tensor", coef: "np.ndarray | torch.Tensor") -> "torch.Tensor":
        """``coef @ K[i]`` in float64, each tile dropped after use."""
        i = self.array(i)
        coef = self.array(coef).to(self.xp_type)
        if self._fused:
            self._count(len(i) * self.n)
            return self._fused_sum(self._points, self._sq, i, coef).to(self.xp.float64)
        out = self.xp.empty(self.n, device=self.device, dtype=self.xp_type)
        for columns, tile in self._tiles(i):
            out[columns] = coef @ tile
        return out.to(self.xp.float64)

    def pass_over(
        self, i: "np.ndarray | torch.Tensor", coef: "np.ndarray | torch.Tensor", columns: "np.ndarray | torch.Tensor"
    ) -> "torch.Tensor":
        """``coef @ K[i, columns]``."""
        i, coef = self.array(i), self.array(coef)
        out = self.xp.zeros(self.n, device=self.device, dtype=self.xp.float64)
        for lo in range(0, len(i), 4096):
            out += self.combine(i[lo : lo + 4096], coef[lo : lo + 4096])
        return out[self.array(columns)]

    def again(self, i: np.ndarray, coef: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``coef @ K[i, columns]`` by tiles of these columns alone, and a bound on the error of each."""
        self._count(len(i) * len(columns))
        torch, places, wanted = self.xp, self.array(i), self.array(columns)
        out, weights = torch.zeros(len(columns), dtype=self.xp_type, device=self.device), self.array(coef)
        rows = max(1, min(TILE_BYTES, self.free() // 8) // (8 * TILE_ROWS))
        for some, part in zip(wanted.split(rows), out.split(rows), strict=True):
            mine, sq = self._factors(some), self._sq[some]
            for at, weight in zip(places.split(TILE_ROWS), weights.to(self.xp_type).split(TILE_ROWS), strict=True):
                part += self._weighted(mine, sq, self._points[at], self._sq[at], weight)
        size = np.bincount(i, np.abs(coef), self.n).astype(np.float64, copy=False)
        return self.host(out), self.error(size, len(i) + 1)[columns]

    def _weighted(
        self,
        mine: "torch.Tensor",
        sq: "torch.Tensor",
        others: "torch.Tensor",
        sq_others: "torch.Tensor",
        weight: "torch.Tensor",
    ) -> "torch.Tensor":
        """A tile of kernel values times weights; of the Gaussian kernel, in one pass over the inner products."""
        if self.precision == "float64" and self._gaussian_there:
            from hinge.access.gram.fused import gaussian_weighted

            return gaussian_weighted(mine @ others.T, sq, sq_others, weight, self.kernel.gamma)  # type: ignore[attr-defined]
        return self._values(mine, sq, others, sq_others) @ weight

    @property
    def _fused(self) -> bool:
        """Whether one pass on the chip can do products, exponentials and sums."""
        return self.precision != "float64" and self._gaussian_there

    @property
    def _gaussian_there(self) -> bool:
        """Whether there is code for this kernel on the chip."""
        if self.device.type != "cuda" or not isinstance(self.kernel, Gaussian):
            return False
        return importlib.util.find_spec("triton") is not None

    def _fused_sum(
        self,
        x: "torch.Tensor",
        sq: "torch.Tensor",
        i: "torch.Tensor",
        coef: "torch.Tensor",
        rows: "torch.Tensor | None" = None,
    ) -> "torch.Tensor":
        from hinge.access.gram.fused import gaussian_combine

        gamma = self.kernel.gamma  # type: ignore[attr-defined]
        return gaussian_combine(x, sq, self._factors(i), self._sq[i], coef, gamma, self._product, rows)

    # --- tiles ----------------------------------------------------------------------------

    def free(self) -> int:
        """Bytes of the device's memory that nobody uses."""
        if self.device.type != "cuda":
            return 1 << 33
        cuda = self.xp.cuda
        left = int(cuda.mem_get_info(self.device)[0])
        if left < 64 * TILE_BYTES:  # what torch keeps for later is free as well, and expensive to ask for
            left += int(cuda.memory_reserved(self.device) - cuda.memory_allocated(self.device))
        return left

    def _count(self, values: int) -> None:
        self.evals += values
        self.asked += values

    def _tile_columns(self, rows: int) -> int:
        return max(1024, min(TILE_BYTES, self.free() // 8) // (4 * max(1, rows)))

    def _tiles(self, i: "torch.Tensor") -> "Iterator[tuple[slice, torch.Tensor]]":
        """Tiles of K[i], in pieces that are halved where the device's memory does not hold them."""
        self._count(len(i) * self.n)
        lo, step = 0, min(self.n, self._tile_columns(len(i)))
        mine, sq = self._factors(i), self._sq[i]
        while lo < self.n:
            columns = slice(lo, min(lo + step, self.n))
            try:
                tile = self._values(mine, sq, self._points[columns], self._sq[columns])
            except self.xp.cuda.OutOfMemoryError:
                if step <= 1024:
                    raise MemoryError(
                        f"The GPU's memory does not hold {len(i)} x {step} kernel values beside the data; "
                        "use smaller batches, or device='cpu'."
                    ) from None
                step //= 2
                self.xp.cuda.empty_cache()
                warnings.warn(f"GPU memory is short: tiles of {step} columns.", RuntimeWarning, stacklevel=4)
                continue
            yield columns, tile
            lo = columns.stop

    def _values(
        self, mine: "torch.Tensor", sq: "torch.Tensor", others: "torch.Tensor", sq_others: "torch.Tensor"
    ) -> "torch.Tensor":
        torch = self.xp
        if self.kernel.needs_points:
            return self.kernel(mine.to(self.xp_type), others.to(self.xp_type))
        if self._fused:
            from hinge.access.gram.fused import gaussian_values

            gamma = self.kernel.gamma  # type: ignore[attr-defined]
            return gaussian_values(mine, sq, others, sq_others, gamma, self._product)
        with self._products():
            if self.precision == "bf16" and self.device.type == "cuda":
                G = torch.mm(mine, others.T, out_dtype=torch.float32)
            else:
                G = mine.to(self.xp_type) @ others.to(self.xp_type).T
        return self.kernel.of_dots(G, sq, sq_others)

    def _products(self) -> "contextlib.AbstractContextManager[None]":
        return tf32(self.xp, self.precision == "tf32")


class DeviceRows:
    """Some rows of a `DeviceGram`, kept while this object is."""

    def __init__(self, gram: DeviceGram, i: "torch.Tensor") -> None:
        self.gram, self.i = gram, i
        tiles = [tile for _, tile in gram._tiles(i)]
        self.values = tiles[0] if len(tiles) == 1 else gram.xp.cat(tiles, 1)

    def in_place(self) -> None:
        """Nowhere that the host can reach."""

    def block(self) -> np.ndarray:
        """The kernel values of these points among themselves, on the host."""
        block = self.values[:, self.i]
        if block.device.type != "cuda":
            return self.gram.host(block)
        # Copying to pinned memory is several times as fast; setting it up pays off for blocks of this size.
        pinned = self.gram.pinned(block.shape)
        pinned.copy_(block)
        count_copy(block)
        return pinned.numpy()

    def combine(self, coef: "np.ndarray | torch.Tensor") -> "torch.Tensor":
        """``coef @ rows``."""
        return (self.gram.array(coef).to(self.gram.xp_type) @ self.values).to(self.gram.xp.float64)


def kernel_sums_on(
    device: str,
    X: "Stored | torch.Tensor",
    vectors: "Stored | torch.Tensor",
    coef: np.ndarray,
    kernel: Kernel,
    precision: str = "float32",
) -> Any:
    """``K(X, vectors) @ coef.T`` on a device, tile by tile, in float64; a tensor where X is one."""
    gram = DeviceGram(vectors, kernel, device, precision, split=False)  # other points may have larger numbers
    weights = gram.array(np.ascontiguousarray(np.atleast_2d(coef), np.float32))
    step = max(256, min(TILE_BYTES, gram.free() // 8) // (4 * max(1, gram.n)))
    step = 1 << 16 if gram._fused else step
    parts = []
    for lo in range(0, X.shape[0], step):
        some = gram._prepared(gram._send(X[lo : lo + step]))
        if gram._fused:
            every = gram.array(np.arange(gram.n))
            sums = gram.xp.stack([gram._fused_sum(*some, every, row) for row in weights], 1)
        else:
            with gram._products():
                sums = gram._values(*some, gram._points, gram._sq) @ weights.T
        parts.append(sums)
    found = gram.xp.cat(parts).to(gram.xp.float64)
    return found if is_tensor(X) else gram.host(found)
