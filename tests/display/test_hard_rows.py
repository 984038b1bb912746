import numpy as np
import pytest
from papers_svc import papers_svc

from hinge import SVC
from hinge.display.hard_rows import HardRowsDisplay

matplotlib = pytest.importorskip("matplotlib", reason="displays draw with matplotlib")
matplotlib.use("Agg")


# --- hard rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [papers_svc(lam=1e-2, solver="sdca"), papers_svc(), SVC(gamma=0.1)])
def test_mislabelled_rows_rank_high(model, noisy):
    X, y, noise = noisy
    display = HardRowsDisplay.from_estimator(model.fit(X, y), X, y, draw=False)
    assert noise[display.ranking[:20]].mean() >= 0.9
    assert display.weights.max() == 1.0
    assert sorted(display.ranking) == list(range(400))
    at_bound = display.ranking[display.weights[display.ranking] > 1 - 1e-6]
    assert (np.diff(display.margins[at_bound]) >= 0).all()


def test_hard_rows_are_drawn_with_their_noise(noisy, ax):
    X, y, noise = noisy
    model = papers_svc(lam=1e-2).fit(X, y)
    display = HardRowsDisplay.from_estimator(model, X, y, top=7, noise=noise, ax=ax)
    assert display.ax_ is ax and display.figure_ is ax.figure
    assert len(ax.patches) == 7
    widths = sorted(bar.get_width() for bar in ax.patches)
    assert widths == pytest.approx(sorted(display.margins[display.ranking[:7]]))
    assert ax.get_yticklabels()[0].get_text().startswith(f"row {display.ranking[0]:,}")
    assert "label known to be wrong" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(display.plot(top=3).ax_.patches) == 3


@pytest.mark.filterwarnings("ignore:The fit ended because .* with no certificate")  # of a Perceptron
def test_what_hard_rows_refuse(noisy):
    X, y, _ = noisy
    with pytest.raises(ValueError, match="not fitted"):
        HardRowsDisplay.from_estimator(papers_svc(), X, y)
    with pytest.raises(ValueError, match="Perceptron has no dual weights"):
        HardRowsDisplay.from_estimator(papers_svc(solver="perceptron", fit_intercept=False).fit(X, y), X, y)
    with pytest.raises(ValueError, match="not the rows"):
        HardRowsDisplay.from_estimator(papers_svc().fit(X, y), X[:10], y[:10])
    with pytest.raises(ValueError, match="not in their order"):
        HardRowsDisplay.from_estimator(papers_svc().fit(X, y), X[::-1], y[::-1])
    for top in (0, -3):
        with pytest.raises(ValueError, match="at least 1"):
            HardRowsDisplay.from_estimator(papers_svc().fit(X, y), X, y, top=top)
    with pytest.raises(ValueError, match="two classes"):
        HardRowsDisplay.from_estimator(papers_svc().fit(X, np.arange(400) % 3), X, y)
    with pytest.raises(ValueError, match="noise has shape"):
        HardRowsDisplay([1.0, 0.5], [0.0, 1.0], [True])
    with pytest.raises(ValueError, match="-1 and \\+1"):
        HardRowsDisplay.from_predictions([0, 1], [0.5, 1.0])
