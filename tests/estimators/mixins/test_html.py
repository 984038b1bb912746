import xml.etree.ElementTree as ET

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hinge import SVC, SVR, LinearSVC, LinearSVCCV, LinearSVR, LinearSVRCV, NuSVC, OneClassSVM
from hinge.estimators.mixins.html import HEIGHT, WIDTH, picture, summary
from hinge.monitoring import Record

X = np.random.default_rng(0).standard_normal((60, 3))
Y = (X[:, 0] > 0).astype(int)
THREE = np.digitize(X[:, 0], [-0.5, 0.5])


def looks(*certificates):
    return [Record(i, 0.1 * i, 0, 0, np.nan, gap, np.nan) for i, gap in enumerate(certificates, 1)]


@pytest.mark.sampled
@pytest.mark.parametrize("machine", [LinearSVC(), LinearSVR(), SVC(), SVR(), NuSVC(nu=0.2), OneClassSVM()], ids=str)
@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_fits_say_how_they_ended(machine, y):
    machine = clone(machine)
    bare = machine._repr_html_()
    assert "certificate" not in bare and machine._repr_mimebundle_()["text/html"].count("<svg") == bare.count("<svg")
    machine.fit(X, y)
    for shown in (machine._repr_html_(), machine._repr_mimebundle_()["text/html"]):
        assert "sk-top-container" in shown  # scikit-learn's diagram is there too
        assert shown.count("relative gap of at most") == 1
        assert machine.stop_reason_.replace("_", " ") in shown and type(machine.solver_).__name__ in shown
    ET.fromstring(summary(machine))  # every tag is closed
    with config_context(display="text"):
        assert "text/html" not in machine._repr_mimebundle_() and not hasattr(machine, "_repr_html_")


def test_the_picture_falls_as_the_certificate_does():
    drawn = ET.fromstring(picture([looks(np.inf, 1.0, 0.1, 0.001)], 1e-2))
    points = [tuple(map(float, p.split(","))) for p in drawn.find("polyline").get("points").split()]
    x, y = np.array(points).T
    assert len(points) == 3 and (np.diff(x) > 0).all() and (np.diff(y) > 0).all()  # pixels count downwards
    goal = float(drawn.find("line").get("y1"))
    assert y[1] < goal < y[2]
    assert (x >= 0).all() and (x <= WIDTH).all() and (y >= 0).all() and (y <= HEIGHT).all()


def test_the_axes_are_named_and_have_ticks():
    drawn = ET.fromstring(picture([looks(1.0, 0.1, 0.001)], 1e-2))
    words = [text.text for text in drawn.findall("text")]
    assert {"gap", "seconds", "1", "0.1", "0.01", "0.001"} <= set(words)
    alone = [text.text for text in ET.fromstring(picture([looks(0.5)], 0.5)).findall("text")]
    assert len(alone) >= 4  # a single look lies inside axes, too


@pytest.mark.skipif(not hasattr(BaseEstimator, "_get_fitted_attr_html"), reason="boxes list attributes from 1.9 on")
def test_a_pipeline_shows_the_summary_in_the_box_of_its_machine():
    pipeline = make_pipeline(StandardScaler(), LinearSVC())
    assert "relative gap" not in pipeline._repr_html_()
    shown = pipeline.fit(X, Y)._repr_html_()
    assert shown.count("relative gap of at most") == 1 and "</svg>" in shown


def test_nothing_is_drawn_of_nothing():
    assert picture([], 0.1) == picture([looks(np.inf, np.nan)], 0.1) == ""
    assert picture([looks(0.5)], 0.0).count("<circle") == 1
    assert summary(LinearSVC()) == ""


def test_what_is_not_certified_is_not_said_to_be():
    model = LinearSVC().fit(X, Y)
    model.gap_ = 1.0
    assert "not reached" in summary(model)
    model.gap_ = np.inf
    assert "none" in summary(model)
    model.stop_reason_ = "<script>"
    assert "<script>" not in summary(model)


def test_searches_say_which_error_to_expect():
    model = LinearSVCCV(Cs=[0.1, 1.0], cv=3).fit(X, Y)
    shown = summary(model)
    assert f"{model.error_:.2%} (95% interval: " in shown and "error to expect" in shown
    model.error_ = np.nan
    assert "error to expect" not in summary(model)
    model = LinearSVRCV(Cs=[0.1, 1.0], cv=3).fit(X, X[:, 0] + 0.1 * X[:, 1] ** 2)
    assert f"{model.error_:.4g} (95% interval: " in summary(model)
