"""The survey, section 2.3: the lemmas behind Theorem 2.8, each beside its bound on runs of Algorithm 1."""

import math
from typing import Any

import numpy as np

from hinge.experiments.base import Cell, CellResults, Draft, Experiment, Scale, grid
from hinge.experiments.measure import loose_bound
from hinge.experiments.survey.perceptron import FAMILIES, rows_of
from hinge.problems import MaxMargin
from hinge.sampling import draw_unit, pick_square
from hinge.solvers import SublinearPerceptron, trace

SEEDS = {"tiny": 2, "full": 20}
RATIO = {"tiny": 4.0, "full": 20.0}
"""c/ε, of which T = (c/ε)² log n is made."""
LEMMAS = {
    "2.1": "bias of the clipped estimates over 2 Var/C, C = 1/η",
    "2.2": "regret of the weights over log n/η + η Σ pᵀv²",
    "2.3": "share of sums of v(i) - E v(i) above what Bernstein's inequality allows one in twenty, over that",
    "2.4": "largest Σ (v(i) - A_i x) over 4ηT",
    "2.5": "|Σ A_{i_t} x - Σ pᵀv| over 10ηT",
    "2.6": "Σ pᵀv² over 8T",
    "2.7": "regret of x over 2√(2T)",
}
RARE = 0.05


class SurveyLemmas(Experiment):
    """What runs take of the bound of each lemma."""

    name = "survey-lemmas"

    def cells(self, scale: Scale) -> list[Cell]:
        """Every family and seed."""
        return grid(family=FAMILIES, ratio=RATIO[scale], seed=range(SEEDS[scale]))

    def run(self, cell: Cell) -> dict[str, Any]:
        """The shares of all bounds, from every p, x and v of a run with fixed steps."""
        A, _ = rows_of(cell["family"])
        problem = MaxMargin(A, relative=False)
        solver = SublinearPerceptron("fixed", problem.scale, cell["ratio"])
        return shares_of_bounds(problem, A / problem.scale, solver, cell["seed"])

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """The worst family for each lemma."""
        rows, T = [], results.first["T"]
        where = self.text("conditions", families=len(FAMILIES), seeds=results.seeds, T=T)
        for lemma, what in LEMMAS.items():
            shares = {
                family: float((np.mean if lemma == "2.3" else np.max)(part.column(lemma)))
                for family, part in results.by("family")
            }
            worst = max(shares.values())
            draft.claims.add("hold", f"Lemma {lemma}", worst, 1.0, f"{what}; {where}", sure=loose_bound(worst))
            rows.append([lemma, what, *(shares.get(family) for family in FAMILIES)])
        columns = ("lemma", "what is measured over its bound", *FAMILIES.values())
        draft.table(self.text("caption", seeds=results.seeds), columns, rows)


def shares_of_bounds(problem: MaxMargin, A: np.ndarray, solver: SublinearPerceptron, seed: int) -> dict[str, float]:
    """What a run takes of each bound; `A` are the rows in the unit ball."""
    T, n = solver.horizon(problem), len(A)
    eta = math.sqrt(math.log(n) / T)
    before = solver.init(problem, seed)
    played = regret_x = squares = clip = drawn_sum = 0.0
    kept, unclipped, off, rows = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(A.shape[1])
    y, p, drawn = before.y, before.p, before.drawn
    for now in trace(problem, solver, range(1, T + 1), seed=seed):
        x, p_t = y / max(1.0, float(np.linalg.norm(y))), p
        i = int(np.argmax(now.state.drawn - drawn))
        y, p, drawn = now.state.y.copy(), now.state.p.copy(), now.state.drawn.copy()
        j, sq_norm = pick_square(x, draw_unit(now.state.key, 2 * now.iteration + 1))
        mu = A @ x
        rows += A[i]
        drawn_sum += mu[i]
        if j < 0:  # x = 0: every estimate is 0
            continue
        v = np.clip(A[:, j] * (sq_norm / x[j]), -1 / eta, 1 / eta)
        at = np.flatnonzero(x)
        chance, all_v = x[at] ** 2 / sq_norm, A[:, at] * (sq_norm / x[at])
        variance = (all_v**2) @ chance - mu**2
        mean = np.clip(all_v, -1 / eta, 1 / eta) @ chance
        clip = max(clip, float((np.abs(mu - mean) / np.maximum(2.0 * eta * variance, 1e-300))[variance > 1e-12].max()))
        played += p_t @ v
        squares += p_t @ v**2
        kept += v
        unclipped += v - mu
        off += v - mean
    regret_x = float(np.linalg.norm(rows)) - drawn_sum
    log_rare, most = math.log(1 / RARE), 2.0 / eta
    tail = most * log_rare / 3 + math.sqrt((most * log_rare / 3) ** 2 + 2 * T * log_rare)
    return {
        "T": T,
        "2.1": clip,
        "2.2": float((played - kept.min()) / (math.log(n) / eta + eta * squares)),
        "2.3": float((off >= tail).mean() / RARE),
        "2.4": float(unclipped.max() / (4 * eta * T)),
        "2.5": float(abs(drawn_sum - played) / (10 * eta * T)),
        "2.6": float(squares / (8 * T)),
        "2.7": regret_x / (2 * math.sqrt(2 * T)),
    }


experiment = SurveyLemmas()
