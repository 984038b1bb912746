"""What the tests of this folder share."""

import numpy as np
import pytest
import scipy.sparse as sp
from access.two_way.made_up import WIDE, X

from hinge.access.two_way.writer import write_pair


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """The same small matrix in three pairs, and a larger one."""
    folder = tmp_path_factory.mktemp("pairs")
    write_pair(X.astype(np.float32), folder / "float32")
    write_pair(X, folder / "float64")
    write_pair(sp.csr_array(X), folder / "compressed")
    write_pair(WIDE, folder / "wide")
    thinned = WIDE * (np.random.default_rng(4).random(WIDE.shape) < 0.1)
    write_pair(sp.csr_array(thinned), folder / "thin")
    return folder
