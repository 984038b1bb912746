import threading
import time

import pytest

pytest.importorskip("distributed", reason="hinge[dask] is not installed")
from distributed import Client, LocalCluster

from hinge.dask import cluster as clusters
from hinge.dask.cluster import Cluster, OnClient, OutOfTime, cluster_of, placed, summed


@pytest.fixture
def empty():
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_parts_go_where_their_chunks_are_if_there_is_room():
    threads = {"a": 1, "b": 1}
    assert placed([[()], [()]], threads) == ["a", "b"]
    assert placed([[("b",)], [("b",)]], threads) == ["b", "a"]
    assert placed([[("b",), ("b",)], [("a",), ("b",)], [()]], {"a": 2, "b": 1}) == ["b", "a", "a"]
    assert sorted(placed([[()]] * 6, {"a": 2, "b": 4})) == ["a"] * 2 + ["b"] * 4


def test_sums_are_made_in_the_order_of_the_parts():
    texts = [chr(65 + k % 26) for k in range(5 * 5 + 3)]
    left = summed(Cluster(), texts, lambda *some: "".join(some), fan=5)
    assert len(left) <= 5
    assert "".join(left) == "".join(texts)


def test_without_a_client_all_is_done_here():
    here = cluster_of(None)
    assert type(here) is Cluster
    assert here.gather([here.submit("add", max, 2, 3)]) == [3]
    with pytest.raises(TypeError, match="client must be"):
        cluster_of("tcp://there:8786")


@pytest.mark.slow
def test_a_cluster_without_workers_is_said_after_some_time(empty, monkeypatch):
    monkeypatch.setattr(clusters, "PATIENCE", 0.3)
    with pytest.raises(RuntimeError, match="The cluster has no workers"):
        OnClient(empty).threads()
    on = OnClient(empty)
    with pytest.raises(RuntimeError, match="The cluster has no workers"):
        on.gather([on.submit("add", max, 2, 3)])


@pytest.mark.slow
def test_time_limits_and_clients_that_close(empty):
    on = OnClient(empty)
    job = on.submit("add", max, 2, 3)
    with pytest.raises(OutOfTime):
        on.gather([job], time.perf_counter() + 0.1)
    on.drop([job])
    job = on.submit("add", max, 3, 4)
    threading.Timer(0.3, empty.close).start()
    with pytest.raises(RuntimeError, match="The client was closed"):
        on.gather([job])
    on.drop([job])
    with pytest.raises(RuntimeError, match="The client was closed"):
        on.submit("add", max, 4, 5)
