import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pytest

from hinge.access import arrays
from hinge.access.arrays import Home, copies_to_host, home_of, on_host, to_host

strict = pytest.importorskip("array_api_strict")


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def test_what_is_no_array_of_another_library():
    for a in (None, np.zeros(3), np.float64(1.0), [1.0], (1.0,), "rows.npy", 2.0, object()):
        assert home_of(a) is None and on_host(a) is a


def test_homes_of_arrays(torch):
    assert home_of(torch.zeros(2)) == Home("torch", torch.device("cpu"))
    assert home_of(torch.nn.Parameter(torch.zeros(2))) == home_of(torch.zeros(2))
    other = strict.Device("device1")
    assert home_of(strict.zeros(2, device=other)) == Home("array_api_strict", other)
    assert home_of(strict.zeros(2)) != home_of(strict.zeros(2, device=other))


def test_where_torch_reaches_arrays(torch):
    there = {Home("torch", torch.device("cpu")): ("cpu", False), Home("cupy", 1): ("cuda:1", True)}
    there |= {
        Home("torch", torch.device("cuda", 2)): ("cuda:2", True),
        Home("torch", torch.device("mps")): (None, True),
    }
    assert {home: (home.torch_device, home.on_gpu) for home in there} == there
    assert home_of(strict.zeros(2)).torch_device is None


def test_an_array_of_cupy_by_its_marks():
    ndarray = type("ndarray", (), {"__module__": "cupy._core.core", "__cuda_array_interface__": {}})
    found = ndarray()
    found.device = SimpleNamespace(id=3)
    assert home_of(found) == Home("cupy", 3)


def test_memory_is_shared_on_the_host(torch):
    tensor = torch.zeros(3, 2)
    with copies_to_host() as copies:
        seen = on_host(tensor)
        seen[1, 1] = 5.0
    assert float(tensor[1, 1]) == 5.0 and copies.bytes == 0
    back = home_of(tensor).array(seen)
    back[0, 0] = 7.0
    assert seen[0, 0] == 7.0


def test_other_devices_of_strict_arrays():
    a = strict.asarray(np.arange(6.0).reshape(2, 3), device=strict.Device("device1"))
    np.testing.assert_array_equal(on_host(a), np.arange(6.0).reshape(2, 3))
    assert home_of(home_of(a).array(on_host(a))) == home_of(a)


def test_tensors_that_need_care(torch):
    grows = torch.ones(2, requires_grad=True)
    np.testing.assert_array_equal(on_host(grows), [1.0, 1.0])
    assert on_host(torch.ones(2, dtype=torch.bfloat16)).dtype == np.float32
    home, frozen = home_of(grows), np.arange(4.0)
    frozen.flags.writeable = False
    assert home.array(frozen).tolist() == [0.0, 1.0, 2.0, 3.0]
    assert home.array(frozen[::-1]).tolist() == [3.0, 2.0, 1.0, 0.0]
    text = np.array(["a", "b"])
    assert home.array(text) is text
    with pytest.raises(ValueError, match="sparse tensor"):
        on_host(torch.eye(2).to_sparse())


def test_copies_are_counted_while_they_are_watched(torch):
    to_host(torch.zeros(100))
    with copies_to_host() as outer:
        to_host(torch.zeros(10, dtype=torch.float64))
        with copies_to_host() as inner:
            to_host(torch.zeros(3, 2))
    assert (outer.bytes, outer.largest, inner.bytes, inner.largest) == (104, 80, 24, 24)
    assert not arrays._COUNTS


def test_homes_are_plain_values(torch):
    for a in (torch.zeros(1), strict.zeros(1)):
        home = home_of(a)
        assert pickle.loads(pickle.dumps(home)) == copy.deepcopy(home) == home
