"""What a fit passes through: Python functions and files, ours and scikit-learn's, of a second fit (compiled code warm).

    python benchmarks/walk.py [--list]

Functions of the package alone are counted, by their code objects; `--list` names ours in the order of first call.
"""

import argparse
import os
import sys
from functools import partial

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from sklearn import svm as peers  # noqa: E402
from sklearn.datasets import load_iris, make_classification  # noqa: E402

import hinge  # noqa: E402
from hinge.compiled import assigned, compiling_all  # noqa: E402


def walk(fit, package):
    """Functions of a package that a call runs, in the order of first call, and how deep it gets."""
    root = os.path.dirname(sys.modules[package].__file__) + os.sep
    seen, depth = {}, [0, 0]

    def note(frame, event, _):
        depth[0] += (event == "call") - (event == "return")
        depth[1] = max(depth)
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(root):
            seen.setdefault(code, f"{code.co_filename.removeprefix(root)}:{code.co_qualname}")

    sys.setprofile(note)
    try:
        fit()
    finally:
        sys.setprofile(None)
    return seen, depth[1]


def cases():
    """The name of a fit, ours and the peer's."""
    X, y = make_classification(1000, 20, random_state=0)
    iris = load_iris(return_X_y=True)
    text = sp.random_array((1000, 500), density=0.02, rng=np.random.default_rng(0), format="csr")
    yield "LinearSVC() 1,000 x 20", hinge.LinearSVC(), peers.LinearSVC(), X, y
    yield "LinearSVC(loss='hinge') CSR", hinge.LinearSVC(loss="hinge"), peers.LinearSVC(loss="hinge"), text, y
    yield "SVC() iris", hinge.SVC(), peers.SVC(), *iris


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    for name, ours, peer, X, y in cases():
        shown = []
        for model, package in ((ours, "hinge"), (peer, "sklearn")):
            with assigned(compiling_all, True):  # else first calls are interpreted, function by function
                model.fit(X, y)
            seen, depth = walk(partial(model.fit, X, y), package)
            shown.append(f"{len(seen)} functions, {len({code.co_filename for code in seen})} files, depth {depth}")
            if args.list and package == "hinge":
                print("\n".join(f"  {one}" for one in seen.values()))
        print(f"{name}: {shown[0]}; scikit-learn {shown[1]}")


if __name__ == "__main__":
    main()
