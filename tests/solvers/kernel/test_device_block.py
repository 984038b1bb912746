"""The block dual method where torch computes: the optimum of the host, certified."""

import importlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hinge import SVC
from hinge.access import Gram, as_points
from hinge.kernels import Gaussian, Linear, Sigmoid
from hinge.monitoring import Status, Stop
from hinge.problems import KernelNuClassification, KernelNuRegression, KernelRegularized
from hinge.problems.svm.losses import HINGE, epsilon_insensitive
from hinge.problems.svm.nu_forms import KernelOneClass
from hinge.sampling import draw_units, key_of
from hinge.solvers import BlockDual, DeviceBlock, FromLandmarks, LevelBlocks, choose, solve
from hinge.solvers.kernel import level_blocks

torch = pytest.importorskip("torch")
device = importlib.import_module("hinge.access.gram.device")
device_block = importlib.import_module("hinge.solvers.kernel.device_block")
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


@pytest.mark.sampled
@pytest.mark.parametrize("where", DEVICES)
def test_rounding_makes_no_support_vectors_and_a_run_that_stalls_says_where(points, where):
    """Points at the kink at zero stay there, and the last certificate is in float64 where float32 proves nothing."""
    X, _ = points
    rng = np.random.default_rng(0)
    X, y = X.astype(float), X[:, 0] - X[:, 1] + 0.05 * rng.standard_normal(len(X))
    grams = device.DeviceGram(X, Linear(), where), Gram(as_points(X, Linear(), exact=True))
    given = {"bias": "free", "loss": epsilon_insensitive(0.1)}
    problems = [KernelRegularized.from_C(gram, y, 1.0, **given) for gram in grams]
    ours, theirs = solve(problems[0], DeviceBlock(), stop=Stop(1e-10)), solve(problems[1], BlockDual(), stop=Stop(1e-9))
    assert ours.status is Status.STALLED and 0.0 < ours.certificate.gap < 1e-3
    assert np.flatnonzero(ours.solution.beta).tolist() == np.flatnonzero(theirs.solution.beta).tolist()


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
    state = solver.init(problem)
    (line,) = state.known
    state = state._replace(known=(line._replace(free=200, off=50),))
    late = state._replace(known=(line._replace(free=200, off=50, steps=4 * solver.steps),))
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


# --- several problems together ------------------------------------------------------------------

SIZES = 150, 120, 90


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(0)
    return rng.standard_normal((sum(SIZES), 4)).astype(np.float32) + np.repeat(np.eye(3, 4), SIZES, axis=0)


def pairs_of(gram, bias="free", C=1.0, weighted=False, nu=None):
    """The three pairs of three classes, of different numbers of points."""
    cuts, problems = np.concatenate([[0], np.cumsum(SIZES)]), []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        rows = np.concatenate([np.arange(cuts[k], cuts[k + 1]) for k in (i, j)])
        y = np.repeat([1, -1], [SIZES[i], SIZES[j]])
        weight = np.random.default_rng(i + j).integers(0, 3, len(y)).astype(float) if weighted else None
        part = gram.part(rows) if isinstance(gram, device.DeviceGram) else gram(rows)
        if nu is None:
            problems.append(KernelRegularized.from_C(part, y, C, bias=bias, weight=weight))
        else:
            problems.append(KernelNuClassification(part, y, nu, weight=weight))
    return problems


def run(problems, tol, block=32, **limits):
    """The results of the batches of some problems."""
    solver = DeviceBlock(block=block, tol=tol)
    return [solve(batch, solver, stop=Stop(tol=tol, **limits)) for batch in device_block.batches_of(problems, solver)]


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize(("bias", "C", "weighted"), [("free", 1.0, False), ("none", 1.0, True), ("free", 10.0, True)])
def test_each_pair_has_the_optimum_of_the_host(classes, where, bias, C, weighted):
    kernel = Gaussian(0.2)
    problems = pairs_of(device.DeviceGram(classes, kernel, where), bias, C, weighted)
    theirs = pairs_of(lambda rows: Gram(as_points(classes[rows], kernel, exact=True)), bias, C, weighted)
    (result,) = run(problems, 1e-3)
    assert result.status is Status.CONVERGED and result.n_iter > 1
    assert result.history[-1].kernel_evals == sum(problem.kernel_evals for problem in problems) > 0
    for answer, certificate, problem, other in zip(
        result.solution.members, result.certificate.members, problems, theirs, strict=True
    ):
        best = solve(other, BlockDual(), stop=Stop(1e-4)).certificate.objective
        assert certificate.gap <= 1e-3 and certificate.objective == pytest.approx(best, rel=1.2e-3)
        assert other.objective(answer) == pytest.approx(certificate.objective, rel=1e-6)
        assert (answer.beta * problem.y >= 0).all()
        assert not {"_points", "_given"} & set(vars(problem.gram))  # no pair keeps a copy of its points


def test_memory_for_one_pair_at_a_time_does(classes, monkeypatch):
    gram = device.DeviceGram(classes, Gaussian(0.2), "cpu")
    expected = [one.objective for one in run(pairs_of(gram), 1e-4)[0].certificate.members]
    monkeypatch.setattr(device.DeviceGram, "free", lambda self: 1)
    found = run(pairs_of(gram), 1e-4)
    assert len(found) == 3 and all(one.status is Status.CONVERGED for one in found)
    assert [one.certificate.objective for one in found] == pytest.approx(expected, rel=2e-4)


def test_limits_and_stalling_are_said(classes):
    gram = device.DeviceGram(classes, Gaussian(0.2), "cpu")
    (result,) = run(pairs_of(gram, C=100.0), 1e-6, block=16, max_iter=1)
    assert result.status is Status.MAX_ITER and result.n_iter == 1
    assert all(1e-6 < one.gap < np.inf for one in result.certificate.members)
    (result,) = run(pairs_of(gram, C=100.0), 1e-15, block=16)
    assert result.status is Status.STALLED and result.n_iter == device_block.ROUNDS


def nu_problem(kind, gram, X, weighted):
    """A ν-SVM of the points X."""
    rng = np.random.default_rng(2)
    weight = rng.integers(0, 3, len(X)).astype(float) if weighted else None
    if kind == "one class":
        return KernelOneClass(gram, 0.3, weight=weight)
    if kind == "targets":
        return KernelNuRegression(gram, np.sin(X[:, 0]) + 0.2 * rng.standard_normal(len(X)), 0.4, 2.0, weight=weight)
    y = np.where(X[:, 0] * X[:, 1] + 2 * rng.standard_normal(len(X)) > 9, 1, -1)
    return KernelNuClassification(gram, y, 0.4, weight=weight)


@pytest.mark.sampled
@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("kind", ["classes", "targets", "one class"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("most", [8192, 128])
def test_nu_svms_have_the_optimum_of_the_host(points, where, kind, weighted, most):
    """Whether all points are one working set, or take turns after the answer for a subset of 32."""
    X, _ = points
    grams = device.DeviceGram(X, Gaussian(0.3), where), Gram(as_points(X, Gaussian(0.3), exact=True))
    ours, theirs = (nu_problem(kind, gram, X, weighted) for gram in grams)
    found = solve(ours, DeviceBlock(block=64, most=most), stop=Stop(1e-3, max_iter=300))
    best = solve(theirs, LevelBlocks(), stop=Stop(1e-5))
    assert found.status is Status.CONVERGED and found.certificate.gap <= 1e-3
    assert found.certificate.objective == pytest.approx(best.certificate.objective, rel=2e-3)
    assert theirs.objective(found.solution) == pytest.approx(found.certificate.objective, rel=1e-4)
    alpha = ours.weights_of(found.solution.beta)
    assert (alpha <= ours.boxes).all() and alpha.sum() <= len(ours.signs) * ours.mass * (1.0 + 1e-9)
    assert isinstance(choose(ours).solver, DeviceBlock) and isinstance(choose(theirs).solver, LevelBlocks)


def test_a_run_of_a_nu_svm_begins_where_an_answer_is(points):
    X, _ = points
    for kind in ("classes", "targets", "one class"):
        problem = nu_problem(kind, device.DeviceGram(X, Gaussian(0.3), "cpu"), X, False)
        first = solve(problem, DeviceBlock(), stop=Stop(1e-4))
        again = solve(problem, DeviceBlock(), stop=Stop(1e-3), start=first.solution)
        assert again.n_iter <= 1 and again.certificate.gap <= 1e-3


@pytest.mark.parametrize("kind", ["classes", "targets", "one class"])
def test_kernel_values_of_a_nu_svm_are_limited_from_the_first_on(points, kind):
    X, _ = points
    for most, begins in ((10_000, False), (500_000, True)):
        problem = nu_problem(kind, device.DeviceGram(X, Gaussian(0.3), "cpu"), X, False)
        result = solve(problem, DeviceBlock(block=64, most=128), stop=Stop(1e-9, max_kernel_evals=most))
        assert result.status is Status.MAX_KERNEL_EVALS and problem.kernel_evals <= most
        assert (result.n_iter > 0) == begins


@pytest.mark.parametrize("kind", ["classes", "targets", "one class"])
@pytest.mark.parametrize("most", [2, 16])
def test_tiny_working_sets_begin_with_points_of_every_class(points, kind, most):
    X, _ = points
    problem = nu_problem(kind, device.DeviceGram(X[:60], Gaussian(0.3), "cpu"), X[:60], False)
    result = solve(problem, DeviceBlock(block=2, most=most), stop=Stop(1e-1, max_iter=20))
    assert result.n_iter > 0 and np.isfinite(result.solution.beta).all()


def test_a_class_without_weight_in_the_first_subset_does_no_harm(points):
    """Then the subset has no mass of that class."""
    X = np.random.default_rng(0).standard_normal((400, 3)).astype(np.float32)
    y = np.where(np.arange(400) < 20, 1, -1)
    order = level_blocks.mixed_order(
        KernelNuClassification(Gram(as_points(X, Gaussian(0.5))), y, 0.01), draw_units(key_of(0), 0, 400)
    )
    weight = np.ones(400)
    weight[[i for i in order[:32] if y[i] > 0]] = 0.0
    problem = KernelNuClassification(device.DeviceGram(X, Gaussian(0.5), "cpu"), y, 0.02, weight=weight)
    result = solve(problem, DeviceBlock(block=64, most=128), stop=Stop(1e-2, max_iter=200))
    assert result.status is Status.CONVERGED


def test_classes_that_overlap_for_this_nu_end_as_on_the_host(points):
    """No margin is left: w = 0 is optimal but for what a Gaussian kernel tells apart."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((150, 3)), 2, axis=0).astype(np.float32)
    y = np.tile([1, -1], 150)
    problem = KernelNuClassification(device.DeviceGram(X, Gaussian(0.5), "cpu"), y, 0.01)
    result = solve(problem, DeviceBlock(block=64, most=128), stop=Stop(1e-3, max_iter=500))
    assert result.status is Status.STALLED and result.certificate.gap == np.inf


def test_regressions_that_splitting_is_slow_for_are_left_to_pair_steps(points):
    X, _ = points
    gram = device.DeviceGram(X, Gaussian(0.3), "cpu")
    targets = [np.sin(X[:, 0]), 1e4 * np.sin(X[:, 0])]
    solvers = [choose(KernelNuRegression(gram, t, 0.3, C)).solver for t in targets for C in (1.0, 1e3)]
    assert [type(one) for one in solvers] == [DeviceBlock, LevelBlocks, DeviceBlock, DeviceBlock]


def test_pairs_of_nu_svms_are_solved_together(classes):
    gram = device.DeviceGram(classes, Gaussian(0.2), "cpu")
    problems = pairs_of(gram, nu=0.4)
    (result,) = run(problems, 1e-3)
    theirs = pairs_of(lambda rows: Gram(as_points(classes[rows], Gaussian(0.2), exact=True)), nu=0.4)
    assert result.status is Status.CONVERGED
    for other, certificate in zip(theirs, result.certificate.members, strict=True):
        best = solve(other, LevelBlocks(), stop=Stop(1e-5)).certificate.objective
        assert certificate.gap <= 1e-3 and certificate.objective == pytest.approx(best, rel=2e-3)
