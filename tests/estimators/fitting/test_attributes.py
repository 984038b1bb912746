"""Fitted attributes of linear and of kernel fits, and how several runs ended."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info

from hinge import SVC, Regularized, Solution
from hinge.access import Gram, as_points
from hinge.estimators.fitting.attributes import check_coefficients, describe_runs, dual_coefficients, ends_of
from hinge.estimators.fitting.runs import gram_threads
from hinge.kernels import Gaussian
from hinge.monitoring import Status
from hinge.problems import Certificate, KernelSlackConstrained
from hinge.solvers import SDCA, BlockDual

# --- threads ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_jobs", "threads"), [(None, 1), (1, 1), (2, 2)])
def test_threads_are_those_asked_for_and_blas_has_one(n_jobs, threads):
    with gram_threads(n_jobs) as found:
        assert found == threads
        assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} <= {1}


# --- one against the rest -----------------------------------------------------------------------


@pytest.mark.slow
def test_one_against_the_rest_shares_kernel_rows(many):
    X, y = many
    for solver in ("auto", BlockDual(first=1)):
        model = SVC(multiclass="ovr", solver=solver).fit(X, y)
        assert model.n_kernel_evals_ <= len(y) ** 2
        alone = sum(SVC(solver=solver).fit(X, y == label).n_kernel_evals_ for label in np.unique(y))
        assert model.n_kernel_evals_ < 0.5 * alone
    assert model.n_kernel_asked_ > 2 * model.n_kernel_evals_


# --- attributes ---------------------------------------------------------------------------------


def test_the_slack_of_a_regularised_answer_is_the_papers(two):
    """ν = mean hinge over norm: the slack problem with that ν has the same answer, by Lemma 2.1."""
    from hinge.problems import Expansion

    X, y = two
    model = SVC(gamma=0.4, tol=1e-7).fit(X, y)
    gram = Gram(as_points(X, Gaussian(0.4), exact=True))
    problem = KernelSlackConstrained(gram, y, model.slack_, bias="free")
    beta = np.zeros(200)
    beta[model.support_] = model.dual_coef_[0]
    answer = Expansion(beta, model.intercept_[0], model.decision_function(X) - model.intercept_[0])
    norm = np.sqrt(answer.sq_norm)
    certificate = problem.certificate(answer)
    assert certificate.objective == pytest.approx(1 / norm, rel=1e-4)  # γ = 1/‖w‖
    assert certificate.gap < 1e-4


# --- how several runs ended ---------------------------------------------------------------


def ended(status, gap=0.5):
    return SimpleNamespace(status=status, certificate=Certificate(1.0, 0.5, gap), solver=SDCA())


def status_of(results, tol):
    model = SimpleNamespace(tol=tol)
    other = dict(history=[], solution=None, n_iter=1)
    describe_runs(model, ends_of([SimpleNamespace(**other, **vars(one)) for one in results]))
    return Status[model.stop_reason_.upper()]


def test_all_well_is_silent():
    assert status_of([ended(Status.CONVERGED), ended(Status.CONVERGED)], 1e-3) is Status.CONVERGED
    assert status_of([ended(Status.INTERRUPTED), ended(Status.CONVERGED)], 1e-3) is Status.INTERRUPTED


def test_one_run_cut_off_counts_for_all():
    with pytest.warns(ConvergenceWarning, match=r"time limit.* gap of 0\.7 \(tol=0\.001\)"):
        status = status_of([ended(Status.CONVERGED, 0.1), ended(Status.MAX_TIME, 0.7)], 1e-3)
    assert status is Status.MAX_TIME
    with pytest.warns(ConvergenceWarning, match="with no certificate"):
        status_of([ended(Status.MAX_READS, np.inf)], 1e-3)
    with pytest.warns(ConvergenceWarning, match="no more progress is possible.*Scale the features"):
        status_of([ended(Status.STALLED, 0.7)], 1e-3)  # more time would not help


@pytest.mark.parametrize("status", [Status.INTERRUPTED, Status.FINISHED])
def test_a_run_without_a_certificate_warns(status):
    with pytest.warns(
        ConvergenceWarning, match=rf"because {status.value}, with no certificate \(gap_=inf, tol=0\.001\)\.$"
    ):
        assert status_of([ended(status, np.inf), ended(Status.CONVERGED, 0.0)], 1e-3) is status


@pytest.mark.parametrize("other", [Status.CALLBACK, Status.TARGET])
@pytest.mark.parametrize("first", [True, False])
def test_converged_is_said_of_all_runs_only(other, first):
    runs = [ended(other), ended(Status.CONVERGED)]
    assert status_of(runs if first else runs[::-1], 1e-3) is other


@pytest.mark.parametrize("first", [True, False])
def test_interrupted_is_said_whichever_run_it_was(first):
    runs = [ended(Status.INTERRUPTED), ended(Status.MAX_TIME)]
    assert status_of(runs if first else runs[::-1], 1e-3) is Status.INTERRUPTED


def test_no_dual_without_alpha():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((120, 4)), rng.integers(0, 2, 120)
    problem = Regularized(X, 2 * y - 1, 0.1)
    alone = SimpleNamespace(solution=Solution(np.zeros(4)), solver=SDCA())
    assert dual_coefficients([alone], [problem]) is None
    alpha = np.zeros(len(y))
    alpha[[3, 7]] = 0.5, 1.0
    alone = SimpleNamespace(solution=Solution(np.zeros(4), 0.0, alpha), solver=SDCA())
    coef, support = dual_coefficients([alone], [problem])
    assert support.tolist() == [3, 7]
    signs = 2 * y[[3, 7]] - 1
    np.testing.assert_allclose(coef, [signs * [0.5, 1.0] / (0.1 * len(y))])


def test_coefficients_that_are_no_numbers_are_refused():
    check_coefficients(np.array([1e300, 0.0]))
    with pytest.raises(ValueError, match="Scale the features"):
        check_coefficients(np.array([0.0, np.nan]))
