import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from hinge.problems import Multiclass, MulticlassSlackConstrained, SlackConstrained, Solution

X = np.array([[3.0, 4.0], [0.0, 1.0], [2.0, 0.0]])
Y = np.array([0, 1, 2])


def drawn(seed, n=40, d=5, k=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.argmax(X @ rng.standard_normal((d, k)) + rng.standard_normal((n, k)), axis=1)


def literal(W, X, y, c, lam, scale=0.0):
    """P as it is written."""
    R = np.c_[X, np.full(len(X), scale)] @ W
    loss = [max((k != y[i]) + R[i, k] - R[i, y[i]] for k in range(W.shape[1])) for i in range(len(X))]
    return lam / 2 * (W**2).sum() + c @ loss


def test_objective_by_hand():
    W = np.array([[0.1, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.0]])
    problem = Multiclass(X, Y, 0.5)
    # Row 0: 1 + 2.0 - 0.3; row 1: 1 - 0.5; row 2: 1 + 0.2.
    assert problem.objective(Solution(W)) == pytest.approx(0.25 * 0.26 + (2.7 + 0.5 + 1.2) / 3)
    assert problem.reads == 0
    assert problem.objective(Solution(np.zeros((3, 3)))) == 1.0


def test_dual_by_hand():
    # Row 2 alone, its mass on class 0: Z = ⅓(e₂ - e₀) ⊗ (2, 0), D = s/3 - s²·8/9/(2λ), best at s = 3λ/8 ≤ 1.
    p = np.array([[1.0, 0, 0], [0, 1, 0], [1, 0, 0]])
    assert Multiclass(X, Y, 8.0).dual(Solution(np.zeros((3, 3)), alpha=p)) == pytest.approx(1 / 3 - 4 / 9 / 8)
    assert Multiclass(X, Y, 0.8).dual(Solution(np.zeros((3, 3)), alpha=p)) == pytest.approx(
        0.3 / 3 - 0.09 * 4 / 9 / 0.8
    )
    assert Multiclass(X, Y, 0.8).dual(Solution(np.zeros((3, 3)))) == -np.inf
    assert Multiclass(X, Y, 0.8).dual(Solution(np.zeros((3, 3)), alpha=np.eye(3))) == 0.0
    wide = Multiclass(X, Y, 8.0, bias_scale=2.0)  # the constant feature makes ‖x‖² = 8
    assert wide.dual(Solution(np.zeros((3, 3)), alpha=p)) == pytest.approx(1 / 3 - 8 / 9 / 8)


@pytest.mark.sampled
@pytest.mark.parametrize("scale", [0.0, 0.7])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_any_dual_point_is_below_any_primal_one(scale, weighted, sparse):
    X, y = drawn(1)
    rng = np.random.default_rng(2)
    s = rng.integers(0, 3, len(y)) * 1.0 if weighted else np.ones(len(y))
    problem = Multiclass(sp.csr_array(X) if sparse else X, y, 0.1, weight=s if weighted else None, bias_scale=scale)
    duals, primals = [], []
    for _ in range(40):
        p = rng.dirichlet(np.full(4, 0.3), len(y)) * rng.uniform(0, 2)
        W = problem.combination(p)[0] / problem.lam * rng.random()
        certificate = problem.certificate(Solution(W, alpha=p))
        duals.append(certificate.bound)
        primals.append(certificate.objective)
        exact = literal(W, X, y, s / s.sum(), 0.1, scale)
        assert certificate.objective == pytest.approx(exact, rel=1e-9)
        assert certificate.objective >= exact * (1 - 1e-15)
        assert problem.objective(Solution(W)) == pytest.approx(exact)
        assert certificate.gap == pytest.approx((certificate.objective - certificate.bound) / certificate.bound)
    assert min(duals) > 0
    assert max(duals) < min(primals)


@pytest.mark.parametrize("scale", [0.0, 0.5])
def test_it_is_the_problem_of_scikit_learn(scale):
    X, y = drawn(3)
    s = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = LinearSVC(
        multi_class="crammer_singer",
        C=0.3,
        tol=1e-10,
        max_iter=10**6,
        fit_intercept=scale > 0,
        intercept_scaling=scale or 1,
    ).fit(X, y, s)
    W = np.vstack([model.coef_.T, model.intercept_ / scale if scale else np.zeros(4)])
    problem = Multiclass.from_C(X, y, 0.3, weight=s, bias_scale=scale)
    assert problem.lam == pytest.approx(1 / (0.3 * s.sum()))
    best = problem.objective(Solution(W))
    rng = np.random.default_rng(1)
    for size in (1e-3, 1e-2, 0.1):
        off = size * rng.standard_normal(W.shape)
        off[-1] *= scale > 0
        assert problem.objective(Solution(W + off)) > best


def test_the_certificate_reads_two_passes_and_no_row_without_mass():
    X, y = drawn(4)
    problem = Multiclass(X, y, 0.1)
    p = np.eye(4)[y]
    p[:7] = 0.25
    problem.certificate(Solution(np.zeros((6, 4)), alpha=p))
    assert problem.reads == X.size + 7 * X.shape[1]


def test_points_are_made_feasible():
    X, y = drawn(5)
    problem = Multiclass(X, y, 0.1)
    p = problem.feasible(np.random.default_rng(0).normal(0.3, 1.0, (40, 4)))
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-15)
    inside = np.full((40, 4), 0.25)
    np.testing.assert_array_equal(problem.feasible(inside.copy()), inside)


def test_margins():
    W = np.array([[1.0, 0, 0], [0, 1, 0], [0.5, 0, 0]])
    problem = Multiclass(X, Y, 0.1, bias_scale=2.0)
    np.testing.assert_allclose(problem.margins(W, np.array([2, 0])), [-3.0, 0.0])


@pytest.mark.parametrize(
    ("labels", "options", "words"),
    [
        ([0, 1, -1], {}, "Labels of a multiclass problem are integers, 0 to k - 1"),
        ([0.0, 1.0, 2.0], {}, "Labels of a multiclass problem are integers, 0 to k - 1"),
        ([0, 0, 0], {}, "two or more, from 0 on, are needed"),
        ([0, 1, 2], {"n_classes": 2}, "two or more, from 0 on, are needed"),
        ([0, 1], {}, "one label per row is needed"),
        ([0, 1, 2], {"bias_scale": -1.0}, "bias_scale must be a number of at least 0"),
        ([0, 1, 2], {"weight": [1, 2, -1]}, "Weights must be finite"),
    ],
)
def test_what_is_wrong_is_said(labels, options, words):
    with pytest.raises(ValueError, match=words):
        Multiclass(X, labels, 0.1, **options)


def test_a_class_without_rows_is_a_rival_all_the_same():
    problem = Multiclass(X, [0, 1, 1], 0.1, n_classes=3)
    assert problem.k == 3
    assert problem.objective(Solution(np.zeros((3, 3)))) == 1.0


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_large_columns_of_small_weights_are_no_large_rounding(kind):
    X, y = drawn(5)
    sizes = 10.0 ** np.linspace(-6, 6, 5)
    W = np.vstack([np.random.default_rng(5).standard_normal((5, 4)) / sizes[:, None], np.full(4, 0.1)])
    problem = Multiclass(kind(X * sizes), y, 1e-9, bias_scale=1.0)
    answer = Solution(W, 0.0, np.full((40, 4), 0.25))
    rough, exact = problem.certificate(answer), literal(W, X * sizes, y, np.full(40, 1 / 40), 1e-9, 1.0)
    fine = problem.sharpened(answer, rough, 1e-6)
    assert exact * (1 - 1e-14) <= fine.objective <= exact * (1 + 1e-12)
    assert rough.objective > exact * (1 + 1e-6)
    assert (fine.bound, fine.gap) == (rough.bound, problem.relative(fine.objective, rough.bound))
    assert problem.sharpened(answer, rough, rough.gap) is rough


@pytest.mark.parametrize("nu", [0.0, 0.1])
def test_with_a_given_slack_two_classes_are_the_binary_problem(nu):
    rng = np.random.default_rng(0)
    X, y, w, alpha = rng.standard_normal((30, 4)), rng.integers(0, 2, 30), rng.standard_normal(4), rng.random(30)
    W = np.zeros((5, 2))
    W[:-1, 1], W[:-1, 0] = w, -w
    p = np.zeros((30, 2))
    p[np.arange(30), 1 - y] = alpha
    several, two = MulticlassSlackConstrained(X, y, nu), SlackConstrained(X, 2 * y - 1, nu)
    one, other = several.certificate(Solution(W, 0.0, p)), two.certificate(Solution(w, 0.0, alpha))
    assert several.objective(Solution(W)) == pytest.approx(two.objective(Solution(w)), rel=1e-12)
    assert one.objective == pytest.approx(other.objective, rel=1e-12)
    assert one.bound == pytest.approx(other.bound, rel=1e-12)
    assert several.certificate(Solution(W)).bound == several.certificate(Solution(W, 0.0, 0 * p)).bound == np.inf


def test_the_bound_with_a_given_slack_by_hand():
    # p on one pair: the norm of (x, -x)/√2 is ‖x‖, and all slack goes to that row.
    X, y = np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0]]), np.arange(3)
    p = np.zeros((3, 3))
    p[0, 2] = 7.0
    certificate = MulticlassSlackConstrained(X, y, 0.2).certificate(Solution(np.zeros((3, 3)), 0.0, p))
    assert certificate.bound == pytest.approx(5.0 + 0.2 * 3, rel=1e-12) and certificate.bound > 5.6
    assert certificate.objective == pytest.approx(0.2, rel=1e-12)  # of w = 0
    with pytest.raises(ValueError, match="nu must lie in"):
        MulticlassSlackConstrained(X, y, 1.5)
