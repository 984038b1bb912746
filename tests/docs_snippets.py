"""The Python blocks of Markdown pages, run in order, with what they may take for granted."""

import re
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page):
    """The Python of a page, one text a block."""
    return FENCE.findall(page.read_text(encoding="utf-8"))


def given():
    """Names that pages use without making them: rows, labels, a game, matrices."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(120) > 0, 1, -1)
    A = rng.uniform(-1, 1, (12, 9))
    matrices = [np.eye(3) + 0.1 * (M + M.T) for M in rng.standard_normal((4, 3, 3))]
    names = {"X": X, "y": y, "X_new": X[:5], "X_test": X[60:], "y_test": y[60:], "A": A, "matrices": matrices}
    return names | {"C": np.diag([3.0, 2.0, 1.0])}


def run(page):
    """Run all blocks of a page in one namespace."""
    names = given() | {"__name__": "__main__"}
    for number, block in enumerate(blocks(page), 1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), names)
    return names
