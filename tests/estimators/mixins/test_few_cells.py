import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from hinge import SVC, LinearSVC, LinearSVR, Oracle, open_pair, write_pair
from hinge.access import as_table


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))
    X, y = X[rows], y[rows]
    return X[:1200], y[:1200], X[1200:], y[1200:]


@pytest.mark.slow
def test_ten_classes_from_a_part_of_the_pixels(digits):
    X, y, new, _ = digits
    model = LinearSVC(C=0.001).fit(X, y).learn_order(X, ranges=(0, 16))
    expected = model.predict(new)
    labels = model.predict(new, confidence=0.98)
    assert (labels == expected).mean() > 0.96
    bought = model.buy(new, confidence=0.98)
    assert (bought.labels == labels).all() and bought.scores.shape == (len(new), 10)
    assert bought.cells.mean() < 0.75 * 64 and bought.undecided == 0
    assert len(bought.table) == len(new) and len(repr(bought).splitlines()) == 24  # not all arrays, in full
    certain = model.buy(new)
    assert (certain.labels == expected).all() and certain.certain.all()


def test_limits_need_an_order_and_a_new_fit_has_none(digits):
    X, y, new, _ = digits
    model = LinearSVC(C=0.001).fit(X, y == 8)
    with pytest.raises(ValueError, match="call learn_order"):
        model.predict(new, confidence=0.9)
    model.learn_order(X, prices=np.ones(64))
    cheap = model.buy(new, confidence=0.98, max_cost=500.0)
    with pytest.warns(UserWarning, match="rows not decided"):
        labels = model.predict(new, confidence=0.98, max_cost=500.0)
    assert cheap.cost <= 500.0 and (cheap.labels == labels).all()
    assert 0 < cheap.undecided <= len(new) and f"left {cheap.undecided:,} rows undecided" in repr(cheap)
    assert not hasattr(model.fit(X, y == 8), "reading_order_")


def test_what_was_bought_to_learn_teaches_the_order(digits):
    X, y, _, _ = digits
    table = as_table(X, keep=True)
    for i in range(0, 1200, 2):
        table.row(i)
    model = LinearSVC(C=0.001).fit(X, y == 8).learn_order(table)
    cells = table.bill.cells
    assert cells == 600 * 64  # nothing was bought for it
    same = LinearSVC(C=0.001).fit(X, y == 8).learn_order(X[::2])
    assert model.reading_order_.columns.tolist() == same.reading_order_.columns.tolist()
    with pytest.raises(ValueError, match="No row of the table was bought whole"):
        model.learn_order(as_table(X, keep=True))


@pytest.mark.slow
@pytest.mark.parametrize("model", [LinearSVC(C=0.001), LinearSVR(C=0.01), SVC(C=1.0)], ids=lambda m: type(m).__name__)
def test_every_machine_predicts_rows_of_tables(digits, model, tmp_path):
    X, y, new, _ = digits
    expected = model.fit(X, y).predict(new)
    write_pair(sp.csr_array(new), tmp_path / "new")
    for table in (as_table(new), as_table(sp.csr_array(new)), open_pair(tmp_path / "new"), Oracle(as_seller(new))):
        np.testing.assert_allclose(model.predict(table), expected, rtol=1e-5)
    if isinstance(model, LinearSVC):
        with pytest.raises(ValueError, match="has 63 features"):
            model.predict(as_table(new[:, :63]))


def as_seller(X):
    class Seller:
        shape = X.shape

        def row(self, i):
            return X[i]

        def column(self, j):
            return X[:, j]

    return Seller()
