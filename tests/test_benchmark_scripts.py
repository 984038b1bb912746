"""The scripts: their imports; of the table of scikit-learn's examples what is run, and how outputs are compared."""

import ast
import importlib
import importlib.util
from pathlib import Path

import pytest

PLACE = Path(__file__).resolve().parents[1] / "benchmarks" / "scripts.py"
SPEC = importlib.util.spec_from_file_location("scripts_benchmark", PLACE)
scripts = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(scripts)


def test_what_scripts_import_is_there():
    """Scripts for a GPU or a peer are not run by tests: at least the names that they take from hinge exist."""
    for path in sorted(PLACE.parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "hinge":
                module = importlib.import_module(node.module)
                for name in (alias.name for alias in node.names):
                    inside = hasattr(module, name) or importlib.util.find_spec(f"{node.module}.{name}")
                    assert inside, f"{path.name} imports {name} from {node.module}"


@pytest.mark.parametrize(
    ("theirs", "ours", "verdict"),
    [
        ("score 0.91\ndone in 1.2 s", "score 0.91\ndone in 3 s", "the same"),
        ("score 0.910", "score 0.911", "numbers within 2%"),
        ("score 0.91\nbest: rbf", "score 0.81\nbest: poly", "2 of 2 lines differ"),
        ("one\ntwo", "one", "1 of 2 lines differ"),
    ],
)
def test_outputs_are_compared(theirs, ours, verdict):
    assert scripts.compared(theirs, ours) == verdict


@pytest.mark.slow
def test_scripts_are_found_and_run_in_both_ways(tmp_path):
    folder = tmp_path / "examples" / "svm"
    folder.mkdir(parents=True)
    fits = "from sklearn.svm import SVC\nm = SVC().fit([[0], [1]], [0, 1])\nprint(m.predict([[2]]))\n"
    (folder / "plot_a.py").write_text(fits)
    (folder / "plot_b.py").write_text("from sklearn import svm, datasets\ndatasets.fetch_openml('x')\n")
    (folder / "plot_c.py").write_text("import sklearn.linear_model\n")
    (folder / "plot_d.py").write_text(fits + "assert type(m).__module__.startswith('sklearn')\n")
    offline, online = scripts.scripts_of(tmp_path)
    assert [path.stem for path in offline] == ["plot_a", "plot_d"] and [path.stem for path in online] == ["plot_b"]
    *_, first, second, total = scripts.table(offline, tmp_path, 100.0)
    assert first.startswith("| svm/plot_a.py |") and first.endswith("| the same |")
    assert "**fails**: AssertionError" in second and total.startswith("| 2 in all, 1 fail |")
