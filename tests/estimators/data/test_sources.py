import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from hinge import LinearSVC, LinearSVR
from hinge.access.streams import base
from hinge.estimators.data import sources as streams
from hinge.solvers import ByPasses

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

RNG = np.random.default_rng(0)
X = np.round(8 * RNG.standard_normal((600, 5))).astype(np.float32) / 8
Y = np.where(X[:, 0] + 0.5 * RNG.standard_normal(600) > 0, "yes", "no")


@pytest.fixture
def small(monkeypatch):
    """Blocks of some rows, and rows that do not fit."""
    monkeypatch.setattr(base, "HAND", 2000)
    monkeypatch.setattr(base, "SHORT", 1)
    monkeypatch.setattr(streams, "OF_A_ROW", 1 << 40)


@pytest.fixture
def rows(tmp_path):
    pq.write_table(
        pa.table({f"x{j}": X[:, j] for j in range(5)} | {"answer": Y}), tmp_path / "a.parquet", row_group_size=50
    )
    np.save(tmp_path / "x.npy", X)
    return tmp_path


@pytest.mark.sampled
@pytest.mark.parametrize(
    "settings",
    [{}, {"loss": "hinge", "intercept": "free", "C": 0.1}, {"class_weight": {"yes": 3.0}, "fit_intercept": False}],
    ids=["plain", "free", "weighted"],
)
def test_a_stream_gives_the_model_of_the_array(rows, small, settings):
    weight = RNG.integers(1, 4, 600)
    model = LinearSVC(tol=1e-3, **settings).fit(rows / "a.parquet", "answer", weight)
    best = LinearSVC(tol=1e-6, **settings).fit(X, Y, weight)
    assert model.stop_reason_ == "converged" and model.gap_ <= 1e-3 and isinstance(model.solver_, ByPasses)
    assert best.objective_ * (1 - 1e-6) <= model.objective_ <= best.objective_ * (1 + 1e-3)
    assert model.classes_.tolist() == ["no", "yes"] and model.feature_names_in_.tolist() == [f"x{j}" for j in range(5)]
    assert not hasattr(model, "dual_coef_") and model.bytes_read_ >= X.nbytes * (model.n_iter_ - 1)
    assert model.n_feature_reads_ > X.size and model.n_iter_ > 1


@pytest.mark.slow
def test_all_classes_are_learned_in_the_same_passes(rows, small, capsys):
    y = (X[:, 0] > 0) + 2 * (X[:, 1] > 0.5)
    model = LinearSVC(tol=1e-2, verbose=1).fit(str(rows / "x.npy"), y)
    best = LinearSVC(tol=1e-6).fit(X, y)
    assert model.coef_.shape == (4, 5) and model.gap_ <= 1e-2
    assert np.all(model.objective_ <= best.objective_ * (1 + 1e-2)) and np.all(
        model.objective_ >= best.objective_ * 0.999
    )
    assert model.bytes_read_ <= X.nbytes * (model.n_iter_ + 1)
    assert model.score(X, y) > 0.8
    assert "gap" in capsys.readouterr().err


def test_regression_by_blocks(rows, small):
    y = X @ np.arange(5.0) + 1
    model = LinearSVR(tol=1e-3, C=10.0, loss="squared_epsilon_insensitive").fit(rows / "x.npy", y)
    best = LinearSVR(tol=1e-6, C=10.0, loss="squared_epsilon_insensitive").fit(X, y)
    assert model.gap_ <= 1e-3 and model.objective_ <= best.objective_ * (1 + 1e-3) and model.coef_.shape == (5,)


def test_what_fits_is_loaded_or_used_where_it_lies(rows):
    model = LinearSVC().fit(rows / "a.parquet", "answer")
    plain = LinearSVC().fit(X, Y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.feature_names_in_[0] == "x0" and not isinstance(model.solver_, ByPasses)
    mapped = LinearSVC().fit(np.load(rows / "x.npy", mmap_mode="r"), Y)
    np.testing.assert_array_equal(mapped.coef_, plain.coef_)


def test_a_map_that_does_not_fit_is_read_by_blocks_if_it_can_be(rows, small):
    mapped = np.load(rows / "x.npy", mmap_mode="r")
    assert isinstance(LinearSVC(tol=1e-2).fit(mapped, Y).solver_, ByPasses)
    l1 = LinearSVC(penalty="l1", tol=1e-2).fit(mapped, Y)
    assert not isinstance(l1.solver_, ByPasses)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"penalty": "l1"}, "penalty='l1' needs all rows in memory"),
        ({"multi_class": "crammer_singer"}, "multi_class='crammer_singer' needs all rows"),
        ({"solver": "newton"}, "solver='newton' needs all rows"),
        ({"max_memory": 1000}, "max_memory allows 1,000 bytes, of which the process has"),
        ({"max_memory": -1}, "max_memory must be a number of bytes greater than 0"),
        ({"max_memory": "2G"}, "max_memory must be a number of bytes greater than 0, such as 2e9, or None, got '2G'"),
        ({"checkpoint": 3}, "checkpoint must be the path of a folder"),
    ],
)
def test_what_a_stream_cannot_do_is_said(rows, small, settings, message):
    with pytest.raises(ValueError, match=message):
        LinearSVC(**settings).fit(rows / "a.parquet", "answer")


def test_labels_and_rows_must_fit_together(rows, small):
    with pytest.raises(ValueError, match="no labels of its own"):
        LinearSVC().fit(rows / "x.npy")
    with pytest.raises(ValueError, match="600 rows and 599 labels"):
        LinearSVC().fit(rows / "x.npy", Y[1:])
    with pytest.raises(ValueError, match="is the name of a column"):
        LinearSVC().fit(X, "answer")
    with pytest.raises(ValueError, match="checkpoint is for rows that are read from a disk"):
        LinearSVC(checkpoint=rows / "c").fit(X, Y)


def test_a_checkpoint_of_other_data_or_parameters_is_refused(rows, small):
    LinearSVC(tol=1e-2, checkpoint=rows / "c").fit(rows / "x.npy", Y)
    with pytest.raises(ValueError, match="fit of other data"):
        LinearSVC(tol=1e-2, C=2.0, checkpoint=rows / "c").fit(rows / "x.npy", Y)
    np.save(rows / "x.npy", -X)
    with pytest.raises(ValueError, match="fit of other data"):
        LinearSVC(tol=1e-2, checkpoint=rows / "c").fit(rows / "x.npy", Y)


SCRIPT = """
import sys
import numpy as np
from hinge import LinearSVC
from hinge.access.streams import base
from hinge.monitoring import checkpoint
base.HAND, base.SHORT, checkpoint.EVERY, checkpoint.SHARE = 2000, 1, 0.0, 1.0
Checkpoint = checkpoint.Checkpoint
Checkpoint.__init__.__defaults__ = (0.0,)
folder = sys.argv[1]
y = np.load(folder + "/y.npy")
print("begun", flush=True)
model = LinearSVC(tol=1e-4, checkpoint=sys.argv[2]).fit(folder + "/x.npy", y)
np.save(sys.argv[2] + "/coef.npy", np.append(model.coef_, model.intercept_))
"""


@pytest.mark.slow
def test_a_fit_that_is_killed_goes_on_to_the_same_bits(rows, monkeypatch):
    y = (Y == "yes").astype(int)
    np.save(rows / "y.npy", y)
    monkeypatch.setattr(base, "HAND", 2000)
    monkeypatch.setattr(base, "SHORT", 1)
    whole = LinearSVC(tol=1e-4, checkpoint=rows / "whole").fit(rows / "x.npy", y)

    def started(folder):
        return subprocess.Popen(
            [sys.executable, "-c", SCRIPT, rows, rows / folder], stdout=subprocess.PIPE, env=os.environ
        )

    kills = 0
    for wait in (0.2, 60.0):
        process = started("killed")
        process.stdout.readline()
        end = time.perf_counter() + wait
        while process.poll() is None and time.perf_counter() < end:
            time.sleep(0.01)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.communicate()
        if (rows / "killed" / "coef.npy").exists():
            break
    assert kills
    assert np.load(rows / "killed" / "coef.npy").tobytes() == np.append(whole.coef_, whole.intercept_).tobytes()


def test_sources_are_predicted_in_pieces(rows, monkeypatch):
    monkeypatch.setattr(streams, "PREDICTED", (1000, 1000))
    model = LinearSVC().fit(rows / "a.parquet", "answer")
    expected = (X @ model.coef_.T.astype(np.float32) + model.intercept_).ravel()
    for source in (rows / "a.parquet", str(rows / "*.parquet"), [rows / "a.parquet"]):
        np.testing.assert_allclose(model.decision_function(source), expected, rtol=1e-5, atol=1e-5)
    turned = pa.table({f"x{j}": X[:, j] for j in reversed(range(5))} | {"words": Y})
    pq.write_table(turned, rows / "b.parquet")  # columns by name, whatever else there is
    np.testing.assert_array_equal(model.predict(rows / "b.parquet"), model.predict(rows / "a.parquet"))
    pq.write_table(turned.drop_columns(["x3"]), rows / "c.parquet")
    with pytest.raises(ValueError, match="has no column 'x3'"):
        model.predict(rows / "c.parquet")
    target = LinearSVR().fit(rows / "x.npy", X[:, 0])
    np.testing.assert_allclose(target.predict(rows / "x.npy"), target.predict(X), rtol=1e-5, atol=1e-5)
    np.save(rows / "narrow.npy", X[:, :3])
    with pytest.raises(ValueError, match="X has 3 features, but LinearSVR is expecting 5"):
        target.predict(rows / "narrow.npy")
