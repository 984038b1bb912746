import json

import pytest

from hinge.experiments import Experiment, Outcome
from hinge.experiments.runner import place, run, stored_results


class Squares(Experiment):
    """Counts its runs in files, so that processes can be counted too."""

    name = "squares"
    folder = None

    def cells(self, scale):
        return [{"k": k, "where": str(self.folder)} for k in range(6)]

    def run(self, cell):
        from pathlib import Path

        with open(Path(cell["where"]) / f"ran_{cell['k']}", "a") as ran:
            ran.write("x")
        if cell["k"] == 4 and (Path(cell["where"]) / "fail").exists():
            raise RuntimeError("four is unlucky")
        return {"square": cell["k"] ** 2}

    def outcome(self, results, scale):
        return Outcome([])


class Watch:
    def __init__(self):
        self.begun, self.ended = [], []

    def begin(self, experiment, cells, stored_results):
        self.begun.append((experiment.name, cells, stored_results))

    def done(self, experiment, cell, failure):
        self.ended.append((cell["k"], failure))
        if cell["k"] == getattr(self, "interrupt_at", None):
            raise KeyboardInterrupt


def squares(folder):
    made = Squares()
    made.folder = folder
    return made


def times_run(folder):
    return [len(path.read_text()) if (path := folder / f"ran_{k}").exists() else 0 for k in range(6)]


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_cells_run_once_and_come_in_order(tmp_path, jobs):
    experiment, watch = squares(tmp_path), Watch()
    for again in range(2):
        (one,) = run([experiment], "tiny", tmp_path / "out", jobs=jobs, progress=watch)
        assert one.results.column("square") == [0, 1, 4, 9, 16, 25]
        assert not one.failures
        assert times_run(tmp_path) == [1] * 6
        assert watch.begun[again] == ("squares", 6, 6 * again)
    assert sorted(k for k, _ in watch.ended) == [0, 1, 2, 3, 4, 5]
    assert all(r.seconds >= 0 and "cores" in r.machine for r in one.results)


def test_an_interrupted_run_goes_on_where_it_was(tmp_path):
    experiment, watch = squares(tmp_path), Watch()
    watch.interrupt_at = 2
    with pytest.raises(KeyboardInterrupt):
        run([experiment], "tiny", tmp_path / "out", progress=watch)
    assert times_run(tmp_path) == [1, 1, 1, 0, 0, 0]
    (one,) = run([experiment], "tiny", tmp_path / "out")
    assert times_run(tmp_path) == [1] * 6
    assert len(one.results) == 6


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_cell_that_fails_costs_no_other_and_is_tried_again(tmp_path, jobs):
    experiment = squares(tmp_path)
    (tmp_path / "fail").touch()
    (one,) = run([experiment], "tiny", tmp_path / "out", jobs=jobs)
    assert one.results.column("square") == [0, 1, 4, 9, 25]
    assert len(one.failures) == 1
    assert "four is unlucky" in one.failures[0]
    assert "test_runner.py, line" in one.failures[0]
    (tmp_path / "fail").unlink()
    (one,) = run([experiment], "tiny", tmp_path / "out", jobs=jobs)
    assert one.results.column("square") == [0, 1, 4, 9, 16, 25]
    assert times_run(tmp_path) == [1, 1, 1, 1, 2, 1]


BROKEN = {
    "cut short": '{"cell": ',
    "a list": "[]",
    "no values": '{"cell": CELL, "values": {}, "seconds": 1, "machine": ""}',
    "another cell": '{"cell": {"k": 1}, "values": {"square": 1}, "seconds": 1, "machine": ""}',
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_measured_again(tmp_path, text):
    experiment, out = squares(tmp_path), tmp_path / "out"
    run([experiment], "tiny", out)
    cell = experiment.cells("tiny")[3]
    place(experiment, cell, out).write_text(text.replace("CELL", json.dumps(cell)))
    assert stored_results(experiment, "tiny", out).column("square") == [0, 1, 4, 16, 25]
    (one,) = run([experiment], "tiny", out)
    assert times_run(tmp_path) == [1, 1, 1, 2, 1, 1]
    assert one.results.column("square") == [0, 1, 4, 9, 16, 25]


def test_an_outdated_file_is_measured_again(tmp_path):
    experiment, out = squares(tmp_path), tmp_path / "out"
    run([experiment], "tiny", out)
    experiment.version = 2
    run([experiment], "tiny", out)
    assert times_run(tmp_path) == [2] * 6


@pytest.mark.slow
def test_an_interrupted_run_in_processes_ends_at_once_and_quietly(tmp_path, recwarn):
    experiment, watch = squares(tmp_path), Watch()
    watch.interrupt_at = 0
    with pytest.raises(KeyboardInterrupt):
        run([experiment], "tiny", tmp_path / "out", jobs=2, progress=watch)
    assert not recwarn.list
    (one,) = run([experiment], "tiny", tmp_path / "out", jobs=2)  # with processes of its own
    assert one.results.column("square") == [0, 1, 4, 9, 16, 25]


def test_a_stand_in_is_not_taken_for_the_set_itself(tmp_path, monkeypatch):
    experiment, cell = squares(tmp_path), {"set": "imdb", "k": 1}
    monkeypatch.setenv("HINGE_DATA", str(tmp_path))
    before = place(experiment, cell, tmp_path)
    (tmp_path / "imdb.train").write_text("1 1:1\n-1 2:1\n")
    assert place(experiment, cell, tmp_path) != before
    assert place(experiment, {"k": 1}, tmp_path) == place(experiment, {"k": 1}, tmp_path)


def test_what_is_kept_is_plain_json(tmp_path):
    experiment = squares(tmp_path)
    run([experiment], "tiny", tmp_path / "out")
    said = json.loads(place(experiment, experiment.cells("tiny")[5], tmp_path / "out").read_text())
    assert said["values"] == {"square": 25}
    assert said["cell"]["k"] == 5
