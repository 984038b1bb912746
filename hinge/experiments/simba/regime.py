"""SIMBA where its theorem speaks: n = d up to 256,000, with no matrix stored."""

import math
from functools import lru_cache
from statistics import median_high
from typing import Any, NamedTuple

import numpy as np

from hinge.access.tables.memory import ProductTable
from hinge.bounds import simba_gain
from hinge.display.figure import Series, Value, loglog
from hinge.experiments.base import Cell, CellResults, Claims, Draft, Experiment, Scale
from hinge.experiments.measure import power_law, slope, spread_of
from hinge.experiments.simba.runtime import MARGIN, SHARE, SLACK, Rare, first_hit
from hinge.problems import Regularized, SlackConstrained
from hinge.solvers import SDCA, Pegasos, Perceptron, Simba, Solver

SIZES = {"tiny": (400, 800), "full": (16_000, 64_000, 256_000)}
"""n = d."""
NOISY = {"tiny": 800, "full": 64_000}
"""Where labels are turned."""
SEEDS: dict[str, dict[int, int]] = {"tiny": {400: 2, 800: 2}, "full": {16_000: 10, 64_000: 10, 256_000: 3}}
FRESH = {"tiny": 1, "full": 10}
"""Further draws where labels are turned, without noise: for a setting that was chosen on none of them."""
LAMS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
FORMS: dict[str, dict[str, Any]] = {
    "last": {"output": "last"},
    "3η": {"eta_scale": 3.0},
    "3η, last": {"eta_scale": 3.0, "output": "last"},
}
"""SIMBA's settings besides the paper's, to choose among in hindsight as λ is chosen for the others."""
TUNED = "SIMBA, tuned"
B = 1 / MARGIN
RIVALS = {"Pegasos": "Pegasos, best λ", "SDCA": "SDCA, best λ", "Perceptron": "Perceptron, better iterate"}


class Reads(NamedTuple):
    """Cells of all seeds until the error is met, infinite where it never was; and those that SIMBA spent at most."""

    each: list[float]
    setting: str

    @property
    def median(self) -> float:
        """The upper median: between a number and infinity there is no mean."""
        return median_high(self.each)


@lru_cache(maxsize=1)
def _rows(n: int, noise: float, seed: int) -> tuple[Rare, np.ndarray]:
    """Rows with their axes, and labels of which a share is turned."""
    data = Rare(n, n, experiment.rare_rows / n, 1.0, seed)
    turned = np.random.default_rng([seed, 2]).random(n) < noise
    return data, np.where(turned, -data.y, data.y).astype(np.int8)


class SimbaRegime(Experiment):
    """Cells read until the rare rows are learned, over n = d and over the share of wrong labels."""

    name = "simba-regime"

    noises = (0.0, 0.001, 0.01)
    rare_rows = 16
    """Rare rows, whatever n is: δ falls as 1/n."""
    passes = 20
    """Limit of the methods that read rows."""
    passes_in_vain = 1 / 16
    """Passes after which SIMBA is given up where no other method got there either."""
    radius = 1.0 + 1e-5  # rows of norm one, formed in float32

    def cells(self, scale: Scale) -> list[Cell]:
        """All methods on the same rows; noise at one size; other settings of SIMBA without noise."""
        cells: list[Cell] = [
            {"n": n, "noise": noise, "seed": seed}
            for n in SIZES[scale]
            for noise in (self.noises if n == NOISY[scale] else self.noises[:1])
            for seed in range(SEEDS[scale][n])
        ]
        first = SEEDS[scale][NOISY[scale]]
        cells += [{"n": NOISY[scale], "noise": 0.0, "seed": first + k} for k in range(FRESH[scale])]
        return cells + [{**cell, "form": form} for cell in cells if cell["noise"] == 0.0 for form in FORMS]

    def run(self, cell: Cell) -> dict[str, Any]:
        """Cells at which the error of the distribution is first met, None where it never is."""
        n, noise, seed = cell["n"], cell["noise"], cell["seed"]
        data, labels = _rows(n, noise, seed)
        enough = SHARE * data.r
        if "form" in cell:
            cells = self._simba(cell, self.passes_in_vain * n * n, **FORMS[cell["form"]])
            return {"found": {f"{TUNED}, {cell['form']}": cells}, "most": self.passes_in_vain * n * n}
        # A method that reads rows commutes with rotations: on coordinates it makes the same steps, at n cells a row.
        found: dict[str, float | None] = {}
        rank = data.coordinates.shape[1]
        for name, (lam, solver) in _row_methods().items():
            rows = Regularized(data.coordinates, labels, lam)
            hit = first_hit(rows, solver, data.error_along, enough, self.passes * n * rank, seed)
            found[name] = None if hit is None else hit[1] / rank * n
        first = min((cells for cells in found.values() if cells), default=self.passes_in_vain * n * n)
        most = first if noise else 4 * first  # more iterations in vain would take minutes each
        return {"found": {"SIMBA": self._simba(cell, most), **found}, "most": most}

    def _simba(self, cell: Cell, most: float, **options: Any) -> float | None:
        """Cells that SIMBA reads to the error, as in section 6 or with other options; None if more than `most`."""
        data, labels = _rows(cell["n"], cell["noise"], cell["seed"])
        problem = SlackConstrained(ProductTable(data.coordinates, data.axes), labels, _slack(cell["noise"]))
        solver = Simba("exact", radius=self.radius, certify=False, **options)
        hit = first_hit(problem, solver, data.error, SHARE * data.r, most, cell["seed"])
        return None if hit is None else hit[1]

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """Cells over n = d, what is gained at the size that was asked for, its growth, and what noise leaves of it."""
        at = NOISY[scale]
        quiet, fresh = CellResults(), CellResults()
        for r in results.where(noise=0.0):
            (fresh if r.cell["n"] == at and r.cell["seed"] >= SEEDS[scale][at] else quiet).append(r)
        sizes = quiet.values_of("n")
        reads = {n: _reads(part) for n, part in quiet.by("n")}
        claims = draft.claims
        for form, sentence in (("SIMBA", "beats"), (TUNED, "hindsight")):
            if at in reads:
                _beside(claims, sentence, reads[at], reads[at].get(form), at, quiet.where(n=at).seeds)
        if fresh and sizes:
            _gains_beforehand(claims, quiet.where(n=min(sizes)), fresh)
        _growth(claims, reads)
        for noise in self.noises[1:]:
            part = results.where(n=at, noise=noise)
            if part:
                _noisy(claims, part, at, noise)
        rows = [
            _row(n, noise, method, found)
            for n in results.values_of("n")
            for noise in self.noises
            if (part := (results if noise else quiet).where(n=n, noise=noise))
            for method, found in _reads(part).items()
        ]
        seeds = ", ".join(f"{k} at {n:,}" for n, k in SEEDS[scale].items())
        panel = loglog("Synthetic, separable, n = d", "n = d", "cells read to the error δ", _series(reads))
        draft.figure(self.text("caption", share=SHARE * self.rare_rows, seeds=seeds), [panel])
        caption = "Cells read to the error (median), their range, in how many of the seeds it was met, and the setting."
        columns = ("n = d", "wrong labels, %", "method", "cells", "least", "most", "met", "setting")
        draft.table(caption, columns, rows)


def _slack(noise: float) -> float:
    """ν: none without noise; with it, what lifts the turned rows to the margin at the best w."""
    return max(SLACK, 2 * MARGIN * noise)


def _row_methods() -> dict[str, tuple[float, Solver]]:
    """The methods that read rows, with their λ; the Perceptron ignores it."""
    found: dict[str, tuple[float, Solver]] = {
        "Perceptron, averaged": (1.0, Perceptron(passes=experiment.passes)),
        "Perceptron, last": (1.0, Perceptron(average=False, passes=experiment.passes)),
    }
    for lam in LAMS:
        found[f"Pegasos, λ = {lam:g}"] = lam, Pegasos(output="last")
        found[f"SDCA, λ = {lam:g}"] = lam, SDCA()
    return found


# --- what the results say ---------------------------------------------------------------------


def _every(part: CellResults) -> dict[str, list[float]]:
    """The cells of each method with each setting, over the draws."""
    every: dict[str, list[float]] = {}
    for result in part:
        for name, cells in result.values["found"].items():
            every.setdefault(name, []).append(math.inf if cells is None else cells)
    return every


def _reads(part: CellResults) -> dict[str, Reads]:
    """Cells that SIMBA reads, and that each rival reads at the setting with the least median."""
    best: dict[str, Reads] = {}
    for name, each in _every(part).items():
        method, _, setting = (TUNED, "", name[len(TUNED) + 2 :]) if name.startswith(TUNED) else name.partition(", ")
        found = Reads(each, setting)
        if method not in best or found.median < best[method].median:
            best[method] = found
    if TUNED in best and "SIMBA" in best:  # the paper's own setting is one of those to choose from
        best[TUNED] = min(best[TUNED], best["SIMBA"]._replace(setting="η, average"), key=lambda r: r.median)
    return best


def _where(n: int, seeds: int, noise: float = 0.0) -> str:
    wrong = f", {100 * noise:g}% of labels wrong, ν = {_slack(noise):.2g}" if noise else ", separable"
    return experiment.text("conditions", wrong=wrong, n=n, B=B, delta=SHARE * experiment.rare_rows / n, seeds=seeds)


def _theory(n: int, best_loss: float = 0.0) -> float:
    """Eq. (10) over Eq. (11): what SIMBA should gain at n = d with a best loss R*."""
    return float(simba_gain(n, B, SHARE * experiment.rare_rows / n, best_loss))


def _gains_beforehand(claims: Claims, small: CellResults, fresh: CellResults) -> None:
    """SIMBA with what was best at the smallest n, on further draws of the larger one; the others with hindsight."""
    tried = {k: v for k, v in _every(small).items() if k.startswith("SIMBA") and all(map(math.isfinite, v))}
    chosen = min(tried, key=lambda name: float(np.mean(np.log(tried[name]))), default="SIMBA")
    each = _every(fresh).get(chosen)
    said = chosen.removeprefix(TUNED).removeprefix("SIMBA").removeprefix(", ") or "η, average"
    n, (at, *_) = small[0].cell["n"], fresh.values_of("n")
    simba = Reads(each, f"{said}, best at n = d = {n:,}") if each else None
    _beside(claims, "beforehand", _reads(fresh), simba, at, fresh.seeds)


def _beside(claims: Claims, sentence: str, reads: dict[str, Reads], simba: Reads | None, n: int, seeds: int) -> None:
    """Cells of each rival over SIMBA's."""
    where = _where(n, seeds) + (f"; SIMBA {simba.setting}" if simba and simba.setting else "")
    for rival, label in RIVALS.items():
        gain, said = None, ""
        if simba and rival in reads and math.isfinite(simba.median):
            gain, said = reads[rival].median / simba.median, _seed_by_seed(reads[rival], simba)
            if math.isinf(gain):
                gain = experiment.passes * n * n / simba.median
                said = f"; {rival} did not get there, and all its cells stand here"
        on = f"synthetic, n = d = {n:,}, {label}"
        claims.add(sentence, on, gain, f"{_theory(n):.0f}, without constants", where + said)


def _seed_by_seed(rival: Reads, simba: Reads) -> str:
    """The range of the ratio over the draws, where both got there in all of them."""
    if len(rival.each) != len(simba.each) or not all(map(math.isfinite, [*rival.each, *simba.each])):
        return ""
    ratios = [r / s for r, s in zip(rival.each, simba.each, strict=True)]
    return f"; seed by seed {min(ratios):.0f} to {max(ratios):.0f} times"


def _least(reads: dict[str, Reads]) -> float:
    """The cells of the best method that reads rows."""
    return min((reads[rival].median for rival in RIVALS if rival in reads), default=math.inf)


def _growth(claims: Claims, reads: dict[int, dict[str, Reads]]) -> None:
    known = {n: _least(r) / r["SIMBA"].median for n, r in reads.items() if "SIMBA" in r}
    known = {n: gain for n, gain in known.items() if 0 < gain < math.inf}
    if len(known) < 2:
        return
    gains = ", ".join(f"{gain:.0f} at {n:,}" for n, gain in known.items())
    seeds = min(len(r["SIMBA"].each) for r in reads.values() if "SIMBA" in r)
    where = f"{_where(max(known), seeds)} or more; {gains}"
    grows, theory = slope(known, known.values()), slope(known, map(_theory, known))
    claims.add("simba-runtime.factor", "synthetic, over n = d", grows, theory, where)


def _noisy(claims: Claims, part: CellResults, n: int, noise: float) -> None:
    """Where SIMBA does not get there, the cells that it spent bound what it may have gained."""
    reads, gain, said = _reads(part), None, ""
    least, simba = _least(reads), reads.get("SIMBA")
    if simba and math.isfinite(least):
        gain = least / simba.median
        if math.isinf(simba.median):
            gain = least / float(np.median([r.values["most"] for r in part]))
            said = "; SIMBA, given the cells of the first of them, did not get there: this is an upper bound"
    elif simba:
        said = "; no method that reads rows got there"
    paper = f"{_theory(n, 2 * noise):.2g} by Eq. (10) over Eq. (11), R* = {2 * noise:g}"
    on = f"synthetic, n = d = {n:,}, {100 * noise:g}% of labels wrong"
    claims.add("turned", on, gain, paper, _where(n, part.seeds, noise) + said)


def _row(n: int, noise: float, method: str, found: Reads) -> list[Value]:
    met = [cells for cells in found.each if math.isfinite(cells)]
    low, high = min(met, default=None), max(met, default=None)
    return [n, 100 * noise, method, found.median, low, high, f"{len(met)} of {len(found.each)}", found.setting]


def _series(reads: dict[int, dict[str, Reads]]) -> list[Series]:
    lines = []
    for method in ("SIMBA", TUNED, *RIVALS):
        each = {n: r[method].each for n, r in reads.items() if method in r and math.isfinite(max(r[method].each))}
        lines.append(spread_of(RIVALS.get(method, method), each, median_high))
    if first := next((line for line in lines if line.x), None):
        lines.append(power_law("∝ n", first, 1))
        lines.append(Series("n²: one pass", first.x, [float(n) ** 2 for n in first.x], kind="theory"))
    return lines


experiment = SimbaRegime()
