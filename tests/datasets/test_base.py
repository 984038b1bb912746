import numpy as np
import pytest

from hinge.datasets import Dataset, read
from tests.datasets.made_up import written

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ("0.1", np.float32),
        ("16777216", np.float32),
        ("16777217", np.float64),
        ("1e39", np.float64),
        ("1e-42", np.float64),
    ],
)
def test_float32_only_where_it_serves(tmp_path, value, dtype):
    X, _ = read(written(tmp_path, "a.svm", f"1 1:{value}\n"))
    assert X.dtype == dtype
    assert X[0, 0] == pytest.approx(float(value), rel=6e-8, abs=0)


def test_dataset_cannot_be_changed():
    data = Dataset("toy", np.eye(2), np.ones(2))
    with pytest.raises(AttributeError):
        data.name = "other"
    assert repr(data) == "<Dataset 'toy': 2 + 0 rows, 2 dense features>"
