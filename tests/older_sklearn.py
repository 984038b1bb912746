"""What older versions of scikit-learn do otherwise, for tests that compare with it."""

from inspect import signature

import pytest
from sklearn.utils import compute_class_weight

balanced_by_weight = pytest.mark.skipif(
    "sample_weight" not in signature(compute_class_weight).parameters,
    reason="this scikit-learn balances classes by their rows, whatever these weigh",
)
