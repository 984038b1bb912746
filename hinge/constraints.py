"""What parameters may be: constraints that test a value and state in words what it should have been."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import Parameter, Signature, get_annotations
from math import inf, nextafter
from os import PathLike
from sys import float_info
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, dataclass_transform

import numpy as np

FAR = 1e100
"""Parameters that data is multiplied by lie between 1/FAR and FAR, so that products of them stay finite."""


@dataclass(frozen=True)
class Constraint:
    """The values that a parameter may have.

    Attributes
    ----------
    words : str or function
        Completes "it must be ..."; a function of the wrong value where the words depend on it, or on a registry.
    allows : function
        Whether a value is one of them.
    names : tuple of str
        Values that are names, for lists of choices; empty if there are none, or too many to list.

    Examples
    --------
    >>> from hinge.constraints import choice, number
    >>> (number(above=0, most=1) | None).check("slack", None)
    >>> (number(above=0, most=1) | choice("auto")).check("slack", 2)
    Traceback (most recent call last):
    ...
    ValueError: slack must be a number greater than 0 and at most 1, or 'auto', got 2.
    """

    words: str | Callable[[object], str]
    allows: Callable[[Any], bool]
    names: tuple[str, ...] = ()

    def check(self, name: str, value: object) -> None:
        """Raise an error that names the parameter, unless it may have this value."""
        if not self.allows(value):
            raise ValueError(f"{name} must be {self.describe(value)}, got {value!r}.")

    def describe(self, value: object) -> str:
        """In words, what a parameter should have been that has this value."""
        return self.words if isinstance(self.words, str) else self.words(value)

    def __or__(self, other: "Constraint | None") -> "Constraint":
        first = self.allows
        if other is None:
            return Constraint(lambda v: f"{self.describe(v)}, or None", lambda v: v is None or first(v), self.names)
        second = other.allows
        return Constraint(
            lambda v: f"{self.describe(v)}, or {other.describe(v)}",
            lambda v: first(v) or second(v),
            self.names + other.names,
        )


def number(
    *, above: float | None = None, least: float | None = None, below: float | None = None, most: float | None = None
) -> Constraint:
    """A finite number between bounds, which are themselves allowed as `least` and `most`."""
    low = -float_info.max if least is None else least
    high = float_info.max if most is None else most
    low = low if above is None else nextafter(above, inf)
    high = high if below is None else nextafter(below, -inf)
    bounds = (("greater than", above), ("of at least", least), ("less than", below), ("at most", most))
    words = " and ".join(f"{words} {bound:g}" for words, bound in bounds if bound is not None)
    if least is not None and most is not None:
        words = f"from {least:g} to {most:g}"

    def allows(value: object) -> bool:
        if type(value) is not float and type(value) is not int:
            if isinstance(value, (np.integer, np.floating)):
                value = value.item()  # whose comparisons cannot overflow, as with a float32
            elif isinstance(value, bool) or not isinstance(value, (int, float)):
                return False
        return low <= value <= high

    return Constraint(f"a number {words}" if words else "a finite number", allows)


def scale(*, most: float = inf, or_zero: bool = False) -> Constraint:
    """A positive number, or zero, whose products with others stay finite."""
    most_stated = most if most < inf else None
    stated = number(least=0, most=most_stated) if or_zero else number(above=0, most=most_stated)
    within = number(least=1 / FAR, most=min(most, FAR))

    def words(value: object) -> str:
        return (within if stated.allows(value) else stated).describe(value)

    def allows(value: object) -> bool:
        return within.allows(value) or (or_zero and stated.allows(value) and value == 0)

    return Constraint(words, allows)


def count(least: int = 1, most: int | None = None) -> Constraint:
    """A whole number."""
    high = inf if most is None else most

    def allows(value: object) -> bool:
        if type(value) is not int:
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
                return False
            value = int(value)
        return least <= value <= high

    return Constraint(f"a whole number of at least {least}" + f" and at most {most}" * (most is not None), allows)


def choice(*names: str) -> Constraint:
    """One of some names."""
    words = ("one of " if len(names) > 1 else "") + ", ".join(map(repr, names))
    return Constraint(words, lambda value: isinstance(value, str) and value in names, names)


FLAG = Constraint("True or False", lambda value: isinstance(value, (bool, int, np.bool_, np.integer)))
"""Integers are accepted, as in Python."""
PATH = Constraint("the path of a folder", lambda value: isinstance(value, (str, PathLike)))
INFINITE = Constraint("infinite", lambda value: isinstance(value, (float, np.floating)) and value == inf)
BUDGET = number(least=0) | INFINITE | None
"""What may be spent: None, like infinity, for no limit."""
ALL = Constraint("-1", lambda value: isinstance(value, (int, np.integer)) and value == -1)
"""The number that stands for all."""


class Constraints:
    """The constraints of several parameters by name, checked in one loop; `defaults` are not tested again and again."""

    def __init__(self, defaults: Mapping[str, object] = MappingProxyType({}), /, **constraints: Constraint) -> None:
        self.by_name = constraints
        self._tests = tuple((name, defaults.get(name, self), one.allows) for name, one in constraints.items())

    def check(self, owner: object) -> None:
        """Raise an error that names the parameter, if an attribute of `owner` breaks its constraint."""
        for name, default, allows in self._tests:
            value = getattr(owner, name)
            if value is not default and not allows(value):
                self.by_name[name].check(name, value)


class ParameterSpec(NamedTuple):
    """A parameter of a class: its default, what it may be (None: checked where it is used), whether it has a place."""

    default: Any
    allows: Constraint | None
    is_positional: bool = False


def parameter(default: object, allows: Constraint | None = None) -> Any:
    """The declaration of a parameter that is given by name, as the value of an annotated attribute."""
    return ParameterSpec(default, allows)


def positional(*, default: object, allows: Constraint, kw_only: bool) -> Any:
    """The declaration of a parameter that may be given by position; type checkers read the keywords."""
    return ParameterSpec(default, allows, not kw_only)


T = TypeVar("T", bound=type)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(positional,))
def declares(cls: T) -> T:
    """Give a class a constructor of the parameters that it and its bases declare, and their `_constraints`.

    The constructor stores its arguments unchanged, and its signature lists them, as scikit-learn wants. A class that
    has a plain attribute in place of a base's parameter has no such parameter.
    """
    values: dict[str, Any] = {}
    hints: dict[str, Any] = {}
    for base in cls.__mro__:  # what a class adds or changes comes before the parameters of its bases
        values |= {name: value for name, value in vars(base).items() if name not in values}
        hints = {**get_annotations(base), **hints}
    found = {name: value for name, value in values.items() if isinstance(value, ParameterSpec)}
    listed = [Parameter("self", Parameter.POSITIONAL_ONLY)]
    for name, one in sorted(found.items(), key=lambda item: not item[1].is_positional):
        kind = Parameter.POSITIONAL_OR_KEYWORD if one.is_positional else Parameter.KEYWORD_ONLY
        listed.append(Parameter(name, kind, default=one.default, annotation=hints[name]))
    signature, defaults = Signature(listed), {name: one.default for name, one in found.items()}

    def __init__(self: Any, *values: Any, **given: Any) -> None:
        if values or not given.keys() <= defaults.keys():
            try:
                given = signature.bind(self, *values, **given).arguments
            except TypeError as error:
                near = [
                    match for name in given if name not in defaults for match in get_close_matches(name, defaults, 1)
                ]
                meant = f" Did you mean {near[0]}?" if near else ""
                raise TypeError(f"{type(self).__name__} {error}.{meant}") from None
            del given["self"]
        vars(self).update({**defaults, **given})

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__annotations__ = {name: hints[name] for name in found}
    cls.__init__ = __init__  # type: ignore[misc]
    constraints = {name: one.allows for name, one in found.items() if one.allows is not None}
    cls._constraints = Constraints(defaults, **constraints)  # type: ignore[attr-defined]
    return cls
