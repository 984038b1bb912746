"""SIMBA, section 5: how its feature accesses grow with d, with the norm B and with the error δ."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtr

from hinge.access import DenseTable
from hinge.bounds import online_runtime, simba_gain, simba_learning_runtime, simba_runtime
from hinge.display.figure import Panel, Series, Value, loglog
from hinge.experiments.base import Cell, CellResults, Claims, Draft, Experiment, Scale
from hinge.experiments.measure import growing, slope
from hinge.problems import LinearProblem, Regularized, SlackConstrained
from hinge.solvers import Pegasos, Perceptron, Simba, Solver, trace

COMMON, OTHER = np.array([0.65, 0.0, 0.0]), np.array([-0.1, 0.6, 0.6])
"""Coordinates of common and of rare points in three directions. In the third, half of the rare points have the
opposite sign, so that learning from one of them does not help with the others."""
MARGIN = 0.65 / math.hypot(1.0, 1.25)  # of the best w, which has the same in both kinds
NOISE = 60  # dimensions of the noise, the same for every d, so that d does not change the geometry
SEEDS = {"tiny": 2, "full": 10}
SWEEPS: dict[str, dict[str, list[dict[str, float]]]] = {
    "tiny": {
        "d": [{"n": 200, "d": d, "r": 0.04, "shrink": 1.0} for d in (100, 400)],
        "B": [{"n": 400, "d": 100, "r": 0.05, "shrink": s} for s in (1.0, 0.7)],
        "δ": [{"n": round(8 / r), "d": 200, "r": r, "shrink": 1.0} for r in (0.04, 0.02)],
    },
    "full": {
        "d": [{"n": 1600, "d": d, "r": 0.01, "shrink": 1.0} for d in (500, 1000, 2000, 4000, 8000)],
        "B": [{"n": 6400, "d": 2000, "r": 0.05, "shrink": s} for s in (1.0, 0.7, 0.5, 0.35, 0.25)],
        "δ": [{"n": round(16 / r), "d": 4000, "r": r, "shrink": 1.0} for r in (0.04, 0.02, 0.01, 0.005, 0.0025)],
    },
}
AXES = {
    "d": ("d", "d", "d, features", "n = {n}, B = {B:.1f}, δ = {δ:g}"),
    "B": ("shrink", "B", "B, one over the margin", "n = {n}, d = {d}, δ = {δ:g}"),
    "δ": ("r", "1/δ", "1/δ, one over the error", "n ~ 1/δ, d = {d}, B = {B:.1f}"),
}
"""Of each sweep the parameter of cells that changes, what stands on the axis, its label, and what is held."""
SHARE = 0.1  # the error asked for is this share of the rare points
LABELS = {"SIMBA": "SIMBA", "Perceptron": "Perceptron (online)", "Pegasos": "Pegasos, best λ"}
SLACK = 1e-5  # ν: nothing, since the points are separable


class Rare:
    """Unit rows, a share r of them of the rare kind, embedded in d dimensions at random."""

    def __init__(self, n: int, d: int, r: float, shrink: float, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.r, self.shrink = r, shrink
        turned = np.random.default_rng([seed, 1]).standard_normal((d, NOISE + 3))
        margins = np.tile(COMMON, (n, 1))
        few = max(2, round(r * n))
        margins[:few] = OTHER
        margins[: few // 2, 2] *= -1.0
        rng.shuffle(margins)
        margins *= shrink
        self.y = rng.choice(np.array([-1, 1], np.int8), n)
        rest = rng.standard_normal((n, NOISE))
        rest *= (np.sqrt(1 - (margins**2).sum(axis=1)) / np.linalg.norm(rest, axis=1))[:, None]
        self.axes = np.linalg.qr(turned)[0].T.astype(np.float32)
        self.coordinates = (self.y[:, None] * np.hstack([margins, rest])).astype(np.float32)
        """Of the rows along the axes, which are orthonormal."""

    @property
    def X(self) -> np.ndarray:
        """The rows, n × d."""
        return self.coordinates @ self.axes

    def error(self, w: np.ndarray) -> float:
        """Error on the distribution itself."""
        return self.error_along(self.axes @ w)

    def error_along(self, coordinates: np.ndarray) -> float:
        """The same of a w given along the axes: a margin is its part in three directions plus nearly normal noise."""
        along, across = coordinates[:3], float((coordinates[3:] ** 2).sum()) + 1e-300

        def wrong(margins: np.ndarray) -> float:
            m = self.shrink * margins
            return float(ndtr(-(along @ m) / np.sqrt(across * (1 - (m**2).sum()) / NOISE)))

        of_rare = (wrong(OTHER) + wrong(OTHER * [1.0, 1.0, -1.0])) / 2
        return (1 - self.r) * wrong(COMMON) + self.r * of_rare


UPPER = "an upper bound: how work grows below it, it does not say"


class SimbaRuntime(Experiment):
    """Accesses until a given error of the distribution, with one of d, B and δ changing."""

    name = "simba-runtime"

    lams = (1e-2, 1e-3, 1e-4)

    def cells(self, scale: Scale) -> list[Cell]:
        """Every point of every sweep, over draws of the data; all methods see the same rows."""
        return [
            {"sweep": sweep, **point, "seed": seed}
            for sweep, points in SWEEPS[scale].items()
            for point in points
            for seed in range(SEEDS[scale])
        ]

    def run(self, cell: Cell) -> dict[str, Any]:
        """Iterations and reads of each method, None where the error was not reached."""
        data = Rare(cell["n"], cell["d"], cell["r"], cell["shrink"], cell["seed"])
        X = data.X
        n, d = X.shape
        table = DenseTable(X, columns=np.ascontiguousarray(X.T))
        simba = SlackConstrained(table, data.y, SLACK)
        solver: Solver = Simba("exact", radius=1.0, certify=False)
        enough, seed = SHARE * data.r, cell["seed"]
        found = {"SIMBA": first_hit(simba, solver, data.error, enough, 8 * n * d, seed)}
        rows = Regularized(X, data.y, 1.0)  # the Perceptron ignores λ
        found["Perceptron"] = first_hit(rows, Perceptron(passes=20), data.error, enough, 20 * n * d, seed)
        for lam in self.lams:
            problem, solver = Regularized(X, data.y, lam), Pegasos(output="last")
            found[f"Pegasos {lam:g}"] = first_hit(problem, solver, data.error, enough, 20 * n * d, seed)
        return {"found": found}

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """A panel and the exponents for each of d, B and δ."""
        panels, rows = [], []
        for sweep in results.values_of("sweep"):
            lines = _lines(results.where(sweep=sweep), sweep)
            if lines:
                panels.append(_panel(sweep, lines))
                _claims(draft.claims, sweep, lines)
                rows += _rows(sweep, lines)
        draft.figure(self.text("caption", seeds=results.seeds), panels)
        caption = "Iterations and feature accesses (medians), and how often the error was reached."
        columns = ("sweep", "at", "n", "d", "B", "δ", "method", "iterations", "accesses", "reached")
        draft.table(caption, columns, rows)


def first_hit(
    problem: LinearProblem, solver: Solver, error: Callable[[np.ndarray], float], enough: float, most: float, seed: int
) -> list[float] | None:
    """Iterations and reads at the first evaluation whose error is small enough; evaluations are 5% apart."""
    for now in trace(problem, solver, growing(), seed=seed):
        if error(now.solution.w) <= enough:
            return [float(now.iteration), float(now.feature_reads)]
        if now.feature_reads >= most:
            break
    return None


# --- what the results say ---------------------------------------------------------------------

Point = dict[str, Any]


def _lines(part: CellResults, sweep: str) -> dict[str, list[Point]]:
    """Medians and quartiles of each method along a sweep, where more than half of the draws got there."""
    parameter = AXES[sweep][0]
    lines: dict[str, list[Point]] = {method: [] for method in LABELS}
    for _, group in part.by(parameter):
        cell, found = group[0].cell, group.column("found")
        n, d, delta = cell["n"], cell["d"], SHARE * cell["r"]
        here = {"n": n, "d": d, "n + d": n + d, "B": 1 / (MARGIN * cell["shrink"]), "δ": delta, "1/δ": 1 / delta}
        for method in LABELS:
            tried = [name for name in found[0] if name.startswith(method)]
            best = min((_quartiles([one[name] for one in found]) for name in tried), key=lambda q: q["reads"])
            if math.isfinite(best["reads"]):
                lines[method].append({**here, **best})
    return {method: line for method, line in lines.items() if line}


def _quartiles(found: list[list[float] | None]) -> Point:
    """Medians of iterations and reads, and the quartiles of reads; infinite where too few got there."""
    missing = [math.inf, math.inf]
    iterations, reads = (sorted(column) for column in zip(*(one or missing for one in found), strict=True))
    k = len(found)
    high = reads[3 * k // 4]
    return {
        "iterations": iterations[k // 2],
        "reads": reads[k // 2],
        "low": reads[k // 4],
        "high": high if math.isfinite(high) else reads[k // 2],
        "hits": k - reads.count(math.inf),
        "tried": k,
    }


def _theory(sweep: str, method: str, p: Point) -> float:
    """Eq. (7) without noise for a sample of fixed size, else Corollary 5.1; Eq. (10) online."""
    if method != "SIMBA":
        return float(online_runtime(p["d"], p["B"], p["δ"], 0.0))
    if sweep == "δ":
        return float(simba_learning_runtime(p["d"], p["B"], p["δ"], 0.0))
    return float(simba_runtime(p["n"], p["d"], 1 / p["B"]))


def _panel(sweep: str, lines: dict[str, list[Point]]) -> Panel:
    series, bounds, labels = [], [], {"SIMBA": "bound, SIMBA", "Perceptron": "bound, online"}
    _, x, axis, held = AXES[sweep]
    for method, line in lines.items():
        at, reads, low, high = ([p[k] for p in line] for k in (x, "reads", "low", "high"))
        series.append(Series(LABELS[method], at, reads, low, high))
        if method in labels:
            law = [reads[0] / _theory(sweep, method, line[0]) * _theory(sweep, method, p) for p in line]
            bounds.append(Series(labels[method], at, law, kind="theory"))
    first = next(iter(lines.values()))[0]
    return loglog(f"Synthetic: {held.format_map(first)}", axis, "feature accesses", [*series, *bounds])


def _rows(sweep: str, lines: dict[str, list[Point]]) -> list[list[Value]]:
    keys = (sweep, "n", "d", "B", "δ")
    return [
        [sweep, *map(p.get, keys), LABELS[method], p["iterations"], p["reads"], f"{p['hits']} of {p['tried']}"]
        for method, line in lines.items()
        for p in line
    ]


def _exponent(line: list[Point], x: str, y: str) -> float:
    return slope([p[x] for p in line], [p[y] for p in line])


def _claims(claims: Claims, sweep: str, lines: dict[str, list[Point]]) -> None:
    simba, online = lines.get("SIMBA", []), lines.get("Perceptron", [])
    first = next(iter(lines.values()))[0]
    where = experiment.text("conditions", tried=first["tried"], share=SHARE)

    if sweep == "d":
        where += f"; n = {first['n']}, B = {first['B']:.1f}, d = {_span(simba, 'd')}"
        claims.add("iteration", "synthetic, over d", _exponent(simba, "n + d", "reads"), 1.0, where)
        claims.add("online", "synthetic, over d", _exponent(online, "d", "reads"), 1.0, where)
        return
    if sweep == "B":
        where += f"; n = {first['n']}, d = {first['d']}, B = {_span(simba, 'B')}"
        c = max((math.sqrt(p["iterations"] / math.log(p["n"])) / p["B"] for p in simba), default=math.nan)
        kept = f"{UPPER}, kept with c = {c:.2g} of c² B² log n, where the proof has 100"
        claims.add("corollary", "synthetic, over B", _exponent(simba, "B", "iterations"), 2.0, where, silent=kept)
        claims.add("online", "synthetic, over B", _exponent(online, "B", "reads"), 2.0, where)
        return
    where += f"; d = {first['d']}, B = {first['B']:.1f}, n ~ 1/δ, δ = {_span(simba, 'δ')}"
    claims.add("no_delta", "synthetic, over 1/δ", _exponent(simba, "1/δ", "iterations"), 0.0, where)
    claims.add("online", "synthetic, over 1/δ", _exponent(online, "1/δ", "reads"), 1.0, where)
    reads = {method: {p["δ"]: p["reads"] for p in lines.get(method, [])} for method in LABELS}
    gains = {delta: reads["Perceptron"].get(delta, math.nan) / cells for delta, cells in reads["SIMBA"].items()}
    known = {delta: gain for delta, gain in gains.items() if gain > 0}
    if len(known) < 2:
        return
    over = [1 / delta for delta in known]
    theory = [float(simba_gain(first["d"], first["B"], delta, 0.0)) for delta in known]
    claims.add("factor", "synthetic, over 1/δ", slope(over, known.values()), slope(over, theory), where)
    small = min(known)
    least = min(reads[rival].get(small, math.inf) for rival in ("Perceptron", "Pegasos"))
    on = f"synthetic, δ = {small:g}"
    claims.add("reduction", on, least / reads["SIMBA"][small], "for d ≫ B² and small δ", where)


def _span(line: list[Point], x: str) -> str:
    values = [p[x] for p in line] or [float("nan")]
    return f"{min(values):.3g} to {max(values):.3g}"


experiment = SimbaRuntime()
