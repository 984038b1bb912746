"""Which estimator the options of ``hinge train`` ask for."""

from __future__ import annotations

import json
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from sklearn.base import BaseEstimator

    from hinge.files.machines import Machine

ModelName = Enum(
    "ModelName",
    {
        "linearsvc": "linearsvc",
        "svc": "svc",
        "nusvc": "nusvc",
        "linearsvr": "linearsvr",
        "svr": "svr",
        "nusvr": "nusvr",
        "oneclass": "oneclass",
    },
)
CLASSES = {
    "linearsvc": "LinearSVC",
    "svc": "SVC",
    "nusvc": "NuSVC",
    "linearsvr": "LinearSVR",
    "svr": "SVR",
    "nusvr": "NuSVR",
    "oneclass": "OneClassSVM",
}
REGRESSORS = ("linearsvr", "svr", "nusvr")
OPTIONS = {"fit_intercept": "--no-intercept", "intercept": "--free-intercept", "random_state": "--seed"}
"""Parameters whose options are not called like them."""


def plain_name(solver: str) -> str:
    """The name of a solver, however it is spelled: "Cutting-Plane", "cutting_plane", "cuttingplane"."""
    return solver.lower().replace("-", "").replace("_", "").replace(" ", "")


def machine(name: str, given: dict[str, Any]) -> Any:
    """An estimator with the parameters that were given, and Python's defaults for all others.

    Raises
    ------
    ValueError
        If one of them is not a parameter of the estimator.
    """
    import hinge.estimators as estimators

    cls: Any = getattr(estimators, CLASSES[name])
    takes = set(cls._get_param_names())
    for parameter in given:
        if parameter not in takes:
            others = [
                one for one, other in CLASSES.items() if parameter in getattr(estimators, other)._get_param_names()
            ]
            option = OPTIONS.get(parameter, "--" + parameter.replace("_", "-"))
            raise ValueError(f"{option} is no setting of {name}; it is one of {', '.join(others)}.")
    kept = {"on_interrupt": "keep"} if "on_interrupt" in takes else {}
    return cls(**given, **kept)


def broken_off(estimator: BaseEstimator) -> BaseEstimator:
    """A copy whose fits Ctrl-C breaks off: folds must not go on with the score of a model that was half trained."""
    from sklearn.base import clone

    asked = [name for name in estimator.get_params() if name.rpartition("__")[2] == "on_interrupt"]
    return clone(estimator).set_params(**dict.fromkeys(asked, "raise"))


def check_learned(model: Machine) -> None:
    """Go on with Ctrl-C where it came before anything was learned: no such model replaces one that is there."""
    import numpy as np

    if model.stop_reason_ == "interrupted":
        learned = np.any(model.coef_ != 0) if hasattr(model, "coef_") else len(model.support_) > 0
        if not learned:
            raise KeyboardInterrupt


def implied_loss(given: dict[str, Any]) -> dict[str, Any]:
    """The loss of a LinearSVC where none was given: Python's, or the papers' where only that will do."""
    from hinge.solvers import registry

    if "loss" in given or given.get("multi_class") == "crammer_singer" or given.get("penalty") == "l1":
        return given
    entry = registry.entries("linear", "cells").get(given.get("solver", "auto"))
    if "slack" in given or (entry is not None and not entry.needs and not entry.load().any_loss):
        return {"loss": "hinge", **given}
    return given


def gamma_of(text: str | None) -> float | str | None:
    """The γ of a kernel: a number, "scale" or "auto"."""
    if text is None or text in ("scale", "auto"):
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--gamma is a positive number, scale or auto, not {text!r}.") from None


def class_weight_of(text: str | None, y: np.ndarray | None) -> Any:
    """Weights of classes: "balanced", or JSON such as {"spam": 5}, whose names are those of the labels."""
    import numpy as np

    if text is None or text == "balanced":
        return text
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"--class-weight is balanced, or JSON such as '{{\"spam\": 5}}': {error}.") from error
    if not isinstance(found, dict) or not all(isinstance(value, int | float) for value in found.values()):
        raise ValueError("--class-weight gives a number for each class, such as '{\"spam\": 5}'.")
    classes = {} if y is None else {str(value): value for value in np.unique(y).tolist()}
    unknown = [name for name in found if name not in classes]
    if unknown:
        raise ValueError(f"--class-weight names {unknown[0]!r}, but the classes are {', '.join(classes)}.")
    return {classes[name]: float(value) for name, value in found.items()}
