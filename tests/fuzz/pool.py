"""Cases in processes of their own: one that dies or hangs is counted, and another takes its place."""

import importlib
import multiprocessing
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections.abc import Iterable, Iterator
from multiprocessing.connection import wait
from typing import Any

import numpy as np

from .judging import fault_of

SECONDS = 5.0
"""A case may take so long, but for the first time that it runs: that may compile."""
PATIENCE = 90.0
"""What takes longer than this is ended."""
MEMORY = 8 << 30
"""Bytes of address space of a process: who asks for more is told no, rather than the machine going down."""


def run_case(target: str, seed: int, number: int) -> None:
    """One case, here."""
    module = importlib.import_module(f".targets.{target}", __package__)
    rng = np.random.default_rng([seed, zlib.crc32(target.encode()), number])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module.case(rng)


def run_cases(cases: Iterable[tuple[str, int]], seed: int, jobs: int = 1) -> Iterator[tuple[str, int, str]]:
    """Every case, given as target and number, with what was wrong: nothing, if it was well."""
    todo, folder = iter(cases), tempfile.mkdtemp(prefix="hinge-fuzz-")
    workers = [_Worker(seed, folder) for _ in range(jobs)]
    try:
        for worker in list(workers):
            worker.next(todo)
        while busy := [worker for worker in workers if worker.job is not None]:
            ready = wait([worker.pipe for worker in busy], timeout=1.0)
            for worker in busy:
                fault = worker.answer() if worker.pipe in ready else worker.overdue()
                if fault is None:
                    continue
                yield *worker.job, fault
                if not worker.process.is_alive():
                    workers.remove(worker)
                    worker = _Worker(seed, folder)
                    workers.append(worker)
                worker.next(todo)
    finally:
        for worker in workers:
            worker.process.kill()
        shutil.rmtree(folder, ignore_errors=True)


class _Worker:
    """A process that runs cases one after another."""

    def __init__(self, seed: int, folder: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: Any = context.Process(target=_serve, args=(theirs, seed, folder), daemon=True)
        self.process.start()
        theirs.close()
        self.job: Any = None

    def next(self, todo: Iterator[tuple[str, int]]) -> None:
        self.job, self.began = next(todo, None), time.monotonic()
        if self.job is not None:
            self.pipe.send(self.job)

    def answer(self) -> str:
        try:
            return self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self.process.join()
            code = self.process.exitcode
            return f"the process died: {signal.Signals(-code).name if code < 0 else f'exit code {code}'}"

    def overdue(self) -> str | None:
        if time.monotonic() - self.began < PATIENCE:
            return None
        self.process.kill()
        self.process.join()
        return f"it took more than {PATIENCE:g} s"


def _serve(pipe: Any, seed: int, folder: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    tempfile.tempdir = folder
    while True:
        try:
            target, number = pipe.recv()
        except EOFError:
            return
        fault = ""
        for _ in range(2):
            began = time.monotonic()
            fault = _fault(target, seed, number)
            took = time.monotonic() - began
            if fault or took <= SECONDS:
                break
            fault = f"it took {took:.1f} s"
        pipe.send(fault)


def _fault(target: str, seed: int, number: int) -> str:
    try:
        run_case(target, seed, number)
    except Exception as error:
        fault = fault_of(error)
        if not fault:
            return ""
        ours = [f for f in traceback.extract_tb(error.__traceback__) if "/hinge/" in f.filename]
        return f"{fault}\n    at {ours[-1].filename}:{ours[-1].lineno}" if ours else fault
    finally:
        sys.stdout.flush()
    return ""
