"""`hinge.dask.SVC`: the landmarks and the objective of the local machine, bounds of the exact kernel, lost workers."""

import inspect
import os
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

pytest.importorskip("distributed", reason="hinge[dask] is not installed")
da = pytest.importorskip("dask.array")
from dask.delayed import delayed  # noqa: E402
from distributed import Client, LocalCluster  # noqa: E402

import hinge  # noqa: E402
from hinge.dask import SVC  # noqa: E402
from hinge.kernels import Gaussian, Sigmoid  # noqa: E402
from hinge.solvers.kernel import nystroem  # noqa: E402

X, y = make_moons(1500, noise=0.3, random_state=0)


def chunked(X, y, rows=250):
    """In chunks of so many rows."""
    return da.from_array(X, chunks=(rows, X.shape[1])), da.from_array(y, chunks=rows)


def relative(model, best):
    """How far the objective is above the best one."""
    return np.max(np.atleast_1d(model.objective_) / np.atleast_1d(best.objective_)) - 1.0


@pytest.mark.parametrize("options", [{}, {"fit_intercept": False, "kernel": "laplacian"}], ids=str)
def test_the_landmarks_and_the_objective_of_the_local_machine(monkeypatch, options):
    settings = dict(n_components=40, gamma=0.5, C=2.0, random_state=3, **options)
    model = SVC(tol=1e-6, parts=3, **settings).fit(*chunked(X, y))
    monkeypatch.setattr(nystroem, "SHARE", 1e-7)  # the local machine too solves the linear problem to the end
    local = hinge.SVC(tol=1e-6, **settings).fit(X, y)
    assert sorted(model.support_) == sorted(local.support_)
    assert model.objective_ == pytest.approx(local.objective_, rel=1e-6)
    assert model.gap_ <= 1.2 * local.gap_ + 1e-3
    assert (model.predict(X) == local.predict(X)).mean() > 0.999


@pytest.mark.parametrize("seed", range(6))
def test_no_certificate_is_false(seed):
    rng = np.random.default_rng(seed)
    n, d, m = int(rng.integers(200, 600)), int(rng.integers(1, 6)), int(rng.integers(3, 80))
    rows = (rng.standard_normal((n, d)) + rng.integers(0, 2)).astype(rng.choice(["f4", "f8"]))
    labels = rows[:, 0] + rng.standard_normal(n) * rng.random() > 0.5
    weight = rng.random(n) * (rng.random(n) > 0.1)
    kernel = [{}, {"kernel": "poly", "degree": 2, "coef0": 1.0}, {"kernel": "laplacian"}][seed % 3]
    settings = dict(C=float(10 ** rng.uniform(-2, 2)), fit_intercept=bool(seed % 2), class_weight={0: 1.0, 1: 2.0})
    best = hinge.SVC(tol=1e-6, **kernel, **settings).fit(rows, labels, weight)
    model = SVC(n_components=m, parts=2, **kernel, **settings).fit(*chunked(rows, labels, 90), weight)
    assert (weight[model.support_] > 0).all() and len(model.support_) <= m
    assert -1e-5 <= relative(model, best) <= model.gap_


def test_more_landmarks_bring_the_gap_down():
    gaps = [SVC(n_components=m, gamma=2.0, parts=2).fit(*chunked(X, y)).gap_ for m in (10, 40, 160)]
    assert gaps[0] > gaps[1] > gaps[2] and gaps[2] < 0.02


def test_classes_of_all_kinds():
    rng = np.random.default_rng(0)
    labels = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.2 * rng.standard_normal(1500), [0.0, 1.0])]
    for class_weight in (None, "balanced"):
        options = dict(gamma=0.5, multiclass="ovr", class_weight=class_weight)
        best = hinge.SVC(tol=1e-5, **options).fit(X, labels)
        dX, dy = chunked(X, labels)
        model = SVC(n_components=60, parts=3, **options).fit(dX, dy)
        assert model.classes_.tolist() == ["a", "b", "c"] and model.dual_coef_.shape[0] == 3
        assert -1e-5 <= relative(model, best) <= model.gap_ < 0.2
        assert (model.predict(X) == best.predict(X)).mean() > 0.99
        f = model.decision_function(dX).compute(scheduler="synchronous")
        np.testing.assert_allclose(f, model.decision_function(X), atol=1e-5)
        assert (model.predict(dX).compute(scheduler="synchronous") == model.predict(X)).all()
        np.testing.assert_allclose(model.class_weight_, best.class_weight_)


def test_sparse_chunks_and_frames():
    pd = pytest.importorskip("pandas")
    rows = np.where(np.abs(X) > 0.3, X, 0.0)
    pieces = np.array_split(np.arange(1500), 3)
    dense = SVC(n_components=30, parts=3).fit([delayed(rows[at]) for at in pieces], [y[at] for at in pieces])
    for make in (sp.csr_matrix, lambda part: pd.DataFrame(part, columns=["a", "b"])):
        model = SVC(n_components=30, parts=3).fit([delayed(make(rows[at])) for at in pieces], [y[at] for at in pieces])
        assert model.objective_ == pytest.approx(dense.objective_, rel=1e-5)
        assert sorted(model.support_) == sorted(dense.support_)
        assert model.kernel_.gamma == pytest.approx(hinge.SVC().fit(rows, y).kernel_.gamma, rel=1e-9)


def test_the_plain_estimator(tmp_path):
    model = SVC(n_components=30, kernel=Gaussian(1.0)).fit(*chunked(X, y))
    local = model.to_local()
    assert type(local) is hinge.SVC and local.n_components == 30
    hinge.save(local, tmp_path / "model")
    assert np.array_equal(hinge.load(tmp_path / "model").decision_function(X), model.decision_function(X))
    assert local.calibrate(X, y, held_out=True).predict_proba(X).shape == (1500, 2)
    own = dict(inspect.signature(SVC).parameters)
    assert [own.pop(name).default for name in ("client", "parts")] == [None, None]
    assert set(own) == set(inspect.signature(hinge.SVC).parameters)


@pytest.mark.slow
def test_a_cluster_gives_the_same_bits_as_this_process_and_a_killed_worker_costs_none():
    dX, dy = chunked(X, y)
    options = dict(n_components=100, parts=2, gamma=1.0)
    here = SVC(**options).fit(dX, dy)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as own,
    ):
        model = SVC(client=own, **options).fit(dX, dy)
        assert model.dual_coef_.tobytes() == here.dual_coef_.tobytes() and model.gap_ == here.gap_
        for delay in (0.2, 0.5, 0.9):
            # A worker that the scheduler does not yet know to be dead gives no answer.
            pid = next(iter(own.run(os.getpid, on_error="ignore").values()))
            killed = threading.Timer(delay, os.kill, (pid, signal.SIGKILL))
            killed.start()
            model = SVC(client=own, **options).fit(dX, dy)
            killed.join()
            own.wait_for_workers(2)
            assert pid not in own.run(os.getpid, on_error="ignore").values()
            assert model.dual_coef_.tobytes() == here.dual_coef_.tobytes()
            assert (model.gap_, model.objective_) == (here.gap_, here.objective_)


def test_limits_are_said():
    with pytest.warns(ConvergenceWarning, match="the iteration limit was reached"):
        model = SVC(n_components=40, max_iter=1).fit(*chunked(X, y))
    assert model.stop_reason_ == "max_iter" and np.isfinite(model.gap_)
    assert SVC(n_components=200, tol=0.1).fit(*chunked(X, y)).stop_reason_ == "converged"
    assert SVC(n_components=3, tol=1e-3).fit(*chunked(X, y)).stop_reason_ == "finished"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "linear"}, "use hinge.dask.LinearSVC"),
        ({"kernel": "precomputed"}, "a kernel with a name"),
        ({"kernel": lambda a, b: a @ b.T}, "a kernel with a name"),
        ({"kernel": Sigmoid(1.0, 0.0)}, "positive semidefinite"),
        ({"n_components": "auto"}, "n_components must be a whole number"),
        ({"n_components": 5000}, "more than 2,048"),
        ({"multiclass": "ovo"}, "multiclass must be 'ovr'"),
        ({"device": "cuda"}, "is not for hinge.dask"),
        ({"warm_start": True}, "is not for hinge.dask"),
        ({"probability": True}, "held_out=True"),
    ],
)
def test_what_it_does_not_do_is_said(options, message):
    with pytest.raises(ValueError, match=message):
        SVC(**{"n_components": 10, **options}).fit(*chunked(X, y))


def test_bad_rows_are_said():
    with pytest.raises(ValueError, match="one class only"):
        SVC(n_components=5).fit(*chunked(X, np.zeros(1500)))
    broken = X.copy()
    broken[700] = np.nan
    with pytest.raises(ValueError, match=r"Part 1: .*NaN"):
        SVC(n_components=5, parts=3).fit(*chunked(broken, y, 500))
