"""Hostile input: random cases of everything that users hand over, each in a process that may die of it.

``python -m tests.fuzz --cases 50000 --seed 0 [--only NAME] [--jobs 2]`` runs them. A case is named by its
target, the seed and its number: ``python -m tests.fuzz --only NAME --seed 0 --case 17`` runs that one alone,
in this process and with its traceback.

A target is a module of `targets` that is listed in `TARGETS`, with a function ``case(rng) -> None``: it draws
all it needs from `rng`, a `numpy.random.Generator`, and returns or raises. What is a failure:

- a process that dies, or a case that takes more than 5 s, twice in a row (the first time may compile);
- an exception that is not a `ValueError`, `TypeError`, `OSError` or `RuntimeError` which somebody raised on
  purpose: by a ``raise`` statement in Python, with a sentence (see `judging`);
- an `AssertionError`, by which a target says that an answer is wrong; `judging` has what most targets assert:
  `check_fitted`, `check_finite`, and `command` for what is typed.

Files go to `tempfile`'s folder, which is the run's own and is removed at its end.
"""

TARGETS: tuple[str, ...] = (
    "sparse",
    "arrays",
    "model_file",
    "forged_models",
    "foreign_models",
    "pair_folder",
    "row_store",
    "data_file",
    "table_file",
    "parameters",
    "scales",
    "labels",
    "kernels",
    "oracles",
    "commands",
)
"""Modules of `targets`."""
