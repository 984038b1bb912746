"""Figures drawn for paper and for the screen, and the report that holds them.

`figure` says what is drawn, `static` draws it with matplotlib and `interactive` with plotly; `report` writes
the page. The displays draw fits in scikit-learn's manner. Both libraries are optional and imported when
something is drawn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_WHERE = {
    "ConvergenceDisplay": "convergence",
    "HardRowsDisplay": "hard_rows",
    "LearningRuntimeDisplay": "learning_runtime",
    "ParetoFrontDisplay": "pareto",
}

__all__ = ["ConvergenceDisplay", "HardRowsDisplay", "LearningRuntimeDisplay", "ParetoFrontDisplay"]

if TYPE_CHECKING:
    from hinge.display.convergence import ConvergenceDisplay as ConvergenceDisplay
    from hinge.display.hard_rows import HardRowsDisplay as HardRowsDisplay
    from hinge.display.learning_runtime import LearningRuntimeDisplay as LearningRuntimeDisplay
    from hinge.display.pareto import ParetoFrontDisplay as ParetoFrontDisplay


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
