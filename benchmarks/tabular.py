"""Tuned machines on tables: hinge, boosted trees, random forests and logistic regression, in equal time.

    python benchmarks/tabular.py [--sets a9a digits] [--rows 8000] [--budget 10] [--seeds 2] [--jobs 1] [--out FILE]

Everyone has the same rows and so many seconds of one thread to choose its settings and to fit the model: of the clock,
which `max_time` of hinge reads, so that no core should have other work. `LinearSVCCV` and `SVCCV` search as they do by
default. The others try settings in a fixed order, the default first, judged by a quarter of the rows; whoever cannot
expect to end another one and the final fit in time fits the best to all rows. LightGBM boosts where it is installed,
else scikit-learn's HistGradientBoosting. The tables have the processor's seconds of all that each did, once warm.

Stored sets, from $HINGE_DATA (or ../shared/data), are cut to `--rows` rows for training and as many to test; those that
come with scikit-learn are divided at random, three quarters to one. Each seed draws other rows. madelon, arcene, wine
and breast cancer are standardised for all. The last table has the mean rank by test error (ties share), how often each
was best, and the accuracy for each processor second, over all sets.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from peers import HERE, loaded, processor  # and one thread for every process that this starts
from regret import SETS
from scipy.stats import rankdata
from sklearn import datasets as bundled
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterSampler, train_test_split

BUNDLED = {
    "iris": bundled.load_iris,
    "wine": bundled.load_wine,
    "breast_cancer": bundled.load_breast_cancer,
    "digits": bundled.load_digits,
}
FOREST = {
    "n_estimators": [100, 300],
    "max_features": ["sqrt", 0.1, 0.3, 0.6],
    "min_samples_leaf": [1, 2, 5],
    "criterion": ["gini", "entropy"],
}
LIGHT = {
    "n_estimators": [100, 300, 600],
    "learning_rate": [0.03, 0.1, 0.2],
    "num_leaves": [7, 15, 31, 63],
    "min_child_samples": [5, 20, 50],
    "colsample_bytree": [0.3, 0.6, 1.0],
}
HISTOGRAM = {
    "max_iter": [100, 300, 600],
    "learning_rate": [0.03, 0.1, 0.2],
    "max_leaf_nodes": [7, 15, 31, 63],
    "min_samples_leaf": [5, 20, 50],
    "max_features": [0.3, 0.6, 1.0],
}


class Table(NamedTuple):
    """Rows and labels, to learn from and to test."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


def table_of(name: str, rows: int, seed: int) -> Table:
    """A set, of which the seed draws rows."""
    rng = np.random.default_rng(seed)
    if name not in BUNDLED:
        X, y, X_test, y_test = loaded(name)
        some, others = (rng.permutation(len(part))[:rows] for part in (y, y_test))
        return Table(X[some], y[some], X_test[others], y_test[others])
    X, y = BUNDLED[name](return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=seed, stratify=y)
    if name in ("wine", "breast_cancer"):
        mean, spread = X.mean(axis=0), X.std(axis=0)
        X, X_test = (X - mean) / spread, (X_test - mean) / spread
    return Table(X, y, X_test, y_test)


def ours(name: str, table: Table, budget: float, seed: int) -> Any:
    """hinge's own search."""
    import hinge

    return getattr(hinge, name)(max_time=budget, random_state=seed).fit(table.X, table.y)


def searched(make: Any, space: dict[str, list[Any]], table: Table, budget: float, seed: int) -> Any:
    """The best of the settings that there was time for, fitted to all rows."""
    began, X, y = time.perf_counter(), table.X, table.y
    train, judge = train_test_split(np.arange(len(y)), random_state=seed, stratify=y)
    settings: Iterator[dict[str, Any]] = iter([{}, *ParameterSampler(space, 200, random_state=seed)])
    best, chosen, longest, final = -1.0, {}, 0.0, 0.0
    for one in settings:
        before = time.perf_counter()
        if before - began + longest + final > budget:
            break
        score = make(**one).fit(X[train], y[train]).score(X[judge], y[judge])
        taken = time.perf_counter() - before
        longest = max(longest, taken)
        if score > best:
            best, chosen, final = score, one, taken * len(y) / len(train)
    return make(**chosen).fit(X, y)


def boosted(**settings: Any) -> Any:
    """LightGBM, or what scikit-learn has."""
    if find_spec("lightgbm"):
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_jobs=1, verbosity=-1, random_state=0, **settings)
    return HistGradientBoostingClassifier(random_state=0, **settings)


def contestants() -> dict[str, Callable[..., Any]]:
    """How each is tuned."""
    forest = partial(RandomForestClassifier, n_jobs=1, random_state=0)
    light = find_spec("lightgbm") is not None
    return {
        "hinge SVCCV": partial(ours, "SVCCV"),
        "hinge LinearSVCCV": partial(ours, "LinearSVCCV"),
        "logistic regression": partial(
            searched, partial(LogisticRegression, max_iter=1000), {"C": np.geomspace(1e-4, 1e4, 13).tolist()}
        ),
        "random forest": partial(searched, forest, FOREST),
        "LightGBM" if light else "HistGradientBoosting": partial(searched, boosted, LIGHT if light else HISTOGRAM),
    }


def race(task: tuple[str, int, str], args: argparse.Namespace) -> tuple[float, float]:
    """Test error and processor seconds of one contestant on one draw of a set; nan where it cannot run."""
    warnings.simplefilter("ignore")
    name, seed, who = task
    table, fit = table_of(name, args.rows, seed), contestants()[who]
    if who == "HistGradientBoosting" and sp.issparse(table.X):
        if table.X.shape[1] > 2000:
            return np.nan, np.nan
        table = table._replace(X=table.X.toarray(), X_test=table.X_test.toarray())
    few = train_test_split(np.arange(len(table.y)), train_size=min(200, len(table.y) // 2), stratify=table.y)[0]
    warm = table if who.startswith("hinge") else table._replace(X=table.X[few], y=table.y[few])
    fit(warm, 1.0 if warm is table else 0.0, seed)  # imports, and compiles what so many rows need
    before = time.process_time()
    model = fit(table, args.budget, seed)
    seconds = time.process_time() - before
    error = 1.0 - float(model.score(table.X_test, table.y_test))
    print(f"{name}, seed {seed}, {who}: {error:.2%} in {seconds:.1f} s", file=sys.stderr, flush=True)
    return error, seconds


def tables(sets: list[str], names: list[str], errors: np.ndarray, seconds: np.ndarray) -> str:
    """Markdown: error and seconds of each on each set, and what they come to."""
    shown = [f"| set | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for name, wrong, taken in zip(sets, errors, seconds, strict=True):
        cells = [f"{100 * e:.2f} ({s:.1f} s)" if np.isfinite(e) else "–" for e, s in zip(wrong, taken, strict=True)]
        shown.append(f"| {name} | {' | '.join(cells)} |")
    ranks = np.array([rankdata(np.where(np.isfinite(wrong), wrong, np.inf)) for wrong in errors])
    shown += ["", "| | mean rank | best on | mean test error % | CPU s in all | accuracy per CPU s |", "|---" * 6 + "|"]
    for k in np.argsort(ranks.mean(axis=0)):
        best = int(np.sum(errors[:, k] <= np.nanmin(errors, axis=1)))
        wrong, taken = np.nanmean(errors[:, k]), np.nansum(seconds[:, k])
        rate = np.nansum(1.0 - errors[:, k]) / taken
        shown.append(
            f"| {names[k]} | {ranks[:, k].mean():.2f} | {best} | {100 * wrong:.2f} | {taken:.1f} | {rate:.3g} |"
        )
    return "\n".join(shown)


def main() -> None:
    """Race, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sets = [*BUNDLED, *SETS]
    parser.add_argument("--sets", nargs="*", default=sets, choices=sets)
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--budget", type=float, default=10.0, help="seconds for each search")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="a file for the tables")
    args = parser.parse_args()
    os.environ.setdefault("HINGE_DATA", str(HERE.parents[1] / "shared" / "data"))
    names, missing, there = list(contestants()), [], []
    for name in args.sets:
        try:
            if name in SETS:
                loaded(name)
            there.append(name)
        except FileNotFoundError as error:
            missing.append(str(error))
    tasks = [(name, seed, who) for who in names for name in reversed(there) for seed in range(args.seeds)]
    with ProcessPoolExecutor(args.jobs, get_context("spawn")) as pool:
        found = dict(zip(tasks, pool.map(partial(race, args=args), tasks), strict=True))
    mean = lambda part: np.array(  # noqa: E731
        [[np.mean([found[name, seed, who][part] for seed in range(args.seeds)]) for who in names] for name in there]
    )
    settings = f"{args.budget:g} s each, at most {args.rows:,} rows, mean of {args.seeds}"
    text = "\n\n".join([f"{processor()}; {settings}", tables(there, names, mean(0), mean(1)), *missing])
    print(text)
    if args.out:
        args.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
