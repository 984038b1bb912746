import re
from dataclasses import dataclass, fields

import numpy as np
import pytest

from hinge.constraints import Constraints, number
from hinge.solvers import registry
from hinge.solvers.base import Paper, Solver


@pytest.mark.slow
@pytest.mark.parametrize("solver", registry.classes(), ids=lambda t: t.__name__)
def test_every_solver_names_its_paper_and_has_settings_that_can_be_copied(solver):
    assert isinstance(solver.paper, Paper)
    assert solver.paper.title and 1950 < solver.paper.year <= 2026
    one = solver()
    assert one.get_params() == {f.name: getattr(one, f.name) for f in fields(one)}
    assert solver(**one.get_params()) == one
    assert hash(one) == hash(solver())
    with pytest.raises(AttributeError):
        one.paper_of_nobody = 1
    assert set(solver.constraints.by_name) <= set(one.get_params())
    for name in solver.constraints.by_name:
        for wrong in (np.nan, -1, "some", [1]):
            with pytest.raises(ValueError, match=f"^{name} must be .*, got {re.escape(repr(wrong))}"):
                solver(**{name: wrong})


@dataclass(frozen=True)
class Mine(Solver):
    step: float = 0.5
    name: str = "a"

    constraints = Constraints(step=number(above=0))


def test_settings_by_name():
    solver = Mine()
    assert solver.set_params(step=0.25) is solver
    assert solver == Mine(0.25)
    with pytest.raises(ValueError, match="Mine has no setting 'pace'; it has name, step"):
        solver.set_params(pace=1)
    with pytest.raises(ValueError, match=r"step must be a number greater than 0, got -1\.0"):
        solver.set_params(step=-1.0)


def test_what_a_solver_does_not_say_has_a_default():
    solver = Mine()
    assert solver.rejects(object()) is None
    assert solver.estimate(None, None) == 0.0
    state = object()
    assert solver.refresh(None, state) is state
    for verb in ("init", "solution"):
        with pytest.raises(NotImplementedError):
            getattr(solver, verb)(*[None] * (1 if verb == "init" else 2))
    with pytest.raises(NotImplementedError):
        solver.advance(None, None, np.int64(1))
