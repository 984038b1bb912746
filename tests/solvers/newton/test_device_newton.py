"""Newton's method where torch computes, on the CPU where there is no GPU: the optimum of the others, certified."""

import gc
import importlib
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import hinge
from hinge import LinearSVC
from hinge.access import device_rows
from hinge.monitoring import Status, Stop
from hinge.problems import L1Regularized, OneClass, Regularized
from hinge.problems.batch import Batch
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, epsilon_insensitive, squared_epsilon_insensitive
from hinge.solvers import DeviceNewton, Newton, solve
from hinge.solvers.newton import device_newton

has_torch = importlib.util.find_spec("torch") is not None
torch = importlib.import_module("torch") if has_torch else None
needs_torch = pytest.mark.skipif(not has_torch, reason="torch is not installed")
needs_gpu = pytest.mark.skipif(not has_torch or not torch.cuda.is_available(), reason="torch finds no GPU")
DEVICES = [pytest.param("cpu:0", marks=needs_torch), pytest.param("cuda", marks=[pytest.mark.gpu, needs_gpu])]
ON_TORCH = "cpu:0"
"""torch's processor: what a GPU does, where there is none."""


@pytest.fixture
def three():
    """Rows of three classes, some of them noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 6)).astype(np.float32)
    return X, np.where(rng.random(400) < 0.15, rng.integers(0, 3, 400), X[:, :3].argmax(1))


@pytest.mark.sampled
@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE], ids=lambda loss: loss.name)
@pytest.mark.parametrize("bias", ["none", "penalized", "free"])
@pytest.mark.parametrize("form", ["full", "compressed"])
def test_all_tasks_reach_the_optimum_of_newton(three, loss, bias, form, where, monkeypatch):
    X, y = three
    if form == "compressed":
        monkeypatch.setattr(device_rows, "FEW", 2)
        monkeypatch.setattr(device_newton, "FEW", 2)
    weight = np.random.default_rng(1).uniform(0.0, 2.0, (3, 400)) * (np.arange(400) > 5)
    options = {"bias": bias, "bias_scale": 0.7, "loss": loss}
    matrix = hinge.access.as_matrix(sp.csr_array(X) if form == "compressed" else X)
    tasks = [
        Regularized(matrix, np.where(y == k, 1, -1), 1e-3 * (k + 1), weight=weight[k], **options) for k in range(3)
    ]
    problem = Batch(tasks)
    result = solve(problem, DeviceNewton(tol=1e-5, device=where), stop=Stop(1e-5, max_iter=300))
    assert result.status is Status.CONVERGED
    found = result.certificate.members
    for task, answer, certificate in zip(tasks, result.solution.members, found, strict=True):
        best = solve(Regularized(X, task.y, task.lam, weight=task.weight, **options), Newton(), stop=Stop(1e-8))
        low, high = best.certificate.bound, best.certificate.objective
        assert certificate.gap <= 1e-5
        assert certificate.bound <= high
        assert low <= certificate.objective <= low * (1 + 1.1e-5)
        assert certificate.objective == pytest.approx(task.objective(answer._replace(b=certificate.b)), rel=1e-9)
        own = task.certificate(answer)  # that of the problem, on the processor
        assert own.gap <= 2e-5
        assert result.certificate.gap == max(certificate.gap for certificate in found)


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("loss", [epsilon_insensitive, squared_epsilon_insensitive], ids=lambda loss: loss.__name__)
@pytest.mark.parametrize("bias", ["none", "penalized", "free"])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_regression_reaches_the_optimum_of_newton(three, loss, bias, scale, where):
    X, _ = three
    rng = np.random.default_rng(1)
    y, weight = scale * (X[:, 0] + 5.0 + 0.3 * rng.standard_normal(400)), rng.uniform(0.0, 2.0, 400)
    options = {"weight": weight, "bias": bias, "loss": loss(0.1 * scale)}
    problem = Regularized(X, y, 1e-2, **options)
    result = solve(problem, DeviceNewton(tol=1e-5, device=where), stop=Stop(1e-5, max_iter=300))
    best = solve(Regularized(X, y, 1e-2, **options), Newton(), stop=Stop(1e-9, max_iter=10**4)).certificate
    assert result.status is Status.CONVERGED and result.certificate.bound <= best.objective
    assert best.bound <= result.certificate.objective <= best.bound * (1 + 1.1e-5)
    assert problem.certificate(result.solution).gap <= 2e-5


@needs_torch
@pytest.mark.parametrize("seed", range(24))
def test_no_bound_of_a_random_regression_is_false(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 300)), int(rng.integers(1, 20))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-2, 2)
    y = (X[:, 0] + rng.standard_normal(n)) * 10.0 ** rng.uniform(-3, 3) + rng.choice([0.0, 1e4])
    loss = [epsilon_insensitive, squared_epsilon_insensitive][seed % 2](rng.choice([0.0, 0.1, 1.0]) * np.abs(y).mean())
    weight = None if seed % 3 else rng.integers(0, 3, n) + (np.arange(n) == 0)
    bias = str(rng.choice(["none", "free", "penalized"]))
    problem = Regularized(X, y, 10.0 ** rng.uniform(-5, 1), weight=weight, bias=bias, loss=loss)
    best = solve(problem, Newton(), stop=Stop(1e-9, max_iter=3000)).certificate
    for steps in (1, 4, 500):
        found = solve(problem, DeviceNewton(tol=1e-4, device="cpu"), stop=Stop(1e-4, max_iter=steps)).certificate
        assert found.bound <= best.objective * (1 + 1e-9) and best.bound * (1 - 1e-9) <= found.objective
    assert found.gap <= 1e-4


def test_members_of_a_batch_have_one_loss_and_one_bias(three):
    matrix, y = hinge.access.as_matrix(three[0]), np.where(three[1] == 1, 1, -1)
    first = Regularized(matrix, y, 0.1, bias="free")
    others = [Regularized(matrix, y, 0.1, bias="none"), Regularized(matrix, y, 0.1, bias="free", loss=SQUARED_HINGE)]
    for other in (*others, OneClass(matrix, 0.5)):
        with pytest.raises(ValueError, match="same loss and the same kind of bias"):
            Batch([first, other])
    with pytest.raises(ValueError, match="same loss and the same kind of bias"):
        Batch([OneClass(matrix, 0.1), OneClass(matrix, 0.5)])


@needs_torch
@pytest.mark.parametrize(("n", "tol"), [(3, 0.0465), (21, 1.8e-4)])
def test_one_class_of_few_rows_goes_on_until_the_certificate_is_reached(n, tol):
    for seed in range(20):
        X = np.random.default_rng(seed).standard_normal((n, 2)) + 1.5
        problem = OneClass(X, 1.0 / 3.0)
        found, best = (
            solve(problem, one, stop=Stop(tol, max_iter=10**4)) for one in (DeviceNewton(tol, "cpu"), Newton())
        )
        assert found.certificate.gap <= tol or best.certificate.gap > tol


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("nu", [0.05, 0.5, 1.0])
def test_one_class_has_the_answer_of_newton(three, nu, where):
    X, weight = three[0] + np.float32(2.0), np.random.default_rng(1).uniform(0.0, 2.0, 400)
    problem = OneClass(X, nu, weight=weight)
    found = solve(problem, DeviceNewton(tol=1e-4, device=where), stop=Stop(1e-4, max_iter=300))
    best = solve(problem, Newton(), stop=Stop(1e-5, max_iter=10**4))
    assert found.status is Status.CONVERGED and found.certificate.gap <= 1e-4
    np.testing.assert_allclose(found.solution.w, best.solution.w, atol=2e-4 * np.linalg.norm(best.solution.w))
    assert found.solution.b == pytest.approx(best.solution.b, rel=1e-3)


@needs_torch
@pytest.mark.parametrize("steps", [1, 3])
def test_an_answer_on_its_way_has_a_true_certificate(three, steps):
    X, y = three
    problem = Regularized(X, np.where(y == 1, 1, -1), 1e-3, bias="free")
    best = solve(problem, Newton(), stop=Stop(1e-8)).certificate
    found = solve(problem, DeviceNewton(device="cpu"), stop=Stop(1e-8, max_iter=steps)).certificate
    assert found.bound <= best.objective
    assert best.bound <= found.objective
    assert found.gap >= (found.objective - best.objective) / best.objective


@needs_torch
def test_tasks_that_are_done_rest(three):
    X, y = three
    matrix = hinge.access.as_matrix(X)
    easy, hard = (
        Regularized(matrix, np.where(y == k, 1, -1), lam, loss=SQUARED_HINGE) for k, lam in ((0, 10.0), (1, 1e-6))
    )
    problem, solver = Batch([easy, hard]), DeviceNewton(tol=1e-3, device="cpu")
    state = solver.init(problem)
    while device_newton._gaps(problem, state.stage)[0] > 1e-3:
        state = solver.advance(problem, state, 1)
    before = state.W.clone()
    state = solver.advance(problem, state, 1)
    assert torch.equal(state.W[:, 0], before[:, 0])
    assert not torch.equal(state.W[:, 1], before[:, 1])


@needs_torch
def test_nothing_is_read_before_the_first_iteration_and_a_start_is_taken(three):
    X, y = three
    problem = Regularized(X, np.where(y == 1, 1, -1), 1e-3)
    solver = DeviceNewton(device="cpu")
    solver.init(problem)
    assert problem.reads == 0
    first = solve(problem, solver, stop=Stop(1e-6, max_iter=100))
    again = solve(problem, solver, stop=Stop(1e-6, max_iter=100), start=first.solution)
    assert again.status is Status.CONVERGED
    assert again.n_iter < first.n_iter


@needs_torch
def test_many_rows_begin_with_a_sample(three, monkeypatch):
    X, y = (np.tile(a, reps) for a, reps in zip(three, ((8, 1), 8), strict=True))
    problem = Regularized(X, np.where(y == 1, 1, -1), 1e-3, bias="penalized")
    steps = []
    for worth in (np.inf, 0.0):
        monkeypatch.setattr(device_newton, "WORTH", worth)
        result = solve(problem, DeviceNewton(device="cpu"), stop=Stop(1e-5, max_iter=100))
        assert result.certificate.gap <= 1e-5
        steps.append(result.n_iter)
    assert steps[1] < steps[0]


@needs_torch
def test_a_hessian_that_rounding_makes_singular_gets_a_ridge():
    H = torch.tensor([[1.0, 1.0], [1.0, 1.0 - 1e-15]], dtype=torch.float64)
    p = device_newton._with_ridge(torch, H, torch.ones((2, 1), dtype=torch.float64))
    np.testing.assert_allclose(p, [[0.5], [0.5]], rtol=1e-2)


def test_what_it_does_not_solve(three):
    X, y = three
    solver = DeviceNewton()
    assert "not L1Regularized" in solver.rejects(L1Regularized(X, np.where(y == 1, 1, -1), 0.1))
    with pytest.raises(ValueError, match="width must be a number greater than 0"):
        DeviceNewton(width=0.0)


# --- LinearSVC(device=...) ----------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_estimator_has_the_model_of_the_processor(three, loss, classes, where):
    X, y = three
    y, weight = np.array(list("abc"))[np.minimum(y, classes - 1)], np.random.default_rng(1).uniform(0.0, 2.0, 400)
    options = {"loss": loss, "C": 0.3, "tol": 1e-6, "class_weight": "balanced"}
    here, there = (LinearSVC(device=device, **options).fit(X, y, weight) for device in (None, where))
    assert there.stop_reason_ == "converged"
    assert isinstance(there.solver_, DeviceNewton)
    assert there.gap_ <= 1e-6
    np.testing.assert_allclose(there.objective_, here.objective_, rtol=2e-6)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=0.02 * np.abs(here.coef_).max())
    assert (there.predict(X) == here.predict(X)).mean() > 0.99
    made = there.dual_coef_ @ X[there.support_]
    np.testing.assert_allclose(made, there.coef_, atol=0.02 * np.abs(there.coef_).max())
    assert there.n_feature_reads_ >= 3 * X.size


@needs_torch
def test_bytes_are_rows_as_any(three):
    X, y = three
    X = np.clip(32 * X + 128, 0, 255).astype(np.uint8)
    bytes_, floats = (LinearSVC(device=ON_TORCH, C=1e-4).fit(A, y) for A in (X, X.astype(np.float32)))
    np.testing.assert_array_equal(bytes_.coef_, floats.coef_)
    assert (bytes_.predict(X) == floats.predict(X)).all()


@needs_torch
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
def test_rows_that_are_wrong_are_told_as_on_the_processor(three, form):
    X, y = three
    X = X.copy()
    X[3, 3] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        LinearSVC(device=ON_TORCH).fit(form(X), y)


@needs_torch
@pytest.mark.parametrize("few", [2048, 2], ids=["full there", "compressed there"])
def test_rows_in_any_order_and_cells_given_twice(three, few, monkeypatch):
    monkeypatch.setattr(device_rows, "FEW", few)
    X, y = three
    S = sp.csr_array(X)
    S.indices, S.data = (a.reshape(400, 6)[:, ::-1].ravel().copy() for a in (S.indices, S.data))
    S.has_sorted_indices = False
    twice = sp.csr_array((np.repeat(S.data / 2, 2), np.repeat(S.indices, 2), 2 * S.indptr), shape=S.shape)
    expected = LinearSVC(device=ON_TORCH).fit(X, y).coef_
    for given in (S, twice):
        np.testing.assert_allclose(LinearSVC(device=ON_TORCH).fit(given, y).coef_, expected, atol=2e-3)


@pytest.mark.slow
@needs_torch
def test_parameters_of_the_estimator_go_there(three, tmp_path, capsys):
    X, y = three
    gc.collect()
    others = len(device_rows._PLACED)  # rows that belong to fixtures of other tests
    model = clone(LinearSVC(loss="hinge", device=ON_TORCH, tol=1e-4, warm_start=True, verbose=1, target_error=0.9))
    assert model.fit(X, y).stop_reason_ == "target"
    assert "held-out error" in capsys.readouterr().err
    model.set_params(verbose=0, target_error=None).fit(X, y)
    steps = model.n_iter_
    assert model.fit(X, y).n_iter_ < steps
    hinge.save(model, tmp_path / "model")
    assert hinge.load(tmp_path / "model").device == ON_TORCH
    with pytest.warns(ConvergenceWarning, match="certified relative gap"):
        LinearSVC(loss="hinge", device=ON_TORCH, max_iter=1).fit(X, y)
    before = len(device_rows._PLACED)
    gc.collect()
    assert len(device_rows._PLACED) == before == others  # nothing stays on the device, and no circle holds it there


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"device": "tpu"}, "device must be 'cpu' or 'cuda', got 'tpu'"),
        ({"penalty": "l1"}, "is for penalty='l2', not penalty='l1'"),
        ({"multi_class": "crammer_singer"}, "is for multi_class='ovr'"),
        ({"slack": 0.1, "loss": "hinge"}, "is for slack=None"),
        ({"solver": "sdca"}, "is for solver='auto'"),
    ],
)
def test_what_does_not_go_with_a_device(three, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        LinearSVC(**{"device": "cuda", **options}).fit(*three)


def test_rows_on_a_disk_do_not_go_there(three, tmp_path):
    X, y = three
    np.save(tmp_path / "X.npy", X)
    model = LinearSVC(device="cuda", checkpoint=tmp_path / "state")
    with pytest.raises(ValueError, match="device='cuda' needs all rows in memory"):
        model.fit(str(tmp_path / "X.npy"), y)


def test_no_torch_is_a_sentence(three, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="needs torch, which is not installed"):
        LinearSVC(device="cuda").fit(*three)


@needs_torch
def test_no_gpu_is_a_sentence(three):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(RuntimeError, match="finds no GPU"):
        LinearSVC(device="cuda").fit(*three)
