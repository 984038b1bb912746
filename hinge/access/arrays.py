"""Arrays of other libraries: torch, CuPy, and what has the array API; where they lie, and what comes to the host.

All that leaves a device for the host goes through `to_host`, where it is counted.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard, cast

import numpy as np

from hinge.types import Array

if TYPE_CHECKING:  # an optional package, and slow to import
    import torch


class Home(NamedTuple):
    """A library by its name, and the device on which an array of it lies; of CuPy, the device's number.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.access.arrays import home_of
    >>> home_of(np.zeros(3)) is None
    True
    """

    library: str
    device: Any

    @property
    def torch_device(self) -> str | None:
        """The device by torch's name, where torch can use its arrays without a copy; else None."""
        if self.library == "cupy":
            return f"cuda:{self.device}"
        return str(self.device) if self.library == "torch" and self.device.type in ("cpu", "cuda") else None

    @property
    def on_gpu(self) -> bool:
        """Whether NumPy cannot reach its arrays."""
        return self.library == "cupy" or (self.library == "torch" and self.device.type != "cpu")

    def array(self, a: "np.ndarray | torch.Tensor") -> Any:
        """An array of NumPy's, or a tensor, as one of this library on this device; text stays NumPy's."""
        if isinstance(a, np.ndarray) and a.dtype.kind not in "biuf":
            return a
        xp = importlib.import_module(self.library)
        if self.library == "cupy":
            with xp.cuda.Device(self.device):
                return xp.asarray(a) if isinstance(a, np.ndarray) else xp.from_dlpack(a)
        if self.library != "torch":
            return xp.asarray(on_host(a), device=self.device)
        if isinstance(a, np.ndarray):
            a = a if a.flags.writeable and min(a.strides, default=0) >= 0 else a.copy()
        single = self.device.type == "mps" and str(a.dtype).endswith("float64")  # which has no such numbers
        return xp.as_tensor(a, dtype=xp.float32 if single else None, device=self.device)

    def __str__(self) -> str:
        return f"{self.library} on {self.device}"


def home_of(a: object) -> Home | None:
    """Where an array of another library lies; None for one of NumPy's and for what is no array."""
    if a is None or isinstance(a, np.ndarray | np.generic | list | tuple | str):
        return None
    if is_tensor(a):
        return Home("torch", a.device)
    if type(a).__module__.partition(".")[0] == "cupy" and hasattr(a, "__cuda_array_interface__"):
        return Home("cupy", int(cast(Any, a).device.id))
    if hasattr(type(a), "__array_namespace__") and hasattr(a, "device"):
        return Home(cast(Any, a).__array_namespace__().__name__, a.device)
    return None


def is_tensor(a: object) -> "TypeGuard[torch.Tensor]":
    """Whether `a` is a tensor of torch, which nothing imports to ask this."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(a, getattr(torch, "Tensor", ()))


def as_tensor(a: object) -> "torch.Tensor":
    """An array that lies where torch computes as a tensor, without a copy."""
    if not is_tensor(a):
        import torch

        return torch.from_dlpack(a)
    if a.layout != sys.modules["torch"].strided:
        raise ValueError(f"X is a sparse tensor, {a.layout}: give a dense one, X.to_dense(), or a SciPy matrix.")
    return a.detach()


def on_host(a: object) -> Any:
    """An array of any library as one of NumPy's, which shares its memory where it can; what is none, as it is."""
    home = home_of(a)
    if home is None:
        return a
    if is_tensor(a):
        a = as_tensor(a)
        a = a.float() if str(a.dtype) == "torch.bfloat16" else a  # NumPy has no such numbers
        return a.numpy() if a.device.type == "cpu" else to_host(a)
    if home.on_gpu:
        return to_host(as_tensor(a))
    try:
        return np.asarray(a)
    except (RuntimeError, TypeError, ValueError):  # not on the library's first device, as array_api_strict has two
        there = cast(Any, a)
        return np.asarray(there.to_device(there.__array_namespace__().__array_namespace_info__().default_device()))


class Copies:
    """What came to the host.

    Attributes
    ----------
    bytes : int
        In all.
    largest : int
        Bytes of the largest array.
    """

    bytes = largest = 0


_COUNTS: list[Copies] = []


def to_host(a: "torch.Tensor") -> np.ndarray:
    """A tensor as an array of NumPy's, counted; on the CPU without a copy, but counted as if there was one."""
    count_copy(a)
    copied: np.ndarray = a.cpu().numpy()
    return copied


def count_copy(a: "torch.Tensor") -> None:
    """Count a tensor that comes to the host."""
    for count in _COUNTS:
        size = a.numel() * a.element_size()
        count.bytes, count.largest = count.bytes + size, max(count.largest, size)


@contextmanager
def copies_to_host() -> Iterator[Copies]:
    """Count what comes to the host meanwhile: all arrays, but not single numbers that steer a loop.

    Examples
    --------
    >>> from hinge.access.arrays import copies_to_host
    >>> with copies_to_host() as copies:
    ...     pass
    >>> copies.bytes
    0
    """
    count = Copies()
    _COUNTS.append(count)
    try:
        yield count
    finally:
        _COUNTS.remove(count)


# --- code that is written once for NumPy and for torch --------------------------------------


def like(a: np.ndarray, other: Array) -> Array:
    """An array of NumPy's where another one lies."""
    if isinstance(other, np.ndarray):
        return a
    return Home("torch", other.device).array(np.ascontiguousarray(a))


def zeros(shape: tuple[int, ...], other: Array) -> Array:
    """Zeros in float64 where another array lies."""
    if isinstance(other, np.ndarray):
        return np.zeros(shape)
    return other.new_zeros(shape, dtype=sys.modules["torch"].float64)


def doubled(a: Array) -> Array:
    """The same array in float64, copied only where it is not."""
    return a.astype(np.float64, copy=False) if isinstance(a, np.ndarray) else a.double()
