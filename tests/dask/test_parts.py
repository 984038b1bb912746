import numpy as np
import pytest
import scipy.sparse as sp

from hinge.dask.parts import ClusterTask, part_of, prepared, problem_of
from hinge.problems import Regularized
from hinge.problems.svm.losses import HINGE

rng = np.random.default_rng(0)
X = rng.standard_normal((12, 3))
y = np.resize(["cat", "dog", "eel"], 12)


def test_what_is_known_of_a_part():
    part, facts = prepared(2, False, [X[:5], X[5:]], [y[:5], y[5:]], [np.ones(5), np.arange(7.0)])
    assert (part.number, part.n, facts.rows, facts.cells, facts.columns) == (2, 12, 12, 36, 3)
    assert facts.labels.tolist() == ["cat", "dog", "eel"]
    whole = np.concatenate([np.ones(5), np.arange(7.0)])
    np.testing.assert_allclose(facts.masses, [whole[y == label].sum() for label in facts.labels])


def test_labels_become_numbers_among_all_classes():
    part = part_of(
        prepared(0, False, [X[:3]], [np.array(["eel", "cat", "eel"])], None), np.array(["cat", "dog", "eel"])
    )
    assert part.y.tolist() == [2, 0, 2]


def test_chunks_without_rows_and_without_weight_are_left_out():
    part, facts = prepared(
        0, False, [X[:0], X[:4], X[4:]], [y[:0], y[:4], y[4:]], [np.ones(0), np.ones(4), np.zeros(8)]
    )
    assert (part.n, facts.rows) == (4, 4)
    _, facts = prepared(0, True, [X[:0]], [np.zeros(0)], None)
    assert (facts.rows, facts.columns) == (0, 3)


def test_errors_name_the_part():
    broken = X.copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"Part 4: .*NaN"):
        prepared(4, False, [broken], [y], None)
    with pytest.raises(ValueError, match=r"Part 1, chunk 1 of it: its columns are 2, not 3"):
        prepared(1, False, [X, X[:, :2]], [y, y], None)
    with pytest.raises(ValueError, match=r"Part 1: X has 12 rows and y has the shape \(11,\)"):
        prepared(1, False, [X], [y[1:]], None)
    with pytest.raises(ValueError, match=r"Part 0: .*sample_weight"):
        prepared(0, False, [X], [y], [np.ones(3)])


def test_the_problem_of_dense_and_sparse_chunks_is_that_of_their_rows():
    labels, weight = np.where(y == "dog", 1, -1), rng.random(12)
    loaded = prepared(0, False, [X[:7], sp.csr_array(X[7:])], [y[:7], y[7:]], [weight[:7], weight[7:]])
    part = part_of(loaded, np.array(["cat", "dog", "eel"]))
    per_class = np.array([1.0, 2.0, 3.0])
    factor = np.where(labels > 0, 2.0, 1.0)
    whole = Regularized(X, labels, 0.1, weight=weight * factor)
    task = ClusterTask(1, per_class, 0.1, whole.total, HINGE, "none", 1.0, 0.0, 1)
    w = rng.standard_normal(3)
    assert problem_of(part, task).mean_loss(w) == pytest.approx(whole.mean_loss(w), rel=1e-14)


def test_rows_may_weigh_nothing_in_one_task():
    part = part_of(prepared(0, False, [X[:2], X[2:]], [y[:1].repeat(2), y[2:]], None), np.array(["cat", "dog", "eel"]))
    task = ClusterTask(1, np.array([0.0, 1.0]), 0.1, 1.0, HINGE, "none", 1.0, 0.0, 1)
    assert np.flatnonzero(problem_of(part, task).weight).tolist() == np.flatnonzero(part.y == 1).tolist()
    assert problem_of(part._replace(y=np.zeros(12, np.uint8)), task) is None


def test_weights_of_some_chunks_are_one_where_others_have_none():
    part, _ = prepared(0, False, [X[:5], X[5:]], [y[:5], y[5:]], [np.ones(5), np.arange(1.0, 8.0)])
    assert part.weight.tolist() == [1.0] * 5 + list(range(1, 8))
    assert prepared(0, False, [X[:5], X[5:]], [y[:5], y[5:]], None)[0].weight is None


def test_rows_of_a_single_chunk_are_not_copied():
    part, _ = prepared(0, False, [X], [y], None)
    assert np.shares_memory(part.X, X)
