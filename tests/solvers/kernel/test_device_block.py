"""The block dual method where torch computes: the optimum of the host, certified."""

import importlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hinge import SVC
from hinge.access import Gram, as_points
from hinge.kernels import Gaussian, Sigmoid
from hinge.monitoring import Stop
from hinge.problems import KernelRegularized
from hinge.problems.svm.losses import HINGE, epsilon_insensitive
from hinge.solvers import BlockDual, DeviceBlock, FromLandmarks, choose, solve

torch = pytest.importorskip("torch")
device = importlib.import_module("hinge.access.gram.device")
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU")
DEVICES = ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, needs_gpu])]


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5)).astype(np.float32) + 3
    return X, np.where(X[:, 0] * X[:, 1] + 2 * rng.standard_normal(400) > 9, 1, -1)


@pytest.mark.sampled
@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize(("bias", "C"), [("free", 1.0), ("free", 30.0), ("none", 1.0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_certifies_the_optimum_of_the_host(points, where, bias, C, weighted):
    X, y = points
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float) if weighted else None
    grams = device.DeviceGram(X, Gaussian(0.3), where), Gram(as_points(X, Gaussian(0.3), exact=True))
    problems = [KernelRegularized.from_C(gram, y, C, bias=bias, weight=weight) for gram in grams]
    ours = solve(problems[0], DeviceBlock(block=64), stop=Stop(1e-3, max_iter=100))
    theirs = solve(problems[1], BlockDual(), stop=Stop(1e-4))
    assert ours.certificate.gap <= 1e-3
    assert ours.certificate.objective == pytest.approx(theirs.certificate.objective, rel=1.2e-3)
    assert (ours.solution.beta * y >= 0).all() and (weight is None or not ours.solution.beta[weight == 0].any())


@pytest.mark.sampled
@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("bias", ["free", "none"])
@pytest.mark.parametrize(("C", "epsilon", "weighted"), [(1.0, 0.1, False), (1.0, 0.0, True), (30.0, 0.3, True)])
def test_regression_has_the_optimum_of_the_host(points, where, bias, C, epsilon, weighted):
    X, _ = points
    y = np.sin(X[:, 0]) + 0.2 * np.random.default_rng(1).standard_normal(len(X))
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float) if weighted else None
    grams = device.DeviceGram(X, Gaussian(0.3), where), Gram(as_points(X, Gaussian(0.3), exact=True))
    given = {"bias": bias, "weight": weight, "loss": epsilon_insensitive(epsilon)}
    problems = [KernelRegularized.from_C(gram, y, C, **given) for gram in grams]
    ours = solve(problems[0], DeviceBlock(block=64), stop=Stop(1e-3, max_iter=200))
    theirs = solve(problems[1], BlockDual(), stop=Stop(1e-4))
    assert ours.certificate.gap <= 1e-3
    assert ours.certificate.objective == pytest.approx(theirs.certificate.objective, rel=1.2e-3)
    assert isinstance(choose(problems[0]).solver, DeviceBlock)


def test_many_points_begin_with_landmarks():
    X = np.random.default_rng(0).standard_normal((32768, 2)).astype(np.float32)
    gram = device.DeviceGram(X, Gaussian(0.3), "cpu")
    for y, loss in ((X[:, 0].astype(float), epsilon_insensitive(0.1)), (np.where(X[:, 0] > 0, 1, -1), HINGE)):
        problem = KernelRegularized(gram, y, 0.1, loss=loss)
        solver = choose(problem).solver
        assert isinstance(solver, FromLandmarks) and solver.rejects(problem) is None


@pytest.mark.slow
def test_more_points_between_bounds_than_a_working_set_holds_take_turns(points):
    X, y = points
    problem = KernelRegularized.from_C(device.DeviceGram(X, Gaussian(10.0), "cpu"), y, 10.0, bias="free")
    assert solve(problem, DeviceBlock(block=64, most=128), stop=Stop(1e-3, max_iter=200)).certificate.gap <= 1e-3


def test_blocks_double_once_more_steps_no_longer_help_and_memory_has_room(points, monkeypatch):
    X, y = points
    problem = KernelRegularized.from_C(device.DeviceGram(X, Gaussian(10.0), "cpu"), y, 10.0, bias="free")
    solver = DeviceBlock(block=32, most=64)
    state = solver.init(problem)._replace(free=200, off=50)
    late = state._replace(steps=4 * solver.steps)
    assert [solver.cost(problem, one).kernel_values for one in (state, late)] == [64 * 464, 128 * 528]
    monkeypatch.setattr(problem.gram, "free", lambda: 10_000)
    assert solver.cost(problem, late).kernel_values == 64 * 464


def test_it_is_what_auto_takes_where_it_can(points):
    X, y = points
    assert isinstance(SVC(device="cpu:0").fit(X, y).solver_, DeviceBlock)
    problem = KernelRegularized(device.DeviceGram(X, Sigmoid(0.01, 0.1), "cpu"), y, 0.1)
    assert isinstance(choose(problem).solver, BlockDual)
    assert "positive" in DeviceBlock().rejects(problem)
    assert "use BlockDual" in DeviceBlock().rejects(KernelRegularized(X, y, 0.1, Gaussian(0.3)))


def test_classes_share_what_was_sent(points):
    X, _ = points
    y = (X[:, 0] > 3).astype(int) + (X[:, 1] > 3.3)
    there, here = SVC(device="cpu:0").fit(X, y), SVC().fit(X, y)
    assert (there.predict(X) == here.predict(X)).mean() > 0.99


@pytest.mark.parametrize("where", DEVICES)
def test_threads_do_not_share_what_they_write_to(points, where):
    X, y = points
    fits = [lambda C=C: SVC(C, device="cpu:0" if where == "cpu" else where).fit(X, y) for C in (0.1, 1.0, 3.0, 10.0)]
    alone = [fit().objective_ for fit in fits]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda fit: fit(), fits))
    assert all(model.stop_reason_ == "converged" for model in together)
    assert [model.objective_ for model in together] == pytest.approx(alone, rel=1e-3)


def test_a_fit_that_is_cut_off_has_a_finite_gap(points):
    X, y = points
    with pytest.warns(ConvergenceWarning):
        model = SVC(device="cpu:0", solver=DeviceBlock(block=64), C=100.0, max_iter=1).fit(X, y)
    assert 1e-3 < model.gap_ < np.inf


def test_a_fit_that_rounding_ends_goes_on_in_float64(points):
    X, y = points
    model = SVC(device="cpu:0", gamma=1e-6, C=1e6).fit(1e3 * X, y)
    assert model.stop_reason_ == "converged" and model.gap_ <= 1e-3


@pytest.mark.parametrize("options", [{"block": 1}, {"block": 64, "most": 32}, {"steps": 15}])
def test_bad_settings_are_refused(options):
    with pytest.raises(ValueError, match="must be"):
        DeviceBlock(**options)
