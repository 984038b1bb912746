"""SBP, Figure 2: test error against kernel evaluations, without a bias."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp

from hinge.access import Gram, Points, as_points
from hinge.display.figure import Panel, Series, Value
from hinge.estimators import SVC
from hinge.estimators.fitting.reports import ConstantPredictionWarning
from hinge.experiments.base import Cell, CellResults, Claims, Draft, Experiment, Scale, grid
from hinge.experiments.measure import Evaluation, arrival, band, log_spaced
from hinge.experiments.sets import choose
from hinge.kernels import Gaussian, Precomputed
from hinge.problems import KernelProblem, KernelRegularized, KernelSlackConstrained
from hinge.solvers import SBP, SMO, KernelPegasos, KernelPerceptron, KernelSDCA, Solver, trace
from hinge.types import Stored

VARIANCE = {"reuters": 0.5, "adult": 10.0, "mnist": 25.0}


class SetRuns(NamedTuple):
    """What is run of a set: the number of rows, or None for all; seeds; epochs, and the epochs of the Perceptron.

    The Perceptron's later epochs on Adult are the paper's: to see it overfit.
    """

    set: str
    rows: int | None
    seeds: int
    epochs: int
    late: int


PARTS = {
    "tiny": (SetRuns("reuters", 300, 2, 4, 4), SetRuns("adult", 300, 2, 4, 10), SetRuns("mnist", 300, 2, 4, 4)),
    "full": tuple(SetRuns(name, None, 10, 10, late) for name, late in (("reuters", 10), ("adult", 100), ("mnist", 10))),
}
METHODS = ("SBP", "Pegasos", "SDCA", "SMO", "Perceptron")
NEAR = 0.002
"""A method has arrived where its error is within this of the SVM's own."""
AXES = {
    "charged": "kernel evaluations, n charged for each iteration",
    "updates": "kernel evaluations, n charged for each update, none kept",
    "computed": "kernel values computed, each row once",
}


class Kernels(NamedTuple):
    """A set as points whose kernel values are counted, and the optimum of its SVM with λ = 1/n and no bias."""

    points: Points
    K_test: np.ndarray
    y: np.ndarray
    y_test: np.ndarray
    nu: float
    norm: float
    error: float
    support: int

    def problem(self, method: str) -> KernelProblem:
        """The problem that a method solves, with a cache for all rows and an empty bill."""
        every = len(self.y) ** 2 * self.points.dtype.itemsize
        gram = Gram(self.points, self.points.nbytes + 2 * every + 1_000_000)  # half for a block, which nobody asks for
        if method == "SBP":
            return KernelSlackConstrained(gram, self.y, self.nu)
        return KernelRegularized.from_C(gram, self.y, 1.0)

    def error_of(self, beta: np.ndarray) -> float:
        """Share of test rows on the wrong side."""
        scores = self.K_test @ beta.astype(self.K_test.dtype)
        return float(np.mean(np.where(scores > 0, 1, -1) != self.y_test))


def kernels(
    X: Stored,
    y: np.ndarray,
    X_test: Stored,
    y_test: np.ndarray,
    variance: float,
    *,
    most_held: int = 40_000,
    block_rows: int = 2048,
) -> Kernels:
    """The kernel values of up to `most_held` rows, computed once for all runs, `block_rows` at a time; and the optimum.

    Of more rows, each run computes the kernel rows that it needs.
    """
    kernel = Gaussian(1 / (2 * variance))

    def values(A: Stored, B: Stored) -> np.ndarray:
        sizes = [np.asarray(_squares(part).sum(axis=1)).ravel() for part in (A, B)]
        if sp.issparse(A) and A.shape[1] < 1000:  # whose products have few zeros: dense ones take a third of the memory
            A, B = (cast(sp.csr_array, part).toarray() for part in (A, B))
        found = np.empty((A.shape[0], B.shape[0]), np.result_type(A.dtype, np.float32))
        for lo in range(0, len(found), block_rows):  # all products together would take twice the memory
            dots: Any = A[lo : lo + block_rows] @ B.T
            found[lo : lo + block_rows] = dots.toarray() if sp.issparse(dots) else dots
            kernel.of_dots(found[lo : lo + block_rows], sizes[0][lo : lo + block_rows], sizes[1])
        return found

    if len(y) <= most_held:
        points = as_points(values(X, X), Precomputed())
        points.indefinite = False  # a Gaussian's values: to find that out takes longer than many runs
    else:
        points = as_points(X, kernel)
    K_test = values(X_test, X)
    with warnings.catch_warnings(action="ignore", category=ConstantPredictionWarning):  # of few rows of one digit
        model = SVC(1.0, gamma=kernel.gamma, fit_intercept=False, tol=1e-4, cache_size=2000, random_state=0).fit(X, y)
    coef, beta = sp.csr_array(model.dual_coef_).toarray()[0], np.zeros(len(y))
    beta[model.support_] = coef
    norm = float(np.sqrt(coef @ Gram(points, 0).pass_over(model.support_, coef, model.support_)))
    found = Kernels(points, K_test, y, y_test, float(model.slack_), norm, 0.0, len(model.support_))
    return found._replace(error=found.error_of(beta))


def _squares(X: Stored) -> Stored:
    return cast(sp.csr_array, X).multiply(X) if sp.issparse(X) else X * X


@lru_cache(maxsize=1)
def kernels_of(name: str, rows: int | None) -> Kernels:
    """The kernel values of one of the paper's sets."""
    return kernels(*choose(name, rows).parts, VARIANCE[name])


def solvers(method: str, epochs: int = 1) -> dict[str, Solver]:
    """A method's ways to give an answer, all from the same run: the first is the one that runs."""
    found: dict[str, dict[str, Solver]] = {
        "SBP": {"average": SBP(passes=epochs), "last": SBP(passes=epochs, output="last")},
        "Pegasos": {"average": KernelPegasos(), "last": KernelPegasos(average=False)},
        "SDCA": {"last": KernelSDCA(block=1)},
        "SMO": {"last": SMO()},
        "Perceptron": {
            "average": KernelPerceptron(passes=epochs),
            "last": KernelPerceptron(passes=epochs, average=False),
        },
    }
    return found[method]


def evaluate_run(
    problem: KernelProblem,
    ways: Mapping[str, Solver],
    at: Sequence[int],
    error_of: Callable[[np.ndarray], float],
    seed: int,
) -> list[Evaluation]:
    """The errors of all ways to give an answer, at these iterations of one run, beside the bill."""
    runs = next(iter(ways.values()))
    found: list[Evaluation] = []
    for now in trace(problem, runs, at, seed=seed):
        done, asked = now.iteration, float(problem.gram.asked)
        bill = {"charged": done * problem.n, "updates": asked, "computed": now.kernel_evals}
        look: Evaluation = {"iteration": done, **bill}
        for way, solver in ways.items():
            answer = solver.solution(problem, now.state)
            look[way] = error_of(answer.beta)
        if isinstance(runs, SMO):
            look["gap"] = float(min(problem.certificate(answer).gap, 1e9))
        found.append(look)
    return found


class SBPFigure2(Experiment):
    """Five methods on three sets, each charged in three ways."""

    name = "sbp-figure2"

    def cells(self, scale: Scale) -> list[Cell]:
        """Every method on every set over the seeds; SMO draws nothing, and has one."""
        cells: list[Cell] = []
        for name, rows, seeds, epochs, late in PARTS[scale]:
            for method in METHODS:
                passes, own = late if method == "Perceptron" else epochs, range(1 if method == "SMO" else seeds)
                cells += grid(set=name, rows=rows, seed=own, method=method, epochs=passes)
        return cells

    def run(self, cell: Cell) -> dict[str, Any]:
        """Errors on the way, of the last iterate and of the average where there is one."""
        data, given = choose(cell["set"], cell["rows"]), kernels_of(cell["set"], cell["rows"])
        n, method = len(given.y), cell["method"]
        at = sorted({n, *log_spaced(max(10, n // 100), cell["epochs"] * n, per_decade=8)})
        ways = solvers(method, cell["epochs"])
        found = evaluate_run(given.problem(method), ways, at, given.error_of, cell["seed"])
        return {"looks": found, "n": n, "nu": given.nu, "svm": given.error, **data.about}

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """A figure for each way of charging, a panel for each set; what the paper says of each method."""
        panels: dict[str, list[Panel]] = {axis: [] for axis in AXES}
        claims, rows = draft.claims, list[list[Value]]()
        for name, part in results.by("set"):
            label, svm = part.first["label"], part.median("svm")
            for axis, words in AXES.items():
                top = 100 * svm + 5  # of the linear axis, on which SMO's early errors would hide the others
                panels[axis].append(Panel(label, words, "test error, %", _series(part, axis), log_x=True, top=top))
            about = {"variance": VARIANCE[name], "nu": part.first["nu"], "epochs": min(part.values_of("epochs"))}
            where = self.text("conditions", **about, seeds=_seeds(part))
            _ahead(claims, part, svm, where)
            _smo(claims, part, where)
            _perceptron(claims, part, where)
            rows += _rows(part, label, svm)
        for axis in AXES:
            draft.figure(self.text("caption"), panels[axis], axis)
        said = f"To arrive: to the first median error within {100 * NEAR:g}% absolute of the SVM's own."
        heads = ("data set", "method", "iterate", "error % at one epoch", "at the end", "SVM's error %")
        draft.table(said, (*heads, *(f"{axis} to arrive" for axis in AXES)), rows)


def _seeds(part: CellResults) -> str:
    """The runs of most methods, and of those that have fewer; SMO, which draws nothing, has one."""
    runs = {method: len(part.where(method=method)) for method in METHODS if method != "SMO"}
    most = max(runs.values())
    fewer = ", ".join(f"{method} {k}" for method, k in runs.items() if 0 < k < most)
    return f"{most} seeds" + (f" ({fewer})" if fewer else "")


def _curve(part: CellResults, method: str, way: str, axis: str, first: float = 0, last: float = np.inf) -> Series:
    """The median curve of a method in per cent, between two numbers of epochs; empty if it was not run."""
    traces = [
        [
            {**look, way: 100 * look[way]}
            for look in r.values["looks"]
            if first * r.values["n"] <= look["iteration"] <= last * r.values["n"]
        ]
        for r in part.where(method=method)
    ]
    label = method if way == "last" else f"{method}, averaged"
    return band(label, [trace for trace in traces if trace], axis, way)


def _series(part: CellResults, axis: str) -> list[Series]:
    found = [_curve(part, m, way, axis) for m in METHODS if m != "Perceptron" for way in solvers(m)]
    found.append(_curve(part, "Perceptron", "average", axis, last=1))
    later = _curve(part, "Perceptron", "average", axis, first=1)
    found.append(replace(later, label="Perceptron, later epochs", kind="theory"))
    return found


def _ahead(claims: Claims, part: CellResults, svm: float, where: str) -> None:
    """Kernel evaluations that others need to arrive, over the evaluations of the SBP."""
    label = part.first["label"]
    against = (("Pegasos", "average", "average"), ("Pegasos", "last", "last"), ("SDCA", "last", "average"))
    for axis, (other, way, ours) in product(AXES, against):
        slow, fast = _curve(part, other, way, axis), _curve(part, "SBP", ours, axis)
        arrivals = {other: arrival(slow, 100 * (svm + NEAR)), "SBP": arrival(fast, 100 * (svm + NEAR))}
        late = [who for who, at in arrivals.items() if at == math.inf]
        times, said = None, ""
        if slow.x and fast.x and len(late) < 2:
            times = min(arrivals[other], slow.x[-1]) / min(arrivals["SBP"], fast.x[-1])
            said = "".join(f"; {who} did not arrive, and all its evaluations stand here" for who in late)
        on = f"{label}, {other} ({_iterate(way)} / {_iterate(ours)}){', n for each update' * (axis == 'updates')}"
        sentence = "cached" if axis == "computed" else "outperforms"
        claims.add(sentence, on, times, "outperforms", f"{where}; SVM's error {100 * svm:.2f}%{said}")


def _iterate(way: str) -> str:
    return "averaged" if way == "average" else "last iterate"


def _smo(claims: Claims, part: CellResults, where: str) -> None:
    """SMO's error half way to its critical point, over the others' error at the same number of evaluations."""
    found = part.where(method="SMO")
    trace = found.first["looks"] if found else []
    late = [k for k, look in enumerate(trace) if look["last"] > trace[-1]["last"] + NEAR]
    critical = trace[late[-1] + 1]["charged"] if late else 0.0
    early = [look for look in trace if look["charged"] <= 0.5 * critical]
    ratio, said = None, ""
    curves = [_curve(part, m, way, "charged") for m in ("SBP", "Pegasos", "SDCA") for way in solvers(m)]
    curves = [curve for curve in curves if len(curve.x)]
    if early and curves:
        at, wrong = np.log(early[-1]["charged"]), 100 * early[-1]["last"]
        others = {curve.label: float(np.interp(at, np.log(curve.x), curve.y)) for curve in curves}
        worst = max(others, key=lambda label: others[label])
        ratio = wrong / max(others[worst], 1e-12)
        said = f"; SMO {wrong:.2f}%, {worst} {others[worst]:.2f}%, SMO in the end {100 * trace[-1]['last']:.2f}%"
    claims.add("critical", part.first["label"], ratio, "little progress", where + said)


def _perceptron(claims: Claims, part: CellResults, where: str) -> None:
    """Level with the SBP in the first epoch; on Adult worse after it."""
    label = part.first["label"]
    passes, usual = max(part.values_of("epochs")), min(part.values_of("epochs"))
    for way, sentence in (("average", "similar"), ("last", "last_similar")):
        apart, later = _apart(part, way), _curve(part, "Perceptron", way, "charged", first=1)
        claims.add(sentence, label, None if apart is None else abs(apart), "similar", where)
        if passes > usual:
            more = later.y[-1] - later.y[0] if len(later.x) else None
            on = f"{label}, {_iterate(way)}"
            claims.add("overfits", on, more, "clearly visible", f"{where}; the Perceptron {passes} epochs")


def _apart(part: CellResults, way: str) -> float | None:
    """The Perceptron's error less the SBP's in the first epoch: the median over the evaluations."""
    first, sbp = (_curve(part, method, way, "updates", last=1) for method in ("Perceptron", "SBP"))
    if not len(first.x) or not len(sbp.x):
        return None
    return float(np.median(np.interp(np.log(sbp.x), np.log(first.x), first.y) - np.array(sbp.y)))


def _rows(part: CellResults, label: str, svm: float) -> list[list[Value]]:
    rows = list[list[Value]]()
    for method in METHODS:
        for way in solvers(method):
            curves = {axis: _curve(part, method, way, axis) for axis in AXES}
            if len((charged := curves["charged"]).x):
                one = _curve(part, method, way, "charged", last=1).y[-1]
                arrivals = (arrival(curve, 100 * (svm + NEAR)) for curve in curves.values())
                rows.append([label, method, _iterate(way), one, charged.y[-1], 100 * svm, *arrivals])
    return rows


experiment = SBPFigure2()
