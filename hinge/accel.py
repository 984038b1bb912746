"""Run unchanged scikit-learn scripts with hinge's estimators.

``python -m hinge.accel script.py arguments`` runs a script in this way, and ``-m module`` and ``-c code`` do it as for
``python``; :func:`patch_sklearn` replaces the classes of ``sklearn.svm`` for later imports.
"""

import os
import pkgutil
import runpy
import sys
from pathlib import Path
from types import ModuleType

import sklearn.svm

from hinge.estimators import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

COVERED: tuple[type, ...] = (LinearSVC, LinearSVR, SVC, SVR, NuSVC, NuSVR, OneClassSVM)
"""hinge's classes, each of which replaces scikit-learn's class of the same name."""

THEIRS: dict[str, type] = {name: getattr(sklearn.svm, name) for name in (ours.__name__ for ours in COVERED)}
"""scikit-learn's own classes."""

USAGE = "usage: python -m hinge.accel (script.py | -m module | -c code) [arguments]\n"


def patch_sklearn() -> None:
    """Replace the classes of ``sklearn.svm`` by hinge's, in this process and from now on.

    Names that were imported from it before are not changed. The new classes are ``hinge``'s own, so that
    models can go to other processes (``n_jobs``), and pickles load wherever ``hinge`` is installed, patched or not.

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
        setattr(sklearn.svm, ours.__name__, ours)


def unpatch_sklearn() -> None:
    """Restore the classes of ``sklearn.svm``."""
    for name, theirs in THEIRS.items():
        setattr(sklearn.svm, name, theirs)


def main(arguments: list[str]) -> int:
    """Run a script, a module or code with the classes replaced, as ``python`` would with these arguments."""
    if arguments and arguments[0][:2] in ("-m", "-c") and arguments[0][2:]:  # -mmodule is -m module
        arguments = [arguments[0][:2], arguments[0][2:], *arguments[1:]]
    option = ""
    match arguments:
        case ["-m" | "-c", what, *rest]:
            option = arguments[0]
            sys.argv = [option, *rest]
        case [what, *rest] if not what.startswith("-"):
            sys.argv = arguments
        case _:
            sys.stderr.write(USAGE)
            return 0 if arguments and arguments[0] in ("-h", "--help") else 2
    if not option and not os.path.exists(what):
        sys.stderr.write(f"python -m hinge.accel: there is no file {what!r}\n")
        return 2
    patch_sklearn()
    if not sys.flags.safe_path and option != "-m":  # python -m put the working directory there
        sys.path[0] = "" if option else os.path.dirname(os.path.realpath(what))
    if option == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    elif not option and pkgutil.get_importer(what) is not None:  # a folder or an archive
        runpy.run_path(what, run_name="__main__")
    else:
        sys.modules["__main__"] = module = ModuleType("__main__")
        code, name = (what.encode(), "<string>") if option else (Path(what).read_bytes(), os.path.abspath(what))
        if not option:
            module.__file__ = name
        exec(compile(code, name, "exec", dont_inherit=True), vars(module))
    return 0


if __name__ == "__main__":
    from hinge.accel import main as run  # the module that a script imports, which knows scikit-learn's own classes

    sys.exit(run(sys.argv[1:]))
