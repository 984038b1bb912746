"""Labels and weights: of any type, of one class or as many as rows, missing, too many, not numbers."""

import datetime
import decimal

import numpy as np

from hinge import SVC, LinearSVC, NuSVC, OneClassSVM
from hinge.estimators.mixins.probabilities import METHODS
from hinge.explain import row_table

from ..judging import check_fitted, check_probabilities, check_rows
from ..odd import ODD, one_of, table


def case(rng):
    """Odd labels, odd weights, or both."""
    X, y = table(rng)
    cls = one_of(rng, (SVC, LinearSVC, LinearSVC, NuSVC))
    y = one_of(rng, LABELS)(y, rng) if rng.random() < 0.8 else y
    weight = one_of(rng, WEIGHTS)(X.shape[0], rng) if rng.random() < 0.5 else None
    options = {"class_weight": one_of(rng, (None, None, "balanced", {1: 2.0}, {"a": 3.0, "b": 1.0}))}
    if rng.random() < 0.1:
        options["class_weight"] = one_of(rng, ODD)
    if rng.random() < 0.2:
        options["target_error"] = 0.2
    if cls is LinearSVC and rng.random() < 0.3:
        options["multi_class"] = "crammer_singer"
    if cls is SVC:
        options["multiclass"] = one_of(rng, ("ovo", "ovr"))
    if rng.random() < 0.1:
        model = OneClassSVM(max_time=0.3).fit(X, y, weight)
    elif cls is LinearSVC and rng.random() < 0.2:
        model = LinearSVC()
        classes = one_of(rng, ([0, 1, 2], [0, 1], [-1, 1], None, 3, "ab", [1, 1]))
        for _ in range(2):
            model.partial_fit(X, y, classes, weight)
    else:
        model = cls(max_time=0.3, **options).fit(X, y, weight)
        if rng.random() < 0.4:
            model.calibrate(X, y, weight, method=one_of(rng, METHODS))
            check_probabilities(model, X)
            check_rows(row_table(model, X, y, weight))
        assert set(np.asarray(model.predict(X)).tolist()) <= set(np.asarray(model.classes_).tolist())
    check_fitted(model)


def _words(*words):
    return lambda y, rng: np.array(words, dtype=object)[rng.integers(len(words), size=len(y))]


LABELS = (
    lambda y, rng: y.astype(float),
    lambda y, rng: y > 0,
    lambda y, rng: y.astype(str),
    lambda y, rng: y.tolist(),
    lambda y, rng: np.zeros(len(y)),
    lambda y, rng: np.arange(len(y)),
    lambda y, rng: np.arange(len(y)) // 2,
    lambda y, rng: rng.normal(size=len(y)),
    lambda y, rng: y * 1e300,
    lambda y, rng: y * 1e-310,
    lambda y, rng: y * 0.5,
    lambda y, rng: np.where(rng.random(len(y)) < 0.1, np.nan, y),
    lambda y, rng: np.where(y > 0, np.inf, 0.0),
    lambda y, rng: y[:-1],
    lambda y, rng: np.append(y, 1),
    lambda y, rng: y[:, None],
    lambda y, rng: np.c_[y, y],
    lambda y, rng: y[None],
    lambda y, rng: None,
    lambda y, rng: 1,
    lambda y, rng: "ab",
    lambda y, rng: [],
    lambda y, rng: {1: 2},
    lambda y, rng: set(y.tolist()),
    lambda y, rng: iter(y.tolist()),
    lambda y, rng: y * 1j,
    lambda y, rng: y.astype("m8[s]"),
    lambda y, rng: y.astype("M8[D]"),
    lambda y, rng: y.astype("S4"),
    lambda y, rng: y.astype(np.int8),
    lambda y, rng: (y > 0).astype(np.uint64) * np.uint64(2**64 - 1),
    lambda y, rng: y.astype(np.longdouble),
    lambda y, rng: y.astype(np.float16),
    lambda y, rng: y.astype(object),
    lambda y, rng: [[k] for k in y],
    lambda y, rng: [[k] * (i % 3) for i, k in enumerate(y)],
    _words("a", "b"),
    _words("a", "b", "c"),
    _words("a", 1),
    _words("a", None),
    _words(None),
    _words(1, 2.5),
    _words(1, True, "x"),
    _words(b"a", b"b"),
    _words((1, 2), (3, 4)),
    _words(float("nan"), "a"),
    _words("", " "),
    _words(decimal.Decimal(1), decimal.Decimal(2)),
    _words(datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)),
    _words(10**30, -(10**30)),
    _words(object(), object()),
    _words("a" * 10000, "ä\0"),
    _words(1.0, 1, True),
    lambda y, rng: np.ma.masked_array(y, rng.random(len(y)) < 0.1),
    lambda y, rng: np.array([(k, 1) for k in y.tolist()], dtype=[("a", int), ("b", int)]),
)

WEIGHTS = (
    lambda n, rng: rng.random(n),
    lambda n, rng: np.zeros(n),
    lambda n, rng: np.full(n, 3),
    lambda n, rng: 2.0,
    lambda n, rng: 0,
    lambda n, rng: -np.ones(n),
    lambda n, rng: np.full(n, np.nan),
    lambda n, rng: np.full(n, np.inf),
    lambda n, rng: rng.random(n + 1),
    lambda n, rng: rng.random((n, 1)),
    lambda n, rng: ["1"] * n,
    lambda n, rng: "x",
    lambda n, rng: (rng.random(n) < 0.5).tolist(),
    lambda n, rng: rng.random(n).astype(np.float32),
    lambda n, rng: [],
    lambda n, rng: np.eye(1, n)[0],
    lambda n, rng: 10.0 ** rng.uniform(-300, 300, n),
    lambda n, rng: [None] * n,
    lambda n, rng: rng.random(n).astype(object),
    lambda n, rng: {},
    lambda n, rng: 1j * np.ones(n),
    lambda n, rng: np.where(rng.random(n) < 0.2, 0.0, 1.0),
    lambda n, rng: rng.integers(0, 3, n),
    lambda n, rng: object(),
)
