"""``hinge linear-train`` and ``hinge linear-predict``: LIBLINEAR's programs, with their flags, files and sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hinge.cli.old_flags import class_weights, cross_validated, files_of, parsed, spelled, verdict, write_lines
from hinge.cli.show import INTERRUPTED, compiling_told

try:
    import typer
except ImportError:  # `hinge.cli.app.main` says how to get it
    typer = None  # type: ignore[assignment]

CLASSIFIERS: dict[int, dict[str, Any]] = {
    1: {"loss": "squared_hinge"},
    2: {"loss": "squared_hinge"},
    3: {"loss": "hinge"},
    4: {"multi_class": "crammer_singer"},
    5: {"penalty": "l1", "loss": "squared_hinge"},
}
REGRESSORS: dict[int, dict[str, Any]] = {
    11: {"loss": "squared_epsilon_insensitive"},
    12: {"loss": "squared_epsilon_insensitive"},
    13: {"loss": "epsilon_insensitive"},
}
ONE_CLASS = 21


def linear_train(ctx: typer.Context) -> None:
    """Train like LIBLINEAR: linear-train FLAGS TRAINING_FILE [MODEL_FILE].

    -s 1, 2 squared hinge (the default), 3 hinge, 4 all classes at once, 5 1-norm, 11, 12, 13 regression, 21 one
    class; logistic regression (0, 6, 7) is not there. -c cost, -p epsilon, -n nu, -e tolerance (of the certified
    relative gap), -B bias (none by default), -R not penalised, -wLABEL weight, -v folds, -C choose the cost,
    -q quiet. The model file is LIBLINEAR's own text form, of one class LIBSVM's.
    """
    import warnings

    from hinge.cli.machines import check_learned, machine
    from hinge.datasets.svmlight import read_svmlight
    from hinge.export import write_liblinear, write_libsvm

    flags = parsed(ctx.args, "scpneBwv", alone="qCR")
    data, *rest = files_of(flags, ("TRAINING_FILE", "MODEL_FILE"), optional=1)
    kind = flags.whole("s", 1)
    name = "linearsvc" if kind in CLASSIFIERS else "linearsvr" if kind in REGRESSORS else "oneclass"
    if name == "oneclass" and kind != ONE_CLASS:
        raise ValueError(f"-s {kind} is logistic regression, or nothing: -s is 1 to 5, 11 to 13, or 21.")
    X, y = read_svmlight(Path(data))
    given: dict[str, Any] = {**CLASSIFIERS.get(kind, {}), **REGRESSORS.get(kind, {}), "random_state": 0}
    bias = flags.values.get("B", -1.0)
    if name == "oneclass":
        given |= {"kernel": "linear", "nu": flags.values.get("n", 0.5)}
    else:
        given |= {"C": flags.values.get("c", 1.0), "fit_intercept": bias >= 0}
        given |= {"intercept_scaling": bias} if bias > 0 else {}
        given |= {"intercept": "free"} if "R" in flags.values and bias > 0 else {}
    given |= {"epsilon": flags.values.get("p", 0.1)} if name == "linearsvr" else {}
    given |= {"tol": flags.values["e"]} if "e" in flags.values else {}
    weights = class_weights(flags.weights, y) if name == "linearsvc" else None
    model = machine(name, given if weights is None else {**given, "class_weight": weights})
    quiet = "q" in flags.values
    with warnings.catch_warnings(), compiling_told(quiet):
        warnings.simplefilter("ignore")
        if "C" in flags.values:
            from hinge.selection import tune

            found = tune(model, X, y, cv=flags.whole("v", 5), refit=False)
            typer.echo(f"Best C = {found.C:g}  CV accuracy = {100 * found.best_score:g}%")
            return
        if "v" in flags.values and name != "oneclass":
            typer.echo(cross_validated(model, X, y, flags.whole("v", 5), name == "linearsvr"))
            return
        model.fit(X) if name == "oneclass" else model.fit(X, y)
    check_learned(model)
    write = write_libsvm if name == "oneclass" else write_liblinear  # the former has it, too
    write(model, rest[0] if rest else f"{Path(data).name}.model")
    if not quiet:
        typer.echo(f"certified gap = {model.gap_:.2e}, {model.stop_reason_}")
    if model.stop_reason_ == "interrupted":
        raise typer.Exit(INTERRUPTED)


def linear_predict(ctx: typer.Context) -> None:
    """Predict like LIBLINEAR: linear-predict [-q] TEST_FILE MODEL_FILE OUTPUT_FILE."""
    import warnings

    from hinge.cli.libsvm import read_model
    from hinge.cli.measures import is_one_class
    from hinge.datasets.svmlight import read_svmlight

    flags = parsed(ctx.args, "b")
    data, place, output = files_of(flags, ("TEST_FILE", "MODEL_FILE", "OUTPUT_FILE"))
    if flags.values.get("b"):
        raise ValueError("-b 1 is for logistic regression, which is not there: use hinge train --probability.")
    model = read_model(place)
    X, y = read_svmlight(Path(data))
    width = model.n_features_in_
    X = X[:, :width]  # features that were not learned say nothing to a linear machine
    X.resize((X.shape[0], width))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said = model.predict(X)
    write_lines(output, [spelled(value) for value in said.tolist()])
    if "q" not in flags.values:
        numbers = not hasattr(model, "classes_") and not is_one_class(model)
        typer.echo(verdict(said, y, numbers, ("", " (regression)")))
