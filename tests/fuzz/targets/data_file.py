"""Data files with damage: svmlight, csv, tsv and npz, packed or not, by `read` and by the commands."""

import bz2
import gzip
import io
import lzma
from functools import lru_cache

import numpy as np
import scipy.sparse as sp

from hinge.datasets import read

from ..damage import damaged, folder_of
from ..judging import check_finite, command

PACKED = {"": lambda content: content, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def case(rng):
    """A damaged file, read or trained on."""
    name = str(rng.choice(sorted(stored())))
    content = stored()[name]
    ending = str(rng.choice(list(PACKED), p=[0.7, 0.1, 0.1, 0.1]))
    content = PACKED[ending](damaged(content, rng)) if rng.random() < 0.8 else damaged(PACKED[ending](content), rng)
    label = str(rng.choice(["label", "0", "-1", "y"])) if rng.random() < 0.2 else None
    with folder_of({name + ending: content}) as folder:
        path = folder / (name + ending)
        if rng.random() < 0.3:
            chosen = [] if label is None else ["--label", label]
            command("train", path, "--max-time", 1, "--solver", "sdca", "--quiet", *chosen)
            return
        if rng.random() < 0.05:
            command("pair", path, folder / "pair")
            return
        X, y = read(path, label=int(label) if label and label.strip("-").isdecimal() else label)
        assert X.shape[0] == len(y) > 0 and X.dtype in (np.float32, np.float64)
        check_finite("X", X)
        check_finite("y", y)
        if sp.issparse(X):
            X.check_format(full_check=True)


@lru_cache
def stored():
    """One small file of each format and layout."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 4)).round(2), np.resize([-1, 1], 12)
    S = sp.csr_matrix(np.where(X > 0, X, 0))
    counts, steps = (
        np.diff(S.indptr),
        np.concatenate([np.diff(row, prepend=0) for row in np.split(S.indices, S.indptr[1:-1])]),
    )
    lines = [f"{t} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(x) if v > 0) for x, t in zip(X, y, strict=True)]
    rows = [",".join(map(str, [*x, "yes" if t > 0 else "no"])) for x, t in zip(X, y, strict=True)]
    quoted = [f'{t};{x[0]};"{x[1]}"' for x, t in zip(X, y, strict=True)]
    split = {"X_train": X, "y_train": y, "X_test": X[:3], "y_test": y[:3]}
    parts = {"data": S.data, "indices": S.indices, "indptr": S.indptr, "shape": S.shape, "y": y}
    compact = {"X_data": S.data, "X_indices": steps.astype(np.uint8), "X_indptr": counts, "X_shape": S.shape, "y": y}
    return {
        "a.svm": "\n".join([*lines, "# comment", ""]).encode(),
        "b.svm": ("\n".join(line.replace(" ", " qid:3 ", 1) for line in lines) + "\n").encode(),
        "a.csv": "\n".join(["a,b,c,d,label", *rows, ""]).encode(),
        "b.csv": "\n".join(row.replace("yes", "1").replace("no", "0") for row in rows).encode(),
        "c.csv": "\n".join(['y;one;"two; three"', *quoted]).encode(),
        "a.tsv": "\n".join(row.replace(",", "\t") for row in rows).encode(),
        "a.npz": _archive(np.savez, X=X, y=y),
        "b.npz": _archive(np.savez_compressed, **parts),
        "c.npz": _archive(np.savez, **compact),
        "d.npz": _archive(np.savez_compressed, **split),
    }


def _archive(save, **arrays):
    stream = io.BytesIO()
    save(stream, **arrays)
    return stream.getvalue()
