"""Write docs/papers/read.md: each algorithm of the papers beside the code that runs it.

The algorithm is the literal block at the top of a file, with numbers at the ends of its lines; the code is the function
that has these numbers in its comments. The page is written anew for each build, from the sources.
"""

import ast
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
NUMBERS = re.compile(r"# ((?:\d+)(?:(?:, | and | to )\d+)*)")


class Side(NamedTuple):
    """An algorithm: its title, the file that begins with it, and its functions, "file:name" if in another file."""

    title: str
    file: str
    functions: tuple[str, ...]


ALGORITHMS = (
    Side("Pegasos (Figure 1)", "hinge/solvers/papers/pegasos.py", ("_pegasos",)),
    Side("Pegasos for structured outputs", "hinge/solvers/papers/structured_pegasos.py", ("advance",)),
    Side("Stochastic dual coordinate ascent (the talk)", "hinge/solvers/papers/uniform_dca.py", ("_ascend",)),
    Side("The Stochastic Batch Perceptron", "hinge/solvers/papers/sbp.py", ("_perceptron",)),
    Side(
        "SIMBA (Algorithm 1)",
        "hinge/solvers/cells/simba.py",
        (
            "advance",
            *(f"hinge/solvers/cells/simba_exact.py:{name}" for name in ("choose_point", "add_point", "reweigh")),
        ),
    ),
    Side("SIMBA for several classes", "hinge/solvers/cells/multiclass_simba.py", ("advance", "_add_pair", "_reweigh")),
    Side(
        "The sublinear perceptron (Algorithm 1 of the survey)",
        "hinge/solvers/papers/sublinear_perceptron.py",
        ("advance", "hinge/solvers/saddle/primal_dual.py:reweigh"),
    ),
    Side(
        "The sublinear semidefinite solver (Algorithm 3 of the survey)",
        "hinge/solvers/papers/sublinear_sdp.py",
        ("advance", "hinge/solvers/saddle/primal_dual.py:reweigh", "project_sparsely"),
    ),
    Side(
        "The generic primal-dual algorithm (Algorithm 2 of the survey)",
        "hinge/solvers/saddle/primal_dual.py",
        ("advance", "reweigh"),
    ),
)


def algorithm(side: Side) -> str:
    """The numbered lines at the top of a file."""
    lines = (ast.get_docstring(_tree(side.file)) or "").splitlines()
    block = [line for line in lines if line.startswith("    ")]
    return "\n".join(line[4:] for line in block)


def code(side: Side) -> str:
    """The functions, without their docstrings."""
    return "\n\n".join(_function(*(name.split(":") if ":" in name else (side.file, name))) for name in side.functions)


def numbers(text: str) -> set[int]:
    """The numbers of lines that occur in a text."""
    return {int(number) for found in NUMBERS.findall(text) for number in re.findall(r"\d+", found)}


def text() -> str:
    """The whole page."""
    parts = [
        "# Read beside the paper",
        "On the left the algorithm in its paper's notation, on the right the code that runs: a number at the end of a "
        "line is that of the algorithm's line. What differs from the paper is in the docstring of the class.",
    ]
    for side in ALGORITHMS:
        parts += [
            f"## {side.title}",
            f"`{side.file}`",
            "::::{grid} 1 1 2 2\n:gutter: 2\n\n"
            f":::{{grid-item}}\n```text\n{algorithm(side)}\n```\n:::\n\n"
            f":::{{grid-item}}\n```python\n{code(side)}\n```\n:::\n\n::::",
        ]
    return "\n\n".join(parts) + "\n"


def write(target: Path) -> None:
    """Write the page, if it has changed."""
    if not target.exists() or target.read_text(encoding="utf-8") != text():  # else all is read anew
        target.write_text(text(), encoding="utf-8")


def _tree(file: str) -> ast.Module:
    return ast.parse((ROOT / file).read_text(encoding="utf-8"))


def _function(file: str, name: str) -> str:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    (node,) = [node for node in ast.walk(_tree(file)) if isinstance(node, ast.FunctionDef) and node.name == name]
    first = node.lineno - 1
    kept = list(range(first, node.end_lineno or first))
    if ast.get_docstring(node):
        doc = node.body[0]
        kept = [at for at in kept if not doc.lineno - 1 <= at < (doc.end_lineno or 0)]
    return "\n".join(lines[at][node.col_offset :] for at in kept)
