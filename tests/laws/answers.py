"""The answers of all cases on few rows; run as a script it writes them, by which the laws compare runs."""

import pickle
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from laws.cases import CASES, needed_by
from laws.contract import spent
from laws.data import compressed


def run(case, problem, cuts, seed=0):
    """The state after pieces of these lengths."""
    state = case.solver.init(problem, seed)
    for n in cuts:
        state = case.solver.advance(problem, state, n)
    return state


def tiny_answers():
    """Of each case, dense and compressed: the answer, its certificate and what was read."""
    answers = {}
    for name, case in CASES.items():
        if (needed := needed_by(case)) and find_spec(needed) is None:
            continue
        X, y = case.data(20)
        exact = {"exact": True} if name in KERNELIZED else {}
        for layout, A in {"dense": X, "csr": compressed(X, np.float64)}.items():
            problem = case.problem(A, y, **exact)
            answer = case.solver.solution(problem, run(case, problem, [min(case.T, 60)]))
            certificate = problem.certificate(answer)
            parts = [getattr(answer, part) for part in case.answer]
            answers[name, layout] = parts, tuple(certificate), spent(problem)
    return answers


SEE_KERNELS = ("KernelCase", "KernelLossCase", "OneClassCase", "NuClassCase", "NuTargetCase")
KERNELIZED = {name for name, case in CASES.items() if type(case).__name__ in SEE_KERNELS}

if __name__ == "__main__":
    with warnings.catch_warnings(), np.errstate(over="ignore"):
        warnings.simplefilter("error")
        Path(sys.argv[1]).write_bytes(pickle.dumps(tiny_answers()))
