"""Several problems over the same rows, solved in turns."""

import numpy as np
import pytest

from hinge.access.streams.base import Streamed, StretchLayout
from hinge.access.streams.opening import NpyStream
from hinge.monitoring import Status, Stop
from hinge.problems import Regularized
from hinge.problems.batch import Batch
from hinge.solvers import BlockAscent, solve
from hinge.solvers.ascent.block_ascent import SideBySide

RNG = np.random.default_rng(1)
X = np.round(8 * RNG.standard_normal((300, 5))) / 8
LABELS = [np.where(X[:, k] + 0.4 * RNG.standard_normal(300) > 0.3, 1, -1) for k in range(3)]


def tasks(path):
    data = Streamed(NpyStream(path), 1 << 20, StretchLayout(15, 60, 4))
    return data, [Regularized(data, y, 0.01) for y in LABELS]


@pytest.mark.slow
def test_tasks_are_solved_as_alone_in_the_same_passes(tmp_path):
    np.save(tmp_path / "x.npy", X)
    data, problems = tasks(tmp_path / "x.npy")
    result = solve(Batch(problems), SideBySide(), stop=Stop(1e-3, max_iter=3000))
    passes = result.n_iter / result.per_pass
    assert result.status is Status.CONVERGED and data.bytes_read <= X.nbytes * (passes + 1)
    for k, (problem, answer) in enumerate(zip(tasks(tmp_path / "x.npy")[1], result.solution.members, strict=True)):
        alone = solve(problem, BlockAscent(), stop=Stop(0.0, max_iter=result.n_iter // 3))
        assert alone.solution.w.tobytes() == answer.w.tobytes()
        assert alone.certificate == result.certificate.members[k]
    assert result.certificate.gap == max(c.gap for c in result.certificate.members)


def test_it_says_what_it_is_not_for(tmp_path):
    np.save(tmp_path / "x.npy", X)
    _, problems = tasks(tmp_path / "x.npy")
    assert "several tasks" in SideBySide().rejects(problems[0])
    assert SideBySide().rejects(Batch(problems)) is None
    with pytest.raises(ValueError, match="SideBySide solves several"):
        solve(problems[0], SideBySide())
