"""Machines on rows that lie on many machines: `LinearSVC`, `LinearSVR` and `SVC` for Dask, certified.

Names are imported when they are first used. They need dask and distributed: ``pip install hinge[dask]``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_WHERE = {"LinearSVC": "hinge.dask.linear", "LinearSVR": "hinge.dask.linear", "SVC": "hinge.dask.svc"}
"""Their modules, which call them `DaskLinearSVC` and so on: there the local machines have these names."""

__all__ = ["SVC", "LinearSVC", "LinearSVR"]

if TYPE_CHECKING:
    from hinge.dask.linear import DaskLinearSVC as LinearSVC
    from hinge.dask.linear import DaskLinearSVR as LinearSVR
    from hinge.dask.svc import DaskSVC as SVC


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import_module("distributed")  # which needs dask
    except ModuleNotFoundError as error:
        raise ImportError(f"hinge.dask needs dask and distributed: pip install 'hinge[dask]' ({error}).") from error
    return getattr(import_module(_WHERE[name]), f"Dask{name}")


def __dir__() -> list[str]:
    return sorted(__all__)
