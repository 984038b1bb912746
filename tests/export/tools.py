"""The programs of LIBSVM and LIBLINEAR, where they are installed."""

import shutil
import subprocess

import numpy as np
import pytest


def program(*names):
    """The first of these that is there, or a skipped test."""
    found = next((path for path in map(shutil.which, names) if path), None)
    if found is None:
        pytest.skip(f"{names[0]} is not installed: apt-get install libsvm-tools liblinear-tools")
    return found


def run(*words):
    subprocess.run([str(word) for word in words], check=True, capture_output=True, timeout=60)


def write_rows(X, path, y=None):
    """Rows as svmlight text, in full precision."""
    y = np.zeros(len(X)) if y is None else y
    lines = (
        f"{t:.17g} " + " ".join(f"{j + 1}:{v:.17g}" for j, v in enumerate(row) if v)
        for t, row in zip(y, X, strict=True)
    )
    path.write_text("\n".join(lines) + "\n")
    return path
