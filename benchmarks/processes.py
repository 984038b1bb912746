"""A grid search over text in two processes: scikit-learn's `LinearSVC` beside ours, in the same pipeline.

    python benchmarks/processes.py [--documents 10000] [--jobs 2] [--repeats 3]

`GridSearchCV` of `TfidfVectorizer` and `LinearSVC` over four C and five folds. Words follow Zipf's law, and some are
likelier in one of the two classes. Every search starts processes of its own, as the first search of a session does;
searches in turn, medians of the wall clock; compiled code is stored before.
"""

import argparse
import statistics
import time

import numpy as np
from joblib.externals.loky import get_reusable_executor
from sklearn import svm as peers
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import hinge

GRID = {"linearsvc__C": [0.1, 1.0, 10.0, 100.0]}


def documents(n, words=30_000, length=80):
    """Documents and their classes; one word of ten is twice as likely in one class."""
    rng = np.random.default_rng(0)
    share = 1.0 / np.arange(1.0, words + 1.0)
    tilt = np.where(rng.random(words) < 0.1, rng.choice([0.5, 2.0], words), 1.0)
    y = rng.integers(0, 2, n)
    drawn = [rng.choice(words, (n, length), p=p / p.sum()) for p in (share / tilt, share * tilt)]
    return [" ".join(f"w{k}" for k in drawn[c][i]) for i, c in enumerate(y)], y


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    texts, y = documents(options.documents)
    X = TfidfVectorizer().fit_transform(texts)
    for C in GRID["linearsvc__C"]:
        hinge.LinearSVC(C=C).fit(X, y).predict(X)
    taken, best = {peers.LinearSVC: [], hinge.LinearSVC: []}, {}
    for _ in range(options.repeats):
        for machine, seconds in taken.items():
            search = GridSearchCV(make_pipeline(TfidfVectorizer(), machine()), GRID, n_jobs=options.jobs)
            get_reusable_executor().shutdown(wait=True)
            before = time.perf_counter()
            search.fit(texts, y)
            seconds.append(time.perf_counter() - before)
            best[machine] = search.best_score_
    peer, ours = (statistics.median(seconds) for seconds in taken.values())
    scores = " and ".join(f"{score:.4f}" for score in best.values())
    print(f"{options.documents} documents, {options.jobs} processes: {peer:.2f} and {ours:.2f} s", end=", ")
    print(f"{peer / ours:.2f} times as fast; best scores {scores}")


if __name__ == "__main__":
    main()
