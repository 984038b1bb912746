"""Flags of LIBSVM's and LIBLINEAR's programs: one letter, a value after it, weights of classes as ``-wLABEL W``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from sklearn.base import BaseEstimator

    from hinge.types import Stored


class Flags(NamedTuple):
    """What was typed: values by letter, weights by class, and the names of files."""

    values: dict[str, float]
    weights: dict[str, float]
    files: list[str]

    def whole(self, letter: str, usual: int) -> int:
        """The value after a letter, where that is a whole number."""
        value = self.values.get(letter, float(usual))
        if not value.is_integer():
            raise ValueError(f"A whole number is needed after -{letter}, not {value:g}.")
        return int(value)


def parsed(arguments: list[str], known: str, alone: str = "q") -> Flags:
    """Read flags the way the old programs do.

    Parameters
    ----------
    arguments : list of str
    known : str
        Letters that have a value; "w" stands for weights of classes.
    alone : str
        Letters that have none.
    """
    values, weights, files = dict[str, float](), dict[str, float](), list[str]()
    rest = iter(arguments)
    for word in rest:
        if not re.match(r"-[A-Za-z]", word):
            files.append(word)
            continue
        letter, tail = word[1], word[2:]
        if letter in alone and not tail:
            values[letter] = 1.0
            continue
        if letter not in known or (tail and letter != "w"):
            raise ValueError(f"There is no flag {word}: those that have a value are -{', -'.join(known)}.")
        value = next(rest, None)
        if value is None:
            raise ValueError(f"A value is missing after {word}.")
        try:
            number = float(value)
        except ValueError:
            raise ValueError(f"A number is needed after {word}, not {value!r}.") from None
        if letter == "w":
            try:
                float(tail)
            except ValueError:
                raise ValueError(f"A class follows -w, which is a number, as in -w1 5, not {word!r}.") from None
            weights[tail] = number
        else:
            values[letter] = number
    return Flags(values, weights, files)


def files_of(flags: Flags, names: tuple[str, ...], optional: int = 0) -> list[str]:
    """The names of files; as many as are needed, or up to `optional` less."""
    if not len(names) - optional <= len(flags.files) <= len(names):
        raise ValueError(f"These files are needed: {' '.join(names)}; {len(flags.files)} were named.")
    return flags.files


def class_weights(weights: Mapping[str, float], y: np.ndarray) -> dict[Any, float] | None:
    """Weights by the labels themselves; those of labels that do not occur are ignored, as the old programs do."""
    import numpy as np

    if not weights:
        return None
    labels = {float(value): value for value in np.unique(y).tolist()}
    found = {labels.get(float(name)): value for name, value in weights.items()}
    return {label: found.get(label, 1.0) for label in labels.values()}


def cross_validated(model: BaseEstimator, X: Stored, y: np.ndarray, folds: int, numbers: bool) -> str:
    """What ``-v`` writes."""
    import numpy as np
    from sklearn.model_selection import cross_val_predict

    from hinge.cli.machines import broken_off

    if folds < 2:
        raise ValueError("-v takes the number of folds, 2 or more.")
    said = cross_val_predict(broken_off(model), X, y, cv=folds)
    if not numbers:
        return f"Cross Validation Accuracy = {100 * np.mean(said == y):g}%"
    return (
        f"Cross Validation Mean squared error = {np.mean((said - y) ** 2):g}\n"
        f"Cross Validation Squared correlation coefficient = {_squared_correlation(said, y):g}"
    )


def verdict(said: np.ndarray, y: np.ndarray, numbers: bool, words: tuple[str, str]) -> str:
    """What the old programs say after a prediction."""
    import numpy as np

    if not numbers:
        right = int(np.sum(said == y))
        return f"Accuracy = {100 * right / len(y):g}% ({right}/{len(y)}){words[0]}"
    return (
        f"Mean squared error = {np.mean((said - y) ** 2):g}{words[1]}\n"
        f"Squared correlation coefficient = {_squared_correlation(said, y):g}{words[1]}"
    )


def _squared_correlation(said: np.ndarray, y: np.ndarray) -> float:
    import numpy as np

    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = said - said.mean(), y - y.mean()
        return float((a @ b) ** 2 / ((a @ a) * (b @ b)))


def write_lines(path: str, lines: list[str]) -> None:
    """Write predictions to a file that appears whole."""
    from hinge.files.replacing import replacing

    if path == os.devnull:
        return
    with replacing(Path(path)) as stream:
        stream.write("".join(line + "\n" for line in lines).encode())


def spelled(value: float) -> str:
    """A label or a number the way the old programs write it."""
    return f"{float(value):.17g}" if isinstance(value, float) and not float(value).is_integer() else f"{value:g}"
