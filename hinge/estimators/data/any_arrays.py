"""Methods that take arrays of other libraries, and return results of the same kind.

A method works on a *host model*: a shallow copy of the estimator with attributes of NumPy's. The rows are given to it
as NumPy sees them, or as a tensor, where they lie on a device that can compute the method. What it learns is then set
on the estimator itself: as arrays of the library that the rows are of, if scikit-learn's ``array_api_dispatch`` asks
for that, and if NumPy cannot reach the rows.
"""

import copy
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import BaseEstimator

from hinge.access.arrays import Home, as_tensor, home_of, is_tensor, like, on_host, to_host
from hinge.access.gram.device import import_torch
from hinge.estimators.fitting.parameters import on_a_device
from hinge.types import Array, Items

F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M", bound=BaseEstimator)

KEPT = "_kept_arrays"


class ForeignArrays(NamedTuple):
    """Attributes of a model that are arrays of another library.

    Attributes
    ----------
    home : Home
        Of the rows of the fit.
    shown : dict
        The attributes as they are.
    held : dict
        The same as NumPy's arrays, and as tensors where they have not left their device.
    """

    home: Home
    shown: dict[str, Any]
    held: dict[str, Any]


def any_arrays(*, stays: bool = False) -> Callable[[F], F]:
    """Let a method take arrays of other libraries; with `stays`, rows on a device remain there where it can compute."""

    def decorated(method: F) -> F:
        @wraps(method)
        def called(self: BaseEstimator, *args: object, **options: object) -> object:
            if KEPT not in self.__dict__ and all(home_of(a) is None for a in (*args, *options.values())):
                return method(self, *args, **options)
            return _called(method, stays, self, args, options)

        return cast(F, called)

    return decorated


def host_model(model: M, *, tensors: bool = False) -> M:
    """The model with attributes of NumPy's: itself, or a shallow copy; with `tensors`, some may be on their device."""
    kept: ForeignArrays | None = vars(model).get(KEPT)
    if kept is None:
        return model
    made = copy.copy(model)
    for name, value in vars(model).items():
        if name in kept.shown and value is kept.shown[name]:  # a user may have set another one
            value = kept.held[name] if tensors else on_host(kept.held[name])
        vars(made)[name] = on_host(value) if name in kept.shown and not is_tensor(value) else value
    del vars(made)[KEPT]
    return made


class ScoreOfArrays:
    """`score` for arrays of other libraries: the labels are compared on the host."""

    def score(self, X: Items, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The mean accuracy of a classifier, or R² of a regression, as in scikit-learn.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence
        y : array-like of shape (n_samples,)
            Labels or targets.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        if KEPT not in self.__dict__ and all(home_of(a) is None for a in (X, y, sample_weight)):
            plain: float = super().score(X, y, sample_weight)  # type: ignore[misc]
            return plain
        predicted = on_host(self.predict(X))  # type: ignore[attr-defined]
        given = SimpleNamespace(predict=lambda _: predicted)
        found: float = super(ScoreOfArrays, type(self)).score(given, X, on_host(y), on_host(sample_weight))  # type: ignore[misc]
        return found


def brought(model: BaseEstimator, X: Items) -> Items:
    """The rows of a search, on the host; the model computes on the device where they lay, if it can."""
    home = home_of(X)
    there = None if home is None else _computes_on(model, home)
    if there is not None and model._can_stay_on_device("fit"):
        model.device = there
    return cast(Items, on_host(X))


def labels_at(classes: np.ndarray, codes: Array) -> Any:
    """The labels that codes stand for: where the codes are, if labels are numbers."""
    if isinstance(codes, np.ndarray):
        return classes[codes]
    return like(classes, codes)[codes] if classes.dtype.kind in "bif" else classes[to_host(codes)]


def _called(
    method: Callable[..., Any], stays: bool, model: BaseEstimator, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """The method on a host model; what it learned is set on the model."""
    name, rows = method.__name__, args[0] if args else options.get("X")
    home, kept = home_of(rows), vars(model).get(KEPT)
    learns, asked = name in ("fit", "partial_fit"), bool(get_config().get("array_api_dispatch"))
    if kept is not None and not learns and asked and rows is not None and home != kept.home:
        raise ValueError(
            f"Inputs passed to {type(model).__name__}.{name}() must use the same namespace and the same device as "
            f"those passed to fit(): the rows of the fit were of {kept.home}, and these are of {home or 'NumPy'}."
        )
    there = None if home is None else _computes_on(model, home)
    there = there if stays and model._can_stay_on_device(name) else None
    host = host_model(model, tensors=there is not None)
    host = copy.copy(model) if host is model else host
    given = on_host(rows) if there is None else as_tensor(rows)
    if there is not None:
        host.device = there
    before = vars(host).copy()
    args = tuple(given if a is rows else on_host(a) for a in args)
    options = {key: given if a is rows else on_host(a) for key, a in options.items()}
    with import_torch("cuda").cuda.device(there) if str(there).startswith("cuda") else nullcontext():
        result = method(host, *args, **options)
    foreign = home if home is not None and (asked or home.on_gpu) else None
    after = {key: value for key, value in vars(host).items() if key != "device"}
    device = {"device": vars(model)["device"]} if "device" in vars(model) else {}
    if learns:
        kept = None if foreign is None else ForeignArrays(foreign, {}, {})
        model.__dict__ = device | _shown(after, kept)
    else:
        for key in before.keys() - vars(host).keys():
            del vars(model)[key]
        vars(model).update(_shown({key: value for key, value in after.items() if before.get(key) is not value}, kept))
    if result is host:
        return model
    if isinstance(result, BaseEstimator):  # a model made of this one
        found = {key: value for key, value in vars(result).items() if key != "device"}
        result.__dict__ = device | _shown(found, kept and ForeignArrays(kept.home, {}, {}))
        return result
    if type(result) is tuple:
        return tuple(_returned(part, foreign) for part in result)
    return _returned(result, foreign)


def _shown(attributes: dict[str, Any], kept: ForeignArrays | None) -> dict[str, Any]:
    """Attributes of a model, arrays among them as those of the library that is kept; labels stay NumPy's."""
    if kept is None:
        return {name: on_host(value) for name, value in attributes.items()}
    shown = dict(attributes)
    for name, value in attributes.items():
        if (is_tensor(value) or isinstance(value, np.ndarray)) and name != "classes_":
            shown[name] = kept.home.array(value)
            kept.held[name], kept.shown[name] = value, shown[name]
    return shown | {KEPT: kept}


def _returned(result: object, home: Home | None) -> Any:
    if home is not None and (is_tensor(result) or isinstance(result, np.ndarray)):
        return home.array(result)
    return on_host(result)


def _computes_on(model: BaseEstimator, home: Home) -> str | None:
    """The device that computes where the rows lie; None if they go to the host; raises if another was asked for."""
    lies, asked = home.torch_device, getattr(model, "device", None)
    if home.on_gpu and lies is not None and asked is not None:
        kind, _, number = str(asked).partition(":")
        if kind != "cuda":
            raise ValueError(
                f"X lies on {lies}, and device={asked!r} was asked for: give X on the host, X.cpu() or X.get(), or "
                "leave device out, so that the rows are used where they are."
            )
        if number and lies.partition(":")[2] != number:
            raise ValueError(
                f"X lies on {lies}, and device={asked!r} was asked for: give X there, X.to({asked!r}), or leave device "
                "out, so that the rows are used where they are."
            )
    if home.on_gpu:
        return lies
    # A CPU tensor is an array of NumPy's, unless torch computes on the CPU.
    return str(asked) if lies == "cpu" and on_a_device(asked) and str(asked).startswith("cpu") else None
