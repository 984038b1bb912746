"""What happens to columns before a machine sees them: gaps are filled, words become columns of 0 and 1."""

from __future__ import annotations

import itertools
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hinge.cli.rows import FileRows, ModelColumns, TrainingData
from hinge.datasets.frames import MixedRows, is_missing
from hinge.report.outcome import finite

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

MANY = 100
"""Of fewer rows nothing is said of which numbers a column has; so many words are tried as dates."""

PREPARE, MODEL = "prepare", "model"
"""Names of the steps of a pipeline."""


def preparation_for(found: TrainingData, impute: str | None = None, scale: bool = False) -> Any:
    """The transformer that a machine for these data needs; raises if a value is missing that nothing fills in."""
    for part in (found.train, found.test) if impute is None else ():
        if part is not None:
            check_missing(part)
    return preparation_of(found.train, impute, scale)


def preparation_of(rows: FileRows, impute: str | None = None, scale: bool = False) -> Any:
    """The transformer that a machine for these rows needs, made of scikit-learn's; None where it needs none.

    Words become one column of 0 and 1 for each word that was learned; a word that was not is none of them.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    def joint(steps: list[Any]) -> Any:
        return make_pipeline(*steps) if len(steps) > 1 else steps[0]

    steps = [] if impute is None else [SimpleImputer(strategy=impute, keep_empty_features=True)]
    steps += [StandardScaler(with_mean=not sp.issparse(rows.X))] if scale else []
    if not rows.words:
        return joint(steps) if steps else None
    # Without a step a column of objects would stay one: a scaler that does nothing makes numbers of it.
    steps = steps or [StandardScaler(with_mean=False, with_std=False)]
    numbers = [j for j in range(rows.X.shape[1]) if j not in rows.words]
    spelled = [] if impute is None else [SimpleImputer(strategy="most_frequent", keep_empty_features=True)]
    spelled.append(OneHotEncoder(handle_unknown="ignore"))
    parts = [("numbers", joint(steps), numbers), ("words", joint(spelled), list(rows.words))]
    return ColumnTransformer([part for part in parts if part[2]])


def check_missing(rows: FileRows) -> None:
    """Raise, with the place of the first one, if a value is missing."""
    X = rows.X
    if not isinstance(X, MixedRows) and (not isinstance(X, np.ndarray) or X.dtype.kind != "f"):
        return
    for j in range(X.shape[1]):
        absent = np.flatnonzero(is_missing(X[:, j]))
        if len(absent):
            where = f"Row {int(absent[0]) + 1}" if rows.place is None else rows.place(int(absent[0]))
            name = str(j + 1) if rows.names is None else rows.names[j]
            others = f" (and {len(absent) - 1:,} more of that column)" if len(absent) > 1 else ""
            raise ValueError(
                f"{where}, column {name}: the value is missing{others}; fill it, drop the row, or train with "
                "--impute median, which keeps what to fill in with the model."
            )


class Column(NamedTuple):
    """What becomes of a column of a file.

    Attributes
    ----------
    name : str
    kind : {"number", "words"}
    levels : int
        Features that it becomes: one, or one for each word.
    doubt : str
        What speaks against learning from it as it is; empty if nothing does.
    """

    name: str
    kind: str
    levels: int
    doubt: str


def described_columns(rows: FileRows) -> list[Column]:
    """Each column of a file that names them, with a doubt about those that seem to be dates, ids or constants."""
    if rows.names is None or not isinstance(rows.X, np.ndarray | MixedRows):
        return []
    return [_described(name, rows.X[:, j], j in rows.words) for j, name in enumerate(rows.names)]


def _described(name: str, values: np.ndarray, words: bool) -> Column:
    n = len(values)
    if words:
        found = set(map(str, values[~is_missing(values)].tolist()))
        doubt = ""
        if found and all(map(_is_date, itertools.islice(found, MANY))):
            doubt = f"holds dates, each of its {len(found):,} a feature of its own"
        return Column(name, "words", len(found), doubt)
    numbers = np.asarray(values, np.float64)
    steps = np.unique(np.diff(numbers)) if n >= MANY else np.empty(0)
    if len(steps) == 1 and steps[0] != 0.0:
        return Column(name, "number", 1, "counts the rows, as an id does")
    return Column(name, "number", 1, "is the same in all rows" if n > 1 and np.ptp(numbers) == 0.0 else "")


def _is_date(text: str) -> bool:
    with suppress(ValueError):
        datetime.fromisoformat(text)
        return len(text) >= len("2020-01-31")
    return False


def advice_on_scale(rows: FileRows) -> str:
    """What to say of a fit that did not converge, if its columns of numbers differ much in size."""
    X = rows.X
    if not isinstance(X, np.ndarray | MixedRows):
        return ""
    spreads = [float(np.asarray(X[:, j], np.float64).std()) for j in range(X.shape[1]) if j not in rows.words]
    spreads = [one for one in spreads if one > 0.0]
    if not spreads or max(spreads) <= 100.0 * min(spreads):
        return ""
    return f"Columns differ in size by a factor of {max(spreads) / min(spreads):.0e}: train with --scale."


def joined(preparation: BaseEstimator | None, model: BaseEstimator) -> Any:
    """One estimator that prepares and learns."""
    from sklearn.pipeline import Pipeline

    return model if preparation is None else Pipeline([(PREPARE, preparation), (MODEL, model)])


def weighted(model: BaseEstimator, weight: np.ndarray | None) -> dict[str, np.ndarray]:
    """What a fit is given besides rows and labels, where rows have weights."""
    name = f"{MODEL}__sample_weight" if hasattr(model, "steps") else "sample_weight"
    return {} if weight is None else {name: weight}


def machine_of(model: BaseEstimator) -> Any:
    """The machine itself, without what prepares its rows."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def steps_of(model: BaseEstimator) -> list[Any]:
    """What comes before the machine."""
    return [step for _, step in model.steps[:-1]] if hasattr(model, "steps") else []


def keep_names(model: BaseEstimator, names: list[str] | None) -> None:
    """Store the names of the columns in a fitted model, so that it selects columns of files and frames by name."""
    if names is None:
        return
    steps = steps_of(model)
    first = steps[0] if steps else model
    _name(first, names)
    for _, part, columns in _transformers(first):
        if hasattr(part, "transform"):
            _name(part, [names[j] for j in columns])


def _name(part: BaseEstimator, names: list[str]) -> None:
    if hasattr(part, "steps"):  # a pipeline takes its names from its first step
        _name(part.steps[0][1], names)
    else:
        part.feature_names_in_ = np.array(names, object)


def columns_of(model: BaseEstimator) -> ModelColumns:
    """The columns that a fitted model takes."""
    steps = steps_of(model)
    first = steps[0] if steps else model
    names = getattr(first, "feature_names_in_", None)
    of_words = any(name == "words" for name, _, _ in _transformers(first))
    spelled = tuple(places_of(first, "words")) if of_words else ()
    label = training_facts(model).get("label")
    width = int(getattr(first, "n_features_in_", machine_of(model).n_features_in_))
    classes = getattr(machine_of(model), "classes_", None)
    of_text = classes is not None and np.asarray(classes).dtype.kind in "UO"
    return ModelColumns(width, None if names is None else [str(name) for name in names], spelled, label, of_text)


def fills_gaps(model: BaseEstimator) -> bool:
    """Whether the model knows what to put where a value is missing."""
    return any(type(part).__name__ == "SimpleImputer" for part in model.get_params().values())


def _transformers(step: BaseEstimator) -> list[Any]:
    return list(getattr(step, "transformers_", []))


def places_of(step: BaseEstimator, name: str) -> list[int]:
    """The positions of the columns that one of several transformers takes, by whatever it was given them."""
    return [int(j) for j in step._transformer_to_input_indices[name]]


def feature_names(model: BaseEstimator) -> list[str]:
    """The names of the features that the machine itself sees; words are called column=word."""
    columns, machine = columns_of(model), machine_of(model)
    plain = columns.names or [f"x{j + 1}" for j in range(columns.width)]
    step = next((step for step in steps_of(model) if _transformers(step)), None)
    names = plain if step is None else list[str]()
    for kind, part, _ in _transformers(step):
        own = [plain[j] for j in places_of(step, kind)]
        encoder = part.steps[-1][1] if hasattr(part, "steps") else part
        if kind == "words" and hasattr(encoder, "categories_"):
            own = [f"{name}={word}" for name, words in zip(own, encoder.categories_, strict=True) for word in words]
        names += own if kind != "remainder" else []
    # Steps that are not the command line's own may make any number of features.
    return names if len(names) == machine.n_features_in_ else [f"x{j + 1}" for j in range(machine.n_features_in_)]


def plain_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Parameters in JSON's terms; those that are dicts are weights of classes."""

    def plain(value: object) -> object:
        if isinstance(value, dict):
            return {str(label): weight for label, weight in value.items()}
        return value if isinstance(value, int | float | str | None) else str(value)

    return {name: plain(value) for name, value in settings.items()}


def outcome_of(machine: BaseEstimator) -> dict[str, Any]:
    """How a fit ended, and what it took, in JSON's terms."""
    objectives = [finite(float(v)) for v in np.atleast_1d(getattr(machine, "objective_", []))]
    return {
        "gap": finite(float(getattr(machine, "gap_", np.inf))),
        "objective": objectives if len(objectives) > 1 else (objectives or [None])[0],
        "stop_reason": getattr(machine, "stop_reason_", None),
        "reads": int(getattr(machine, "n_feature_reads_", 0)) or None,
        "kernel_values": int(getattr(machine, "n_kernel_evals_", 0)) or None,
        "support_vectors": len(machine.support_) if hasattr(machine, "support_") else None,
    }


def training_facts(model: BaseEstimator) -> dict[str, Any]:
    """What the command line wrote down of a training, where it did."""
    found = getattr(machine_of(model), "training_", None)
    return found if isinstance(found, dict) else {}
