"""Ctrl-C at random moments of every command and every estimator, and how long each takes to end."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp

LIMIT = 2.0
"""Seconds to the prompt, whatever else the machine has to do."""
BUSY = 3
"""Processes that keep the machine busy meanwhile."""
LONGEST = 8.0
"""No press comes later than this."""


# --- estimators: in a child of this process, which has compiled what they need -----------------


@cache
def blobs(n, d, classes=2, dtype=np.float64):
    """Noisy classes that are hard to tell apart, so that a fit takes long."""
    rng = np.random.default_rng(n + d)
    X = rng.standard_normal((n, d), dtype=np.float32).astype(dtype)
    return X, np.digitize(X[:, 0] + rng.standard_normal(n), np.linspace(-1, 1, classes + 1)[1:-1])


@cache
def sparse(n, d, a_row=50):
    rng = np.random.default_rng(n + d)
    columns = np.sort(rng.integers(0, d // a_row, (n, a_row)) + np.arange(a_row) * (d // a_row))
    X = sp.csr_array((rng.random(n * a_row), columns.ravel(), np.arange(0, n * a_row + 1, a_row)), shape=(n, d))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, (X.sum(1) + rng.standard_normal(n) > a_row / 2).astype(int)


class Slow:
    """A seller whose calls take long."""

    shape = (4000, 40)
    cellar, labels = blobs(*shape)

    def row(self, i):
        time.sleep(0.3)
        return self.cellar[i]

    def column(self, j):
        time.sleep(0.3)
        return self.cellar[:, j]

    def cells(self, i, columns):
        time.sleep(0.3)
        return self.cellar[i, columns]


def similarity(x, z):
    time.sleep(1e-4)
    return float(np.exp(-0.1 * ((x - z) ** 2).sum()))


def pieces(X, y):
    from hinge import LinearSVC

    model = LinearSVC()
    while True:
        model.partial_fit(X, y, classes=[0, 1])


def estimators():
    """What is fitted, and on what, by name; each takes long or for ever."""
    import hinge
    from hinge import (
        SVC,
        SVCCV,
        SVR,
        SVRCV,
        LinearSVC,
        LinearSVCCV,
        LinearSVR,
        LinearSVRCV,
        NuSVC,
        NuSVR,
        OneClassSVM,
        Oracle,
    )
    from hinge.kernels import Function

    hard = dict(tol=1e-12, max_iter=10**9)
    few, many, large = ((lambda: blobs(30_000, 40)), (lambda: blobs(200_000, 60)), (lambda: blobs(400_000, 100)))
    classes = lambda: blobs(100_000, 60, 5)  # noqa: E731
    singles = lambda: blobs(60_000, 100, dtype=np.float32)  # noqa: E731
    payoffs = np.random.default_rng(0).standard_normal((2_000, 2_000))
    forms = np.random.default_rng(0).standard_normal((150, 120, 120))
    return {
        "LinearSVC": (LinearSVC(**hard, solver="sdca").fit, many),
        "LinearSVC newton": (LinearSVC(**hard).fit, large),
        "LinearSVC float32": (LinearSVC(**hard, loss="hinge", solver="pegasos").fit, singles),
        "LinearSVC sparse": (LinearSVC(**hard).fit, lambda: sparse(100_000, 5_000)),
        "LinearSVC classes, threads": (LinearSVC(**hard, n_jobs=2).fit, classes),
        "LinearSVC classes, 4 threads": (LinearSVC(**hard, n_jobs=4).fit, classes),
        "LinearSVC classes, threads, keep": (LinearSVC(**hard, n_jobs=2, on_interrupt="keep").fit, classes),
        "LinearSVC threads": (LinearSVC(**hard, solver="cocoa", n_jobs=2).fit, many),
        "LinearSVC keep": (LinearSVC(**hard, solver="sdca", on_interrupt="keep").fit, many),
        "LinearSVC slack": (LinearSVC(**hard, loss="hinge", slack=0.2).fit, many),
        "LinearSVC simba": (LinearSVC(**hard, loss="hinge", slack=0.2, solver="simba").fit, many),
        "LinearSVC 1-norm": (LinearSVC(**hard, penalty="l1", dual=False).fit, many),
        "LinearSVC crammer_singer": (
            LinearSVC(**hard, multi_class="crammer_singer").fit,
            lambda: blobs(100_000, 60, 5),
        ),
        "LinearSVR": (LinearSVR(**hard, epsilon=0.1).fit, many),
        "LinearSVC few reads": (LinearSVC(tol=1e-9, max_reads=10**7).fit, many),
        "LinearSVC oracle": (LinearSVC().fit, lambda: (Oracle(Slow()), Slow.labels)),
        "partial_fit": (pieces, large),
        "SVC": (SVC(C=100, tol=1e-6).fit, few),
        "SVC float32": (SVC(C=100, tol=1e-4).fit, singles),
        "SVC threads": (SVC(C=100, tol=1e-6, n_jobs=2).fit, few),
        "SVC 4 threads": (SVC(C=100, tol=1e-6, n_jobs=4).fit, few),
        "SVC keep": (SVC(C=100, tol=1e-6, on_interrupt="keep").fit, few),
        "SVC probability, keep": (SVC(C=10, probability=True, on_interrupt="keep").fit, lambda: blobs(6_000, 40)),
        "SVC classes": (SVC(C=10, tol=1e-6).fit, lambda: blobs(20_000, 20, 6)),
        "SVC sparse": (SVC(C=10, tol=1e-6).fit, lambda: sparse(15_000, 5_000)),
        "SVC slack": (SVC(slack=0.3, tol=1e-6).fit, few),
        "SVC function": (SVC(kernel=Function(similarity, on="pairs")).fit, lambda: blobs(2_000, 5)),
        "SVC predict": (predicted, lambda: (blobs(3_000, 40), blobs(300_000, 40)[0])),
        "SVR": (SVR(C=100, tol=1e-6).fit, few),
        "OneClassSVM": (OneClassSVM(tol=1e-8).fit, few),
        "NuSVC": (NuSVC(nu=0.3, tol=1e-7).fit, few),
        "NuSVR": (NuSVR(C=100, tol=1e-8).fit, few),
        "LinearSVCCV": (LinearSVCCV(tol=1e-9).fit, many),
        "LinearSVCCV threads": (LinearSVCCV(tol=1e-9, n_jobs=2).fit, many),
        "LinearSVRCV": (LinearSVRCV(tol=1e-9).fit, many),
        "SVCCV": (SVCCV(tol=1e-6).fit, few),
        "SVCCV threads": (SVCCV(tol=1e-6, n_jobs=4).fit, few),
        "SVRCV": (SVRCV(tol=1e-6).fit, few),
        "max_margin": (lambda X, y: hinge.max_margin(X, y, eps=1e-9), many),
        "enclosing_ball": (lambda X, y: hinge.enclosing_ball(X, eps=1e-14), large),
        "solve_game": (lambda A: hinge.solve_game(A, eps=1e-9), lambda: (payoffs,)),
        "semidefinite": (lambda A: hinge.semidefinite(A, eps=1e-9), lambda: (forms,)),
    }


def predicted(known, new):
    from hinge import SVC

    SVC(C=10, max_time=1).fit(*known).decision_function(new)


def pressed_child(fit, data, after):
    """Seconds from Ctrl-C to the end of a child that fits; None where it had ended before."""
    given = data()
    begun, begin = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.write(begin, b"!")  # Python drops what comes before a fork has begun
            sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
            fit(*given)
            code = 0
        except KeyboardInterrupt:
            code = 130
        finally:
            os._exit(code)
    os.read(begun, 1)
    os.close(begun), os.close(begin)
    time.sleep(after)
    return _seconds_to_end(pid)


def _seconds_to_end(pid, patience=60.0):
    if os.waitpid(pid, os.WNOHANG)[0]:
        return None
    sent = time.perf_counter()
    os.kill(pid, signal.SIGINT)
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        time.sleep(0.002)
        if time.perf_counter() - sent > patience:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            break
    return time.perf_counter() - sent


# --- commands: as they are typed ----------------------------------------------------------------

COLD = "cold"
"""Commands with this mark have no compiled code to begin with."""


def commands(folder):
    """What is typed, by name, on files of some size."""
    X, y = blobs(200_000, 40)
    np.savetxt(folder / "large.csv", np.column_stack([X[:60_000], y[:60_000]]), "%.6g", ",")
    with (folder / "large.svm").open("w") as stream:
        for x, label in zip(X[:60_000].round(3), y, strict=False):
            stream.write(f"{label} " + " ".join(f"{j}:{v}" for j, v in enumerate(x.tolist(), 1)) + "\n")
    np.save(folder / "large.npy", np.tile(X, (4, 1)))
    from hinge import LinearSVC
    from hinge.files import model_files

    model_files.save(LinearSVC(max_time=3).fit(X, y), folder / "model.hinge")
    fit = ["--tol", "1e-12"]
    return {
        "hinge train": ["train", "large.csv", *fit, "-o", "new.hinge"],
        "hinge train svmlight": ["train", "large.svm", *fit],
        "hinge train adult": ["train", "adult", *fit, "--solver", "pegasos"],
        f"hinge train {COLD}": ["train", "adult", *fit],
        "hinge predict": ["predict", "model.hinge", "large.csv", "-o", "labels.txt", "--scores"],
        "hinge datasets": ["datasets"],
        "hinge pair": ["pair", "large.npy", "pair", "--memory", "64"],
        "hinge compare": ["compare", "large.csv", "--max-time", "2", "--out", "race"],
        "hinge path": ["path", "large.csv", "--out", "path"],
        "hinge reproduce": ["reproduce", "pegasos", "--out", "report"],
        "hinge reproduce, processes": ["reproduce", "survey", "--out", "report", "--jobs", "2"],
    }


FITS = {
    f"LinearSVC {COLD}": "LinearSVC().fit(X, y)",
    f"SVC {COLD}": "SVC().fit(X, y)",
    f"SVC keep {COLD}": "SVC(on_interrupt='keep').fit(X, y)",
    f"OneClassSVM {COLD}": "OneClassSVM().fit(X)",
    f"max_margin {COLD}": "max_margin(X, y)",
    f"LinearSVC simba {COLD}": "LinearSVC(loss='hinge', slack=.2, solver='simba').fit(X, y)",
}
"""First fits, which compile; after one that Ctrl-C broke off, the next must be as good as ever."""

FIT = """
import numpy as np, sys, time, warnings
warnings.simplefilter("ignore")
from hinge import *
import hinge.estimators, hinge.saddle.front_doors
rng = np.random.default_rng(0)
X = rng.standard_normal((500, 5)); y = np.where(X[:, 0] + rng.standard_normal(500) > 0, 1, -1)
print("ready", flush=True)
try:
    {fit}
    print("ended", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
first = time.perf_counter()
{fit}
print("again", flush=True)
"""


def pressed_fit(fit, after, folder):
    """Seconds from Ctrl-C during a first fit to what follows; None if it had ended."""
    with tempfile.TemporaryDirectory(dir=folder) as code:
        process = subprocess.Popen(
            [sys.executable, "-c", FIT.format(fit=fit)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "NUMBA_CACHE_DIR": code},
        )
        assert process.stdout.readline() == "ready\n"
        time.sleep(after)
        sent = time.perf_counter()
        process.send_signal(signal.SIGINT)
        line = process.stdout.readline()
        seconds = time.perf_counter() - sent
        out, err = process.communicate(timeout=600)  # it compiles, on a busy machine
        if line == "ended\n":
            return None
        if "again" not in out:
            raise RuntimeError(f"the fit after a Ctrl-C at {after:.2f} s failed: {err[-2000:]}")
    return seconds


def pressed_command(words, after, folder, cold):
    """Seconds from Ctrl-C to the end of a command; None where it had ended before."""
    env = {**os.environ, **({"NUMBA_CACHE_DIR": tempfile.mkdtemp(dir=folder)} if cold else {})}
    with (folder / "said").open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "hinge", *words], cwd=folder, env=env, stdout=said, stderr=said
        )
        time.sleep(after)
        seconds = None
        if process.poll() is None:
            sent = time.perf_counter()
            process.send_signal(signal.SIGINT)
            process.wait(60)
            seconds = time.perf_counter() - sent
    text = (folder / "said").read_text()
    if seconds is not None and "Traceback" in text and "hinge/cli" in text:
        raise RuntimeError(f"a traceback after {after:.2f} s:\n{text[-1500:]}")
    return seconds


# --- all of them --------------------------------------------------------------------------------


def subjects(folder, names=None):
    """A function of the moment of the press, by name."""
    typed = {} if names and not any(name.startswith("hinge") for name in names) else commands(folder)
    found = {
        name: (lambda after, words=words, name=name: pressed_command(words, after, folder, name.endswith(COLD)))
        for name, words in typed.items()
    }
    found |= {name: (lambda after, fit=fit: pressed_fit(fit, after, folder)) for name, fit in FITS.items()}
    found |= {
        name: (lambda after, fit=fit, data=data: pressed_child(fit, data, after))
        for name, (fit, data) in estimators().items()
    }
    return {name: press for name, press in found.items() if not names or name in names}


@contextmanager
def busy(processes=BUSY):
    """Keep the machine busy inside."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def report(presses, seed, names=None, processes=BUSY):
    """Press so many times, each time another subject, and print how long it took; 1 if any took too long."""
    # A shell lets what a script starts in the background ignore Ctrl-C, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    late = pressed = missed = 0
    longest = 0.0
    with tempfile.TemporaryDirectory(prefix="hinge-faults-") as place:
        warm()
        every = list(subjects(Path(place), names).items())
        with busy(processes):
            for k in range(presses):
                name, press = every[k % len(every)]
                after = LONGEST * random.Random(f"{name} {seed} {k}").random() ** 2
                try:
                    seconds = press(after)
                except RuntimeError as error:
                    late += 1
                    print(f"{name} pressed after {after:.2f} s: {error}", flush=True)
                    continue
                if seconds is None:
                    missed += 1
                    continue
                pressed, longest, late = pressed + 1, max(longest, seconds), late + (seconds > LIMIT)
                mark = "  TOO LATE" if seconds > LIMIT else ""
                print(f"{name:32} pressed after {after:5.2f} s, ended {seconds:5.2f} s later{mark}", flush=True)
    print(f"{pressed} presses, {late} not obeyed within {LIMIT:g} s, longest {longest:.2f} s; {missed} came too late")
    return int(late > 0)


def warm():
    """Compile here what children use."""
    import hinge
    from hinge import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

    X, y = blobs(300, 5)
    slack = {"loss": "hinge", "slack": 0.2}
    for options in (
        {"solver": "sdca"},
        {},
        slack,
        {**slack, "solver": "simba"},
        {"max_reads": 500},
        {"penalty": "l1", "dual": False},
        {"multi_class": "crammer_singer"},
    ):
        LinearSVC(**options, tol=0.1).fit(X, y)
    LinearSVR().fit(X, y)
    for machine in (SVR, NuSVR, NuSVC):
        machine().fit(X, y)
    LinearSVC(loss="hinge", solver="pegasos").fit(X.astype(np.float32), y)
    LinearSVC().fit(*sparse(300, 2000))
    LinearSVC().partial_fit(X, y, classes=[0, 1])
    SVC(tol=1e-6).fit(X, y).predict(X)
    SVC(probability=True).fit(X.astype(np.float32), y)
    SVC().fit(X, y).predict(X)
    SVC().fit(*sparse(300, 2000))
    SVC(slack=0.3).fit(X, y)
    OneClassSVM(tol=1e-8).fit(X)
    hinge.max_margin(X, y)
    hinge.enclosing_ball(X)
    hinge.solve_game(X)
    hinge.semidefinite(np.random.default_rng(0).standard_normal((4, 5, 5)))
