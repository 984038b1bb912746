"""Parts, tasks and messages for the tests of single rounds."""

import numpy as np
import scipy.sparse as sp

from hinge.dask.parts import ClusterTask, part_of, prepared
from hinge.dask.rounds import Message
from hinge.problems.svm.losses import HINGE


def some_rows(n=400, d=6, seed=0):
    """Two noisy classes with a common direction."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.5
    y = np.where(X @ rng.standard_normal(d) + rng.standard_normal(n) > 0.3, 1, -1)
    return X, y


def parts_of(X, y, count, chunks=1, targets=False, weight=None):
    """So many parts of so many chunks each; every other part is sparse."""
    classes, parts = (None if targets else np.unique(y)), []
    for k, rows in enumerate(np.array_split(np.arange(len(y)), count)):
        pieces = np.array_split(rows, chunks)
        Xs = [sp.csr_array(X[piece]) if k % 2 else X[piece] for piece in pieces]
        weights = None if weight is None else [weight[piece] for piece in pieces]
        parts.append(part_of(prepared(k, targets, Xs, [y[piece] for piece in pieces], weights), classes))
    return parts


def task_of(total, parts, lam=1e-2, loss=HINGE, bias="none", kappa=0.0):
    """Class 1 against class 0, or regression."""
    return ClusterTask(1, None, lam, float(total), loss, bias, 1.0, kappa, parts)


def message_of(task, d, *, sigma, passes=2, v=None, u=0.0, beta=0.0, number=0):
    """For one task."""
    return Message(
        number,
        7,
        passes,
        (task,),
        np.array([0]),
        np.ones(1),
        np.zeros((1, d)) if v is None else v[None],
        np.array([u]),
        np.array([beta]),
        np.array([task.kappa]),
        np.array([float(sigma)]),
    )
