"""Which estimator the options of ``hinge train`` ask for."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from hinge.cli.options import OF_ENDS, OF_MODEL, FreeIntercept, NoIntercept

if TYPE_CHECKING:
    import numpy as np
    from sklearn.base import BaseEstimator

    from hinge.files.machines import Machine

SOURCES = {
    "linearsvc": ("linear/linear_svc.py", "LinearSVC"),
    "svc": ("kernel/svc.py", "SVC"),
    "nusvc": ("kernel/svc.py", "NuSVC"),
    "linearsvr": ("linear/linear_svr.py", "LinearSVR"),
    "svr": ("kernel/svr.py", "SVR"),
    "nusvr": ("kernel/svr.py", "NuSVR"),
    "oneclass": ("kernel/one_class.py", "OneClassSVM"),
}
"""The file and the class of each estimator that can be trained."""
ESTIMATORS, PARAMETERS = Path(__file__).parents[1] / "estimators", "fitting/parameters.py"
ModelName = Enum("ModelName", {name: name for name in SOURCES})  # type: ignore[misc]

# --- options ------------------------------------------------------------------------------------

NAMES = {
    "fit_intercept": "--no-intercept",
    "intercept": "--free-intercept",
    "n_jobs": "--jobs",
    "random_state": "--seed",
}
"""Options that are not called like their parameters."""
FLAGS: dict[str, tuple[Any, object]] = {"fit_intercept": (NoIntercept, False), "intercept": (FreeIntercept, "free")}
"""Parameters that have a flag for one value."""
PRESETS = {"random_state": 0}
"""Defaults that are not Python's: the same command trains the same model."""
NOT_OPTIONS = {"class_weight", "probability", "on_interrupt", "verbose", "warm_start", "dual", "shrinking"}
"""Parameters that the command has options of its own for, that it sets itself, or that change nothing here."""
ENDS = re.compile("solver|tol|max_|target_|validation_|checkpoint|cache_|device|precision|n_jobs|random_state")
"""Parameters that say how a model is found, and not which."""


def estimator_classes() -> dict[str, Any]:
    """The estimators that can be trained, by the names of the command line."""
    import hinge.estimators as estimators

    return {name: getattr(estimators, of) for name, (_, of) in SOURCES.items()}


def option_of(parameter: str) -> str:
    """The option that sets a parameter of estimators."""
    return NAMES.get(parameter, "--" + parameter.replace("_", "-"))


class Declared(NamedTuple):
    """A parameter as the source of an estimator declares it."""

    type: str
    default: Any
    help: str  # the first sentence of its documentation


def declared(model: str) -> dict[str, Declared]:
    """The parameters of an estimator, by name: parsed, since importing the estimators takes seconds."""
    file, name = SOURCES[model]
    cls = next(node for node in _statements(file) if isinstance(node, ast.ClassDef) and node.name == name)
    shared = _statements(PARAMETERS)
    tables = {node.name: node for node in shared if isinstance(node, ast.ClassDef)}
    named = [node for node in shared if isinstance(node, ast.AnnAssign)]
    aliases = {ast.unparse(node.target): ast.unparse(node.value) for node in named if node.value is not None}
    texts = parameter_help(ast.get_docstring(cls) or "")

    def fields_of(table: ast.ClassDef) -> dict[str, Declared]:
        """The parameters of the class, then of its bases, as `hinge.constraints.declares` finds them."""
        found: dict[str, Declared] = {}
        for node in table.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Call):
                default = (node.value.args or [node.value.keywords[0].value])[0]
                parameter = ast.unparse(node.target)
                kind = re.sub(r"\b[A-Z]\w+", lambda name: aliases.get(name[0], name[0]), ast.unparse(node.annotation))
                found[parameter] = Declared(kind, ast.literal_eval(default), texts.get(parameter, ""))
        for base in filter(tables.get, map(ast.unparse, table.bases)):
            for name, one in fields_of(tables[base]).items():
                found.setdefault(name, one)
        return found

    return fields_of(cls)


def _statements(file: str) -> list[ast.stmt]:
    return ast.parse((ESTIMATORS / file).read_text("utf-8")).body


def settings() -> list[inspect.Parameter]:
    """An option for each parameter of any estimator: its name, type, choices and help come from the estimators."""
    takers: dict[str, dict[str, Declared]] = {}
    for model in SOURCES:
        for name, parameter in declared(model).items():
            takers.setdefault(name, {})[model] = parameter
    found = []
    for name, by_model in takers.items():
        if name in NOT_OPTIONS:
            continue
        default: object = PRESETS.get(name)
        if name in FLAGS:
            default, kind = False, FLAGS[name][0]
        else:
            panel = OF_ENDS if ENDS.match(name) else OF_MODEL
            option, kind = option_of(name), _type_of(name, " | ".join(one.type for one in by_model.values()))
            option += f"/--no-{option[2:]}" if kind is bool else ""
            kind = Annotated[kind | None, typer.Option(option, help=_help_of(name, by_model), rich_help_panel=panel)]
        found.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
    return found


def _type_of(name: str, types: str) -> Any:
    """What is typed after an option: one of some names, a number, a path, or words that `READERS` read."""
    from hinge.kernels import registry

    if name in READERS:
        return str
    names = registry.names() if name == "kernel" else re.findall(r"'(\w+)'", types)
    if names:
        return Enum(name, {one: one for one in names})
    if "PathLike[str]" in types:
        return Path
    return next((kind for kind in (bool, float, int) if re.search(rf"\b{kind.__name__}\b", types)), str)


def _help_of(name: str, by_model: dict[str, Declared]) -> str:
    """The first sentence of a parameter's documentation, the models that have it, and their defaults."""
    known = dict.fromkeys(f"{one.default}" for one in by_model.values() if one.default is not None)
    notes = [] if len(by_model) == len(SOURCES) else [", ".join(by_model)]
    notes += [f"default {' or '.join(known)}"] if known and name not in PRESETS else []
    notes += [UNITS[name]] if name in UNITS else []
    text = next((one.help for one in by_model.values() if one.help), "")
    return f"{text} ({'; '.join(notes)})".strip() if notes else text


def parameter_help(doc: str) -> dict[str, str]:
    """The first sentence on each parameter of an estimator, from its docstring."""
    section = doc.partition("Parameters\n----------\n")[2].partition("\nAttributes\n")[0]
    entries = re.findall(r"^(\w+(?:, \w+)*)(?: :.*)?\n((?: {4}.*\n)*)", section + "\n", re.MULTILINE)
    first = {names: re.split(r"(?<=\.)\s", " ".join(text.split()))[0].replace("`", "") for names, text in entries}
    return {name: text for names, text in first.items() for name in names.split(", ")}


def given_settings(typed: dict[str, Any]) -> dict[str, Any]:
    """Parameters for an estimator from what was typed, without those that were not given."""
    found = {}
    for name, value in typed.items():
        if name in FLAGS:
            value = FLAGS[name][1] if value else None
        elif isinstance(value, Enum | Path):
            value = value.value if isinstance(value, Enum) else str(value)
        if value is not None:
            found[name] = READERS[name](value) if name in READERS else value
    return found


def plain_name(solver: str) -> str:
    """The name of a solver, however it is spelled: "Cutting-Plane", "cutting_plane", "cuttingplane"."""
    return solver.lower().replace("-", "").replace("_", "").replace(" ", "")


def number_or_name(kind: type[float] | type[int], names: tuple[str, ...], said: str, text: str) -> float | int | str:
    """One of the names, or a number; the error is what is said of the option."""
    try:
        return text if text in names else kind(text)
    except ValueError:
        raise ValueError(f"{said}, not {text!r}.") from None


gamma_of = partial(number_or_name, float, ("scale", "auto"), "--gamma is a positive number, scale or auto")
landmarks = partial(number_or_name, int, ("auto",), "--n-components is a whole number or auto")


def megabytes(text: str) -> float:
    """Bytes from a number with a unit, such as 800M, 2G or 2GB; megabytes where there is none."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([kKmMgGtT]?)(i?[bB])?\s*", text)
    if found is None:
        raise ValueError(f"--max-memory is a number of megabytes or one with a unit, such as 800M or 2G, not {text!r}.")
    power = {"": 2, "k": 1, "m": 2, "g": 3, "t": 4}[found[2].lower()]
    return float(found[1]) * 1024**power


READERS: dict[str, Callable[[str], Any]] = {
    "gamma": gamma_of,
    "max_memory": megabytes,
    "n_components": landmarks,
    "solver": plain_name,
}
"""How words after an option become the value of a parameter."""
UNITS = {"max_memory": "here megabytes, or with a unit: 800M, 2G"}
"""What a reader takes that the documentation of the parameter does not say."""


# --- estimators ---------------------------------------------------------------------------------


def machine(name: str, given: dict[str, Any]) -> Any:
    """An estimator with the parameters that were given, and Python's defaults for all others.

    Raises
    ------
    ValueError
        If one of them is not a parameter of the estimator.
    """
    takes = {model: set(cls._get_param_names()) for model, cls in estimator_classes().items()}
    for parameter in given:
        if parameter not in takes[name]:
            others = ", ".join(model for model, names in takes.items() if parameter in names)
            raise ValueError(f"{option_of(parameter)} is no setting of {name}; it is one of {others}.")
    kept = {"on_interrupt": "keep"} if "on_interrupt" in takes[name] else {}
    return estimator_classes()[name](**given, **kept)


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


def class_weight_of(text: str | None, y: np.ndarray | None) -> Any:
    """Weights of classes: "balanced", or JSON such as {"spam": 5}, with the names of the labels."""
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
