import numpy as np
import pytest

from hinge.problems import Structured, StructuredSolution

SIGNS = np.array([-1.0, 1.0])
INPUTS, OUTPUTS = [2.0, -0.5, 0.25], [1.0, -1.0, -1.0]


def features(x, y):
    return np.array([x * y, y])


def loss(y, other):
    return float(y != other)


def decode(w, x, y):
    return max(SIGNS, key=lambda out: loss(y, out) + w @ features(x, out))


def problem(**changed):
    functions = {"features": features, "loss": loss, "decode": decode} | changed
    return Structured(INPUTS, OUTPUTS, 0.5, **functions)


def test_the_objective_by_hand():
    # Margins 2 y (w₀ x + w₁) are 1.5, 1, 0.25.
    w = np.array([0.5, -0.25])
    answer = StructuredSolution(w)
    expected = 0.25 * w @ w + (0.0 + 0.0 + 0.75) / 3
    assert problem().objective(answer) == pytest.approx(expected, rel=1e-15)


def test_the_dual_by_hand():
    # Half of the weight on the wrong output of the third example: δ = ψ(¼, -1) - ψ(¼, 1) = (-½, -2).
    alpha, w = np.array([0.0, 0.0, 0.5]), 0.5 / (0.5 * 3) * np.array([-0.5, -2.0])
    answer = StructuredSolution(w, alpha, 0.5 / 3)
    p = problem()
    scale = (0.5 / 3) / (0.5 * w @ w)  # the best multiple, below 2
    assert scale < 2
    expected = scale * 0.5 / 3 - 0.25 * scale**2 * w @ w
    assert p.dual(answer) == pytest.approx(expected, rel=1e-12) and p.dual(answer) < expected
    assert p.dual(answer._replace(error=0.1)) < p.dual(answer)
    assert p.dual(answer._replace(alpha=4 * alpha)) == pytest.approx(0.5 * 0.5 / 3 - 0.25 * 0.25 * w @ w, rel=1e-12)


def test_without_a_dual_point_there_is_no_bound():
    certificate = problem().certificate(StructuredSolution(np.zeros(2)))
    assert certificate.bound == -np.inf and certificate.gap == np.inf
    assert certificate.objective == pytest.approx(1.0)
    assert problem().dual(StructuredSolution(np.zeros(2), np.zeros(3))) == 0.0


def test_reads_are_examples_that_were_decoded():
    p = problem()
    p.objective(StructuredSolution(np.zeros(2)))
    assert p.reads == 0
    p.certificate(StructuredSolution(np.zeros(2)))
    assert p.reads == 3
    p.worst_output(1, np.zeros(2))
    assert p.reads == 4


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"loss": lambda y, other: 1.0}, "must be 0"),
        ({"loss": lambda y, other: -loss(y, other)}, "must be a number of at least 0"),
        ({"decode": lambda w, x, y: min(SIGNS, key=lambda out: w @ features(x, out))}, "worse than y itself by"),
        (
            {"features": lambda x, y: np.zeros(2 if y == x / abs(x) else 3)},
            "must be a vector of finite numbers, and as long",
        ),
        ({"features": lambda x, y: np.array([x * y, np.nan])}, "example 0 must be a vector of finite"),
    ],
)
def test_functions_that_cannot_be_right(changed, message):
    with pytest.raises(ValueError, match=message):
        problem(**changed).objective(StructuredSolution(np.array([3.0, 0.0])))


def test_as_many_outputs_as_inputs():
    with pytest.raises(ValueError, match="There are 3 inputs and 2 outputs"):
        Structured(INPUTS, OUTPUTS[:2], 0.5, features=features, loss=loss, decode=decode)
    with pytest.raises(ValueError, match="lam"):
        Structured(INPUTS, OUTPUTS, -1.0, features=features, loss=loss, decode=decode)


def test_a_decoder_that_misses_the_maximum_is_told_of():
    """The output of the example itself is never worse than itself; but the objective is then below what is proved."""
    answer = StructuredSolution(np.zeros(2), np.ones(3), 1.0)
    assert problem().certificate(answer).bound <= problem().certificate(answer).objective
    with pytest.raises(ValueError, match="does not find the maximum: by what it found, the objective is 0, and"):
        problem(decode=lambda w, x, y: y).certificate(answer)
    with pytest.raises(ValueError, match="as long for all"):
        problem(features=lambda x, y: np.outer([x, y], [1.0, 2.0]))
