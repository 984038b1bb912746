"""What both estimators on a cluster share: their constructor, how rows become parts, and how answers are used."""

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone

pytest.importorskip("distributed", reason="hinge[dask] is not installed")
da = pytest.importorskip("dask.array")
from dask_rounds import some_rows  # noqa: E402
from distributed import Client, LocalCluster  # noqa: E402

import hinge  # noqa: E402
from hinge.dask import LinearSVC, LinearSVR  # noqa: E402

X, y = some_rows(300)
dX = da.from_array(X, chunks=(100, 6))


@pytest.mark.parametrize("machine", [LinearSVC, LinearSVR])
def test_the_constructor_is_that_of_the_local_machine_and_two_more(machine):
    local = getattr(hinge, machine.__name__.removeprefix("Dask"))
    own = dict(inspect.signature(machine).parameters)
    assert [own.pop(name).default for name in ("client", "parts")] == [None, None]
    assert own == dict(inspect.signature(local).parameters)
    assert set(machine().get_params()) == {*local().get_params(), "client", "parts"}
    assert machine(C=3.0, parts=2).set_params(tol=0.1).get_params()["C"] == 3.0


@pytest.mark.slow
def test_the_plain_estimator_and_pickles_have_no_client():
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        model = LinearSVC("l2", "hinge", client=client, C=0.01, tol=1e-3).fit(dX, y)
        assert clone(model).client is client
        assert "relative gap of at most" in model._repr_html_()  # its rounds are drawn like a history
        loaded = pickle.loads(pickle.dumps(model))
    assert loaded.client is None
    local = model.to_local()
    assert type(local) is hinge.LinearSVC
    assert (local.C, local.loss, local.gap_) == (0.01, "hinge", model.gap_)
    for other in (loaded, local):
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))
    assert loaded.predict(dX).compute(scheduler="synchronous").tobytes() == local.predict(X).tobytes()


@pytest.mark.parametrize(
    "settings",
    [
        dict(penalty="l1"),
        dict(multi_class="crammer_singer"),
        dict(slack=0.1, loss="hinge"),
        dict(max_reads=10**9),
        dict(target_error=0.1),
        dict(warm_start=True),
        dict(solver="newton"),
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_what_it_does_not_do_is_said(settings):
    with pytest.raises(ValueError, match=f"{next(iter(settings))}=.* is not for hinge.dask"):
        LinearSVC(**settings).fit(dX, y)


def test_parts_must_be_a_number():
    with pytest.raises(ValueError, match="parts must be a whole number of at least 1"):
        LinearSVC(parts=0).fit(dX, y)


def test_columns_of_frames_must_agree():
    pd = pytest.importorskip("pandas")
    frames = [pd.DataFrame(X[:150], columns=list("abcdef")), pd.DataFrame(X[150:], columns=list("abcdeg"))]
    with pytest.raises(ValueError, match="Part 1 has the columns a, b, c, d, e, g where part 0 has a, b, c, d, e, f"):
        LinearSVC(parts=2).fit(frames, [y[:150], y[150:]])
