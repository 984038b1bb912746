"""What the Python of the pages prints: every block is run when the site is built, and its output is put below it.

The blocks of a page share their names, as in a notebook. Shown are what is printed, the value of each expression that
stands alone (but not a fitted estimator), warnings, and figures. Fractions have four digits, and long values are cut.
"""

import ast
import base64
import contextlib
import io
import logging
import re
import tempfile
import warnings
from typing import Any

import numpy as np

FENCE = re.compile(r"^```python\n(.*?)^```\n?", re.MULTILINE | re.DOTALL)

QUOTING = "papers/read"
"""The page that quotes the package, and whose code is not for itself."""

MOST = 160
"""Characters of the longest value that is shown in full."""


def given() -> dict[str, Any]:
    """Names that pages use without making them: rows, labels, a game, matrices."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(120) > 0, 1, -1)
    A = rng.uniform(-1, 1, (12, 9))
    matrices = [np.eye(3) + 0.1 * (M + M.T) for M in rng.standard_normal((4, 3, 3))]
    names = {"X": X, "y": y, "X_new": X[:5], "X_test": X[60:], "y_test": y[60:], "A": A, "matrices": matrices}
    return names | {"C": np.diag([3.0, 2.0, 1.0]), "__name__": "__main__"}


def with_outputs(text: str, page: str) -> str:
    """The Markdown of a page with the output of each block of Python below it."""
    import matplotlib
    import matplotlib.pyplot as plt

    matplotlib.use("agg")
    plt.close("all")
    names, number = given(), 0

    def shown(block: re.Match[str]) -> str:
        nonlocal number
        number += 1
        printed, figures = output_of(block[1], names, f"{page}, block {number}")
        below = f"\n```{{code-block}} none\n:class: output\n\n{printed}\n```\n" if printed else ""
        for figure in figures:
            below += f'\n```{{raw}} html\n<img alt="what this draws" src="data:image/png;base64,{figure}">\n```\n'
        return f"{block[0].rstrip()}\n{below}"

    folder = tempfile.mkdtemp()  # some pages write files
    logger = logging.getLogger("hinge")
    level = logger.level
    logger.setLevel("ERROR")  # that it compiles says nothing to readers
    try:
        with contextlib.chdir(folder), np.printoptions(precision=4, threshold=12, linewidth=88, suppress=True):
            return FENCE.sub(shown, text)
    finally:
        logger.setLevel(level)


def in_short(value: Any) -> str:
    """A value as a page shows it."""
    if isinstance(value, float | np.floating):
        return f"{float(value):.4g}"
    if type(value) is tuple:
        return f"({', '.join(map(in_short, value))})"
    text = repr(value)
    return text if len(text) <= MOST or "\n" in text else f"{text[:MOST]} ..."


def output_of(code: str, names: dict[str, Any], where: str) -> tuple[str, list[str]]:
    """What a block prints, and the figures that it draws, as PNG in base 64."""
    import matplotlib.pyplot as plt
    from sklearn.base import BaseEstimator

    printed = io.StringIO()
    with warnings.catch_warnings(record=True) as said, contextlib.redirect_stdout(printed):
        warnings.simplefilter("always")
        for statement in ast.parse(code, where).body:
            if not isinstance(statement, ast.Expr):
                exec(compile(ast.Module([statement], []), where, "exec"), names)
                continue
            value = eval(compile(ast.Expression(statement.value), where, "eval"), names)
            drawn = type(value).__module__.startswith("hinge.display")
            if value is not None and not drawn and not isinstance(value, BaseEstimator):
                text = in_short(value)
                apart = "\n" in text and printed.getvalue()  # tables stand alone
                print(f"\n{text}" if apart else text)
    figures = []
    for k in plt.get_fignums():
        picture = io.BytesIO()
        plt.figure(k).savefig(picture, format="png", dpi=100, bbox_inches="tight")
        figures.append(base64.b64encode(picture.getvalue()).decode())
    plt.close("all")
    ours = [f"{one.category.__name__}: {one.message}" for one in said if issubclass(one.category, UserWarning)]
    return "\n".join([*printed.getvalue().rstrip().splitlines(), *dict.fromkeys(ours)]), figures
