"""Rows larger than memory: fits from Parquet, memory maps and svmlight text, and fits that are killed.

    python benchmarks/out_of_core.py [--only parquet map svmlight kernel kill] [--gigabytes 0.5] [--memory 1.0]
                                     [--seconds 240] [--folder DIR]

parquet: dense float32 of `--columns` features and that size, in files of a gigabyte (those after the first are copies
of it: made in little time, and read as others would be), to a certified gap of 1e-3 with `--memory` gigabytes
allowed, by ``max_memory`` and by a limit of the process on its data (what ``prlimit --data`` sets; Arrow takes memory
from the system then, since its own allocator reserves a gigabyte that it does not use). The time of a fit is set
against as many plain passes as it made: all row groups read by pyarrow as it comes, each column to an array, and
nothing else; before the fit and after it, the shorter of the two. Peak is that of resident memory. Rows are Gaussian,
a tenth of the labels is turned over. A `--C` of 0.01 is λ = 100/n.

map: a memory map that fits, against the array in memory. svmlight: text of text-like rows, first model of `LinearSVC`
against scikit-learn's reader alone, on 200 MB of it and scaled, a fifth of which times 1.5 is aimed at. kernel: `SVC`
on 1,000,000 x 20 rows, .npy or Parquet, with `--memory` gigabytes, for `--seconds`: clusters of two classes, none or
a twentieth of whose labels are turned over. kill: `--kills` fits that are killed (-9) at random moments and started
again, against one that is left alone: the same bits. Every other one is by dual ascent (C = 0.001), the others are by
Newton's method (C = 1).

Wall-clock and CPU seconds: on a machine that has other work compare the latter.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

GROUP = 1 << 17
CUT = 200_000_000


def rows(n, d, k, w):
    """Block k of the rows, and its labels."""
    rng = np.random.default_rng([7, k])
    X = rng.standard_normal((n, d), dtype=np.float32)
    return X, ((X @ w > 0) ^ (rng.random(n) < 0.1)).astype(np.int8)


def write_parquet(path, n, d):
    """Plain columns, row groups of `GROUP` rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    w, writer = np.random.default_rng(0).standard_normal(d).astype(np.float32), None
    for k, lo in enumerate(range(0, n, GROUP)):
        X, y = rows(min(GROUP, n - lo), d, k, w)
        table = pa.table({f"x{j}": X[:, j] for j in range(d)} | {"label": y})
        if writer is None:
            writer = pq.ParquetWriter(path, table.schema, compression="none", use_dictionary=False)
        writer.write_table(table)
    writer.close()


def write_folder(folder, gigabytes, d):
    """Files of a gigabyte at most; all rows."""
    folder.mkdir()
    count = max(1, round(gigabytes))
    n = int(gigabytes / count * 1e9 / (4 * d))
    write_parquet(folder / "000.parquet", n, d)
    for k in range(1, count):
        shutil.copyfile(folder / "000.parquet", folder / f"{k:03}.parquet")
    return n * count


def clocks(work):
    """What it returns, wall-clock and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def child(task, *arguments):
    """What a process of its own says, in JSON."""
    done = subprocess.run(
        [sys.executable, __file__, "--child", task, *map(str, arguments)], capture_output=True, text=True
    )
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}"}
    return json.loads(done.stdout.splitlines()[-1])


def plain_pass(path):
    """All row groups, column by column; how many rows there were."""
    import pyarrow.parquet as pq

    rows = 0
    for name in sorted(Path(path).iterdir()):
        file = pq.ParquetFile(name)
        rows += file.metadata.num_rows
        for k in range(file.num_row_groups):
            for column in file.read_row_group(k).columns:
                column.to_numpy()
    return rows


def fit_parquet(path, small, C, memory):
    """In the child: the fit, and plain passes."""
    import warnings

    from hinge import LinearSVC
    from hinge.estimators.data import sources as streams

    warnings.simplefilter("ignore")
    streams.OF_A_ROW = 1 << 40  # never loaded
    resource.setrlimit(resource.RLIMIT_DATA, (int(memory), int(memory)))
    model = LinearSVC(C=C, tol=1e-3, max_memory=memory, max_iter=300)
    model.fit(small, "label")  # compiles
    rows, *first = clocks(lambda: plain_pass(path))
    _, wall, cpu = clocks(lambda: model.fit(path, "label"))
    plain = min(tuple(first), clocks(lambda: plain_pass(path))[1:])
    return {
        "gap": model.gap_,
        "passes": model.bytes_read_ / (4 * model.n_features_in_ * rows),
        "wall": wall,
        "cpu": cpu,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "plain_wall": plain[0],
        "plain_cpu": plain[1],
    }


def parquet(folder, args):
    """The table of Parquet."""
    path, small = folder / "rows", folder / "small.parquet"
    n = write_folder(path, args.gigabytes, args.columns)
    write_parquet(small, 100_000, args.columns)
    size = sum(name.stat().st_size for name in path.iterdir())
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
    print(f"\nParquet, {n:,} x {args.columns} float32, {size / 1e9:.2f} GB, {args.memory} GB allowed")
    for C in args.C:
        found = child("parquet", path, small, C, args.memory * 1e9)
        if "error" in found:
            print(f"  C = {C:g}: {found['error']}")
            continue
        ratio, cpu = found["wall"] / found["passes"] / found["plain_wall"], found["cpu"] / found["passes"]
        print(
            f"  C = {C:g}: gap {found['gap']:.1e} in {found['passes']:.1f} passes, {found['wall']:.1f} s"
            f" ({found['cpu']:.1f} s CPU), peak {found['peak'] / 1e9:.2f} GB;"
            f" a plain pass {found['plain_wall']:.2f} s ({found['plain_cpu']:.2f} s CPU):"
            f" {ratio:.2f} x as many plain passes; CPU a pass {cpu:.2f} s"
        )


def mapped(folder, args):
    """A map that fits against the array."""
    from hinge import LinearSVC

    n, d = int(min(args.gigabytes, 0.5) * 1e9 / (4 * args.columns)), args.columns
    X, y = rows(n, d, 0, np.random.default_rng(0).standard_normal(d).astype(np.float32))
    np.save(folder / "x.npy", X)
    times = {"array": [], "map": []}
    for _ in range(4):
        for name, A in (("array", X), ("map", np.load(folder / "x.npy", mmap_mode="r"))):
            times[name].append(clocks(lambda A=A: LinearSVC(C=0.01, tol=1e-3).fit(A, y))[2])
    array, found = (float(np.median(times[name][1:])) for name in ("array", "map"))
    print(f"\nmemory map of {X.nbytes / 1e9:.2f} GB: {found:.2f} s CPU, array {array:.2f} s: {found / array:.2f} x")


def svmlight(folder, args):
    """First model from text against scikit-learn's parser."""
    from sklearn.datasets import load_svmlight_file

    from hinge import LinearSVC
    from hinge.access.streams.text import SvmlightStream
    from hinge.datasets import make_text

    path, found = folder / "rows.svm", make_text(20_000)
    X, y = found.X_train, found.y_train
    lines = []
    for i in range(X.shape[0]):
        lo, hi = X.indptr[i : i + 2]
        cells = " ".join(f"{j + 1}:{x:.6g}" for j, x in zip(X.indices[lo:hi], X.data[lo:hi], strict=True))
        lines.append(f"{y[i]:+d} {cells}\n")
    text, size = "".join(lines).encode(), int(args.text_gigabytes * 1e9)
    small, part = folder / "small.svm", folder / "cut.svm"
    small.write_bytes(text)
    for name, wanted in ((path, size), (part, min(size, CUT))):
        with name.open("wb") as stream:
            for _ in range(max(1, wanted // len(text))):
                stream.write(text)
    scale = path.stat().st_size / part.stat().st_size
    LinearSVC(C=1.0, tol=1e-3).fit(small)  # compiles
    _, *times = clocks(lambda: load_svmlight_file(str(part), zero_based=False))
    theirs, theirs_cpu = (scale * seconds for seconds in times)
    _, parse, parse_cpu = clocks(lambda: SvmlightStream(path))
    model, ours, ours_cpu = clocks(lambda: LinearSVC(lam=1e-4, tol=1e-3).fit(path))
    print(
        f"\nsvmlight of {path.stat().st_size / 1e9:.2f} GB: scikit-learn's reader {theirs:.1f} s"
        f" ({theirs_cpu:.1f} s CPU), ours {parse:.1f} s ({parse_cpu:.1f} s CPU), first model {ours:.1f} s"
        f" ({ours_cpu:.1f} s CPU), gap {model.gap_:.1e}: {ours / (theirs / 5):.2f} x a fifth of the reader"
        f" (CPU {ours_cpu / (theirs_cpu / 5):.2f} x)"
    )


def clusters(n, k, noise):
    """Block k of rows about 20 centres of two classes, in 20 dimensions."""
    centres, rng = np.random.default_rng(0).standard_normal((20, 20)), np.random.default_rng([3, k])
    own = rng.integers(0, 20, n)
    X = (centres[own] + 0.6 * rng.standard_normal((n, 20))).astype(np.float32)
    return X, ((own % 2 == 1) ^ (rng.random(n) < noise)).astype(np.int8)


def fit_kernel(path, label, memory, seconds):
    """In the child: SVC on rows from a disk."""
    import warnings

    from hinge import SVC

    warnings.simplefilter("ignore")
    X, y = clusters(5000, 0, 0.05)
    options = {"gamma": 0.05, "max_memory": memory, "cache_size": 1e6}
    SVC(max_time=5.0, **options).fit(X, y)  # compiles
    y = "label" if label == "label" else np.load(label)
    model, wall, cpu = clocks(lambda: SVC(max_time=seconds, **options).fit(path, y))
    X, y = clusters(20_000, 999, 0.0)
    return {
        "gap": model.gap_,
        "why": model.stop_reason_,
        "vectors": len(model.support_),
        "values": model.n_kernel_evals_,
        "error": float(np.mean(model.predict(X) != y)),
        "wall": wall,
        "cpu": cpu,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def kernel(folder, args):
    """The table of kernel machines."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = args.kernel_rows
    print(f"\nSVC, rbf, {n:,} x 20 float32, {args.memory} GB allowed, max_time={args.seconds:g}")
    for noise in (0.0, 0.05):
        blocks = [clusters(min(50_000, n - lo), k, noise) for k, lo in enumerate(range(0, n, 50_000))]
        X, y = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        np.save(folder / "k.npy", X)
        np.save(folder / "k_y.npy", y)
        pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(20)} | {"label": y}), folder / "k.parquet")
        del X, y, blocks
        for path, label in (("k.npy", folder / "k_y.npy"), ("k.parquet", "label"))[: 1 + (noise == 0.0)]:
            found = child("kernel", folder / path, label, args.memory * 1e9, args.seconds)
            said = found.get("error") if "gap" not in found else None
            print(
                f"  {path}, {noise:.0%} of labels turned: "
                + (
                    said
                    or f"{found['why']}, gap {found['gap']:.2g}, {found['vectors']:,} vectors,"
                    f" {found['values']:.1e} values, error {found['error']:.3f}; {found['wall']:.0f} s"
                    f" ({found['cpu']:.0f} s CPU), peak {found['peak'] / 1e9:.2f} GB"
                )
            )


def fit_kept(path, folder, C):
    """In the child: a fit with a checkpoint at every block."""
    from hinge import LinearSVC
    from hinge.access.streams import base
    from hinge.monitoring.checkpoint import Checkpoint

    base.HAND, Checkpoint.__init__.__defaults__ = 1 << 21, (0.0,)
    model = LinearSVC(C=float(C), tol=1e-9, max_iter=30, checkpoint=folder).fit(path, "label")
    return {"w": np.append(model.coef_, model.intercept_).tobytes().hex()}


def kill(folder, args):
    """Fits that are killed until they end."""
    path, rng, same, kills = folder / "kill.parquet", np.random.default_rng(0), 0, 0
    write_parquet(path, 200_000, 20)
    whole, seconds = {}, {}
    for C in ("0.001", "1"):
        child("kill", path, folder / f"compiles{C}", C)
        began = time.perf_counter()
        whole[C] = child("kill", path, folder / f"whole{C}", C)
        seconds[C] = time.perf_counter() - began
    for k in range(args.kills):
        kept, C = folder / f"kept{k}", ("0.001", "1")[k % 2]
        command = [sys.executable, __file__, "--child", "kill", str(path), str(kept), C]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            process.wait(rng.uniform(0.1, 0.9) * seconds[C])
        except subprocess.TimeoutExpired:
            process.kill()
            kills += 1
        process.communicate()
        found = child("kill", path, kept, C)
        same += "w" in found and found == whole[C]
    print(f"\nkilled {kills} times of {args.kills}, gone on: {same} of {args.kills} models have the same bits")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", default=["parquet", "map", "svmlight", "kernel", "kill"])
    parser.add_argument("--gigabytes", type=float, default=0.5)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--memory", type=float, default=1.0)
    parser.add_argument("--C", type=float, nargs="+", default=[0.01])
    parser.add_argument("--text-gigabytes", type=float, default=0.1)
    parser.add_argument("--kernel-rows", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--folder")
    parser.add_argument("--child", nargs="+")
    args = parser.parse_args()
    if args.child:
        task, *rest = args.child
        if task == "parquet":
            found = fit_parquet(*rest[:2], *map(float, rest[2:]))
        else:
            found = fit_kernel(*rest[:2], *map(float, rest[2:])) if task == "kernel" else fit_kept(*rest)
        print(json.dumps(found))
        return
    folder = Path(tempfile.mkdtemp(dir=args.folder))
    try:
        every = {"parquet": parquet, "map": mapped, "svmlight": svmlight, "kernel": kernel, "kill": kill}
        for name in every:
            if name in args.only:
                every[name](folder, args)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
