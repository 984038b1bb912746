"""`OneClassSVM` with the linear kernel, which is learned from rows: the relative error of w."""

from hinge.kernels import Linear
from tests.certificates.families import one_class

REFERENCE = one_class.REFERENCE


def case(rng):
    return one_class.case(rng, Linear())
