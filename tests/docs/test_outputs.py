"""What pages show below their Python."""

import numpy as np
import pytest

from docs.outputs import in_short, output_of, with_outputs

pytest.importorskip("matplotlib", reason="pages draw with matplotlib")


def test_what_a_block_prints_is_below_it():
    page = "# A page\n\n```python\na = 2\na / 3\nprint('two')\n```\n\nText.\n\n```python\na, [1.0] * 99\n```\n"
    shown = with_outputs(page, "page")
    first, second = shown.split("Text.")
    assert first.endswith("```\n\n```{code-block} none\n:class: output\n\n0.6667\ntwo\n```\n\n")
    assert "(2, [1.0, 1.0," in second and " ..." in second  # one namespace, and no endless lines


def test_models_are_not_shown_and_warnings_are():
    code = "from hinge import LinearSVC\nLinearSVC(max_iter=1, solver='sdca', loss='hinge', C=1e6).fit(X, y)"
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    printed, figures = output_of(code, {"X": X, "y": X[:, 0] + rng.standard_normal(200) > 0}, "page")
    assert printed.startswith("ConvergenceWarning: The fit ended because") and figures == []


def test_figures_are_shown():
    printed, (figure,) = output_of(
        "import matplotlib.pyplot as plt\nax = plt.subplots()[1]\nax.plot([0, 1])", {}, "page"
    )
    assert printed.startswith("[<matplotlib") and len(figure) > 1000


def test_a_block_that_fails_fails_the_build():
    with pytest.raises(ZeroDivisionError):
        with_outputs("```python\n1 / 0\n```\n", "page")


def test_values_in_short():
    assert in_short((np.float64(1 / 3), "a", (2.0,))) == "(0.3333, 'a', (2))"
    assert in_short("x" * 500).endswith(" ...")
