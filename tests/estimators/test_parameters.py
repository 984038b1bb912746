from typing import get_type_hints

import pytest

from hinge import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from hinge.estimators import parameters


@pytest.mark.parametrize(
    "estimator, protocol",
    [
        (LinearSVC, parameters.LinearClassifierParameters),
        (LinearSVR, parameters.LinearRegressorParameters),
        (SVC, parameters.KernelClassifierParameters),
        (SVR, parameters.KernelRegressorParameters),
        (NuSVC, parameters.NuClassifierParameters),
        (NuSVR, parameters.NuRegressorParameters),
        (OneClassSVM, parameters.OneClassParameters),
    ],
)
def test_protocols_name_parameters_that_the_estimators_have(estimator, protocol):
    hints = get_type_hints(protocol)
    assert {"tol", "max_time"} <= set(hints)  # those that it inherits too
    assert set(hints) <= set(estimator().get_params())
