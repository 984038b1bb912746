"""Writers killed at chosen and at random moments, and what is left looked at."""

import os
import random
import signal
import sys
import tempfile
import time
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from .writers import TRACED, WRITERS

PATIENCE = 120
"""Seconds after which a writer is taken to hang."""


def rounds(kills, seed, names=None):
    """Kill writers in turn, quick ones more often; yields name, number and what was lost, if anything."""
    names = list(names or WRITERS)
    deck = [name for name in names for _ in range(WRITERS[name].share)]
    lines, seconds = {}, {}
    for number in range(kills):
        name = deck[number % len(deck)]
        if name not in lines:
            lines[name], seconds[name] = measured(name)
        yield name, number, one(name, seed, number, lines[name], seconds[name])


def one(name, seed, number, lines=None, seconds=None):
    """Kill a writer once; a sentence about what was lost, or None."""
    if lines is None:
        lines, seconds = measured(name)
    writer, rng = WRITERS[name], random.Random(f"{name} {seed} {number}")
    with tempfile.TemporaryDirectory(prefix="hinge-faults-") as place:
        folder = Path(place)
        writer.prepare(folder)
        old = rng.random() < 0.7
        said = child(lambda: writer.write(folder, 0)) if old else None
        if said:
            return f"could not write at all: {said}"
        for again in range(1 + (rng.random() < 0.3)):  # sometimes the next one is killed as well
            line, after = None, rng.random() * seconds
            if rng.random() < 0.6:
                line, after = rng.randrange(lines), None
            moment = f"before line {line} of {lines}" if after is None else f"after {after:.3f} s"
            said = child(lambda line=line: writer.write(folder, 1), line, after)
            if said:
                return f"{moment}, attempt {again}: the writer said {said}"
            said = child(lambda: writer.check(folder, {0, 1} if old else {None, 0, 1}))
            if said:
                return f"killed {moment}, attempt {again}: {said}"
        said = child(lambda: writer.write(folder, 1)) or child(lambda: writer.check(folder, {1}))
        if said:
            return f"killed {moment}: the next run did not go on: {said}"
        left = sorted(str(path.relative_to(folder)) for path in folder.rglob(".hinge-*"))
        return f"killed {moment}: left behind {left}" if left else None


def measured(name):
    """Traced lines and seconds of an undisturbed second write."""
    writer = WRITERS[name]
    with tempfile.TemporaryDirectory(prefix="hinge-faults-") as place:
        folder = Path(place)
        writer.prepare(folder)
        if writer.warms:  # what is compiled here is not compiled in every child
            with Path(os.devnull).open("w") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
                writer.write(folder, 0)
                writer.check(folder, {0})
        told = folder.parent / f"{folder.name}.lines"
        for version in (0, 1):
            began = time.perf_counter()
            said = child(lambda version=version: told.write_text(str(counted(writer, folder, version))))
            if said:
                raise RuntimeError(f"{name} cannot be written undisturbed: {said}")
            seconds = time.perf_counter() - began
        lines = int(told.read_text())
        told.unlink()
    return lines, seconds


def counted(writer, folder, version):
    count = 0

    def tick():
        nonlocal count
        count += 1

    with_every_line(tick)
    writer.write(folder, version)
    sys.settrace(None)
    return count


def with_every_line(tick):
    """Call `tick` before every line of what writes."""

    def local(frame, event, _):
        if event == "line":
            tick()
        return local

    sys.settrace(lambda frame, event, _: local if frame.f_code.co_filename.endswith(TRACED) else None)


def child(action, line=None, after=None):
    """Do something in a process of its own, killed before a line or after a time; its error, if any."""
    report, speaking = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(report)
            quiet = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(quiet, stream)
            if line is not None:
                left = [line]

                def tick():
                    if left[0] == 0:
                        os.kill(os.getpid(), signal.SIGKILL)
                    left[0] -= 1

                with_every_line(tick)
            action()
            code = 0
        except BaseException:
            os.write(speaking, traceback.format_exc(limit=-4).encode()[-4000:])
        finally:
            os._exit(code)
    os.close(speaking)
    if after is not None:
        time.sleep(after)
        os.kill(pid, signal.SIGKILL)
    ended = _ended(pid)
    with os.fdopen(report, "rb") as stream:
        said = stream.read().decode(errors="replace")
    if ended is None:
        return f"nothing within {PATIENCE} s"
    if os.WIFSIGNALED(ended) and os.WTERMSIG(ended) != signal.SIGKILL:
        return f"it died of signal {os.WTERMSIG(ended)}"
    return said.strip() or None


def _ended(pid):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return status
        time.sleep(0.001)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None
