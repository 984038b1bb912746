"""``hinge inspect``: what a model file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from hinge.cli.options import Json, ModelFile
from hinge.cli.show import number, percent, show_json, show_table

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


def inspect(
    ctx: typer.Context,
    model: ModelFile,
    top: Annotated[int, typer.Option(min=1, help="So many of the largest weights.")] = 10,
    as_json: Json = False,
) -> None:
    """Show what a model is: its settings, certificate, support vectors, largest weights, and how it was trained."""
    from hinge.files import model_files

    found = described(model_files.load(model), top)
    found = {"file": str(model), **found}
    if as_json:
        show_json(found)
    else:
        _show(found)


def described(fitted: BaseEstimator, top: int) -> dict[str, Any]:
    """All there is to say of a fitted model, in JSON's terms."""
    import numpy as np

    from hinge.cli.preparation import columns_of, machine_of, outcome_of, plain_settings, steps_of, training_facts

    machine, columns = machine_of(fitted), columns_of(fitted)
    plain = {**type(machine)().get_params(), "on_interrupt": machine.get_params().get("on_interrupt")}
    trade = next((name for name in ("slack", "lam", "C", "nu") if getattr(machine, name, None) is not None), None)
    settings = {} if trade is None else {trade: getattr(machine, trade)}
    settings |= {name: v for name, v in machine.get_params().items() if v is not None and v != plain.get(name)}
    outcome = outcome_of(machine)
    per_class = getattr(machine, "n_support_", None)
    return {
        "model": type(machine).__name__,
        "prepared_by": [_step(step) for step in steps_of(fitted)],
        "settings": plain_settings(settings),
        "kernel": str(machine.kernel_) if hasattr(machine, "kernel_") else None,
        "classes": [str(name) for name in machine.classes_] if hasattr(machine, "classes_") else None,
        "columns": columns.names or columns.width,
        "features": int(machine.n_features_in_),
        "probabilities": any(len(getattr(machine, name, ())) > 0 for name in ("probA_", "_step_cuts")),
        "certificate": {name: outcome.pop(name) for name in ("gap", "objective", "stop_reason")}
        | {"tol": float(machine.tol)},
        **outcome,
        "support_vectors_by_class": None if per_class is None else [int(n) for n in np.atleast_1d(per_class)],
        "training": training_facts(fitted) or None,
        "weights": _weights(fitted, machine, top),
        "intercept": [float(b) for b in np.atleast_1d(machine.intercept_)],
    }


def _step(step: BaseEstimator) -> str:
    """A transformer in words."""
    from hinge.cli.preparation import places_of

    if hasattr(step, "transformers_"):
        parts = [
            f"{type(part).__name__ if not hasattr(part, 'steps') else _step(part)} of {count} columns"
            for name, part, _ in step.transformers_
            if (count := len(places_of(step, name)))
        ]
        return "; ".join(parts)
    if hasattr(step, "steps"):
        return " then ".join(type(one).__name__ for _, one in step.steps)
    return type(step).__name__


def _weights(fitted: BaseEstimator, machine: BaseEstimator, top: int) -> list[dict[str, Any]] | None:
    """The largest weights by the names of features; None where the machine has none."""
    import numpy as np
    import scipy.sparse as sp

    from hinge.cli.preparation import feature_names
    from hinge.explain import runs_of

    try:
        coef: Any = machine.coef_
    except AttributeError:
        return None
    coef = np.atleast_2d(coef.toarray() if sp.issparse(coef) else np.asarray(coef))
    names, runs = feature_names(fitted), runs_of(machine, len(coef))
    order = np.argsort(-np.abs(coef), axis=None, kind="stable")[:top]
    at = zip(*np.unravel_index(order, coef.shape), strict=True)
    return [{"feature": names[j], "of": runs[k], "weight": float(coef[k, j])} for k, j in at if coef[k, j]]


def _show(found: dict[str, Any]) -> None:
    from hinge.calibration.left_out import error_in_words

    certificate, training = found["certificate"], found["training"] or {}
    gap = "none" if certificate["gap"] is None else f"{certificate['gap']:.2e} (asked for: {certificate['tol']:g})"
    ended = f", {certificate['stop_reason']}" if certificate["stop_reason"] else ""
    columns, support, by_class = (found[name] for name in ("columns", "support_vectors", "support_vectors_by_class"))
    names = f": {', '.join(columns[:12])}{', …' if len(columns) > 12 else ''}" if isinstance(columns, list) else ""
    parts = f" ({', '.join(f'{n:,}' for n in by_class)})" if by_class and len(by_class) > 1 else ""
    said = {
        "model": found["model"],
        "settings": ", ".join(f"{name} = {value}" for name, value in found["settings"].items()) or "the defaults",
        "kernel": found["kernel"],
        "prepared by": ", then ".join(found["prepared_by"]),
        "classes": ", ".join(found["classes"] or ()),
        "columns": f"{len(columns) if names else columns:,}{names}",
        "features": f"{found['features']:,}",
        "probabilities": "yes" if found["probabilities"] else "no",
        "certified gap": gap + ended,
        "reads": found["reads"] and f"{found['reads']:,}",
        "kernel values": found["kernel_values"] and f"{found['kernel_values']:,}",
        "support vectors": "" if support is None else f"{support:,}{parts}",
    }
    lines = [(name, words) for name, words in said.items() if words]
    if training:
        told = [f"{training.get('data')}, {training.get('rows'):,} rows"]
        told += [f"label {training['label']}"] if "label" in training else []
        as_words = percent if found["classes"] else number
        told += [
            f"{part} error {as_words(training[f'{part}_error'])}"
            for part in ("train", "test")
            if f"{part}_error" in training
        ]
        lines.append(("trained on", ", ".join(told)))
        if "expected_error" in training:
            words = error_in_words(training["expected_error"], training["expected_error_std"], bool(found["classes"]))
            lines.append(("error to expect", f"{words}, by leave-one-out"))
    show_table(lines)
    if found["weights"]:
        typer.echo("")
        several = len({one["of"] for one in found["weights"]}) > 1
        speaks = f" (+ speaks for {found['weights'][0]['of']})" if found["weights"][0]["of"] else ""
        head = ("feature", "weight", "of") if several else ("feature", f"weight{speaks}")
        rows = [(one["feature"], f"{one['weight']:+.4g}", one["of"])[: len(head)] for one in found["weights"]]
        show_table([head, *rows])
