"""Run unchanged scikit-learn scripts with hinge's estimators.

``python -m hinge.accel script.py arguments`` runs a script in this way; :func:`patch_sklearn` replaces the classes of
``sklearn.svm`` for later imports.
"""

import runpy
import sys

import sklearn.svm
from sklearn.base import BaseEstimator

from hinge.estimators import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

COVERED: tuple[type, ...] = (LinearSVC, LinearSVR, SVC, SVR, NuSVC, NuSVR, OneClassSVM)
"""hinge's classes, each of which replaces scikit-learn's class of the same name."""

THEIRS: dict[str, type] = {name: getattr(sklearn.svm, name) for name in (ours.__name__ for ours in COVERED)}
"""scikit-learn's own classes."""


def patch_sklearn() -> None:
    """Replace the classes of ``sklearn.svm`` by hinge's, in this process and from now on.

    Names that were imported from it before are not changed.

    Examples
    --------
    >>> from hinge.accel import patch_sklearn, unpatch_sklearn
    >>> patch_sklearn()
    >>> from sklearn.svm import LinearSVC
    >>> LinearSVC().fit([[0.0], [1.0]], [0, 1]).gap_ <= 1e-4
    True
    >>> unpatch_sklearn()
    """
    for ours in COVERED:
        setattr(sklearn.svm, ours.__name__, _standing_in(ours))


def unpatch_sklearn() -> None:
    """Restore the classes of ``sklearn.svm``."""
    for name, theirs in THEIRS.items():
        setattr(sklearn.svm, name, theirs)


def _standing_in(ours: type[BaseEstimator]) -> type:
    """hinge's class in this module, under scikit-learn's name."""
    name = ours.__name__
    made = type(name, (ours,), {"__doc__": ours.__doc__, "__module__": __name__})
    setattr(sys.modules[__name__], f"Patched{name}", made)  # so that pickles find it
    made.__qualname__ = f"Patched{name}"
    return made


def main(arguments: list[str]) -> int:
    """Run a script with the classes replaced."""
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.stderr.write("usage: python -m hinge.accel script.py [arguments]\n")
        return 0 if arguments else 2
    patch_sklearn()
    sys.argv = arguments
    try:
        runpy.run_path(arguments[0], run_name="__main__")
    finally:
        unpatch_sklearn()
    return 0


if __name__ == "__main__":
    from hinge.accel import main as run  # one module, so that pickles made by the script are found again

    sys.exit(run(sys.argv[1:]))
