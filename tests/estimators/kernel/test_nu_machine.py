"""What `NuSVC` and `NuSVR` share."""

import numpy as np
import pytest

from hinge import NuSVC, NuSVR
from hinge.estimators.kernel import kernel_machine
from hinge.kernels import Gaussian, Linear
from hinge.solvers import ActiveSet, BlockDual, LevelBlocks

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
Y = (X[:, 0] + 0.3 * RNG.standard_normal(60) > 0).astype(int)


@pytest.mark.parametrize("machine", [NuSVC, NuSVR])
def test_solvers_by_name_and_with_settings(machine):
    model = machine(nu=0.3).fit(X, Y)
    assert isinstance(model.solver_, ActiveSet) and model.gap_ <= 1e-3  # few points
    for solver in ("levelblocks", LevelBlocks(first=16, block=8)):
        model = machine(nu=0.3, solver=solver).fit(X, Y)
        assert model.gap_ <= 1e-3
        assert model.solver_ == (LevelBlocks() if isinstance(solver, str) else solver)
    with pytest.raises(ValueError, match="solver must be one of 'auto', 'levelblocks'"):
        machine(solver="smo").fit(X, Y)
    with pytest.raises(ValueError, match="BlockDual solves KernelRegularized problems"):
        machine(solver=BlockDual()).fit(X, Y)


@pytest.mark.parametrize("machine", [NuSVC, NuSVR])
def test_values_of_other_kernels_are_in_double_precision(machine):
    many = np.tile(X, (40, 1))
    gaussian, linear = (machine()._gram(many, kernel, 1) for kernel in (Gaussian(0.5), Linear()))
    assert (gaussian.dtype, linear.dtype) == (np.float32, np.float64)


@pytest.mark.parametrize("machine", [NuSVC, NuSVR])
@pytest.mark.parametrize("nu", [0, 0.0, 1.5, -0.1, "half", None, np.nan])
def test_nu_is_checked(machine, nu):
    with pytest.raises(ValueError, match="nu must be a number"):
        machine(nu=nu).fit(X, Y)


@pytest.mark.parametrize(("gap", "kind"), [(1.0, ActiveSet), (1e-9, LevelBlocks)])
def test_where_a_batch_stalls_the_better_of_two_runs_is_kept(monkeypatch, gap, kind):
    run_batch, run_each = kernel_machine.run_in_batch, kernel_machine.run_tasks

    def worse(*args, **options):
        runs = run_each(*args, **options)
        return runs._replace(ends=runs.ends._replace(gaps=np.full_like(runs.ends.gaps, gap)))

    monkeypatch.setattr(
        kernel_machine, "run_in_batch", lambda *args, **kw: run_batch(*args, **kw)._replace(stalled=True)
    )
    monkeypatch.setattr(kernel_machine, "run_tasks", worse)
    model = NuSVC(nu=0.3).fit(X, Y)
    assert isinstance(model.solver_, kind) and model.gap_ <= 1e-3
    alone = NuSVC(nu=0.3, solver="levelblocks").fit(X, Y)
    assert model.n_kernel_evals_ == alone.n_kernel_evals_ + len(X) * (len(X) + 1) // 2
