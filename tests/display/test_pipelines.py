"""Every display takes data frames, and pipelines that end with a machine."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hinge import SVC, SVR, LinearSVC, LinearSVCCV, LinearSVR
from hinge.display import ChoiceDisplay, ConvergenceDisplay, HardRowsDisplay, LearningRuntimeDisplay, ParetoFrontDisplay

pytest.importorskip("pandas")
ROWS, LABELS = load_breast_cancer(return_X_y=True, as_frame=True)
ROWS, LABELS = ROWS[:200].iloc[:, :5], LABELS[:200]
TRAIN = np.arange(200) % 4 > 0


def piped(machine):
    return make_pipeline(StandardScaler(), machine)


@pytest.mark.parametrize("machine", [LinearSVC(), SVC()], ids=["linear", "kernel"])
def test_convergence(machine):
    fitted = piped(machine).fit(ROWS, LABELS)
    shown = ConvergenceDisplay.from_estimator(fitted, draw=False)
    assert [look.record.gap for look in next(iter(shown.curves.values()))][-1] == fitted[-1].gap_
    watched = ConvergenceDisplay.from_estimator(
        piped(machine), ROWS[TRAIN], LABELS[TRAIN], X_test=ROWS[~TRAIN], y_test=LABELS[~TRAIN], draw=False
    )
    looks = next(iter(watched.curves.values()))
    scaled = StandardScaler().fit(ROWS[TRAIN])
    expected = machine.fit(scaled.transform(ROWS[TRAIN]), LABELS[TRAIN])
    assert looks[-1].error == pytest.approx(1 - expected.score(scaled.transform(ROWS[~TRAIN]), LABELS[~TRAIN]))


@pytest.mark.parametrize("machine", [LinearSVR(C=10.0), SVR()], ids=["linear", "kernel"])
def test_convergence_of_a_regression(machine):
    shown = ConvergenceDisplay.from_estimator(machine.fit(ROWS, ROWS.iloc[:, 0]), draw=False)
    assert len(shown.curves) == 1
    watched = ConvergenceDisplay.from_estimator(machine, ROWS, ROWS.iloc[:, 0], draw=False)
    assert next(iter(watched.curves.values()))[-1].record.gap <= machine.tol


def test_hard_rows_and_learning_runtime():
    hard = HardRowsDisplay.from_estimator(piped(LinearSVC()).fit(ROWS, LABELS), ROWS, LABELS, draw=False)
    assert len(hard.margins) == len(ROWS)
    curves = LearningRuntimeDisplay.from_estimator(
        piped(LinearSVC()), ROWS[TRAIN], LABELS[TRAIN], ROWS[~TRAIN], LABELS[~TRAIN], sizes=[40, 150], draw=False
    )
    assert curves.errors[-1][-1] < 0.3 and len(curves.seconds) == 2


def test_front_and_choice():
    front = ParetoFrontDisplay.from_estimator(piped(LinearSVC(tol=1e-2)), ROWS, LABELS, points=3, draw=False)
    plain = ParetoFrontDisplay.from_estimator(
        LinearSVC(tol=1e-2), StandardScaler().fit_transform(ROWS), LABELS, points=3, draw=False
    )
    assert [point.loss for point in front.points] == [point.loss for point in plain.points]
    assert len(front.table) == 3 and front.table["lam"].tolist() == [point.lam for point in front.points]
    search = piped(LinearSVCCV(Cs=[0.1, 1.0], certify=0.2)).fit(ROWS, LABELS)
    assert ChoiceDisplay.from_estimator(search, draw=False).chosen == search[-1].C_
