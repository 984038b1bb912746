import math
from types import SimpleNamespace

import pytest

from hinge import LinearSVC
from hinge.monitoring.progress import ProgressBar, looks_without_progress, nearness, time_left


def limits(tol=1e-4, max_time=None, **others):
    return SimpleNamespace(tol=tol, max_time=max_time, **others)


def test_the_way_to_a_gap_is_logarithmic():
    assert nearness(1.0, 10, 1e-2, limits()) == pytest.approx(0.5)
    assert nearness(1.0, 10, 1e-4, limits()) == 1.0
    assert nearness(1.0, 10, 1e-9, limits()) == 1.0
    assert nearness(1.0, 10, 7.0, limits()) == 0.0


def test_the_nearest_limit_counts():
    assert nearness(3.0, 10, math.inf, limits(max_time=4.0)) == pytest.approx(0.75)
    assert nearness(3.0, 10, 1e-2, limits(max_time=4.0, max_reads=11)) == pytest.approx(10 / 11)
    assert nearness(3.0, 0, 1e-2, limits(max_kernel_evals=100), evals=90) == pytest.approx(0.9)
    assert nearness(9.0, 0, math.inf, limits(max_time=4.0)) == 1.0


def test_nothing_is_known_without_a_gap_or_a_limit():
    assert nearness(3.0, 10, math.inf, limits()) is None
    assert nearness(3.0, 10, 0.1, limits(tol=0.0)) is None


def test_a_fit_draws_on_standard_error_and_leaves_no_trace_on_output(tiny, capsys):
    pytest.importorskip("rich", reason="the bar is drawn by rich")
    bar = ProgressBar()
    LinearSVC(tol=1e-6).set_callbacks(bar).fit(*tiny)
    assert capsys.readouterr().out == ""
    assert bar._gap <= 1e-6
    assert bar._progress.finished or bar._progress.tasks[0].completed == pytest.approx(1.0)


def test_the_time_left_is_that_of_a_gap_that_goes_on_falling():
    assert time_left([(1.0, 1e-1), (3.0, 1e-2)], 1e-4) == pytest.approx(4.0)
    assert time_left([(1.0, 1e-1), (3.0, 1e-5)], 1e-4) == 0.0
    for first, last, tol in [((1, 0.1), (1, 0.1), 1e-3), ((1, 0.1), (2, 0.2), 1e-3), ((1, 0.1), (2, 0.01), 0.0)]:
        assert time_left([first, last], tol) is None
    assert time_left([(1.0, math.inf), (2.0, 0.1)], 1e-4) is None


def test_a_slow_beginning_does_not_count_for_ever():
    slow, fast = [(float(k), 10.0 ** (5 - 0.1 * k)) for k in range(10)], [(10.0, 1e2), (11.0, 1e0), (12.0, 1e-2)]
    assert time_left(slow + fast, 1e-4) == pytest.approx(1.0)


def test_passes_of_newton_steps_are_foreseen_within_a_factor_of_two():
    """The gaps of a fit to a million rows, read from files in seven passes after the first one."""
    gaps = [8.56e7, 6.95e6, 8.24e4, 1.44e4, 1.81e3, 7.25e1, 2.00e-1, 2.74e-6]
    looks = [(float(k), gap) for k, gap in enumerate(gaps)]
    for seen in range(2, len(gaps)):
        left = time_left(looks[:seen], 1e-4)
        assert 0.5 <= left / (len(gaps) - seen) <= 2.0


def test_a_gap_that_no_longer_falls_is_counted():
    assert [
        looks_without_progress(list(enumerate(gaps))) for gaps in ([1.0, 0.5], [1.0, 1.0, 0.999], [1.0, 2.0, 0.5])
    ] == [*(0, 2, 0)]
