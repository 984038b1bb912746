"""``hinge inspect``: what a model file is said to hold."""

import json

import pytest
from command_line import run, said
from shop_table import shop

import hinge


@pytest.mark.slow
def test_a_linear_model_with_words(tmp_path):
    model = tmp_path / "m.hinge"
    said(run("train", shop(tmp_path / "data.csv", 150), "--impute", "median", "-o", model, "--quiet"))
    found = json.loads(said(run("inspect", model, "--json", "--top", 3))[0], parse_constant=pytest.fail)
    assert found["model"] == "LinearSVC" and found["settings"]["C"] == 1.0
    assert found["columns"] == ["age", "city", "income", "member"] and found["features"] == 7
    weights = hinge.load(model).named_steps["model"].coef_[0]
    assert [abs(one["weight"]) for one in found["weights"]] == pytest.approx(sorted(abs(weights))[::-1][:3])
    assert found["weights"][0]["feature"] == "city=Oslo" and found["weights"][0]["of"] == "visitor"
    assert found["training"]["rows"] == 150 and found["training"]["label"] == "bought"
    assert found["certificate"]["gap"] <= found["certificate"]["tol"]
    out, err = said(run("inspect", model))
    assert "city=Oslo" in out and "OneHotEncoder" in out and "label bought" in out and err == ""


@pytest.mark.slow
def test_a_model_from_python(tmp_path):
    hinge.save(
        hinge.SVC(C=3, probability=True).fit([[0.0], [1.0], [2.0], [3.0]] * 3, ["a", "a", "b", "b"] * 3), tmp_path / "m"
    )
    out, _ = said(run("inspect", tmp_path / "m"))
    assert "C = 3" in out and "Gaussian" in out and "support vectors" in out and "trained on" not in out
