"""The command line: its commands, and how errors are reported."""

from __future__ import annotations

import contextlib
import functools
import io
import multiprocessing
import os
import sys
from collections.abc import Callable
from inspect import Parameter, Signature, signature, unwrap
from typing import Annotated, Any, NoReturn, get_args, get_type_hints

from hinge.version import __version__

try:
    import typer
    from typer.core import TyperCommand, TyperGroup

    from hinge.cli.options import CODES, Json, ReadOptions
    from hinge.cli.show import INTERRUPTED, say, show_json, show_table, silence
except ImportError:  # `main` says how to get it; the annotations below are not evaluated before that
    typer, TyperCommand, TyperGroup = None, object, object  # type: ignore[assignment, misc]

PLAIN: dict[str, Any] = {"pretty_exceptions_enable": False, "rich_markup_mode": None}
"""Help as plain text, which wraps between words: rich's tables cut long names and break words to fit their columns."""

SHOWN_AS = {"<list[str]>": "<names>", "<int range>": "<int>"}
"""What the help says in place of typer's names of types that say little."""


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters is no reason to fail
    if typer is None:
        sys.stderr.write('The command line needs typer and rich: pip install "hinge[cli]"\n')
        raise SystemExit(1)
    try:
        application()(prog_name="hinge")
    except KeyboardInterrupt:  # before any command began
        _leave()
    except SystemExit as end:
        if end.code == INTERRUPTED:
            _leave()
        raise


def _leave() -> NoReturn:
    """Exit immediately after Ctrl-C, without waiting for compiling threads or for memory to be freed."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # the reading end of a pipe may be closed
            stream.flush()
    if multiprocessing.active_children():  # Python's own exit ends these
        raise SystemExit(INTERRUPTED)
    os._exit(INTERRUPTED)


def application() -> typer.Typer:
    """The commands, ready to be called."""
    app = typer.Typer(cls=_Commands, add_completion=True, no_args_is_help=True, **PLAIN)
    app.callback(epilog=CODES)(_common)
    from hinge.cli.evaluate import evaluate
    from hinge.cli.inspect import inspect
    from hinge.cli.libsvm import linear_predict, linear_train, svm_predict, svm_train
    from hinge.cli.pair import pair
    from hinge.cli.predict import predict
    from hinge.cli.reproduce import reproduce
    from hinge.cli.train import train
    from hinge.cli.two_classes import compare, path

    for command in (train, predict, evaluate, inspect, datasets, pair, compare, path, reproduce, warm):
        app.command(cls=_Command, epilog=CODES)(_as_command(command))
    raw = {"ignore_unknown_options": True, "allow_extra_args": True, "allow_interspersed_args": True}
    for old in (svm_train, svm_predict, linear_train, linear_predict):
        app.command(old.__name__.replace("_", "-"), cls=_Command, context_settings=raw, epilog=CODES)(_as_command(old))
    return app


class _Command(TyperCommand):
    """A command whose help has its options under headings."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for one in self.get_params(ctx):
            record = one.get_help_record(ctx)
            if record is not None:
                heading = getattr(one, "rich_help_panel", None) or f"{one.param_type_name}s".capitalize()
                names, text = record
                for type_name, plain in SHOWN_AS.items():
                    names = names.replace(type_name, plain)
                sections.setdefault(heading, []).append((names, text))
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


class _Commands(TyperGroup):
    """The commands; those with parameters of estimators get these options when they are called, and not before."""

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        name, command, rest = super().resolve_command(ctx, args)
        plain = getattr(command, "callback", None)
        if plain is not None and any(p.kind is p.VAR_KEYWORD for p in signature(unwrap(plain)).parameters.values()):
            from hinge.cli.machines import settings

            alone = typer.Typer(add_completion=False, **PLAIN)
            alone.command(name, cls=_Command, epilog=CODES)(_as_command(unwrap(plain), settings()))
            command = typer.main.get_command(alone)
        for option in getattr(command, "params", ()):
            kind = getattr(option, "type_descriptor", None) or option.type  # the former since typer has no click
            choices = [str(getattr(one, "value", one)) for one in getattr(kind, "choices", None) or ()]
            if getattr(option, "is_flag", False):  # whose type says nothing
                option.metavar = ""
            elif len("|".join(choices)) > 20 and option.metavar is None:  # too long for the column of types
                option.metavar, option.help = "<name>", f"{option.help or ''} One of {', '.join(choices)}."
        return name, command, rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, (one.help or "").partition("\n\n")[0]) for name, one in commands if one])


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hinge {__version__}")
        raise typer.Exit


def _common(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", hidden=True)] = False,
) -> None:
    """Support vector machines that say how good they are, and what they read."""
    ctx.obj = debug


def _as_command(command: Callable[..., None], settings: list[Parameter] | None = None) -> Callable[..., None]:
    """A command as typer takes it: with an option for each field of a `ReadOptions`, and errors as one line.

    `settings` take the place of the parameter ``**settings``.
    """
    parameters, fields = list[Parameter](), tuple[str, ...]()
    for one in signature(command, eval_str=True).parameters.values():
        if get_args(one.annotation)[:1] == (ReadOptions,):
            fields = get_args(one.annotation)[1:]
            parameters += [_reading_option(name) for name in fields]
        elif one.kind is one.VAR_KEYWORD:
            parameters += settings or []
        else:
            parameters.append(one.replace(kind=one.KEYWORD_ONLY))

    @functools.wraps(command)
    def run(ctx: typer.Context, **options: Any) -> None:
        try:
            if fields:
                from hinge.cli.rows import split_names

                how = {name: options.pop(name) for name in fields}
                how |= {name: split_names(how[name]) for name in ("drop", "categorical") if name in how}
                options["how"] = ReadOptions(**how)
            with silence(bool(options.get("quiet"))):
                command(ctx, **options)
            sys.stdout.flush()  # raises here, not at exit, if the reading end of a pipe is closed
        except KeyboardInterrupt:
            say("error: It was interrupted before it was finished.", style="red")
            raise typer.Exit(INTERRUPTED) from None
        except (typer.Exit, typer.BadParameter, BrokenPipeError):
            raise
        except Exception as error:
            if ctx.obj:
                raise
            say(f"error: {_sentence(error)}", style="red")
            raise typer.Exit(1) from None

    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return run


def _reading_option(name: str) -> Parameter:
    hint = get_type_hints(ReadOptions, include_extras=True)[name]
    default = ReadOptions._field_defaults[name]
    if default == ():  # several words, which typer takes as a list
        hint, default = Annotated[list[str] | None, hint.__metadata__[0]], None
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _sentence(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "There is not enough memory."
    if not isinstance(error, ValueError | TypeError | OSError | ImportError):
        return f"{type(error).__name__}: {error}. This is a fault of hinge; hinge --debug shows where."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return " ".join(str(error).split())


def warm(
    ctx: typer.Context,
    only: Annotated[list[str] | None, typer.Argument(help="Estimators, such as SVC; all by default.")] = None,
) -> None:
    """Compile what the first fits on this machine would wait for."""
    from hinge.warming import warm as compile_all

    compile_all(only or ())


def datasets(ctx: typer.Context, as_json: Json = False) -> None:
    """List the data sets that have a name."""
    from hinge.datasets import catalog

    if as_json:
        shown = ("name", "rows", "features", "task", "paper", "found", "how")
        show_json([{name: getattr(e, name) or None for name in shown} for e in catalog()])
        return
    lines = [("name", "rows", "features", "task", "paper", "where, or how to get it")]
    for e in catalog():
        features = f"{e.features:,}" if e.features else ""
        lines.append((e.name, e.rows, features, e.task, e.paper.partition(" (")[0], e.found or e.how))
    show_table(lines, narrow=2)
