"""Matrices that the tests read back from disk."""

import shutil
from pathlib import Path

import numpy as np

_rng = np.random.default_rng(3)

X = np.round(8 * _rng.standard_normal((40, 70))) / 8
X[_rng.random(X.shape) < 0.4] = 0
X[11], X[:, 66] = 0, 0

WIDE = np.round(64 * _rng.standard_normal((300, 3000))).astype(np.float32)  # a row lies in 3 or 4 pages


def copied(pairs, kind, tmp_path):
    """A store of its own, which a test may damage."""
    return Path(shutil.copytree(pairs / kind, tmp_path / kind))
