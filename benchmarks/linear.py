"""hinge.LinearSVC against its peers: one table of time ratios.

    python benchmarks/linear.py [--repeats 5] [--only NAME ...]

Every row: the same objective and data, one process, one thread, runs interleaved, medians, compiled
code warm, input conversion included on both sides. `matched`: our tolerance is the loosest of a fixed
grid whose training objective is not above the peer's; both suboptimalities are printed, relative to
the best dual bound known. Real sets are read from $HINGE_DATA (or ../shared/data); a missing set is
said and left out. "CCAT-like" is synthetic.
"""

import argparse
import io
import lzma
import os
import statistics
import time
import warnings
from dataclasses import replace
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.linear_model import SGDClassifier  # noqa: E402
from sklearn.svm import LinearSVC as Liblinear  # noqa: E402

from hinge import LinearSVC, datasets  # noqa: E402
from hinge.problems import Regularized, Solution  # noqa: E402

GRID = tuple(10 ** (-k / 4) for k in range(21))
HOME = os.environ.get("HINGE_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
warnings.simplefilter("ignore", ConvergenceWarning)
warnings.simplefilter("ignore", FutureWarning)


def data(name, positive=None):
    if name == "CCAT-like":
        return datasets.make_text(780_000, n_test=43_000, seed=0)
    return datasets.load(name, home=HOME, positive=positive)


class Row:
    """One comparison: a peer's fit, ours at a tolerance, and an objective to hold them against."""

    def __init__(self, set_name, against, peer, ours, judge, at_least, set_data, tolerances=GRID):
        self.set_name, self.against, self.at_least = set_name, against, at_least
        self.peer, self.ours, self.judge, self.data = peer, ours, judge, set_data
        self.tolerances = tolerances

    def run(self, repeats):
        X, y = self.data.X_train, self.data.y_train
        theirs = self.judge(self.peer().fit(X, y))
        for tol in self.tolerances:
            if self.judge(self.ours(tol).fit(X, y)) <= theirs:
                break
        times: dict[str, list[float]] = {"peer": [], "ours": []}
        for _ in range(repeats):
            for who, make in (("peer", self.peer), ("ours", lambda tol=tol: self.ours(tol))):
                before = time.perf_counter()
                model = make().fit(X, y)
                times[who].append(time.perf_counter() - before)
                if who == "ours":
                    ours, gap = self.judge(model), model.gap_
        t_peer, t_ours = (statistics.median(times[k]) for k in ("peer", "ours"))
        return t_peer, t_ours, theirs, ours, tol, gap


def objective(set_data, lam, bias="none"):
    """Training objective of a model, summed over the classes where there are more than two."""
    classes = np.unique(set_data.y_train)
    targets = [classes[1]] if len(classes) == 2 else classes
    problems = [Regularized(set_data.X_train, np.where(set_data.y_train == c, 1, -1), lam, bias=bias) for c in targets]

    def judge(model):
        b = np.broadcast_to(model.intercept_, (len(problems),))
        pairs = zip(problems, model.coef_, b, strict=True)
        return sum(p.objective(Solution(np.ascontiguousarray(w, np.float64), float(b))) for p, w, b in pairs)

    return judge


def test_error(set_data):
    return lambda model: 1.0 - model.score(set_data.X_test, set_data.y_test)


def liblinear_rows(label, set_data, lam, at_least, tols=(1.0, 0.1), **ours):
    n = len(set_data.y_train)
    judge = objective(set_data, lam)
    for tol in tols:
        yield Row(
            label,
            f"sklearn LinearSVC tol={tol:g}",
            lambda tol=tol: Liblinear(loss="hinge", C=1 / (lam * n), tol=tol, fit_intercept=False, random_state=0),
            lambda t: LinearSVC(loss="hinge", lam=lam, tol=t, fit_intercept=False, random_state=0, **ours),
            judge,
            at_least,
            set_data,
        )


def rows(only):
    wanted = lambda name: not only or any(o.lower() in name.lower() for o in only)  # noqa: E731
    binary = (
        ("a9a 1e-4", "adult", None, 1e-4, 2.5),
        ("mnist 3-vs-rest 1e-4", "mnist", 3, 1e-4, 2.0),
        ("covtype 1e-4", "covertype", 1, 1e-4, 7.0),
        ("covtype 1e-6", "covertype", 1, 1e-6, 20.0),
        ("CCAT-like 1e-4", "CCAT-like", None, 1e-4, 6.0),
    )
    for label, name, positive, lam, at_least in binary:
        if wanted(label):
            set_data = data(name, positive)
            yield from liblinear_rows(label, set_data, lam, at_least)
            if label in ("covtype 1e-4", "CCAT-like 1e-4"):
                yield Row(
                    label,
                    "SGDClassifier defaults (test error)",
                    lambda: SGDClassifier(random_state=0),
                    lambda t: LinearSVC(loss="hinge", intercept="free", lam=1e-4, tol=t, random_state=0),
                    test_error(set_data),
                    5.0,
                    set_data,
                    tolerances=(1e-3,),
                )
            if label == "CCAT-like 1e-4":
                yield Row(
                    label,
                    "SGDClassifier one epoch",
                    lambda: SGDClassifier(alpha=1e-4, max_iter=1, tol=None, fit_intercept=False, random_state=0),
                    lambda t: LinearSVC(loss="hinge", lam=1e-4, tol=t, fit_intercept=False, random_state=0),
                    objective(set_data, 1e-4),
                    2.0,
                    set_data,
                )
    for label, name, lam in (
        ("mnist ten digits 1e-4", "mnist", 1e-4),
        ("news20 twenty groups 1e-4", "news20-20", 1e-4),
    ):
        if wanted(label):
            set_data = twenty_groups() if name == "news20-20" else data(name, "all")
            yield from liblinear_rows(label, set_data, lam, 2.0, tols=(1.0,))
            yield from liblinear_rows(label + ", two threads", set_data, lam, 2.0, tols=(1.0,), n_jobs=2)


def twenty_groups():
    """news20 with its twenty groups as classes, which the stored file keeps beside the binary task."""
    both = data("news20-unigram", "all")
    with np.load(io.BytesIO(lzma.decompress((Path(HOME) / "news20_unigram.npz.xz").read_bytes()))) as z:
        return replace(both, y_train=z["group_train"], y_test=z["group_test"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[])
    args = parser.parse_args()
    head = f"{'set':40} {'against':36} {'peer s':>8} {'ours s':>8} {'ratio':>6} {'goal':>5}"
    print(f"{head}  peer / ours value, our tol, certified gap")
    try:
        for row in rows(args.only):
            t_peer, t_ours, theirs, ours, tol, gap = row.run(args.repeats)
            print(
                f"{row.set_name:40} {row.against:36} {t_peer:8.3f} {t_ours:8.3f} {t_peer / t_ours:6.1f} "
                f"{row.at_least:5.1f}  {theirs:.6f} / {ours:.6f}, {tol:g}, {gap:.1e}"
                f"{'' if ours <= theirs else '  NOT MATCHED: ours is worse'}",
                flush=True,
            )
    except datasets.DatasetNotFoundError as missing:
        print(missing)


if __name__ == "__main__":
    main()
