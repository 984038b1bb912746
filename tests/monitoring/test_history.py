import pickle

from hinge.monitoring import History, Record, Stop
from hinge.problems import Regularized
from hinge.solvers import SDCA, solve


def test_columns_by_name():
    history = History([Record(1, 0.1, 10, 0, 0.5, 0.3, 0.2), Record(2, 0.2, 20, 0, 0.4, 0.1, 0.1)])
    assert history.column("feature_reads") == [10, 20]
    assert history.column("gap") == [0.3, 0.1]
    assert pickle.loads(pickle.dumps(history)) == history
    assert isinstance(pickle.loads(pickle.dumps(history)), History)


def test_records_of_a_run_only_grow(tiny):
    history = solve(Regularized(*tiny, 0.01), SDCA(), stop=Stop(1e-6)).history
    assert len(history) > 1
    for name in ("iteration", "seconds", "feature_reads"):
        column = history.column(name)
        assert column == sorted(column)
        assert column[0] > 0
