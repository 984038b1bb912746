"""`hinge.LinearSVC` against `pyspark.ml.classification.LinearSVC`, at equal objectives, on one machine.

    python -m venv DIR && DIR/bin/pip install pyspark numpy        # Spark need not be where hinge is; it needs a JRE
    python benchmarks/spark.py --spark-python DIR/bin/python [--rows 200000] [--columns 20] [--lam 1e-4] [--cores 1]

Both minimise λ/2‖w‖² + mean hinge loss with a free bias, without standardisation. Rows are dense float32 Gaussians, a
tenth of the labels turned over, in one Parquet file. hinge fits from that file, reading included, to a certified gap of
1e-3, by Newton's method; Spark has the rows in its memory before the clock starts, and its runs of 10, 30, 100 and 300
iterations are judged by the objective of their answers, computed here. The first run of each compiles, uncounted.

Wall-clock seconds, and CPU seconds of the process (Spark: of its virtual machine), which a busy machine changes less.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

ITERATIONS = (10, 30, 100, 300)


def spark_fits(path, columns, lam, cores):
    """In the child, by the Python that has pyspark: a line of JSON for each run."""
    from pyspark.ml.classification import LinearSVC
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master(f"local[{cores}]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    virtual = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())

    def cpu():
        fields = Path(f"/proc/{virtual}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    frame = spark.read.parquet(str(path))
    gather = VectorAssembler(inputCols=[f"x{j}" for j in range(columns)], outputCol="features")
    frame = gather.transform(frame).select("features", frame.label.cast("double").alias("label")).cache()
    frame.count()
    for k, most in enumerate((ITERATIONS[0], *ITERATIONS)):
        machine = LinearSVC(regParam=lam, maxIter=most, tol=1e-9, standardization=False)
        wall, used = time.perf_counter(), cpu()
        model = machine.fit(frame)
        taken = time.perf_counter() - wall, cpu() - used
        answer = [*model.coefficients.toArray().tolist(), float(model.intercept)]
        if k:
            print(json.dumps({"iterations": most, "wall": taken[0], "cpu": taken[1], "answer": answer}), flush=True)
    spark.stop()


def ours(path, lam):
    """Wall-clock and CPU seconds of our fit, and its answer; the better of two, after one that compiles."""
    from hinge import LinearSVC

    model, best = LinearSVC(lam=lam, loss="hinge", intercept="free", tol=1e-3, solver="blocknewton"), None
    for k in range(3):
        wall, cpu = time.perf_counter(), time.process_time()
        model.fit(path, "label")
        taken = time.perf_counter() - wall, time.process_time() - cpu
        best = taken if k and (best is None or taken[1] < best[1]) else best
    return *best, [*model.coef_.ravel().tolist(), float(model.intercept_[0])], model.gap_


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--spark-python", default=sys.executable)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--lam", type=float, default=1e-4)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--child")
    args = parser.parse_args()
    if args.child:
        spark_fits(args.child, args.columns, args.lam, args.cores)
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    X = rng.standard_normal((args.rows, args.columns), dtype=np.float32)
    y = ((X @ rng.standard_normal(args.columns) > 0) ^ (rng.random(args.rows) < 0.1)).astype(np.int8)

    def objective(answer):
        w, b = np.array(answer[:-1]), answer[-1]
        return 0.5 * args.lam * w @ w + np.maximum(0.0, 1.0 - (2.0 * y - 1.0) * (X @ w + b)).mean()

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        columns = {f"x{j}": X[:, j] for j in range(args.columns)}
        pq.write_table(pa.table(columns | {"label": y}), path, row_group_size=1 << 16)
        wall, cpu, answer, gap = ours(path, args.lam)
        value = objective(answer)
        print(f"{args.rows:,} x {args.columns}, lambda {args.lam:g}")
        print(
            f"  hinge: objective {value:.6f}, gap {gap:.1e}, {wall:.2f} s ({cpu:.2f} s CPU), reading the file included"
        )
        settings = ["--columns", args.columns, "--lam", args.lam, "--cores", args.cores, "--child", path]
        command = [args.spark_python, __file__, *map(str, settings)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        for line in child.stdout:
            if not line.startswith("{"):
                continue
            found = json.loads(line)
            above = objective(found["answer"]) / value - 1.0
            print(
                f"  Spark, {found['iterations']} iterations: objective {above:+.1e} of ours, {found['wall']:.2f} s"
                f" ({found['cpu']:.2f} s CPU): {found['wall'] / wall:.0f} x our time ({found['cpu'] / cpu:.0f} x CPU)",
                flush=True,
            )
        child.wait()


if __name__ == "__main__":
    main()
