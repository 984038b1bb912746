"""Parquet files, zarr folders and .npy files with damage, as streams and through ``hinge pair``."""

from functools import lru_cache

import numpy as np

import hinge
from hinge.access.streams.opening import as_stream

from ..damage import damaged, damaged_files, files_in, folder_of
from ..judging import check_finite, command

Y = np.resize([-1, 1], 20)


def case(rng):
    """A damaged file or folder, read as it lies or written as a pair."""
    kind = ("parquet", "parquet", "zarr", "npy")[int(rng.integers(4))]
    files = stored()[kind][int(rng.integers(len(stored()[kind])))]
    if kind == "zarr":
        files = damaged_files(files, rng)
    else:
        files = {name: damaged(content, rng) for name, content in files.items()}
    with folder_of(files) as folder:
        path = folder / f"x.{kind}"
        if kind == "npy" or (kind == "parquet" and rng.random() < 0.3):
            label = ["--label", str(rng.choice(["label", "0", "-1"]))] if rng.random() < 0.5 else []
            if rng.random() < 0.3 or label:
                command("pair", path, folder / "pair", *(label if kind == "parquet" else []))
            else:
                hinge.write_pair(path, folder / "pair")
            return
        stream = as_stream(path, "label" if kind == "parquet" and rng.random() < 0.5 else None)
        model = hinge.LinearSVC(max_iter=5).fit(stream, Y[: stream.shape[0]])
        check_finite("coef_", model.coef_)


@lru_cache
def stored():
    """Small files of each kind."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    import zarr

    X = np.random.default_rng(0).normal(size=(20, 4)).round(2)
    columns = {**{f"c{j}": X[:, j] for j in range(3)}, "k": np.arange(20, dtype=np.int16), "label": Y}
    found = {"parquet": [], "zarr": [], "npy": []}
    for settings in ({}, {"compression": "none", "row_group_size": 7}, {"use_dictionary": False, "version": "1.0"}):
        with folder_of({}) as folder:
            pq.write_table(pa.table(columns), folder / "x.parquet", **settings)
            found["parquet"].append(files_in(folder))
    for settings in ({}, {"compressors": None}, {"zarr_format": 2}):
        with folder_of({}) as folder:
            array = zarr.create_array(str(folder / "x.zarr"), shape=X.shape, dtype="f4", chunks=(8, 3), **settings)
            array[:] = X
            found["zarr"].append(files_in(folder))
    for array in (X, np.asfortranarray(X.astype(np.float32)), np.arange(12, dtype=np.int8).reshape(3, 4)):
        with folder_of({}) as folder:
            np.save(folder / "x.npy", array)
            found["npy"].append(files_in(folder))
    return found
