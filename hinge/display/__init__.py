"""Displays of fits, in scikit-learn's manner; matplotlib is imported when something is drawn."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_WHERE = {
    "CalibrationDisplay": "calibration",
    "ChoiceDisplay": "pareto",
    "ConformalDisplay": "calibration",
    "ConvergenceDisplay": "convergence",
    "HardRowsDisplay": "hard_rows",
    "LearningRuntimeDisplay": "convergence",
    "ParetoFrontDisplay": "pareto",
}

__all__ = [*_WHERE]

if TYPE_CHECKING:
    from hinge.display.calibration import CalibrationDisplay as CalibrationDisplay
    from hinge.display.calibration import ConformalDisplay as ConformalDisplay
    from hinge.display.convergence import ConvergenceDisplay as ConvergenceDisplay
    from hinge.display.convergence import LearningRuntimeDisplay as LearningRuntimeDisplay
    from hinge.display.hard_rows import HardRowsDisplay as HardRowsDisplay
    from hinge.display.pareto import ChoiceDisplay as ChoiceDisplay
    from hinge.display.pareto import ParetoFrontDisplay as ParetoFrontDisplay


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
