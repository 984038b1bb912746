import os
import signal
import threading
import time
from contextlib import suppress
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

pytest.importorskip("distributed", reason="hinge[dask] is not installed")
da = pytest.importorskip("dask.array")
from ctrl_c import interrupt_after  # noqa: E402
from dask.delayed import delayed  # noqa: E402
from dask_rounds import some_rows  # noqa: E402
from distributed import Client, LocalCluster  # noqa: E402

import hinge  # noqa: E402
from hinge.dask import LinearSVC  # noqa: E402
from hinge.dask.cluster import ClientLoop  # noqa: E402

X, y = some_rows(600)


def chunked(X, y, rows=100):
    """In chunks of so many rows."""
    return da.from_array(X, chunks=(rows, X.shape[1])), da.from_array(y, chunks=rows)


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.mark.sampled
@pytest.mark.parametrize("intercept", ["penalized", "free", None])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_same_optimum_as_the_local_machine(loss, intercept):
    settings = dict(loss=loss, C=0.01, fit_intercept=intercept is not None, intercept=intercept or "penalized")
    local = hinge.LinearSVC(tol=1e-7, **settings).fit(X, y)
    for parts in (1, 4):
        model = LinearSVC(tol=1e-3, parts=parts, **settings).fit(*chunked(X, y))
        assert model.stop_reason_ == "converged"
        assert model.gap_ <= 1e-3
        assert local.objective_ * (1 - 1e-7) <= model.objective_ <= local.objective_ * (1 + 1.01e-3)
        np.testing.assert_allclose(model.coef_, local.coef_, atol=0.05)


@pytest.mark.slow
def test_classes_and_weights_of_all_kinds():
    rng = np.random.default_rng(3)
    labels = np.array(["a", "b", "c"])[np.argmax(X[:, :3] + 0.5 * rng.standard_normal((600, 3)), axis=1)]
    weight = rng.random(600) * (rng.random(600) > 0.2)
    for settings in (dict(class_weight="balanced"), dict(class_weight={"a": 3.0, "b": 0.5}, loss="hinge")):
        settings |= dict(C=0.02)
        local = hinge.LinearSVC(tol=1e-7, **settings).fit(X, labels, weight)
        dX, dy = chunked(X, labels)
        model = LinearSVC(tol=1e-3, parts=3, **settings).fit(dX, dy, da.from_array(weight, chunks=600))
        assert model.classes_.tolist() == ["a", "b", "c"]
        np.testing.assert_allclose(model.objective_, local.objective_, rtol=1.1e-3)
        assert model.coef_.shape == (3, 6)
        assert (model.predict(X) == local.predict(X)).mean() > 0.97
        assert model.decision_function(dX).compute(scheduler="synchronous").shape == (600, 3)


def test_parts_of_one_class_and_of_any_size_and_without_rows():
    order = np.argsort(y, kind="stable")
    ends = [0, 0, 5, 200, 201, 600]
    pieces = [order[lo:hi] for lo, hi in pairwise(ends)]
    model = LinearSVC(tol=1e-3, C=0.01, parts=5).fit(
        [delayed(X[rows]) for rows in pieces], [y[rows] for rows in pieces]
    )
    local = hinge.LinearSVC(tol=1e-7, C=0.01).fit(X, y)
    assert model.objective_ == pytest.approx(local.objective_, rel=1.1e-3)


@pytest.mark.slow
def test_sparse_chunks_and_frames_give_the_same_model():
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    rows = np.where(np.abs(X) > 1, X, 0.0)
    local = hinge.LinearSVC(tol=1e-7, C=0.02).fit(rows, y)
    sparse = da.from_array(rows, chunks=(150, 6)).map_blocks(sp.csr_matrix, dtype=float)
    frame = dd.from_pandas(pd.DataFrame(rows, columns=list("abcdef")).assign(y=y), npartitions=4)
    columns = frame[list("abcdef")]
    for given, labels in ((sparse, y), (columns, frame["y"])):
        model = LinearSVC(tol=1e-3, C=0.02, parts=2).fit(given, labels)
        assert model.objective_ == pytest.approx(local.objective_, rel=1.1e-3)
        predicted = model.predict(given)
        assert not isinstance(predicted, np.ndarray)
        assert (predicted.compute(scheduler="synchronous") == local.predict(rows)).mean() > 0.99
    assert model.feature_names_in_.tolist() == list("abcdef")


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["cocoa", "blocknewton"])
def test_a_cluster_gives_the_same_bits_as_this_process_and_some_workers_may_have_nothing(client, solver):
    dX, dy = chunked(X, y, 300)
    model = LinearSVC(client=client, C=0.01, tol=1e-3, solver=solver).fit(dX, dy)
    here = LinearSVC(parts=2, C=0.01, tol=1e-3, solver=solver).fit(dX, dy)
    assert type(model.solver_).__name__.lower() == solver
    assert model.coef_.tobytes() == here.coef_.tobytes()
    assert model.gap_ == here.gap_ <= 1e-3
    last = model.history_[-1]
    assert last.passes == model.n_iter_
    assert 0 < last.bytes_moved <= model.bytes_moved_
    assert [record.iteration for record in model.history_] == list(range(1, len(model.history_) + 1))


@pytest.mark.slow
def test_futures_and_persisted_arrays_are_used_where_they_lie(client):
    pieces = np.array_split(np.arange(600), 3)
    Xs, ys = client.scatter([X[rows] for rows in pieces]), client.scatter([y[rows] for rows in pieces])
    settings = dict(parts=3, C=0.01, tol=1e-3)
    model = LinearSVC(client=client, **settings).fit(Xs, ys)
    dX, dy = chunked(X, y, 200)
    again = LinearSVC(client=client, **settings).fit(client.persist(dX), dy)
    assert model.coef_.tobytes() == again.coef_.tobytes()
    predicted = model.predict(Xs)
    assert np.concatenate(client.gather(client.compute(predicted))).tobytes() == model.predict(X).tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["cocoa", "blocknewton"])
def test_a_worker_that_comes_late_and_one_that_leaves(monkeypatch, solver):
    """The rounds go on, with the same bits."""
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as own,
    ):
        passes = 160 if solver == "cocoa" else 10
        settings = dict(parts=4, tol=0.0, loss="hinge", C=0.1, max_iter=passes, solver=solver)
        with pytest.warns(ConvergenceWarning):
            quiet = LinearSVC(**settings).fit(*chunked(X, y))
        assert len(quiet.history_) == 10
        model = LinearSVC(client=own, verbose=1, **settings)
        seen = []

        def report(k, problem, record, answer):
            seen.append(len(own.nthreads()))
            if record.iteration == 1:
                cluster.scale(2)
                own.wait_for_workers(2)
            elif record.iteration == 3:
                own.retire_workers(list(own.nthreads())[:1])
            return False

        monkeypatch.setattr("hinge.dask.linear.reports_of", lambda *args: (report,))
        with pytest.warns(ConvergenceWarning):
            model.fit(*chunked(X, y))
    assert 2 in seen
    assert model.coef_.tobytes() == quiet.coef_.tobytes()


@pytest.mark.slow
def test_a_killed_worker_costs_time_and_not_a_bit():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as own,
    ):
        settings = dict(parts=2, tol=1e-9, loss="hinge", C=10.0, max_iter=300, solver="cocoa")
        with pytest.warns(ConvergenceWarning):
            quiet = LinearSVC(**settings).fit(*chunked(X, y, 300))
        pids = list(own.run(os.getpid).values())
        killed = threading.Timer(0.5, os.kill, (pids[0], signal.SIGKILL))
        killed.start()
        with pytest.warns(ConvergenceWarning):
            model = LinearSVC(client=own, **settings).fit(*chunked(X, y, 300))
        killed.join()
        assert pids[0] not in own.run(os.getpid).values()
    assert model.coef_.tobytes() == quiet.coef_.tobytes()
    assert model.gap_ == quiet.gap_


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("on_interrupt", ["keep", "raise"])
def test_ctrl_c(on_interrupt, client, recwarn):
    endless = dict(tol=0.0, max_iter=10**6, C=100.0, loss="hinge", solver="cocoa")
    model = LinearSVC(client=client, on_interrupt=on_interrupt, **endless)
    sent = interrupt_after(1.0)
    if on_interrupt == "raise":
        with pytest.raises(KeyboardInterrupt):
            model.fit(*chunked(X, y))
    else:
        assert model.fit(*chunked(X, y)).stop_reason_ == "interrupted"
        assert np.isfinite(model.coef_).all() and model.score(X, y) > 0.5  # of rounds that may be few
    assert time.perf_counter() - sent[0] < 1.0


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_in_a_destructor_is_not_lost(monkeypatch):
    """Dask's jobs have destructors, and what is raised in one is printed and forgotten."""
    rounds, report = [], ClientLoop._report_round

    def pressed(self, sigma):
        rounds.append(sigma)
        with suppress(KeyboardInterrupt):  # as Python does for what is raised in a destructor
            signal.raise_signal(signal.SIGINT)
        return report(self, sigma)

    monkeypatch.setattr(ClientLoop, "_report_round", pressed)
    endless = dict(tol=0.0, max_iter=1000, C=100.0, loss="hinge", solver="cocoa")
    with pytest.warns(ConvergenceWarning, match="it was interrupted"):
        LinearSVC(on_interrupt="keep", **endless).fit(*chunked(X, y))
    with pytest.raises(KeyboardInterrupt):
        LinearSVC(**endless).fit(*chunked(X, y))
    assert len(rounds) == 2


def test_limits_are_said():
    with pytest.warns(ConvergenceWarning, match="the iteration limit was reached"):
        model = LinearSVC(tol=1e-12, max_iter=3, solver="cocoa").fit(*chunked(X, y))
    assert model.n_iter_ == 3
    assert np.isfinite(model.gap_)
    with pytest.warns(ConvergenceWarning, match="the time limit was reached"):
        model = LinearSVC(tol=0.0, max_time=1e-3, max_iter=10**6).fit(*chunked(X, y))
    assert np.isfinite(model.gap_)


@pytest.mark.slow
def test_bad_rows_are_said_by_their_part(client):
    dX = [delayed(X[:300]), delayed(X[300:, :5])]
    with pytest.raises(ValueError, match="Part 1 has 5 columns where part 0 has 6"):
        LinearSVC(client=client, parts=2).fit(dX, [y[:300], y[300:]])
    broken = X.copy()
    broken[400] = np.inf
    with pytest.raises(ValueError, match=r"Part 2: .*infinity"):
        LinearSVC(client=client, parts=3).fit(*chunked(broken, y, 200))
    with pytest.raises(ValueError, match="one class only"):
        LinearSVC().fit(*chunked(X, np.ones(600)))
    with pytest.raises(ValueError, match="There are no rows"):
        LinearSVC().fit(*chunked(X, y), np.zeros(600))
