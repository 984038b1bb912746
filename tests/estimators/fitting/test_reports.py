"""Who is told of each look: scikit-learn's callbacks and standard error."""

import re

import numpy as np
import pytest
from papers_svc import papers_svc
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from hinge import SVC, SVR, LinearSVC, LinearSVR, NuSVC, OneClassSVM
from hinge.estimators.fitting.reports import to_stderr
from hinge.monitoring import Record
from hinge.monitoring.progress import ProgressBar as GapBar

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")
ProgressBar, ScoringMonitor = callback.ProgressBar, callback.ScoringMonitor


class Watcher:
    """A callback that writes down its calls, and asks to stop after so many looks."""

    def __init__(self, looks=10**9):
        self.looks = looks
        self.calls = []
        self.records = []
        self.scores = []
        self.fitted = []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        self.calls.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None):
        self.calls.append(f"end {context.task_name}")
        if context.task_name != "look":
            return False
        assert metadata is None  # scorers take it for sample weights and the like
        self.records.append(context.record)
        self.fitted.append(fitted_estimator)
        if fitted_estimator is not None:
            self.scores.append(fitted_estimator.score(X, y))
        return len(self.records) >= self.looks


@pytest.fixture
def three(tiny):
    X, y = tiny
    return X, np.where(X[:, 2] > 0.8, 0, y)


# --- callbacks ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["sdca", "newton", "pegasos"])
def test_a_callback_sees_every_look(solver, tiny):
    watcher = Watcher()
    model = papers_svc(solver=solver, tol=0.05, random_state=0).set_callbacks(watcher)
    assert model.fit(*tiny) is model
    looks = len(model.history_)
    assert watcher.calls == ["setup", "begin fit", *["begin look", "end look"] * looks, "end fit", "teardown"]
    plain = papers_svc(solver=solver, tol=0.05, random_state=0).fit(*tiny)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.intercept_, plain.intercept_)


def test_a_callback_gets_the_record(tiny):
    watcher = Watcher()
    model = papers_svc(tol=1e-6).set_callbacks(watcher).fit(*tiny)
    np.testing.assert_equal(watcher.records, list(model.history_))
    last = watcher.records[-1]
    assert isinstance(last, Record)
    assert last.gap == model.gap_
    assert last.objective == model.objective_


def test_all_classes_at_once_are_a_model_at_each_look(three):
    watcher = Watcher()
    model = LinearSVC(multi_class="crammer_singer", tol=1e-6).set_callbacks(watcher).fit(*three)
    np.testing.assert_equal(watcher.records, list(model.history_))
    assert len(watcher.scores) == len(watcher.records) > 1
    assert watcher.scores[-1] == model.score(*three)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["sdca", "pegasos"])
def test_a_callback_gets_a_model_that_predicts(solver, tiny):
    X, y = tiny
    watcher = Watcher()
    model = papers_svc(solver=solver, tol=0.03, random_state=0).set_callbacks(watcher).fit(X, y)
    assert all(0.4 < score <= 1 for score in watcher.scores)
    assert watcher.scores[-1] == model.score(X, y)
    last = watcher.fitted[-1]
    assert last is not model
    np.testing.assert_array_equal(last.coef_, model.coef_)
    assert not np.array_equal(watcher.fitted[0].coef_, model.coef_)


@pytest.mark.parametrize("solver", ["sdca", "newton", "pegasos"])
def test_a_callback_ends_the_fit(solver, tiny):
    watcher = Watcher(looks=2)
    model = papers_svc(solver=solver, tol=1e-12).set_callbacks(watcher).fit(*tiny)  # and nothing warns
    assert model.stop_reason_ == "callback"
    assert len(model.history_) == len(watcher.records) == 2
    assert watcher.calls[-1] == "teardown"
    assert np.isfinite(model.coef_).all()
    assert model.gap_ > 0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_callbacks_of_many_classes(n_jobs, three):
    watcher = Watcher()
    model = papers_svc(n_jobs=n_jobs, random_state=0, tol=1e-4).set_callbacks(watcher).fit(*three)
    assert watcher.calls.count("end look") == sum(map(len, model.history_))
    assert watcher.calls[0] == "setup"
    assert watcher.calls[-2:] == ["end fit", "teardown"]
    assert set(watcher.fitted) == {None}  # one class of three predicts nothing yet


def test_a_callback_ends_the_fit_of_every_class(three):
    watcher = Watcher(looks=1)
    model = papers_svc(tol=1e-12).set_callbacks(watcher).fit(*three)
    assert model.stop_reason_ == "callback"
    assert [len(history) for history in model.history_] == [1, 1, 1]


def test_callbacks_are_torn_down_after_an_error(tiny):
    X, y = tiny
    watcher = Watcher()

    class Faulty(Watcher):
        def on_fit_task_end(self, estimator, context):
            raise RuntimeError("faulty")

    with pytest.raises(RuntimeError, match="faulty"):
        papers_svc().set_callbacks(Faulty(), watcher).fit(X, y)
    assert watcher.calls[-1] == "teardown"


def test_callbacks_can_be_taken_away(tiny):
    watcher = Watcher()
    papers_svc().set_callbacks(watcher).set_callbacks().fit(*tiny)
    assert watcher.calls == []


def test_callbacks_see_the_slack_path(tiny):
    watcher = Watcher()
    model = papers_svc(slack=0.3).set_callbacks(watcher).fit(*tiny)
    assert len(watcher.records) == len(model.history_)
    assert watcher.scores[-1] > 0.7
    assert model.stop_reason_ == "converged"


# --- those that scikit-learn brings -------------------------------------------------------


def test_scikit_learns_progress_bar(tiny, three):
    plain = papers_svc(random_state=0).fit(*tiny)
    model = papers_svc(random_state=0).set_callbacks(ProgressBar()).fit(*tiny)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert papers_svc().set_callbacks(ProgressBar()).fit(*three).coef_.shape == (3, 7)


def test_scikit_learns_progress_bar_over_a_search(tiny):
    search = GridSearchCV(papers_svc(), {"C": [0.1, 1.0]}, cv=2).set_callbacks(ProgressBar())
    assert search.fit(*tiny).best_score_ > 0.5


def test_scikit_learns_scoring_monitor(tiny):
    """It hands the metadata of a task to the scorer, which knows sample weights and the like only."""
    monitor = ScoringMonitor(scoring="accuracy")
    model = papers_svc(random_state=0).set_callbacks(monitor).fit(*tiny)
    scores = [row["accuracy"] for row in monitor.get_logs().data if "accuracy" in row]
    assert len(scores) >= len(model.history_)
    assert scores[-1] == model.score(*tiny)


# --- and hinge's own ----------------------------------------------------------------------


def test_the_bar_of_the_gap(tiny, three, capsys):
    for X, y in (tiny, three):
        plain = papers_svc(random_state=0).fit(X, y)
        model = papers_svc(random_state=0).set_callbacks(GapBar()).fit(X, y)
        np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert capsys.readouterr().out == ""


# --- standard error -----------------------------------------------------------------------

LINE = re.compile(
    r"^\[hinge\] (class \S+: )? *\d+\.\d\d s, [\d,]+ reads"
    r"(, objective \S+, gap \d\.\d\de[-+]\d\d(, about \S+ s left|, no smaller for \d+ looks)?)?"
    r"(, held-out error \d\.\d{4})?$"
)


def test_silent_unless_asked(tiny, capfd):
    papers_svc().fit(*tiny)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("solver", ["sdca", "newton"])
def test_a_line_for_each_look(solver, tiny, capfd):
    model = papers_svc(solver=solver, verbose=1).fit(*tiny)
    out, err = capfd.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == len(model.history_)
    assert all(LINE.match(line) for line in lines)
    assert f"gap {model.gap_:.2e}" in lines[-1]
    assert f"objective {model.objective_:.6g}" in lines[-1]


@pytest.mark.parametrize("model", [SVC(), SVR(), LinearSVC(loss="hinge"), LinearSVC()], ids=str)
def test_lines_have_the_gap_from_the_first_evaluation_on(model, capfd):
    X, y = make_classification(2500, 10, random_state=0)
    clone(model).set_params(verbose=1).fit(X, y)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) > 1 and "gap " in lines[0]
    assert isinstance(model, LinearSVC) or all("gap " in line for line in lines)


MODELS = [
    LinearSVC(),
    LinearSVC(loss="hinge", C=10.0),
    LinearSVC(multi_class="crammer_singer"),
    LinearSVR(),
    SVC(),
    SVR(),
    NuSVC(nu=0.2),
    OneClassSVM(),
]


@pytest.mark.parametrize("rows", [150, 1500])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_fit_that_tells_is_the_same_fit(model, rows):
    X, y = make_classification(rows, 10, random_state=0)
    plain, telling = clone(model).fit(X, y), clone(model).set_params(verbose=1).fit(X, y)
    assert plain.predict(X).tobytes() == telling.predict(X).tobytes()
    np.testing.assert_array_equal(plain.n_iter_, telling.n_iter_)
    assert plain.gap_ == telling.gap_


def test_a_limit_of_reads_is_not_spent_on_lines(tiny, capfd):
    with pytest.warns(ConvergenceWarning):
        telling = papers_svc(verbose=1, max_reads=2000, solver="pegasos").fit(*tiny)
    with pytest.warns(ConvergenceWarning):
        plain = papers_svc(max_reads=2000, solver="pegasos").fit(*tiny)
    assert telling.n_feature_reads_ == plain.n_feature_reads_


def test_lines_of_rows_on_a_disk_count_passes(tmp_path, capfd):
    X, y = make_classification(3000, 20, random_state=0)
    np.save(tmp_path / "X.npy", X)
    LinearSVC(verbose=1, max_memory=1e12).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y)
    assert "passes" not in capfd.readouterr().err  # in memory
    report = to_stderr([], 1e-4, lambda k, problem, record, solution: record, max_time=3.0, cells=1000)
    for k, gap in enumerate([1e3, 1e2, 1e2, 1e2], 1):
        report(0, None, Record(k, float(k), 1500 * k, 0, 1.0, gap, np.nan), None)
    first, second, third, fourth = capfd.readouterr().err.splitlines()
    assert "1,500 reads (1.5 passes)" in first and "left" not in first
    assert second.endswith("about 1 s left")  # six by the gap, and one by the time limit
    assert "s left" in third and fourth.endswith("gap 1.00e+02, no smaller for 2 looks")


def test_lines_name_the_class_and_the_held_out_error(three, capfd):
    X, y = three
    model = papers_svc(verbose=2, target_error=0.0, random_state=0, solver="sdca").fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == sum(map(len, model.history_))
    assert all(LINE.match(line) and "held-out error" in line for line in lines)
    assert {re.search(r"class (\S+):", line)[1] for line in lines} == {"-1", "0", "1"}


def test_a_limit_warns_where_fit_was_called(tiny):
    with pytest.warns(ConvergenceWarning, match=r"iteration limit .* gap of .*tol=1e-09") as caught:
        papers_svc(max_iter=1, tol=1e-9).fit(*tiny)
    assert len(caught) == 1
    assert caught[0].filename == __file__
