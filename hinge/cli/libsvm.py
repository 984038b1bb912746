"""``hinge svm-train``, ``linear-predict``, ...: LIBSVM's and LIBLINEAR's programs, with their flags and sentences."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from hinge.cli.machines import broken_off, check_learned, estimator_classes, machine
from hinge.cli.show import INTERRUPTED, silence

if TYPE_CHECKING:
    import numpy as np
    from sklearn.base import BaseEstimator

    from hinge.types import Stored


LETTERS = {"c": "C", "n": "nu", "p": "epsilon", "r": "coef0", "m": "cache_size", "e": "tol"}
"""Flags that set a parameter, of those estimators that have it."""


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

    def settings(self, name: str) -> dict[str, float]:
        """Parameters for an estimator."""
        takes = estimator_classes()[name]._get_param_names()
        return {LETTERS[letter]: value for letter, value in self.values.items() if LETTERS.get(letter) in takes}


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
    from hinge.datasets.base import number_of

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
        number = number_of(value)
        if number is None:
            raise ValueError(f"A number is needed after {word}, not {value!r}.")
        if letter != "w":
            values[letter] = number
        elif number_of(tail) is None:
            raise ValueError(f"A class follows -w, which is a number, as in -w1 5, not {word!r}.")
        else:
            weights[tail] = number
    return Flags(values, weights, files)


def files_of(flags: Flags, names: tuple[str, ...], optional: int = 0) -> list[str]:
    """The names of files: one for each of `names`, of which the last `optional` may be missing."""
    if not len(names) - optional <= len(flags.files) <= len(names):
        raise ValueError(f"These files are needed: {' '.join(names)}; {len(flags.files)} were named.")
    return flags.files


def class_weights(weights: Mapping[str, float], y: np.ndarray) -> dict[Any, float] | None:
    """Weights by the labels themselves; labels that do not occur are ignored, as in the old programs."""
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

    if folds < 2:
        raise ValueError("-v takes the number of folds, 2 or more.")
    said = cross_val_predict(broken_off(model), X, y, cv=folds)
    if not numbers:
        return f"Cross Validation Accuracy = {100 * np.mean(said == y):g}%"
    return "\n".join(f"Cross Validation {line}" for line in _errors(said, y))


def verdict(said: np.ndarray, y: np.ndarray, numbers: bool, words: tuple[str, str]) -> str:
    """What the old programs say after a prediction."""
    import numpy as np

    if not numbers:
        right = int(np.sum(said == y))
        return f"Accuracy = {100 * right / len(y):g}% ({right}/{len(y)}){words[0]}"
    return "\n".join(f"{line}{words[1]}" for line in _errors(said, y))


def _errors(said: np.ndarray, y: np.ndarray) -> tuple[str, str]:
    """The errors of a regression, in the words of the old programs."""
    import numpy as np

    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.corrcoef(said, y)[0, 1]
    return (
        f"Mean squared error = {np.mean((said - y) ** 2):g}",
        f"Squared correlation coefficient = {correlation**2:g}",
    )


def spelled(value: float) -> str:
    """A label or a number the way the old programs write it."""
    return f"{float(value):.17g}" if isinstance(value, float) and not float(value).is_integer() else f"{value:g}"


# --- LIBSVM ------------------------------------------------------------------------------------

KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
MODELS = ("svc", "nusvc", "oneclass", "svr", "nusvr")


def svm_train(ctx: typer.Context) -> None:
    """Train like LIBSVM: svm-train FLAGS TRAINING_FILE [MODEL_FILE].

    -s 0 C-SVC, 1 nu-SVC, 2 one-class, 3 epsilon-SVR, 4 nu-SVR; -t 0 linear, 1 polynomial, 2 Gaussian, 3 sigmoid,
    4 precomputed; -d degree, -g gamma (1/features), -r coef0, -c cost, -n nu, -p epsilon, -m cache in MB,
    -e tolerance (of the certified relative gap), -h shrinking (ignored), -b 1 probabilities, -wLABEL weight,
    -v folds, -q quiet. The model file is LIBSVM's own text form.
    """
    flags = parsed(ctx.args, "stdgrcnpmehbwv")
    data, *_ = files_of(flags, ("TRAINING_FILE", "MODEL_FILE"), optional=1)
    kind, kernel = flags.whole("s", 0), flags.whole("t", 2)
    if not (0 <= kind < len(MODELS) and 0 <= kernel < len(KERNELS)):
        raise ValueError(f"-s goes from 0 to {len(MODELS) - 1} and -t from 0 to {len(KERNELS) - 1}.")
    X, y = _read(data, KERNELS[kernel] == "precomputed")
    name, gamma = MODELS[kind], flags.values.get("g") or 1.0 / X.shape[1]
    given = {"kernel": KERNELS[kernel], "degree": flags.whole("d", 3), "gamma": gamma, **flags.settings(name)}
    if flags.values.get("b") and name in ("svc", "nusvc"):
        given["probability"] = True
    _train(flags, name, given, X, y, True)


def svm_predict(ctx: typer.Context) -> None:
    """Predict like LIBSVM: svm-predict [-b 0|1] [-q] TEST_FILE MODEL_FILE OUTPUT_FILE."""
    flags = parsed(ctx.args, "b")
    data, place, output = files_of(flags, ("TEST_FILE", "MODEL_FILE", "OUTPUT_FILE"))
    model = read_model(place)
    precomputed = str(getattr(model, "kernel", "")) == "precomputed"
    X, y = _read(data, precomputed)
    if X.shape[1] > model.n_features_in_ and not precomputed:
        model = read_model(place, X.shape[1])
    elif not precomputed:
        X.resize((X.shape[0], model.n_features_in_))
    if flags.values.get("b") and not hasattr(model, "predict_proba"):
        raise ValueError(f"{place} has no probabilities: train with -b 1.")
    _predict(flags, model, X, y, output, (" (classification)", " (regression)"))


def _read(data: str, precomputed: bool = False) -> tuple[Any, np.ndarray]:
    """Rows and labels; of kernel values in LIBSVM's form feature 0 is the number of the row, and left out."""
    from hinge.datasets.readers import read_svmlight

    X, y = read_svmlight(Path(data), zero_based=precomputed)
    if not precomputed:
        return X, y
    if X.shape[1] < 2:
        raise ValueError(f"{data} holds no kernel values: -t 4 wants lines such as '1 0:1 1:0.5 2:1'.")
    return X.toarray()[:, 1:], y


def read_model(place: str, width: int | None = None) -> Any:
    """A model of LIBSVM's or LIBLINEAR's text form, or of ours, which the first bytes tell.

    LIBSVM's form does not say how many features there are: rows may have more than its support vectors.
    """
    import numpy as np

    from hinge.export import read_liblinear, read_libsvm
    from hinge.files import model_files

    with Path(place).open("rb") as stream:
        head = stream.read(16)
    if head.startswith(b"PK"):
        model = model_files.load(place)
        if getattr(model, "classes_", np.zeros(0)).dtype.kind not in "iuf":
            raise ValueError(f"{place} has classes that are words, and labels here are numbers: use hinge predict.")
        return model
    return read_liblinear(place) if head.startswith(b"solver_type") else read_libsvm(place, n_features=width)


# --- LIBLINEAR ----------------------------------------------------------------------------------


def linear_train(ctx: typer.Context) -> None:
    """Train like LIBLINEAR: linear-train FLAGS TRAINING_FILE [MODEL_FILE].

    -s 1, 2 squared hinge (the default), 3 hinge, 4 all classes together, 5 1-norm, 11, 12, 13 regression, 21 one
    class; logistic regression (0, 6, 7) is not there. -c cost, -p epsilon, -n nu, -e tolerance (of the certified
    relative gap), -B bias (none by default), -R not penalised, -wLABEL weight, -v folds, -C choose the cost,
    -q quiet. The model file is LIBLINEAR's own text form, of one class LIBSVM's.
    """
    from hinge.export.libsvm import SOLVERS

    flags = parsed(ctx.args, "scpneBwv", alone="qCR")
    data, *_ = files_of(flags, ("TRAINING_FILE", "MODEL_FILE"), optional=1)
    kind, bias = flags.whole("s", 1), flags.values.get("B", -1.0)
    given: dict[str, Any]
    if kind == 21:
        name, given = "oneclass", {"kernel": "linear"}
    elif kind in SOLVERS:
        problem, settings = SOLVERS[kind]
        name, given = "linearsvr" if "SVR" in problem else "linearsvc", {**settings, "fit_intercept": bias >= 0}
    else:
        raise ValueError(f"-s {kind} is logistic regression, or nothing: -s is 1 to 5, 11 to 13, or 21.")
    if name == "linearsvr":
        given["epsilon"] = 0.1
    if name != "oneclass" and bias > 0:
        given |= {"intercept_scaling": bias, "intercept": "free" if "R" in flags.values else "penalized"}
    X, y = _read(data)
    _train(flags, name, given | flags.settings(name), X, y, False)


def linear_predict(ctx: typer.Context) -> None:
    """Predict like LIBLINEAR: linear-predict [-q] TEST_FILE MODEL_FILE OUTPUT_FILE."""
    flags = parsed(ctx.args, "b")
    data, place, output = files_of(flags, ("TEST_FILE", "MODEL_FILE", "OUTPUT_FILE"))
    if flags.values.get("b"):
        raise ValueError("-b 1 is for logistic regression, which is not there: use hinge train --probability.")
    model = read_model(place)
    X, y = _read(data)
    width = model.n_features_in_
    X = X[:, :width]  # features that were not learned say nothing to a linear machine
    X.resize((X.shape[0], width))
    _predict(flags, model, X, y, output, ("", " (regression)"))


# --- both ---------------------------------------------------------------------------------------


def _train(flags: Flags, name: str, given: dict[str, Any], X: Stored, y: np.ndarray, support: bool) -> None:
    """Train and write a model, or show what cross-validation says of it; count support vectors if `support`."""
    from hinge.export import write_liblinear, write_libsvm

    data, *rest = flags.files
    place = rest[0] if rest else f"{Path(data).name}.model"
    classifies = name.endswith("svc")
    weights = class_weights(flags.weights, y) if classifies else None
    model = machine(name, {**given, "random_state": 0} | ({} if weights is None else {"class_weight": weights}))
    quiet = "q" in flags.values
    with warnings.catch_warnings(action="ignore"), silence(quiet):
        if "C" in flags.values:
            from hinge.selection import tune

            found = tune(model, X, y, cv=flags.whole("v", 5), refit=False)
            typer.echo(f"Best C = {found.C:g}  CV accuracy = {100 * found.best_score:g}%")
            return
        if "v" in flags.values and name != "oneclass":
            typer.echo(cross_validated(model, X, y, flags.whole("v", 5), not classifies))
            return
        model.fit(X) if name == "oneclass" else model.fit(X, y)
    check_learned(model)
    (write_liblinear if name.startswith("linear") else write_libsvm)(model, place)
    if not quiet:
        counted = f"nSV = {len(model.support_)}, " if support else ""
        typer.echo(f"{counted}certified gap = {model.gap_:.2e}, {model.stop_reason_}")
    if model.stop_reason_ == "interrupted":
        raise typer.Exit(INTERRUPTED)


def _predict(flags: Flags, model: BaseEstimator, X: Stored, y: np.ndarray, output: str, words: tuple[str, str]) -> None:
    """Write predictions, and show how many are right."""
    import numpy as np

    from hinge.cli.measures import is_one_class
    from hinge.files.replacing import replacing

    with warnings.catch_warnings(action="ignore"):
        said = model.predict(X)
        lines = [spelled(value) for value in said.tolist()]
        if flags.values.get("b"):
            head = "labels " + " ".join(spelled(value) for value in model.classes_.tolist())
            chances = np.asarray(model.predict_proba(X))
            lines = [head, *(f"{a} {' '.join(f'{p:g}' for p in row)}" for a, row in zip(lines, chances, strict=True))]
    with replacing(output) as stream:  # which writes to devices directly
        stream.write("".join(line + "\n" for line in lines).encode())
    if "q" not in flags.values:
        typer.echo(verdict(said, y, not hasattr(model, "classes_") and not is_one_class(model), words))
