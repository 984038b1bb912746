"""``hinge svm-train`` and ``hinge svm-predict``: LIBSVM's programs, with their flags, files and sentences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hinge.cli.old_flags import class_weights, cross_validated, files_of, parsed, spelled, verdict, write_lines
from hinge.cli.show import INTERRUPTED, compiling_told

try:
    import typer
except ImportError:  # `hinge.cli.app.main` says how to get it
    typer = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from scipy.sparse import csr_array

KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
MODELS = ("svc", "nusvc", "oneclass", "svr", "nusvr")
WORDS = (" (classification)", " (regression)")


def svm_train(ctx: typer.Context) -> None:
    """Train like LIBSVM: svm-train FLAGS TRAINING_FILE [MODEL_FILE].

    -s 0 C-SVC, 1 nu-SVC, 2 one-class, 3 epsilon-SVR, 4 nu-SVR; -t 0 linear, 1 polynomial, 2 Gaussian, 3 sigmoid,
    4 precomputed; -d degree, -g gamma (1/features), -r coef0, -c cost, -n nu, -p epsilon, -m cache in MB,
    -e tolerance (of the certified relative gap), -h shrinking (ignored), -b 1 probabilities, -wLABEL weight,
    -v folds, -q quiet. The model file is LIBSVM's own text form.
    """
    import warnings

    from hinge.cli.machines import check_learned, machine
    from hinge.datasets.svmlight import read_svmlight
    from hinge.export import write_libsvm

    flags = parsed(ctx.args, "stdgrcnpmehbwv")
    data, *rest = files_of(flags, ("TRAINING_FILE", "MODEL_FILE"), optional=1)
    kind, kernel = flags.whole("s", 0), flags.whole("t", 2)
    if not (0 <= kind < len(MODELS) and 0 <= kernel < len(KERNELS)):
        raise ValueError(f"-s goes from 0 to {len(MODELS) - 1} and -t from 0 to {len(KERNELS) - 1}.")
    X, y = read_svmlight(Path(data), zero_based=KERNELS[kernel] == "precomputed")
    X = _kernel_values(X, data) if KERNELS[kernel] == "precomputed" else X
    name = MODELS[kind]
    given: dict[str, Any] = {"kernel": KERNELS[kernel], "degree": flags.whole("d", 3)}
    gamma = flags.values.get("g", 0.0)
    given["gamma"] = gamma if gamma else 1.0 / X.shape[1]
    letters = {"r": "coef0", "m": "cache_size", "e": "tol"}
    letters |= {"c": "C"} if name in ("svc", "svr", "nusvr") else {}
    letters |= {"n": "nu"} if name in ("nusvc", "oneclass", "nusvr") else {}
    letters |= {"p": "epsilon"} if name == "svr" else {}
    given |= {letters[letter]: value for letter, value in flags.values.items() if letter in letters}
    if flags.values.get("b") and name in ("svc", "nusvc"):
        given["probability"] = True
    weights = class_weights(flags.weights, y) if name in ("svc", "nusvc") else None
    model = machine(name, {**given, "random_state": 0} | ({} if weights is None else {"class_weight": weights}))
    quiet = "q" in flags.values
    with warnings.catch_warnings(), compiling_told(quiet):
        warnings.simplefilter("ignore")
        if "v" in flags.values and name != "oneclass":
            typer.echo(cross_validated(model, X, y, flags.whole("v", 5), name in ("svr", "nusvr")))
            return
        model.fit(X) if name == "oneclass" else model.fit(X, y)
    check_learned(model)
    place = rest[0] if rest else f"{Path(data).name}.model"
    write_libsvm(model, place)
    if not quiet:
        typer.echo(f"nSV = {len(model.support_)}, certified gap = {model.gap_:.2e}, {model.stop_reason_}")
    if model.stop_reason_ == "interrupted":
        raise typer.Exit(INTERRUPTED)


def svm_predict(ctx: typer.Context) -> None:
    """Predict like LIBSVM: svm-predict [-b 0|1] [-q] TEST_FILE MODEL_FILE OUTPUT_FILE."""
    import warnings

    import numpy as np

    from hinge.cli.measures import is_one_class
    from hinge.datasets.svmlight import read_svmlight

    flags = parsed(ctx.args, "b")
    data, place, output = files_of(flags, ("TEST_FILE", "MODEL_FILE", "OUTPUT_FILE"))
    model = read_model(place)
    given = str(getattr(model, "kernel", "")) == "precomputed"
    X, y = read_svmlight(Path(data), zero_based=given)
    if given:
        X = _kernel_values(X, data)
    elif X.shape[1] > model.n_features_in_:
        model = read_model(place, X.shape[1])
    else:
        X.resize((X.shape[0], model.n_features_in_))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said = model.predict(X)
        lines = [spelled(value) for value in said.tolist()]
        if flags.values.get("b"):
            if not hasattr(model, "predict_proba"):
                raise ValueError(f"{place} has no probabilities: train with -b 1.")
            head = "labels " + " ".join(spelled(value) for value in model.classes_.tolist())
            chances = np.asarray(model.predict_proba(X))
            lines = [head, *(f"{a} {' '.join(f'{p:g}' for p in row)}" for a, row in zip(lines, chances, strict=True))]
    write_lines(output, lines)
    if "q" not in flags.values:
        numbers = not hasattr(model, "classes_") and not is_one_class(model)
        typer.echo(verdict(said, y, numbers, WORDS))


def _kernel_values(X: csr_array, data: str) -> Any:
    """Kernel values of LIBSVM's form: feature 0 is the number of the row, the others are the values."""
    values = X.toarray()[:, 1:]
    if not values.shape[1]:
        raise ValueError(f"{data} holds no kernel values: -t 4 wants lines such as '1 0:1 1:0.5 2:1'.")
    return values


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
