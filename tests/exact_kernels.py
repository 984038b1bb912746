"""Kernel machines of which scikit-learn's checks try the exact kernel: they set any `n_components` to 1 or 2."""

from hinge import SVC, SVR, NuSVC, NuSVR, OneClassSVM


def _but_not_few():
    """A parameter that does not become 1 or 2."""
    return property(
        lambda self: self.__dict__.get("given"),
        lambda self, value: None if type(value) is int and value in (1, 2) else self.__dict__.update(given=value),
    )


class ExactSVC(SVC):
    """SVC, whose checks are those of the exact kernel."""

    n_components = _but_not_few()


class ExactSVR(SVR):
    """SVR, whose checks are those of the exact kernel."""

    n_components = _but_not_few()


class ExactOneClassSVM(OneClassSVM):
    """OneClassSVM, whose checks are those of the exact kernel."""

    n_components = _but_not_few()


class ExactNuSVC(NuSVC):
    """NuSVC, whose checks are those of the exact kernel."""

    n_components = _but_not_few()


class ExactNuSVR(NuSVR):
    """NuSVR, whose checks are those of the exact kernel."""

    n_components = _but_not_few()
