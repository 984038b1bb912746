"""Unchanged scripts on hinge: its estimators under scikit-learn's names.

``python -m hinge.accel script.py arguments`` runs a script so; :func:`patch_sklearn` does it for what is imported
afterwards. What hinge does not have is made by scikit-learn as before, and listed at the end.
"""

import runpy
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import sklearn.svm

from hinge.estimators import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

Reason = Callable[[dict[str, Any]], str]


def _kernel_machine(given: dict[str, Any]) -> str:
    return "probability=True" if given.get("probability") is True else ""


COVERED: dict[type, Reason] = {
    LinearSVC: lambda given: "",
    LinearSVR: lambda given: "",
    SVC: _kernel_machine,
    SVR: lambda given: "",
    NuSVC: _kernel_machine,
    NuSVR: lambda given: "",
    OneClassSVM: lambda given: "",
}
"""What takes over its name, and why one with such parameters is left to scikit-learn, or nothing."""

THEIRS: dict[str, type] = {name: getattr(sklearn.svm, name) for name in (ours.__name__ for ours in COVERED)}
"""scikit-learn's own classes."""

fallbacks: Counter[str] = Counter()
"""What was left to scikit-learn so far, and how often."""


def patch_sklearn() -> None:
    """Make ``sklearn.svm`` give out hinge's estimators, in this process and from now on.

    Names that were imported from it before keep what they had. Estimators with parameters that hinge does not
    cover, and whole classes that it does not have, are scikit-learn's; `fallbacks` counts the former.

    Examples
    --------
    >>> from hinge.accel import patch_sklearn, unpatch_sklearn
    >>> patch_sklearn()
    >>> from sklearn.svm import LinearSVC
    >>> LinearSVC().fit([[0.0], [1.0]], [0, 1]).gap_ <= 1e-4
    True
    >>> unpatch_sklearn()
    """
    for ours, reason in COVERED.items():
        setattr(sklearn.svm, ours.__name__, _standing_in(ours, reason))


def unpatch_sklearn() -> None:
    """Give ``sklearn.svm`` its own classes back."""
    for name, theirs in THEIRS.items():
        setattr(sklearn.svm, name, theirs)


def _standing_in(ours: Any, reason: Reason) -> type:
    """hinge's class, which makes one of scikit-learn's where it is given what it does not cover."""
    name, theirs = ours.__name__, THEIRS[ours.__name__]

    def make(cls: type, *args: Any, **parameters: Any) -> Any:
        why = reason({**dict(zip(("penalty", "loss"), args, strict=False)), **parameters})
        if why:
            fallbacks[f"{name}({why})"] += 1
            return theirs(*args, **parameters)
        return ours.__new__(cls)

    made = type(name, (ours,), {"__new__": make, "__doc__": ours.__doc__, "__module__": __name__})
    setattr(sys.modules[__name__], f"Patched{name}", made)  # where pickles find it
    made.__qualname__ = f"Patched{name}"
    return made


def main(arguments: list[str]) -> int:
    """Run a script with the names taken over, and list what was left to scikit-learn."""
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.stderr.write("usage: python -m hinge.accel script.py [arguments]\n")
        return 0 if arguments else 2
    patch_sklearn()
    sys.argv = arguments
    try:
        runpy.run_path(arguments[0], run_name="__main__")
    finally:
        for what, count in fallbacks.most_common():
            times = "once" if count == 1 else f"{count} times"
            sys.stderr.write(f"[hinge] left to scikit-learn: {what}, {times}\n")
        unpatch_sklearn()
    return 0


if __name__ == "__main__":
    from hinge.accel import main as run  # one module, so that pickles made by the script are found again

    sys.exit(run(sys.argv[1:]))
