"""Refits that do not end, and fits that Ctrl-C ends before they have begun."""

import os
import signal

import numpy as np
import pytest
from ctrl_c import interrupted

import hinge.compiled
import hinge.estimators.data.validation
from hinge import SVC, LinearSVC, OneClassSVM
from hinge.estimators.fitting.decorators import atomic, atomic_fit
from hinge.monitoring.interrupts import called_off

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.standard_normal(60) > 0, "b", "a")
TARGETS = {"SVR": X[:, 0], "NuSVR": X[:, 0], "LinearSVR": X[:, 0]}
ESTIMATORS = ["LinearSVC", "SVC", "NuSVC", "LinearSVR", "SVR", "NuSVR", "OneClassSVM"]


class Model:
    """Something that is fitted in two steps."""

    on_interrupt = "keep"

    def __init__(self):
        self.first_ = self.second_ = "old"

    @atomic
    def refit(self, error):
        self.first_, self.other_ = "new", 1
        raise error
        self.second_ = "new"

    @atomic_fit
    def fit(self, press):
        press()
        self.first_ = called_off()
        return self


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_what_does_not_end_changes_nothing(error):
    model = Model()
    with pytest.raises(type(error)):
        model.refit(error)
    assert vars(model) == {"first_": "old", "second_": "old"}


@pytest.mark.usefixtures("interruptible")
def test_the_first_ctrl_c_of_a_fit_that_keeps_its_model_calls_its_runs_off_and_the_second_raises():
    def press():
        os.kill(os.getpid(), signal.SIGINT)

    model = Model().fit(press)
    assert model.first_ is True and not called_off()
    with pytest.raises(KeyboardInterrupt):
        model.fit(lambda: (press(), press()))
    assert model.first_ is True
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def files(name):
    return "linear_svc.py" if name == "LinearSVC" else "svc.py" if name == "SVC" else "one_class.py"


@pytest.mark.parametrize("kind", [LinearSVC, SVC, OneClassSVM], ids=lambda kind: kind.__name__)
def test_an_interrupted_refit_on_another_width_leaves_the_old_model(kind):
    model = kind().fit(X, Y)
    before, answers = dict(vars(model)), model.predict(X)
    line = 1
    while interrupted(lambda: model.fit(X[:, :2], Y), line, files(kind.__name__), "estimators/data/validation.py"):
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is value for name, value in before.items())
        np.testing.assert_array_equal(model.predict(X), answers)
        line += 1 + line // 4
    assert line > 20 and model.n_features_in_ == 2


@pytest.mark.usefixtures("interruptible")
@pytest.mark.filterwarnings("ignore:The fit ended because it was interrupted, with no certificate")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_ctrl_c_before_the_first_step_ends_with_a_model_of_nothing(name, monkeypatch):
    y = TARGETS.get(name, Y)
    monkeypatch.setattr(hinge.compiled, "PATIENCE", np.inf)  # waits for compilation
    model = getattr(hinge, name)(on_interrupt="keep")
    check = hinge.estimators.data.validation.validated

    def pressed(*args, **options):
        os.kill(os.getpid(), signal.SIGINT)
        return check(*args, **options)

    monkeypatch.setattr(hinge.estimators.data.validation, "validated", pressed)
    model.fit(X, y)
    monkeypatch.undo()
    assert model.stop_reason_ == "interrupted" and model.gap_ > 1
    assert len(model.predict(X)) == len(X)


def test_an_array_for_on_interrupt_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="on_interrupt must be"):
        hinge.LinearSVC(on_interrupt=np.array([1.0, 2.0])).fit(X, Y)
