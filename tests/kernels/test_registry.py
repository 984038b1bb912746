"""The registry of kernels: the laws of all of them, and one line is enough to stand everywhere."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from kernels.throwaway import Throwaway

import hinge
from hinge.access import as_points
from hinge.files import model_files
from hinge.kernels import registry

ROOT = Path(__file__).resolve().parents[2]
POINTS = sorted(set(registry.BY_NAME) - {"precomputed"})


@pytest.fixture
def throwaway(monkeypatch):
    """One kernel more."""
    monkeypatch.setitem(registry.BY_NAME, "throwaway", Throwaway)


@pytest.fixture
def lists():
    """The script that writes the documentation's list."""
    spec = importlib.util.spec_from_file_location("lists", ROOT / "docs" / "lists.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- the laws ---------------------------------------------------------------------------------------


def points_of(n=40, d=9):
    """Points that float32 holds exactly, and whose products it does not."""
    return np.random.default_rng(0).standard_normal((n, d)).astype(np.float32).astype(np.float64)


def check_laws(kernel, X):
    """Symmetric, the same however points are stored, off by no more than it says, positive if it says so."""
    exact = np.asarray(kernel(X, X))
    np.testing.assert_allclose(exact, exact.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(kernel.diag((X * X).sum(1)), np.diag(exact), rtol=1e-9)
    every = np.arange(len(X))
    for stored in (X, X.astype(np.float32), sp.csr_array(X), np.asfortranarray(X)):
        for double in (False, True):
            points = as_points(stored, kernel, exact=double)
            out = np.empty(exact.shape, points.dtype)
            points.fill(every, every, out)
            A, B = points.errors()
            assert A.shape == B.shape and A.shape[1] == len(X)
            allowed = np.einsum("ki,kj->ij", A, B)
            assert (np.abs(out - exact) <= allowed + 1e-12).all()
            assert double is False or np.abs(out - exact).max() <= 1e-9 * np.abs(exact).max()
    if not kernel.indefinite:
        assert np.linalg.eigvalsh(exact).min() >= -1e-9 * np.abs(exact).max()


@pytest.mark.parametrize("name", POINTS)
def test_every_kernel_obeys_the_laws(name):
    check_laws(registry.BY_NAME[name](), points_of())


def test_a_new_kernel_stands_under_the_laws():
    check_laws(Throwaway(0.3), points_of())


def test_a_kernel_that_is_more_off_than_it_says_is_found_out(monkeypatch):
    none = np.zeros((1, len(points_of())))
    monkeypatch.setattr(Throwaway, "errors", lambda *args: (none, none))
    with pytest.raises(AssertionError):
        check_laws(Throwaway(0.3), points_of())


# --- what is registered -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", registry.BY_NAME)
def test_a_line_is_true(name):
    cls = registry.BY_NAME[name]
    assert getattr(hinge.kernels, cls.__name__) is cls is registry.of_class(cls.__name__)


@pytest.mark.slow
def test_kernels_are_there_after_importing_hinge():
    code = "import hinge; print(hinge.kernels.Gaussian(2.0), hinge.kernels.Function(min).on)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "Gaussian(gamma=2.0) pairs"
    with pytest.raises(AttributeError, match="has no attribute 'Nobody'"):
        hinge.kernels.Nobody  # noqa: B018


# --- one file and one line --------------------------------------------------------------------------


@pytest.mark.usefixtures("throwaway")
@pytest.mark.parametrize("sparse", [False, True])
def test_a_new_kernel_is_asked_for_by_name(tiny, sparse):
    X, y = tiny
    X = sp.csr_array(X) if sparse else X
    model = hinge.SVC(kernel="throwaway", gamma=0.3).fit(X, y)
    assert model.kernel_ == Throwaway(0.3)
    assert model.gap_ <= 1e-3
    given = hinge.SVC(kernel="precomputed").fit(Throwaway(0.3)(tiny[0], tiny[0]), y)
    np.testing.assert_allclose(model.objective_, given.objective_, rtol=2e-3)
    one = hinge.OneClassSVM(kernel="throwaway", gamma=0.3, nu=0.2).fit(X)
    assert one.gap_ <= 1e-3
    assert hinge.SVC(kernel="throwaway", gamma="auto").fit(X, y).kernel_.gamma == 1 / 7
    with pytest.raises(ValueError, match=r"kernel must be one of .*'throwaway'"):
        hinge.SVC(kernel="throw").fit(X, y)


@pytest.mark.usefixtures("throwaway")
def test_a_new_kernel_is_in_model_files(tiny, tmp_path):
    X, y = tiny
    model = hinge.SVC(kernel=Throwaway(0.3, share=0.5)).fit(X, y)
    model_files.save(model, tmp_path / "m.hinge")
    again = model_files.load(tmp_path / "m.hinge")
    assert again.kernel == again.kernel_ == Throwaway(0.3, share=0.5)
    assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()


@pytest.mark.usefixtures("throwaway")
def test_a_new_kernel_has_a_public_name_and_is_in_the_documentations_list(lists):
    assert hinge.kernels.Throwaway is Throwaway
    assert '| `"throwaway"` | `Throwaway` | Inner products, and a share of their squares. |' in lists.text()
