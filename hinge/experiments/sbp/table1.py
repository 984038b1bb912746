"""SBP, Table 1: bounds on the kernel evaluations to a test error, beside what is needed."""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from hinge.bounds import Numbers, kernel_learning_runtime, sample_size_low_noise, sdca_kernel_iterations
from hinge.display.figure import Beside, Series, Value, loglog
from hinge.experiments.base import Cell, CellResults, Claims, Draft, Experiment, Scale, grid
from hinge.experiments.measure import arrival, band, line_of, log_spaced, slope
from hinge.experiments.sbp.figure2 import METHODS, Kernels, evaluate_run, kernels, solvers
from hinge.kernels import Gaussian
from hinge.report.page import number

NOISE = (0.0, 0.1)
SIZES = {"tiny": (100, 300), "full": (250, 500, 1000, 2000, 4000)}
TESTED = {"tiny": 1000, "full": 8000}
EPOCHS = {"tiny": 3, "full": 6}
SEEDS = {"tiny": 2, "full": 5}
SMALL_NOISE = (0.0, 0.001)
"""For a teacher of small norm: L(u) below every ε, as in the column that has the least bounds."""
SMALL_SIZES = {"tiny": {100: 3}, "full": {60: 6, 250: 6, 1000: 6, 4000: 2, 16_000: 1}}
"""Rows, and epochs over them."""
SMALL_TESTED = {"tiny": 1000, "full": 16_000}
Needs = dict[str, dict[float, float]]
"""Kernel evaluations that each method needs to reach each ε."""
EPSILONS = tuple(np.geomspace(0.15, 0.005, 12))

NOTE = (
    "The bounds are for every problem of this ‖u‖ and L(u). Where far fewer evaluations are needed than they "
    "allow, a slope steeper than a bound's does not contradict it."
)
RIVALS = ("Pegasos", "SDCA")
COLUMNS = (
    *("‖u‖", "wrong labels %", "method", "least ε reached", "evaluations there"),
    *("share of the bound", "exponent of 1/ε", "of the bound"),
)
FEW_FLIPS = "at the n that is enough no label of a sample is wrong: the cells are those without wrong labels"

BOUNDS = {"SBP": "sbp", "Perceptron": "perceptron", "SMO": "dual_decomposition", "Pegasos": "sgd"}
SHOWN = {"SBP": "bound: SBP, Perceptron", "SMO": "bound: dual decomposition", "Pegasos": "bound: SGD"}


PRINTED = (
    ("SBP", "SBP", "((L(u) + ε)/ε)³ ‖u‖⁴/ε", "‖u‖⁴/ε"),
    ("Dual Decomp.", "", "((L(u) + ε)/ε)² ‖u‖⁴/ε²", "‖u‖⁴/ε²"),
    ("SGD on L̂", "Pegasos", "((L(u) + ε)/ε) ‖u‖⁴/ε³", "‖u‖⁴/ε³"),
)
"""The paper's table: the name of a row, the method that is measured, and both columns."""


class World(NamedTuple):
    """How many features, and the share of points left out at the teacher's boundary, which makes its margin."""

    features: int
    bare: float


WORLDS = {None: World(8, 0.1), "small": World(2, 0.3)}
"""By the cell's "teacher": the second has a norm below five, so that its bounds are within reach."""


class Teacher(NamedTuple):
    """The u of the bounds: all points have |u(x)| of at least 1, and the true labels are its signs."""

    centres: np.ndarray
    coef: np.ndarray

    def draw(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Points of the cube that are not near the boundary, and u of each."""
        features = self.centres.shape[1]
        X, u = np.empty((0, features), np.float32), np.empty(0)
        while len(u) < n:
            new = rng.uniform(-1, 1, (2 * n, features)).astype(np.float32)
            value = _kernel(new, self.centres) @ self.coef
            kept = np.abs(value) >= 1
            X, u = np.concatenate([X, new[kept]]), np.concatenate([u, value[kept]])
        return X[:n], u[:n]

    @property
    def norm(self) -> float:
        """‖u‖, the B of the bounds."""
        return float(np.sqrt(self.coef @ _kernel(self.centres, self.centres) @ self.coef))


def _kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    found: np.ndarray = Gaussian(1 / (2 * experiment.variance))(A.astype(np.float64), B.astype(np.float64))
    return found


@lru_cache
def _teacher(name: str | None) -> Teacher:
    rng, (features, bare) = np.random.default_rng(0), WORLDS[name]
    centres = rng.uniform(-1, 1, (60, features)).astype(np.float32)
    coef = rng.standard_normal(len(centres))
    coef -= coef.mean()
    values = _kernel(rng.uniform(-1, 1, (20_000, features)), centres) @ coef
    return Teacher(centres, coef / np.quantile(np.abs(values), bare))


@lru_cache(maxsize=1)
def _draw(name: str | None, noise: float, n: int, tested: int, seed: int) -> Kernels:
    """Training points with noisy labels, test points with true ones."""
    rng = np.random.default_rng([seed, n])
    X, u = _teacher(name).draw(rng, n)
    X_test, u_test = _teacher(name).draw(np.random.default_rng(10_000), tested)
    y = np.where((u > 0) ^ (rng.random(n) < noise), 1, -1).astype(np.int8)
    return kernels(X, y, X_test, np.where(u_test > 0, 1, -1), experiment.variance)


@lru_cache
def _loss(name: str | None, noise: float) -> float:
    """The hinge loss of u: none without noise, and on a wrong label 1 + |u|."""
    _, u = _teacher(name).draw(np.random.default_rng(20_000), 20_000)
    return float(noise * np.mean(1 + np.abs(u)))


def bound(method: str, eps: Numbers, noise: float, name: str | None = None) -> Numbers:
    """Table 1 for this problem; SDCA by section 4.4, with λ = ε/B² and the n of (3.5)."""
    B, loss = _teacher(name).norm, _loss(name, noise)
    if method == "SDCA":
        n = sample_size_low_noise(B, eps, loss)
        return n * sdca_kernel_iterations(n, eps / B**2, eps)
    return kernel_learning_runtime(BOUNDS[method], B, eps, loss)


class SBPTable1(Experiment):
    """The least evaluations, over all sample sizes, to an excess error, beside the bounds."""

    name = "sbp-table1"

    variance = 1.0  # σ² of the teacher's kernel

    def cells(self, scale: Scale) -> list[Cell]:
        """Every method on samples of several sizes, each seed with its own sample."""
        runs: dict[str, Any] = {"seed": range(SEEDS[scale]), "method": METHODS}
        sizes, tested = SMALL_SIZES[scale], SMALL_TESTED[scale]
        wide = grid(noise=NOISE, n=SIZES[scale], tested=TESTED[scale], epochs=EPOCHS[scale], **runs)
        small = grid(teacher="small", noise=SMALL_NOISE, n=sizes, tested=tested, **runs)
        return wide + [{**cell, "epochs": sizes[cell["n"]]} for cell in small]

    def run(self, cell: Cell) -> dict[str, Any]:
        """The excess error on the way, every iteration charged n evaluations."""
        n, method = cell["n"], cell["method"]
        given = _draw(cell.get("teacher"), cell["noise"], n, cell["tested"], cell["seed"])
        epochs = 1 if method == "Perceptron" else cell["epochs"]  # its guarantee is for one pass
        (way, solver), *_ = solvers(method, epochs).items()

        def excess(beta: np.ndarray) -> float:
            return (1 - 2 * cell["noise"]) * given.error_of(beta)  # of noisy labels, above the noise

        at = log_spaced(1 if "teacher" in cell else 8, epochs * n, 10)
        found = evaluate_run(given.problem(method), {way: solver}, at, excess, cell["seed"])
        kept = [{"charged": look["charged"], "excess": look[way]} for look in found]
        return {"looks": kept, "nu": given.nu, "norm": given.norm}

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """One panel for each best loss; exponents and order."""
        panels, rows = [], []
        found: dict[tuple[str | None, float], Needs] = {}
        for name, noise in dict.fromkeys((r.cell.get("teacher"), r.cell["noise"]) for r in results):
            part = results.where(teacher=name, noise=noise)
            needs = {method: _needs(part, method) for method in METHODS}
            reached = {method: need for method, need in needs.items() if need}
            found[name, noise] = reached
            B, loss = _teacher(name).norm, _loss(name, noise)
            on = f"synthetic, ‖u‖ = {B:.1f}, {100 * noise:g}% of labels wrong"
            title = f"synthetic teacher, {100 * noise:g}% of labels wrong: L(u) = {loss:.2g}, ‖u‖ = {B:.1f}"
            sizes = sorted(part.values_of("n"))
            about = {"features": WORLDS[name].features, "noise": 100 * noise, "loss": loss, "B": B, "seeds": part.seeds}
            where = self.text("conditions", least=sizes[0], most=sizes[-1], **about)
            promised = {m: {float(eps): float(bound(m, eps, noise, name)) for eps in EPSILONS} for m in METHODS}
            series = [line_of(method, need) for method, need in needs.items()]
            for method, shown in SHOWN.items():
                series.append(Series(shown, EPSILONS, list(promised[method].values()), kind="theory"))
            axis = "kernel evaluations, n charged for each iteration"
            panels.append(loglog(title, "excess test error ε", axis, series))
            unmeasured = FEW_FLIPS if 0.0 < noise < 1 / sizes[0] else ""
            _growth(draft.claims, reached, promised, on, where, unmeasured)
            _order(draft.claims, needs, on, where, unmeasured)
            for method, need in reached.items():
                of_bound = _exponent({eps: promised[method][eps] for eps in need})
                least = min(need)
                share = need[least] / promised[method][least]
                rows.append([B, 100 * noise, method, least, need[least], share, _exponent(need), of_bound])
        draft.figure(self.text("caption", seeds=SEEDS[scale]), panels)
        caption = "How evaluations grow with 1/ε, beside the bound over the same ε; synthetic teacher."
        draft.table(caption, COLUMNS, rows)
        draft.notes.append(NOTE)
        draft.print_table(self.text("table_caption"), ["", "Overall", "ε = Ω(L(u))"], _printed(found))


def _needs(part: CellResults, method: str) -> dict[float, float]:
    """The least evaluations to each ε that is reached, over all n."""
    curves = []
    for _, of_n in part.where(method=method).by("n"):
        traces = of_n.column("looks")
        shortest = min(map(len, traces))  # SMO may be finished before others
        curves.append(band(method, [trace[:shortest] for trace in traces], "charged", "excess"))
    needs = {float(eps): min((arrival(curve, eps) for curve in curves), default=math.inf) for eps in EPSILONS}
    return {eps: need for eps, need in needs.items() if need < math.inf}


def _exponent(need: dict[float, float]) -> float:
    """p of evaluations ~ ε^-p; nan for fewer than three ε."""
    return slope([1 / eps for eps in need], need.values(), 3)


def _printed(found: dict[tuple[str | None, float], Needs]) -> list[list[Value | Beside]]:
    """The paper's table; ours with wrong labels, which make L(u) large, and without, where it is 0."""

    def ours(method: str, noise: float) -> tuple[str | None, str]:
        need = found.get((None, noise), {}).get(method, {})
        p = _exponent(need)
        if math.isnan(p):
            return None, ""
        least = min(need)
        share = need[least] / float(bound(method, least, noise))
        return f"1/ε^{p:.2f}", f"{number(share, 2)} of the bound at ε = {number(least, 2)}"

    rows: list[list[Value | Beside]] = []
    for shown, method, overall, small in PRINTED:
        cells = [ours(method, noise) for noise in reversed(NOISE)] if method else [(None, "")] * 2
        rows.append([shown, Beside(overall, *cells[0]), Beside(small, *cells[1])])
    return rows


def _growth(claims: Claims, needs: Needs, bounds: Needs, on: str, where: str, unmeasured: str) -> None:
    """Whether the bounds, without their constants, lie above all that was needed; and exponents."""
    shares = []
    for method, need in needs.items():
        promised = {eps: bounds[method][eps] for eps in need}
        shares += [need[eps] / promised[eps] for eps in need]
        paper, at = _exponent(promised), min(need)
        said = (
            f"{where}; ε from {max(need):.2g} to {at:.2g}, the bound fitted over the same; at the smallest ε it is "
            f"{promised[at] / need[at]:,.2g} times what was needed"
        )
        if not math.isnan(paper):
            claims.add("exponent", f"{on}, {method}", _exponent(need), round(paper, 2), said)
    loose = "the bounds are far above what any method takes" if max(shares, default=1.0) < 0.1 else ""
    said = f"{where}; all methods and all ε that they reach"
    claims.add("bounded", on, max(shares, default=None), "upper bounds", said, unmeasured=unmeasured, sure=loose)


def _order(claims: Claims, needs: Needs, on: str, where: str, unmeasured: str) -> None:
    for rival in RIVALS:
        ratios = {eps: needs[rival][eps] / need for eps, need in needs["SBP"].items() if eps in needs[rival]}
        eps = min(ratios, default=None)
        said = "" if eps is None else f"; at ε = {eps:.2g}"
        share = None if eps is None else ratios[eps]
        claims.add("order", f"{on}, {rival}", share, "the bounds' order", where + said, unmeasured=unmeasured)


experiment = SBPTable1()
