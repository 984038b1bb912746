import numpy as np
import pytest
import scipy.sparse as sp

import hinge
from hinge.access import DenseTable
from hinge.access.two_way.reader import open_pair
from hinge.access.two_way.writer import write_pair
from hinge.monitoring import History, Status
from hinge.problems.max_min.max_margin import MaxMargin, SlackGame
from hinge.saddle.front_doors import Ball, Feasibility, Game, Guarantee, Interval, Margin
from hinge.solvers.saddle.pdhg import PDHG


def result(kind, x, lower, upper, guarantee="exact", **options):
    return kind(
        np.asarray(x, float),
        np.ones(2) / 2,
        lower,
        upper,
        upper - lower,
        Guarantee(guarantee),
        10,
        1.0,
        History(),
        Status.CONVERGED,
        3,
        "PDHG",
        **options,
    )


def test_a_direction_has_unit_norm_where_it_separates():
    found = result(Margin, [3.0, 4.0], 0.5, 0.6)
    np.testing.assert_allclose(found.direction, [0.6, 0.8])
    assert found.margin == (0.5, 0.6) and found.separable is True
    assert not result(Margin, [3.0, 4.0], 0.0, 0.6).direction.any()


@pytest.mark.parametrize(
    ("lower", "upper", "guarantee", "answer"),
    [(0.1, 0.2, "exact", True), (0.1, 0.2, "fraction", None), (0.0, 0.2, "exact", None), (0.0, 1e-5, "exact", False)],
)
def test_whether_rows_are_separable(lower, upper, guarantee, answer):
    assert result(Margin, [1.0, 0.0], lower, upper, guarantee, negligible=1e-4).separable is answer


def test_a_ball_has_an_interval_of_radii():
    found = result(Ball, [1.0, 2.0], -4.0, -1.0)
    assert found.radius == (1.0, 2.0)
    assert found.center.tolist() == [1.0, 2.0]
    assert result(Ball, [0.0], np.nan, np.nan).radius == (0.0, np.inf)
    assert result(Ball, [0.0], -1e-20, 1e-20).radius[0] == 0.0


def test_a_game_and_matrices():
    assert result(Game, [1.0], 0.2, 0.4).value == (0.2, 0.4)
    assert result(Game, [1.0], 0.2, 0.4).value.middle == pytest.approx(0.3)
    intervals = {(0.1, 1): True, (-1, -0.1): False, (-1, 1): None, (0, 0): False}
    for ends, feasible in intervals.items():
        assert result(Feasibility, [1.0], *ends).feasible is feasible


def test_guarantees_in_words():
    assert str(Guarantee("exact")) == "the value lies in the interval"
    assert str(Guarantee("none")) == "nothing is certified"
    words = str(Guarantee("fraction", 0.01, 0.05))
    assert "fraction 0.01" in words and "probability 0.95" in words


@pytest.mark.parametrize(("kind", "what"), [(Margin, "margin"), (Ball, "radius"), (Game, "value")])
def test_each_has_an_interval_of_its_own_name_and_a_short_repr(kind, what):
    found = result(kind, np.zeros(10**5), -4.0, -1.0)
    interval = getattr(found, what)
    assert isinstance(interval, Interval) and interval.lower <= interval.upper
    assert repr(found).startswith(f"{kind.__name__}({what} in [{interval.lower:g}, {interval.upper:g}], gap=3, ")
    assert len(repr(found)) < 200


RNG = np.random.default_rng(0)
ROWS = np.c_[np.full(400, 0.5), 0.5 * RNG.standard_normal((400, 9))]
POINTS = RNG.standard_normal((300, 6))
PAYOFFS = RNG.uniform(-1, 1, (30, 40))
MATRICES = RNG.standard_normal((20, 6, 6))
WIDE = {"margin": 0.3, "ball": 3.0, "game": 0.2, "semidefinite": 2.0}  # in units of the values


@pytest.mark.parametrize(
    "call, method",
    [
        (lambda **o: hinge.max_margin(ROWS, **o), "ByTurns"),
        (lambda **o: hinge.enclosing_ball(POINTS, **o), "CoreSet"),
        (lambda **o: hinge.solve_game(PAYOFFS, **o), "PDHG"),
        (lambda **o: hinge.semidefinite(MATRICES, **o), "PDHG"),
    ],
    ids=["margin", "ball", "game", "semidefinite"],
)
class TestEveryProblem:
    def test_the_fast_way_is_certified(self, call, method):
        found = call(eps=1e-3)
        assert found.status is Status.CONVERGED
        assert found.method == method
        assert found.gap <= 1e-3
        assert found.lower <= found.upper
        assert found.certificate == Guarantee("exact")
        assert found.entries_read > 0
        assert found.passes > 0
        assert len(found.history) > 0
        assert found.p.min() >= 0
        assert found.p.sum() == pytest.approx(1)

    @pytest.mark.sampled
    def test_the_sublinear_way_agrees(self, call, method, request):
        fast, slow = (call(eps=1e-4), call(eps=WIDE[request.node.callspec.id], relative=False, method="sublinear"))
        assert slow.status is Status.CONVERGED
        assert slow.method in ("PrimalDual", "SublinearPerceptron", "GrigoriadisKhachiyan")
        assert slow.lower <= fast.upper + 1e-9
        assert slow.upper >= fast.lower - 1e-9

    def test_an_absolute_gap(self, call, method):
        found = call(eps=0.01, relative=False)
        assert found.upper - found.lower <= 0.01

    def test_limits_give_the_best_so_far(self, call, method):
        found = call(eps=1e-12, max_iter=3)
        assert found.n_iter <= 3
        assert found.status in (Status.MAX_ITER, Status.CONVERGED)
        assert np.isfinite(found.upper)

    def test_a_callback_ends_it(self, call, method):
        seen = []
        found = call(eps=1e-12, callback=lambda record, answer: seen.append(record) or True)
        assert found.status in (Status.CALLBACK, Status.CONVERGED)
        assert len(seen) == 1

    @pytest.mark.parametrize("eps", [0, -1, np.nan, np.inf, "small", None])
    def test_eps_is_positive(self, call, method, eps):
        with pytest.raises(ValueError, match="eps must be"):
            call(eps=eps)

    def test_names_of_methods_and_certificates(self, call, method):
        with pytest.raises(ValueError, match="method is"):
            call(method="simplex")
        with pytest.raises(ValueError, match="certificate must be one of"):
            call(certificate="some")


def test_a_margin_has_a_direction():
    found = hinge.max_margin(ROWS, eps=1e-4)
    assert found.separable is True
    assert np.linalg.norm(found.direction) == pytest.approx(1)
    assert (ROWS @ found.direction).min() == pytest.approx(found.margin[0])


def test_labels_may_be_anything():
    y = np.where(np.arange(400) % 2, "ham", "spam")
    X = ROWS * np.where(y == "spam", 1, -1)[:, None]
    assert hinge.max_margin(X, y, 1e-4).margin == pytest.approx(hinge.max_margin(ROWS, eps=1e-4).margin, rel=1e-3)
    with pytest.raises(ValueError, match="3 different labels"):
        hinge.max_margin(ROWS, np.arange(400) % 3)
    assert hinge.max_margin(-ROWS, np.full(400, -1)).separable


def test_what_cannot_be_separated_has_a_witness():
    found = hinge.max_margin(np.r_[ROWS, -ROWS], eps=0.1)
    assert found.separable is False
    assert not found.direction.any()
    assert np.linalg.norm(found.p @ np.r_[ROWS, -ROWS]) == pytest.approx(found.upper, abs=1e-12)


def test_a_ball_holds_all_rows():
    found = hinge.enclosing_ball(POINTS)
    distance = np.linalg.norm(POINTS - found.center, axis=1).max()
    assert found.radius[0] <= distance == pytest.approx(found.radius[1])


def test_a_semidefinite_answer_is_a_matrix():
    found = hinge.semidefinite(MATRICES + 3 * np.eye(6), eps=1e-3)
    assert found.feasible is True
    assert np.linalg.eigvalsh(found.x).min() >= -1e-9
    assert np.trace(found.x) <= 1 + 1e-9
    values = np.einsum("ijk,jk->i", MATRICES + 3 * np.eye(6), found.x)
    assert values.min() == pytest.approx(found.lower)


def test_an_infeasible_one_has_a_proof():
    shifted = 0.5 * (MATRICES + MATRICES.transpose(0, 2, 1)) - 9 * np.eye(6)
    found = hinge.semidefinite(shifted)
    assert found.feasible is False
    assert np.linalg.eigvalsh(np.einsum("i,ijk->jk", found.p, shifted)).max() < 0


def test_matrices_that_are_not_symmetric_can_be_refused():
    with pytest.raises(ValueError, match="symmetric"):
        hinge.semidefinite(MATRICES, symmetrize=False)


def test_fixed_steps_of_the_theorem():
    found = hinge.max_margin(ROWS, eps=0.4, relative=False, method="sublinear", constants=1.0, certificate="none")
    scale = np.linalg.norm(ROWS, axis=1).max()
    # the primal player's regret, 2√(2/T), is what takes longest: 8 is more than log 400
    assert found.n_iter == int(np.ceil(max(8.0, np.log(400)) * (scale / 0.4) ** 2))
    with pytest.raises(ValueError, match="relative=False"):
        hinge.max_margin(ROWS, method="sublinear", constants="paper")


def test_a_fraction_is_named():
    found = hinge.max_margin(ROWS, eps=0.5, relative=False, method="sublinear", certificate="fraction")
    assert found.certificate.kind == "fraction"
    assert found.certificate.rho == 0.01
    assert 0 < found.certificate.delta <= 0.01
    assert "at most a fraction 0.01 of the rows" in str(found.certificate)
    assert found.separable is None  # of the rows that were not looked at nothing is known


@pytest.mark.slow
def test_on_disk_rows_and_columns_are_read_and_a_fraction_certified(tmp_path):
    rows = np.c_[np.full(3000, 0.6), 0.8 * RNG.standard_normal((3000, 499)) / np.sqrt(499)].astype(np.float32)
    write_pair(rows, tmp_path / "pair")
    table = open_pair(tmp_path / "pair")
    found = hinge.max_margin(table, eps=0.25, relative=False, radius=1.2)
    assert found.method == "SublinearPerceptron"
    assert found.certificate.kind == "fraction"
    assert found.status is Status.CONVERGED
    assert found.entries_read == table.reads
    assert found.passes < 1.0
    x = found.x / np.linalg.norm(found.x)
    assert np.mean(rows @ x < found.lower) <= 0.01


def test_a_table_in_memory_is_read_as_fast_as_an_array():
    found = hinge.max_margin(DenseTable(ROWS), eps=1e-3)
    assert found.method == "ByTurns"


def test_simbas_game_goes_to_algorithm_2():
    y = np.where(np.arange(400) % 2, 1, -1)
    X = ROWS * y[:, None] / np.linalg.norm(ROWS, axis=1).max()
    found = hinge.maxmin(SlackGame(X, y, 0.05), eps=0.5, max_iter=20000)
    assert found.method == "PrimalDual"
    assert found.lower <= found.upper


def test_a_solver_may_be_given():
    assert hinge.maxmin(MaxMargin(ROWS), method=PDHG(), eps=1e-2).method == "PDHG"


def test_the_problem_that_was_given_stays_as_it_was():
    problem = MaxMargin(ROWS)
    hinge.maxmin(problem, relative=False, certificate="fraction", method="sublinear", eps=0.5)
    assert problem.relative is True
    assert problem.fraction is None


def test_other_things_are_no_problem():
    with pytest.raises(TypeError, match="problem must be"):
        hinge.maxmin(ROWS)


# --- what a stranger tried ----------------------------------------------------------------------


class Box(hinge.MaxMin):
    """A user's problem, of the first tier: linear functions on a box."""

    n = 8
    G = np.random.default_rng(4).standard_normal((8, 3))

    def start(self):
        return np.zeros(3)

    def values(self, x):
        return self.G @ x

    def combine(self, p):
        return self.G.T @ p

    def project(self, x):
        return np.clip(x, -1, 1)

    def support(self, g):
        return float(np.abs(g).sum())


def test_a_users_problem_of_the_first_tier():
    found = hinge.maxmin(Box(), eps=1e-3, relative=False)
    assert found.status is Status.CONVERGED
    assert found.upper - found.lower <= 1e-3
    with pytest.raises(ValueError, match=r"does not supply estimate_values\(\)"):
        hinge.maxmin(Box(), method="sublinear")


@pytest.mark.parametrize(
    "values, words",
    [(lambda self, x: self.G @ x + 1.0, "contradict each other"), (lambda self, x: np.full(8, np.nan), "not a number")],
)
def test_values_that_make_no_sense_are_not_certified(values, words):
    with pytest.raises(ValueError, match=words):
        hinge.maxmin(type("Broken", (Box,), {"values": values})())


def test_an_estimate_of_the_wrong_length_is_refused():
    short = {"grad_at": lambda self, i, x: self.G[i], "estimate_values": lambda self, x, u: self.values(x)[:3]}
    with pytest.raises(ValueError, match="must give 8 numbers"):
        hinge.maxmin(type("Short", (Box,), short)(), method="sublinear")


def test_a_missing_method_is_named():
    with pytest.raises(NotImplementedError, match=r"does not supply support\(\)"):
        hinge.MaxMin().support(np.zeros(3))


def test_a_wide_interval_says_nothing_of_separability():
    assert hinge.max_margin(ROWS, eps=10.0, relative=False).separable in (None, True)
    assert hinge.max_margin(0.01 * ROWS, eps=0.5, relative=False).separable in (None, True)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("options", [{}, {"method": "sublinear"}], ids=["fast", "sublinear"])
def test_entries_that_are_not_finite(bad, options):
    A = PAYOFFS.copy()
    A[3, 2] = bad
    calls = (hinge.solve_game, hinge.max_margin, hinge.enclosing_ball)
    for call in calls:
        with pytest.raises(ValueError, match=r"finite"), np.errstate(invalid="ignore"):
            call(A, eps=0.1, **options)


@pytest.mark.parametrize("size", [1e-200, 1e-160, 1e160])
def test_entries_whose_squares_vanish_or_overflow(size):
    for call in (hinge.solve_game, hinge.max_margin, hinge.enclosing_ball):
        with pytest.raises(ValueError, match="divide the matrix"):
            call(size * PAYOFFS)


def test_labels_that_are_none():
    with pytest.raises(ValueError, match="some are NaN"):
        hinge.max_margin(ROWS, np.where(np.arange(400) % 2, 1.0, np.nan))
    with pytest.raises(ValueError, match="there are none"):
        hinge.max_margin(np.zeros((0, 3)), [])


@pytest.mark.slow
def test_empty_rows_and_columns_of_compressed_data():
    A = PAYOFFS.copy()
    A[3], A[:, 5] = 0.0, 0.0
    for call in (hinge.solve_game, hinge.max_margin):
        wide = call(sp.csr_array(A), eps=0.5, relative=False, method="sublinear")
        assert wide.lower <= call(A, eps=1e-3, relative=False).upper + 1e-9


def test_full_rows_of_a_compressed_pair(tmp_path):
    Z = sp.csr_array([[1.0, 2.0, 3.0], [1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]] * 5)
    write_pair(Z, tmp_path / "pair")
    found = hinge.max_margin(open_pair(tmp_path / "pair"), eps=0.5, relative=False, radius=4.0)
    assert found.lower <= 1 / np.sqrt(3) <= found.upper


@pytest.mark.slow
def test_a_gap_that_rounding_forbids_ends_the_run():
    assert hinge.max_margin(ROWS[:40], eps=1e-18).status in (Status.STALLED, Status.CONVERGED)


def test_no_certificate_is_for_the_theorem():
    with pytest.raises(ValueError, match="iterations of a theorem, which ByTurns does not have"):
        hinge.max_margin(ROWS, certificate="none")


def test_an_unknown_radius_is_infinite():
    found = hinge.enclosing_ball(RNG.standard_normal((300, 50)), method="sublinear", max_reads=40_000)
    assert found.radius[0] <= found.radius[1]
    assert np.isfinite(found.radius[1]) or found.certificate.kind == "none"


@pytest.mark.slow
def test_only_zero_is_feasible():
    found = hinge.maximize_semidefinite(np.diag([1.0, 2.0, 0.0]), [-np.eye(3)])
    assert found.status is Status.CONVERGED
    assert found.upper <= 1e-9
