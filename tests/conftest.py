"""What all tests share: a cache of compiled code that no edit survives, and small problems."""

import faulthandler
import gc
import hashlib
import os
import shutil
import signal
import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WEEK = 7 * 24 * 3600


def _keyed_cache() -> Path:
    """A folder for Numba named by the sources: it misses edits to functions inlined from other files."""
    package = Path(find_spec("hinge").origin).parent
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        text = source.read_bytes()
        if b"hinge.compiled" in text or source.stem == "compiled":  # no other file has compiled functions
            digest.update(str(source.relative_to(package)).encode())
            digest.update(text)
    caches = ROOT / ".numba_cache"
    folder = caches / digest.hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    os.utime(folder)
    for old in caches.iterdir():
        if old.stat().st_mtime < time.time() - WEEK:
            shutil.rmtree(old, ignore_errors=True)
    return folder


os.environ["NUMBA_CACHE_DIR"] = str(_keyed_cache())  # before numba is imported
if "PYTEST_XDIST_WORKER" in os.environ:  # there is a worker for each core: threads of BLAS would wait for one another
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

# Else every run rewrites all assertions anew, and each process that a test starts compiles all sources anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell lets what a script starts in the background ignore Ctrl-C, and children inherit that: the tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

import numpy as np  # noqa: E402
import pytest  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from hypothesis import settings  # noqa: E402

settings.register_profile("hinge", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("hinge")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Each worker has a stretch of the tests: two that meet the same function at once would both compile it."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Ten thousand tests and the modules they import stay to the end: the garbage collector need not walk them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_pycollect_makeitem(collector, obj):
    """Where slow tests are not asked for, functions and classes marked slow are not spelled out into their cases."""
    unasked = collector.config.option.markexpr == "not slow"
    if unasked and any(mark.name == "slow" for mark in getattr(obj, "pytestmark", ())):
        return []


def pytest_collection_modifyitems(items):
    """Of a test marked `sampled(k)`, all cases but the first k are slow."""
    seen = {}
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is not None:
            test = item.nodeid.split("[")[0]
            seen[test] = seen.get(test, 0) + 1
            if seen[test] > (mark.args[0] if mark.args else 1):
                item.add_marker(pytest.mark.slow)


class Watchdog:
    """Shows where a test hangs, after about five minutes.

    pytest's own starts a thread for each test and waits for its end, which takes longer than most tests do where all
    cores are busy; this one is set anew at most every ten seconds.
    """

    def __init__(self):
        self.stderr = os.dup(sys.__stderr__.fileno())  # capturing takes the other away
        self.set_at = -np.inf

    def pytest_runtest_setup(self):  # only where tests run: not in the process that hands them out
        now = time.monotonic()
        if now - self.set_at > 10:
            faulthandler.dump_traceback_later(300, file=self.stderr)
            self.set_at = now

    def pytest_unconfigure(self):
        faulthandler.cancel_dump_traceback_later()
        os.close(self.stderr)


def pytest_configure(config):
    config.pluginmanager.register(Watchdog())


@pytest.fixture(scope="session")
def data_home():
    """A folder of real data sets, for the few tests that want one."""
    folder = Path(os.environ.get("HINGE_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("no folder of real data: set HINGE_DATA to one")
    return folder


@pytest.fixture(scope="session")
def tiny():
    """60 dense rows of 7 features, two noisy classes; short binary fractions, which float32 holds exactly."""
    rng = np.random.default_rng(0)
    X = np.round(16 * rng.standard_normal((60, 7))) / 16
    X[rng.random(X.shape) < 0.3] = 0.0
    y = np.where(X[:, 0] + X[:, 1] + 0.7 * rng.standard_normal(60) > 0.2, 1, -1).astype(np.int8)
    return _frozen(X), _frozen(y)


@pytest.fixture(scope="session")
def tiny_csr(tiny):
    """The same rows compressed: float32 with int32 indices."""
    X, y = tiny
    S = sp.csr_array(X.astype(np.float32))
    assert S.indices.dtype == np.int32
    return S, y


@pytest.fixture(scope="session")
def adult():
    """The first 2,000 rows of adult: CSR, float32, binary features."""
    from hinge.datasets import load

    data = load("adult")
    return data.X_train[:2000], _frozen(data.y_train[:2000])


def _frozen(a):
    a.flags.writeable = False
    return a


@pytest.fixture
def interruptible():
    """Whatever happens to the handler in a test, it is Python's own before and after."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.fixture(scope="module", autouse=True)
def _open_sockets_end_where_they_began(request):
    """Else the collector finds what servers and browsers left, some time, and fails the test that happens to run."""
    yield
    if request.path.parent.name in ("dask", "docs", "faults", "report"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
