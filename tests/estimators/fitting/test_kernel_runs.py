import numpy as np
import pytest
from threadpoolctl import threadpool_info

from hinge import SVC
from hinge.access import Gram, as_points
from hinge.estimators.fitting.kernel_runs import gram_threads
from hinge.kernels import Gaussian
from hinge.problems import KernelSlackConstrained
from hinge.solvers import BlockDual

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
