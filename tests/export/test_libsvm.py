"""LIBSVM's files: svm-predict says what our models say, and we what its models say."""

import numpy as np
import pytest
from export.made_up import KERNEL, MODELS, fitted
from export.tools import program, run, write_rows

import hinge
from hinge.export import read_libsvm, write_libsvm


def decisions(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.mark.sampled
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", KERNEL)
def test_there_and_back(name, sparse, tmp_path):
    model, X = fitted(name, sparse)
    write_libsvm(model, tmp_path / "m.svm")
    again = read_libsvm(tmp_path / "m.svm", n_features=5)
    assert type(again) is type(model)
    assert np.allclose(decisions(again, X), decisions(model, X), rtol=1e-9, atol=1e-9)
    hinge.save(again, tmp_path / "m.hinge")  # whatever is read is a model like others
    assert np.allclose(hinge.load(tmp_path / "m.hinge").predict(X), again.predict(X))


@pytest.mark.parametrize("name", KERNEL)
def test_svm_predict_says_the_same(name, tmp_path):
    predict = program("svm-predict")
    model, X = fitted(name)
    write_libsvm(model, tmp_path / "m.svm")
    run(predict, write_rows(X, tmp_path / "rows"), tmp_path / "m.svm", tmp_path / "out")
    found, expected = np.loadtxt(tmp_path / "out"), model.predict(X)
    if not hasattr(model, "decision_function"):
        assert np.allclose(found, expected, atol=1e-4)  # it writes six digits
        return
    values = model.decision_function(X)
    clear = np.abs(values) > 1e-9 if values.ndim == 1 else slice(None)
    assert (found == expected)[clear].all()


@pytest.mark.parametrize("name", ["two svc", "three svc", "three nu"])
def test_probabilities(name, tmp_path):
    model, X = fitted(name, probability=True)
    write_libsvm(model, tmp_path / "m.svm")
    again = read_libsvm(tmp_path / "m.svm", n_features=5)
    assert np.allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-9)
    predict = program("svm-predict")
    run(predict, "-b", 1, write_rows(X, tmp_path / "rows"), tmp_path / "m.svm", tmp_path / "out")
    table = np.loadtxt(tmp_path / "out", skiprows=1)
    agrees = table[:, 0] == model.predict(X)
    assert agrees.mean() > 0.8
    assert np.abs(table[:, 1:] - model.predict_proba(X))[agrees].max() < 5e-3


@pytest.mark.parametrize(
    ("options", "kinds"), [("-s 0 -b 1", 4), ("-s 1 -n 0.1 -t 0", 2), ("-s 2 -n 0.2", 1), ("-s 3 -t 1", 0), ("-s 4", 0)]
)
def test_models_of_svm_train(options, kinds, tmp_path):
    """Its labels come in the order of the rows, which is not sorted."""
    train, predict = program("svm-train"), program("svm-predict")
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(90, 4)) * (rng.random((90, 4)) < 0.6), 2)
    t = X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=90)
    y = t if kinds == 0 else np.array([7, -1, 3, 2])[np.argsort(np.argsort(t)) * kinds // 90]
    rows = write_rows(X, tmp_path / "rows", y)
    run(train, "-q", *options.split(), rows, tmp_path / "m.svm")
    model = read_libsvm(tmp_path / "m.svm", n_features=4)
    run(predict, *(("-b", 1) if "-b" in options else ()), rows, tmp_path / "m.svm", tmp_path / "out")
    found = np.loadtxt(tmp_path / "out", skiprows=1 if "-b" in options else 0)
    if "-b" in options:
        table, words = found, (tmp_path / "out").read_text().split("\n")[0].split()[1:]
        p = table[:, 1:][:, np.argsort([int(word) for word in words])]
        chosen = model.classes_[model.predict_proba(X).argmax(axis=1)]
        agrees = chosen == table[:, 0]
        assert agrees.mean() > 0.8
        assert np.abs(p - model.predict_proba(X))[agrees].max() < 5e-3
        run(predict, rows, tmp_path / "m.svm", tmp_path / "out")
        found = np.loadtxt(tmp_path / "out")
    if kinds == 0:
        assert np.allclose(model.predict(X), found, atol=1e-4)
    else:
        off = model.predict(X) != found
        near = np.abs(model.decision_function(X)) < 1e-6 if kinds < 3 else np.zeros(90, bool)
        assert not off[~near].any()


def test_precomputed_kernels(tmp_path):
    _, X = fitted("two svc")
    K = X @ X.T + 1.0
    model = hinge.SVC(kernel="precomputed").fit(K, X[:, 0] > X[:, 1])
    write_libsvm(model, tmp_path / "m.svm")
    again = read_libsvm(tmp_path / "m.svm", n_features=80)
    assert np.allclose(again.decision_function(K), model.decision_function(K), rtol=1e-9)


def test_labels(tmp_path):
    _, X = fitted("two svc")
    model = hinge.SVC().fit(X, np.where(X[:, 0] > X[:, 1], "yes", "no"))
    with pytest.raises(ValueError, match=r"whole numbers, .* are \['no', 'yes'\]: with number_classes=True"):
        write_libsvm(model, tmp_path / "m.svm")
    write_libsvm(model, tmp_path / "m.svm", number_classes=True)
    assert (model.classes_[read_libsvm(tmp_path / "m.svm").predict(X)] == model.predict(X)).all()


def test_what_libsvm_has_not(tmp_path):
    _, X = fitted("two svc")
    y = np.arange(80) % 3
    with pytest.raises(TypeError, match="use write_liblinear"):
        write_libsvm(hinge.LinearSVC().fit(X, y), tmp_path / "m")
    with pytest.raises(ValueError, match="no Laplacian kernel"):
        write_libsvm(hinge.SVC(kernel="laplacian").fit(X, y), tmp_path / "m")
    with pytest.raises(ValueError, match="multiclass='ovo'"):
        write_libsvm(hinge.SVC(multiclass="ovr").fit(X, y), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
    assert set(KERNEL) < set(MODELS)


def test_damaged_files_are_refused_in_a_sentence(tmp_path):
    model, X = fitted("three svc", probability=True)
    write_libsvm(model, tmp_path / "m.svm")
    text = (tmp_path / "m.svm").read_text()
    rng = np.random.default_rng(0)
    cuts = [text[: int(at)] for at in rng.integers(0, len(text), 40)]
    words = [("rbf", "wavelet"), ("c_svc", "d_svc"), ("nr_class 3", "nr_class 4"), ("SV\n", ""), ("rho ", "rho nan ")]
    words += [("label 3", "label 5"), ("probA ", "probA 1 "), ("1:", "x:"), (" 1:", " 99999999999:"), ("2:", "-2:")]
    edits = [text.replace(*pair, 1) for pair in words] + ["", "SV", "\nSV\n", "svm_type c_svc\nSV\n"]
    refused = 0
    for changed in cuts + edits:
        (tmp_path / "d.svm").write_text(changed)
        try:
            again = read_libsvm(tmp_path / "d.svm", n_features=5)
        except ValueError as error:
            assert "is not a model file of LIBSVM that fits together" in str(error)
            refused += 1
        else:
            assert np.isfinite(again.decision_function(X)).all()
    assert refused >= len(edits) + 30
