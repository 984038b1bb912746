import numpy as np
import pytest
from papers_svc import papers_svc

from hinge import SVC
from hinge.display.convergence import ConvergenceDisplay
from hinge.problems import Regularized
from hinge.solvers import SDCA, solve

matplotlib = pytest.importorskip("matplotlib", reason="displays draw with matplotlib")
matplotlib.use("Agg")


# --- convergence ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("against", ["seconds", "iterations", "reads"])
@pytest.mark.parametrize("quantity", ["objective", "gap", "error"])
def test_convergence_is_drawn(against, quantity, noisy, ax):
    X, y, _ = noisy
    model = papers_svc(lam=1e-2, solver="sdca", tol=1e-4)
    display = ConvergenceDisplay.from_estimator(
        model, X, y, X_test=X, y_test=y, ax=ax, against=against, quantity=quantity
    )
    assert list(display.curves) == ["sdca"]
    line = ax.lines[0]
    assert len(line.get_xdata()) > 1
    assert (np.diff(line.get_xdata()) >= 0).all()
    if quantity == "gap":
        assert line.get_ydata()[-1] <= 1e-4 < line.get_ydata()[0]
        assert ax.get_yscale() == "log"


def test_convergence_of_a_history_alone(noisy, ax):
    X, y, _ = noisy
    result = solve(Regularized(X, y, 1e-2), SDCA())
    display = ConvergenceDisplay.from_history(result.history, name="mine", ax=ax, quantity="objective")
    assert display.ax_.lines[0].get_ydata()[-1] == result.certificate.objective
    fitted = SVC(gamma=0.1).fit(X, y)
    drawn = ConvergenceDisplay.from_estimator(fitted, against="kernel_evals")
    assert list(drawn.curves) == ["activeset"]
    assert drawn.ax_.get_xlabel() == "kernel evaluations"


def test_convergence_of_several_classes(noisy):
    X, _, _ = noisy
    three = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-1.0, 1.0])]
    model = papers_svc(tol=1e-2).fit(X, three)
    display = ConvergenceDisplay.from_estimator(model)
    assert [name.split(", ")[1] for name in display.curves] == ["a", "b", "c"]
    again = ConvergenceDisplay.from_estimator(papers_svc(tol=1e-2), X, three, draw=False)
    assert list(again.curves) == list(display.curves)


def test_what_convergence_refuses(noisy):
    X, y, _ = noisy
    with pytest.raises(ValueError, match="not fitted"):
        ConvergenceDisplay.from_estimator(papers_svc())
    with pytest.raises(ValueError, match="without labels"):
        ConvergenceDisplay.from_estimator(papers_svc(), X)
    fitted = papers_svc().fit(X, y)
    with pytest.raises(ValueError, match="quantity is one of"):
        ConvergenceDisplay.from_estimator(fitted, quantity="loss")
    with pytest.raises(ValueError, match="has its error"):
        ConvergenceDisplay.from_estimator(fitted, quantity="error")
