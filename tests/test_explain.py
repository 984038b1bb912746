import numpy as np
import pytest

from hinge import SVC, LinearSVC, LinearSVR
from hinge.explain import influential_rows, margin_rows, row_table, suspicious_rows

RNG = np.random.default_rng(0)
LABELS = RNG.choice(["no", "yes"], 300)
X = RNG.standard_normal((300, 5)) + np.where(LABELS == "yes", 1.3, -1.3)[:, None]
WRONG = RNG.choice(300, 15, replace=False)
Y = LABELS.copy()
Y[WRONG] = np.where(Y[WRONG] == "yes", "no", "yes")
MACHINES = [LinearSVC(), LinearSVC(loss="hinge"), SVC(), SVC(kernel="linear", C=100.0)]


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_wrong_labels_come_first(machine):
    table = suspicious_rows(machine.fit(X, Y), X, Y)
    assert np.isin(table.row[:12], WRONG).mean() >= 0.9
    assert (table.without < 0).all() and (np.diff(table.p_label) >= 0).all()
    np.testing.assert_array_equal(table.label, Y[table.row])
    assert len(suspicious_rows(machine, X, Y, top=3).row) == 3


def test_rows_that_are_learned_by_heart_are_found_too():
    """A narrow kernel has every label right: only leave-one-out tells."""
    model = SVC(C=1000.0, gamma=0.5).fit(X, Y)
    table = row_table(model, X, Y)
    assert (table.margin[WRONG] > 0.9).all()
    doubted = table.without < 0
    assert doubted[WRONG].mean() >= 0.75 and doubted.mean() < 0.15


@pytest.mark.parametrize("machine", [LinearSVC(), SVC()], ids=str)
def test_influence_is_what_leaving_a_row_out_changes(machine):
    table = influential_rows(machine.set_params(tol=1e-6).fit(X, Y), X, Y, top=5)
    sign = np.where(table.label == "yes", 1.0, -1.0)
    np.testing.assert_allclose(table.margin, sign * machine.decision_function(X[table.row]), rtol=1e-6)
    assert (np.diff(table.influence) <= 0).all()
    truth = []
    for row, s in zip(table.row, sign, strict=True):
        rest = np.arange(300) != row
        truth.append(s * type(machine)(**machine.get_params()).fit(X[rest], Y[rest]).decision_function(X[[row]])[0])
    np.testing.assert_allclose(table.without, truth, atol=0.5 * table.influence.max())


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_rows_that_hold_the_margin_are_those_of_a_dual_weight(machine):
    table = margin_rows(machine.fit(X, Y), X, Y)
    assert (table.dual > 0).all() and (np.diff(np.abs(1 - table.margin)) >= 0).all()
    whole = row_table(machine, X, Y)
    idle = np.setdiff1d(whole.row, table.row)
    assert len(idle) and (whole.influence[idle] == 0).all() and (whole.margin[idle] > 0.9).all()
    if hasattr(machine, "support_vectors_"):
        np.testing.assert_array_equal(np.sort(table.row), np.sort(machine.support_))


@pytest.mark.parametrize("machine", [LinearSVC(), SVC(), SVC(multiclass="ovr")], ids=str)
def test_of_several_classes_it_is_the_function_that_doubts_most(machine):
    y = np.where(X[:, 0] > 1, "c", LABELS)
    y[:3] = ["c", "yes", "no"]
    weight = np.ones(300)
    weight[-20:] = 0.0
    table = row_table(machine.fit(X, y, weight), X, y, weight)
    np.testing.assert_array_equal(table.row, np.arange(280))
    for row, of in zip(table.row, table.of, strict=True):
        assert y[row] in of.split(" against ")
    assert ((table.p_label >= 0) & (table.p_label <= 1)).all() and (table.influence >= -1e-9).all()


def test_what_is_refused():
    with pytest.raises(TypeError, match="not for a LinearSVR"):
        row_table(LinearSVR().fit(X, X[:, 0]), X, X[:, 0])
    with pytest.raises(ValueError, match="rows of the fit"):
        row_table(SVC().fit(X, Y), X[:10], Y[:10])
    with pytest.raises(ValueError, match="at least 1"):
        margin_rows(LinearSVC().fit(X, Y), X, Y, top=0)
