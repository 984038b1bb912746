"""The bounds of the papers: values by hand, the ratios the papers state, one bound derived from others."""

import inspect

import numpy as np
import pytest

from hinge import bounds

PUBLIC = {
    name: f
    for name, f in vars(bounds).items()
    if inspect.isfunction(f) and f.__module__ == "hinge.bounds" and not name.startswith("_")
}
# Values at which every bound is finite and says something.
POINT = {
    "method": "sgd",
    "lam": 1e-3,
    "eps": 0.1,
    "rho": 0.05,
    "R": 2.0,
    "B": 3.0,
    "c": 1.5,
    "constant": 7.0,
    "lra_iterations": 900.0,
    "m": 5000.0,
    "n": 400.0,
    "d": 50.0,
    "T": 1e5,
    "nonzeros": 1e4,
    "delta": 0.1,
    "sparsity": 0.2,
    "loss": 0.05,
    "power": 2.5,
}
FALLS_WITH = {"lam", "eps", "rho", "delta", "T"}
OTHER_WAY = {
    ("error_decomposition", "m"),
    ("error_decomposition", "rho"),
    ("sgd_runtime_more_data", "m"),
    ("dca_over_sgd", "lam"),
    ("generalization_gap", "n"),
    ("simba_gain", "B"),
    ("simba_gain", "eps"),
    ("simba_gain", "loss"),
    ("slack_accuracy", "B"),
    ("slack_accuracy", "eps"),
    ("slack_accuracy", "loss"),
}


def arguments(f):
    return {name: POINT[name] for name in inspect.signature(f).parameters}


def total(value):
    return sum(value) if isinstance(value, tuple) else value


CASES = [(name, parameter) for name, f in PUBLIC.items() for parameter in arguments(f) if parameter != "method"]
every_argument = pytest.mark.parametrize("name, parameter", CASES, ids=["-".join(case) for case in CASES])


@pytest.mark.slow
@every_argument
def test_a_bound_moves_the_right_way(name, parameter):
    at = arguments(PUBLIC[name])
    low, high = (total(PUBLIC[name](**at | {parameter: POINT[parameter] * by})) for by in (0.9, 1.1))
    if (parameter in FALLS_WITH) != ((name, parameter) in OTHER_WAY):
        low, high = high, low
    if name == "generic_iterations":  # the larger of two
        assert low <= high
    else:
        assert low < high


@pytest.mark.slow
@every_argument
def test_a_bound_takes_arrays(name, parameter):
    f, at = PUBLIC[name], arguments(PUBLIC[name])
    values = POINT[parameter] * np.array([[0.9], [1.0], [1.1]])
    whole = total(f(**at | {parameter: values}))
    one_by_one = [total(f(**at | {parameter: float(v)})) for v in values.ravel()]
    assert whole.shape == (3, 1)
    assert all(isinstance(v, float) for v in one_by_one)
    np.testing.assert_array_equal(whole.ravel(), one_by_one)


@pytest.mark.slow
@every_argument
@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, [2.0, -3.0]], ids=str)
def test_a_bad_argument_is_named(name, parameter, bad):
    with pytest.raises(ValueError, match=f"^{parameter} must be finite, .* was given"):
        PUBLIC[name](**arguments(PUBLIC[name]) | {parameter: bad})


def test_other_bad_arguments():
    with pytest.raises(TypeError, match=r"lam must be a number or an array of numbers; 'small' was given"):
        bounds.pegasos_gap(10, "small")
    with pytest.raises(ValueError, match=r"delta must be finite, positive and at most 1; 2 was given"):
        bounds.pegasos_gap(10, 0.1, delta=2)
    with pytest.raises(ValueError, match=r"T must be finite, at least 3; 2 was given"):
        bounds.pegasos_gap([5, 2, 1], 0.1)
    with pytest.raises(ValueError, match=r"eps must be finite, positive; 0 was given"):
        bounds.sample_size(1, 0)
    with pytest.raises(ValueError, match=r"B must be finite, at least 1; 0.5 was given"):
        bounds.simba_learning_runtime(10, 0.5, 0.1, 0)
    with pytest.raises(ValueError, match=r"method must be one of sgd, dca_refined, .*; 'newton' was given"):
        bounds.learning_runtime("newton", 1, 0.1)
    with pytest.raises(ValueError, match=r"method must be one of sbp, .*; 'smo' was given"):
        bounds.kernel_learning_runtime("smo", 1, 0.1)
    with pytest.raises(ValueError, match="lam must be finite, positive; nan was given"):
        bounds.sgd_gap(10, None)
    with pytest.raises(ValueError, match="broadcast"):
        bounds.sample_size([1, 2, 3], [0.1, 0.2])


def test_whole_numbers_do_not_overflow():
    assert bounds.smo_runtime(10**6, np.exp(-1.0)) == pytest.approx(1e12)
    assert bounds.sdp_runtime(np.array([10**10]), 10**10, 1)[0] == pytest.approx(1e20)


# Pegasos


def test_pegasos_by_hand():
    # λ = 1/4, R = 1: c = 2.25; T = 100: 2.25 · 4.60517 / 25.
    assert bounds.pegasos_gap(100, 0.25) == pytest.approx(0.4144653, rel=1e-6)
    assert bounds.pegasos_runtime(1e-4, 1e-3, 76) == pytest.approx(7.6e8)
    assert bounds.svm_perf_runtime(1000, 76, 1e-4, 1e-3) == pytest.approx(7.6e14)
    assert bounds.pegasos_kernel_evaluations(0.01, 0.1, [10, 10_000]) == pytest.approx([1e4, 1e6])


@pytest.mark.parametrize("lam", [1e-6, 1e-3, 0.3])
@pytest.mark.parametrize("eps", [1e-4, 0.05])
def test_pegasos_iterations_are_where_the_gap_is_reached(lam, eps):
    T = bounds.pegasos_iterations(lam, eps, R=0.7, delta=0.2)
    assert bounds.pegasos_gap(T, lam, R=0.7, delta=0.2) == pytest.approx(eps)
    assert bounds.pegasos_gap(1.01 * T, lam, R=0.7, delta=0.2) < eps


def test_pegasos_needs_three_iterations_at_least():
    assert bounds.pegasos_iterations(1, 100) == pytest.approx(3)
    assert bounds.pegasos_iterations(1, 100) >= 3
    assert bounds.pegasos_iterations(1, 4 * np.log(3) / 3) == pytest.approx(3)  # c = 4, a = 3/ln 3
    assert bounds.pegasos_gap(3, 1) < 100


def test_pegasos_gains_m_over_eps_on_svm_perf():
    m, eps = np.array([10, 1e3, 1e6]), 1e-3
    ratio = bounds.svm_perf_runtime(m, 50, 1e-4, eps) / bounds.pegasos_runtime(1e-4, eps, 50)
    assert ratio == pytest.approx(m / eps)


# The talk


def test_error_decomposition_by_hand():
    parts = bounds.error_decomposition(0.01, 400, 0.05, 2, delta=np.exp(-3), c=2)
    assert parts == pytest.approx((0.02, 1.5, 0.1))
    assert bounds.error_decomposition(0.01, 400, 0, 2)[2] == 0  # solved exactly


def test_the_best_lambda_balances_the_parts():
    # min over λ of λB²/2 + 1/(λm) is B √(2/m): so m = 2(B/ε)² examples, the order of the sample size.
    B, eps = 3.0, 0.1
    m = 2 * bounds.sample_size(B, eps)
    lam = np.geomspace(1e-5, 1, 20001)
    assert np.min(sum(bounds.error_decomposition(lam, m, 0, B))) == pytest.approx(eps, rel=1e-6)


def test_the_table_of_the_talk_follows_from_the_gaps():
    # λ = ε/B², m = (B/ε)², ρ = ε, put into ρ(T, m, λ).
    B, eps = np.array([1.0, 3.0, 10.0]), 0.01
    lam, m = eps / B**2, bounds.sample_size(B, eps)
    T = bounds.learning_runtime("sgd", B, eps)
    assert bounds.sgd_gap(T, lam) / np.log(T) == pytest.approx(eps)
    T = bounds.learning_runtime("dca", B, eps)
    assert bounds.dca_gap(T, m, lam, c=1) == pytest.approx(eps * (1 + eps))
    T = bounds.learning_runtime("dca_refined", B, eps)
    assert bounds.dca_refined_gap(m + 3 * T, m, lam, B) == pytest.approx(eps)
    assert bounds.smo_runtime(m, eps) / np.log(1 / eps) == pytest.approx(bounds.learning_runtime("smo", B, eps))
    assert m / (lam * eps) == pytest.approx(bounds.learning_runtime("svm_perf", B, eps))


def test_dca_by_hand():
    assert bounds.dca_gap(1000, 100, 0.01, delta=np.exp(-2)) == pytest.approx(8 * 2 * 200 / 1000)
    # 1/λ + λmB² + B√m = 100 + 4 + 20.
    assert bounds.dca_refined_gap(1100, 100, 0.01, 2) == pytest.approx(0.124)
    assert list(bounds.dca_refined_gap([50, 100], 100, 0.01, 2)) == [np.inf, np.inf]


def test_sgd_and_dca_cross_where_lambda_m_is_log_t():
    T, lam = 1e6, 1e-4
    crossing = (np.log(T) - 1) / lam  # λm = log T − 1; the talk drops the 1
    m = crossing * np.array([0.5, 0.99, 1.01, 2])
    ahead = bounds.dca_gap(T, m, lam, c=1) < bounds.sgd_gap(T, lam)
    assert list(ahead) == [True, True, False, False]
    ratio = bounds.dca_gap(T, m, lam, c=1) / bounds.sgd_gap(T, lam)
    assert bounds.dca_over_sgd(T, m, lam) == pytest.approx(ratio)
    assert bounds.dca_over_sgd(T, crossing, lam) == pytest.approx(1)


def test_more_data_less_work():
    B, eps = 10.0, 0.1
    least = bounds.sample_size(B, eps)
    m = least * np.array([1.1, 2, 4, 100, 1e8])
    T = bounds.sgd_runtime_more_data(m, B, eps)
    assert np.all(np.diff(T) < 0)
    assert T[2] == pytest.approx(4 * least)  # ε/B − 1/√m is half of ε/B
    assert T[-1] == pytest.approx(bounds.learning_runtime("sgd", B, eps), rel=1e-3)
    assert list(bounds.sgd_runtime_more_data([1, least / 2], B, eps)) == [np.inf, np.inf]


# SIMBA


def test_simba_by_hand():
    assert bounds.simba_iterations(np.e**2, 0.1) == pytest.approx(2e6)
    assert bounds.simba_runtime(8000, 1_355_191, 0.1, sparsity=0.01) == pytest.approx(1_363_191)
    assert bounds.generalization_gap(400, 2, 0.25) == pytest.approx(0.01 + 0.05)
    # B = 2, ε = .1, ℓ = .3: r = 4.
    assert bounds.sample_size_low_noise(2, 0.1, 0.3) == pytest.approx(160)
    assert bounds.online_runtime(1000, 2, 0.1, 0.3) == pytest.approx(160_000)
    assert bounds.simba_learning_runtime(1000, 2, 0.1, 0.3) == pytest.approx((4000 + 640) * 16)


def test_the_sample_size_generalizes():
    # Eq. (9) into Eq. (8): the gap is of the order of ε, whatever the noise.
    eps = 0.02
    loss = np.array([0, 0.001, 0.02, 0.3, 1])
    gap = bounds.generalization_gap(bounds.sample_size_low_noise(5, eps, loss), 5, loss)
    assert np.all((gap > 0.9 * eps) & (gap < 1.6 * eps))
    assert bounds.sample_size_low_noise(5, eps, 0) == pytest.approx(25 / eps)
    assert bounds.sample_size_low_noise(5, eps, 1) == pytest.approx(bounds.sample_size(5, eps), rel=0.03)


def test_corollary_5_1_is_eq_7_at_the_sample_size():
    B, d, eps, loss = 4.0, 1e5, 0.05, np.array([0, 0.05, 0.2])
    n = bounds.sample_size_low_noise(B, eps, loss)
    accuracy = eps / (B * (loss + eps))  # of the margin: Lemma 2.1
    assert bounds.simba_learning_runtime(d, B, eps, loss) == pytest.approx(bounds.simba_runtime(n, d, accuracy))


def test_the_gain_of_simba_is_one_over_the_error():
    B, eps, loss = 4.0, 0.01, np.array([0, 0.01, 0.04])
    d = np.array([[1e3], [1e5], [1e12]])
    gain = bounds.simba_gain(d, B, eps, loss)
    assert gain[-1] == pytest.approx(1 / (loss + eps), rel=1e-4)
    assert np.all(np.diff(gain, axis=0) > 0)
    r = (loss + eps) / eps
    assert gain == pytest.approx(1 / (loss + eps + B**2 * r**2 / d))
    # d = 62 B² is "much larger than B²", but the gain is 38, not 100: the second term is not small.
    assert gain[0, 0] == pytest.approx(1 / 0.026)
    assert bounds.simba_gain(B**2 / 2, B, eps, 0) < 1  # few features: no gain


# SBP


def test_table_1_by_hand():
    # ‖u‖ = 2, ε = .1, ℓ = .1: r = 2, ‖u‖⁴ = 16.
    got = [bounds.kernel_learning_runtime(m, 2, 0.1, 0.1) for m in ("sbp", "perceptron", "dual_decomposition", "sgd")]
    assert got == pytest.approx([1280, 1280, 6400, 32_000])
    got = [bounds.kernel_learning_runtime(m, 2, 0.1) for m in ("sbp", "dual_decomposition", "sgd")]
    assert got == pytest.approx([160, 1600, 16_000])


def test_sbp_gains_one_over_the_error_on_each_next_row():
    eps, loss = np.geomspace(1e-4, 0.1, 5), 0.02
    sbp, dual, sgd = (bounds.kernel_learning_runtime(m, 7, eps, loss) for m in ("sbp", "dual_decomposition", "sgd"))
    assert dual / sbp == pytest.approx(1 / (loss + eps))
    assert sgd / dual == pytest.approx(1 / (loss + eps))


def test_the_first_row_of_table_1_is_lemma_3_2_at_the_sample_size():
    B, eps, loss = 7.0, 0.01, np.array([0, 0.01, 0.3])
    n = bounds.sample_size_low_noise(B, eps, loss)
    evaluations = bounds.sbp_kernel_evaluations(n, bounds.slack_accuracy(B, eps, loss))
    ratio = evaluations / bounds.kernel_learning_runtime("sbp", B, eps, loss)
    assert np.all((ratio > 1) & (ratio < 4.001))
    assert n * B**2 / eps**2 == pytest.approx(bounds.kernel_learning_runtime("sgd", B, eps, loss))


def test_slack_accuracy_is_enough_by_lemma_2_1():
    B, eps, loss = 7.0, 0.1, np.array([0, 0.01, 0.05, 0.3, 1])
    factor = 1 / (1 - B * bounds.slack_accuracy(B, eps, loss))
    assert np.all(factor <= 2 + 1e-12)
    assert np.all(factor * loss <= loss + eps / 2 + 1e-12)
    assert factor[-1] * loss[-1] == pytest.approx(loss[-1] + eps / 2)  # tight where loss is large
    assert bounds.slack_accuracy(2, 0.1, 0.2) == pytest.approx(0.1)


def test_perceptron_mistakes():
    assert bounds.perceptron_mistakes(400, 3, 0.01) == pytest.approx(4 + 6 + 9)
    # M = L + B√M, which the mistakes satisfy at worst, has its root below the bound, but above the scan's.
    L, B = 4.0, 3.0
    worst = L + B * (B / 2 + np.sqrt(B**2 / 4 + L))
    assert L + B * np.sqrt(L + B**2) < worst < bounds.perceptron_mistakes(400, B, L / 400)
    # nM at the sample size is of the order of Section 4.5.
    eps, loss = 0.01, np.array([0, 0.001, 0.01, 0.5])
    n = bounds.sample_size_low_noise(B, eps, loss)
    ratio = n * bounds.perceptron_mistakes(n, B, loss) / bounds.kernel_learning_runtime("perceptron", B, eps, loss)
    assert np.all((ratio > 0.5) & (ratio <= 3))


def test_sdca_is_n_times_worse_than_pegasos_in_the_sbp_paper():
    pegasos = bounds.pegasos_runtime(1e-4, 1e-3, 1)
    assert bounds.sdca_kernel_iterations(500, 1e-4, 1e-3) == pytest.approx(500 * pegasos)


# The survey


def test_survey_by_hand():
    assert bounds.perceptron_runtime(1000, 0.1) == pytest.approx(1e5)
    assert bounds.sublinear_perceptron_iterations(np.e, 0.1) == pytest.approx(4e6)
    assert bounds.sublinear_perceptron_gap(10_000, np.e) == pytest.approx(0.23 + 0.02 * np.sqrt(2))
    assert bounds.sublinear_perceptron_runtime(300, 700, 0.1) == pytest.approx(1e5)
    assert bounds.sdp_iterations(np.e**2, 0.1) == pytest.approx(720_000)
    assert bounds.sdp_runtime(1000, 10, 0.1) == pytest.approx(1e5 + 1e7)


def test_200_and_even_30_are_enough_in_theorem_2_8():
    n, eps = np.array([2, 10, 1e6]), 0.1
    T = bounds.sublinear_perceptron_iterations(n, eps)
    assert np.all(bounds.sublinear_perceptron_gap(T, n) <= eps / 2)
    T = bounds.sublinear_perceptron_iterations(n, eps, constant=30)
    assert np.all(bounds.sublinear_perceptron_gap(T, n) <= eps)
    assert np.all(bounds.sublinear_perceptron_gap(T / 2, n) > eps)


def test_60_is_enough_in_theorem_4_6():
    m, eps = np.array([2, 50, 1e6]), 0.1
    T = bounds.sdp_iterations(m, eps)
    assert np.all(eps / 2 + bounds.sublinear_perceptron_gap(T, m) <= eps)  # ε/2 is the projection's


def test_the_sublinear_perceptron_is_faster_when_the_matrix_is_not_thin():
    n, d, eps = 1e4, 1e4, 0.1
    gain = bounds.perceptron_runtime(n * d, eps) / bounds.sublinear_perceptron_runtime(n, d, eps)
    assert gain == pytest.approx(5000)  # nd/(n + d)


def test_generic_iterations_are_those_of_the_slower_player():
    assert bounds.generic_iterations(100, 0.1, None) == pytest.approx(800)  # 2√(2T)/T = ε
    assert bounds.generic_iterations(np.exp(10), 0.1) == pytest.approx(1000)
    assert bounds.generic_iterations(100, 0.1, [50, 5000]) == pytest.approx([100 * np.log(100), 5000])


def test_no_sdp_bound_is_below_the_lower_bound():
    eps = np.array([0.5, 0.1, 0.01])
    first, later, least = (bounds.sdp_runtime(100, 30, eps, power=p) for p in (5, 2.5, 2))
    assert np.all((first > later) & (later > least))
    assert least == pytest.approx((100 + 900) / eps**2)
