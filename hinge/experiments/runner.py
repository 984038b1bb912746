"""Runs the cells of experiments in several processes and keeps their results, so that none is measured twice."""

import hashlib
import json
import os
import platform
import re
import signal
import subprocess
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from hinge.experiments import registry
from hinge.experiments.base import Cell, CellResult, CellResults, Experiment, Scale
from hinge.experiments.sets import is_own, stand_in_name
from hinge.files.replacing import replacing


class Progress(Protocol):
    """Who wants to know how far a run is."""

    def begin(self, experiment: Experiment, cells: int, kept: int) -> None:
        """An experiment begins: the number of its cells, and of those that an earlier run has stored."""

    def done(self, experiment: Experiment, cell: Cell, failure: str | None) -> None:
        """A cell was measured, or failed with this error."""


class Run(NamedTuple):
    """What became of one experiment: the results of its cells, and the errors of those that failed."""

    experiment: Experiment
    results: CellResults
    failures: list[str]


def run(
    experiments: Sequence[Experiment], scale: Scale, out: Path, *, jobs: int = 1, progress: Progress | None = None
) -> list[Run]:
    """Measure all cells that are not kept in `out` yet.

    Cells that measure time run one after the other in this process, the others in `jobs` processes. Each is
    written as soon as it is finished, so that an interrupted run loses the cells at hand only.
    """
    runs = []
    for experiment in experiments:
        failures = []
        cells = experiment.cells(scale)
        missing = [cell for cell in cells if _load_result(place(experiment, cell, out), cell) is None]
        if progress is not None:
            progress.begin(experiment, len(cells), len(cells) - len(missing))
        for cell, result, failure in _run_cells(experiment, missing, 1 if experiment.timed else jobs):
            if result is None:
                failures.append(failure or "")
            else:
                _store_result(result, place(experiment, cell, out))
            if progress is not None:
                progress.done(experiment, cell, failure)
        runs.append(Run(experiment, stored_results(experiment, scale, out), failures))
    return runs


def place(experiment: Experiment, cell: Cell, out: Path) -> Path:
    """The file that keeps a cell's result."""
    return out / "cells" / experiment.name / f"{_key(experiment, cell)}.json"


@cache
def machine() -> str:
    """This machine in words: processor, cores, versions of what computes."""
    import numba
    import numpy
    import sklearn

    processor = f"{_model()} ({platform.machine()})"
    return (
        f"{processor}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, "
        f"NumPy {numpy.__version__}, Numba {numba.__version__}, scikit-learn {sklearn.__version__}"
    )


def _model() -> str:
    """The processor's name, where the system tells it."""
    try:
        told = subprocess.run(["lscpu"], capture_output=True, text=True, check=True, timeout=10).stdout
    except (OSError, subprocess.SubprocessError):
        return platform.processor() or "processor unknown"
    found = re.search(r"^Model name:\s*(\S.*)$", told, re.MULTILINE)
    return found[1] if found else "processor unknown"


def _key(experiment: Experiment, cell: Cell) -> str:
    own: bool | str | None = None  # a stand-in has results of its own
    if "set" in cell:
        own = is_own(cell["set"]) or stand_in_name(cell["set"])
    said = json.dumps([experiment.name, experiment.version, cell, own], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def stored_results(experiment: Experiment, scale: Scale, out: Path) -> CellResults:
    """The cells of an experiment that were measured before, in their order."""
    cells = experiment.cells(scale)
    return CellResults(found for cell in cells if (found := _load_result(place(experiment, cell, out), cell)))


def names_in(out: Path) -> list[str]:
    """The experiments of which cells are kept there; cells of experiments that are gone do not count."""
    return [name for name in registry.names() if (out / "cells" / name).is_dir()]


def _load_result(path: Path, cell: Cell) -> CellResult | None:
    try:
        said = json.loads(path.read_text())
        found = CellResult(said["cell"], said["values"], said["seconds"], said["machine"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # missing or cut short: it is measured again
    return found if found.cell == cell and found.values and isinstance(found.values, dict) else None


def _store_result(result: CellResult, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as stream:
        stream.write(json.dumps(vars(result), indent=1).encode())


Tried = tuple[Cell, CellResult | None, str | None]
"""A cell, its result, and the error where there is no result."""


def _run_cells(experiment: Experiment, cells: Sequence[Cell], jobs: int) -> Iterator[Tried]:
    if jobs == 1 or len(cells) < 2:
        yield from (_run_cell(experiment, cell) for cell in cells)
        return
    from joblib import Parallel, delayed

    spread: Callable[..., Any] = Parallel(n_jobs=jobs, return_as="generator_unordered")
    finished = spread(delayed(_run_cell)(experiment, cell) for cell in cells)
    left = len(cells)
    try:
        for one in finished:
            left -= 1
            yield one
    finally:
        if left:
            _end_processes(finished)


def _end_processes(finished: Generator[Tried, None, None]) -> None:
    """End the processes of a run that was interrupted, without messages and without waiting for them."""
    alone = threading.current_thread() is threading.main_thread()
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN) if alone else None  # an impatient second Ctrl-C
    try:
        with warnings.catch_warnings(action="ignore"):
            finished.close()  # joblib kills them; to kill them here too has once left both waiting for each other
    finally:
        if alone:
            signal.signal(signal.SIGINT, previous)


def _run_cell(experiment: Experiment, cell: Cell) -> Tried:
    before = time.perf_counter()
    try:
        values = json.loads(json.dumps(experiment.run(cell)))  # a value that JSON cannot hold fails here
    except Exception as error:  # a failure in one cell must not end the others
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {error} ({Path(where.filename).name}, line {where.lineno})"
        return cell, None, f"{experiment.name} {json.dumps(cell)}: {said}"
    return cell, CellResult(cell, values, time.perf_counter() - before, machine()), None
