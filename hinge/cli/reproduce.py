"""``hinge reproduce``: the papers' tables and figures measured again, and a report of them."""

from __future__ import annotations

import shlex
import signal
import time
from datetime import timedelta
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TimeElapsedColumn
from rich.text import Text

from hinge.cli.options import Json
from hinge.cli.show import INTERRUPTED, make_folder, number, say, show_json, show_table
from hinge.experiments import Experiment, find, registry
from hinge.report.outcome import finite

if TYPE_CHECKING:
    from hinge.experiments.base import Cell, Outcome


Scale = Enum("Scale", {"tiny": "tiny", "full": "full"})


def reproduce(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME…|all]", help="Experiments, or a paper: pegasos, talk, ...")
    ] = None,
    scale: Annotated[Scale, typer.Option(help="tiny shows that all runs; full takes an hour.")] = Scale.tiny,
    out: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("hinge_report"),
    jobs: Annotated[int, typer.Option(min=1, help="Processes for cells that measure no time.")] = 1,
    as_json: Json = False,
) -> None:
    """Measure tables and figures of the papers again, and write a report that puts ours beside them.

    Finished cells are kept in the folder of the report: after Ctrl-C the same command continues from there.
    """
    if not names:
        _show_names(as_json)
        return
    chosen = find(names)
    missing = [package for package in ("matplotlib", "plotly") if find_spec(package) is None]
    if missing:  # before an hour of work, not after it
        raise ValueError(f'The report needs {" and ".join(missing)}: pip install "hinge[report]"')
    from hinge.experiments.runner import Run, machine, names_in, run, stored_results

    make_folder(out)
    began = time.perf_counter()
    with _Bars(chosen, scale.value) as progress:
        try:
            runs = run(chosen, scale.value, out, jobs=jobs, progress=progress)
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is ending: an impatient Ctrl-C changes nothing
            progress.stop()
            say(f"Interrupted: {progress.kept} cells are kept in {out}; the same command goes on.")
            raise typer.Exit(INTERRUPTED) from None
    from joblib import cpu_count

    from hinge.report.outcome import Section
    from hinge.report.page import Heading, write_report

    others = [e for e in find(names_in(out)) if e not in chosen]
    earlier = [Run(e, stored_results(e, scale.value, out), []) for e in others]
    earlier = [one for one in earlier if one.results]
    found = [
        (one, one.experiment.outcome(one.results, scale.value))
        for one in sorted([*runs, *earlier], key=lambda one: registry.names().index(one.experiment.name))
    ]
    outcomes = [(one.experiment, outcome) for one, outcome in found if one.experiment in chosen]
    failures = [line for one in runs for line in one.failures]
    sections = [Section.from_run(one.experiment, outcome, one.results, one.failures) for one, outcome in found]
    command = f"hinge reproduce {shlex.join(names)} --scale {scale.value}"
    heading = Heading("The papers' tables and figures, beside ours", scale.value, machine(), command)
    page = write_report(out, sections, heading, cpu_count())
    if as_json:
        show_json(_claims(outcomes, page))
    else:
        _show_claims(outcomes)
    for note in dict.fromkeys(note for _, outcome in outcomes for note in outcome.notes):
        say(note)
    for line in failures:
        say(f"error: {line}", style="red")
    if scale is Scale.tiny:
        say("The tiny scale shows that all runs. Its numbers are no verdicts on the papers.")
    if earlier:
        say(f"From earlier runs the report also has {', '.join(one.experiment.name for one in earlier)}.")
    counted = "1 experiment" if len(chosen) == 1 else f"{len(chosen)} experiments"
    say(f"{counted} in {time.perf_counter() - began:.0f} s. The report: {page}")
    if failures:
        raise typer.Exit(1)


class TimeLeft(ProgressColumn):
    """The time left at the mean time of the cells that were measured; kept ones took none."""

    def render(self, task: Task) -> Text:
        """As hours, minutes and seconds, once a cell was measured."""
        measured, left = task.fields["measured"], task.remaining
        if task.finished or not measured or left is None:
            return Text("" if task.finished else "-:--:-- left")
        return Text(f"{timedelta(seconds=round((task.elapsed or 0.0) / measured * left))} left")


class _Bars(Progress):
    """A bar for each experiment, and one for all with the time left."""

    def __init__(self, experiments: list[Experiment], scale: str) -> None:
        columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeLeft())
        super().__init__(*columns, console=Console(stderr=True))
        cells = {e.name: len(e.cells(scale)) for e in experiments}  # type: ignore[arg-type]
        self.kept, self._all = 0, self.add_task("all cells", total=sum(cells.values()), measured=0)
        hidden: dict[str, Any] = {"start": False, "visible": False, "measured": 0}
        self._own = {name: self.add_task(name, total=n, **hidden) for name, n in cells.items()}

    def begin(self, experiment: Experiment, cells: int, kept: int) -> None:
        """Show the bar of an experiment."""
        task = self._own[experiment.name]
        self.start_task(task)
        self.update(task, visible=True, completed=kept)
        self.advance(self._all, kept)
        self.kept += kept

    def done(self, experiment: Experiment, cell: Cell, failure: str | None) -> None:
        """One cell more."""
        for task in (self._own[experiment.name], self._all):
            self.update(task, advance=1, measured=self.tasks[task].fields["measured"] + 1)
        self.kept += failure is None


# --- showing --------------------------------------------------------------------------------------


def _show_names(as_json: bool) -> None:
    every = registry.BY_NAME.items()  # none of them is imported
    if as_json:
        show_json([{"name": name, "title": e.title, "paper": e.paper, "place": e.place} for name, e in every])
        return
    lines = [("name", "what", "paper"), *((name, e.title, f"{e.paper}, {e.place}") for name, e in every)]
    show_table(lines, narrow=1)
    say("Run some of them with 'hinge reproduce NAME …', or all with 'hinge reproduce all'.")


def _claims(outcomes: list[tuple[Experiment, Outcome]], page: Path) -> dict[str, Any]:
    """What was found beside the papers' claims, in JSON's terms."""
    claims = [
        {"experiment": e.name, "quotation": c.sentence.quote, "place": c.sentence.place, "what": c.sentence.what}
        | {"rule": c.sentence.rule.words, "unit": c.sentence.unit, "verdict": c.verdict.value}
        | {"rows": [{**vars(row), "verdict": row.verdict.value} for row in c.rows]}
        for e, outcome in outcomes
        for c in outcome.claims
    ]
    return {"report": str(page), "claims": finite(claims)}


def _show_claims(outcomes: list[tuple[Experiment, Outcome]]) -> None:
    heads = ("verdict", "experiment", "ours", "paper", "ratio", "claim", "on", "conditions")
    found = [(e.name, c.sentence.what, row) for e, outcome in outcomes for c in outcome.claims for row in c.rows]
    lines = [
        (row.verdict.value, name, *map(number, (row.ours, row.paper, row.ratio)), what, row.on, row.conditions)
        for name, what, row in found
    ]
    show_table([heads, *lines], narrow=1)
