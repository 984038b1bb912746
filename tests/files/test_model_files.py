"""Model files: whole or not at all, the same model or a sentence, and never code."""

import io
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from hinge import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from hinge.files import machines, model_files
from hinge.files.model_files import ModelFileError, load, save
from hinge.kernels import Function, Gaussian, Laplacian, Polynomial
from hinge.solvers import SDCA, Amplified, BlockDual, LevelBlocks, Newton, Pegasos

LABELS = {
    "signs": np.array([-1, 1], np.int8),
    "ints": np.array([3, 7]),
    "floats": np.array([1.0, 2.0]),
    "bools": np.array([False, True]),
    "text": np.array(["ham", "späm"]),
    "objects": np.array(["ham", "spam, with a\nline"], dtype=object),
    "three ints": np.array([0, 1, 5]),
    "three words": np.array(["a", "bb", "ccc"]),
}


def labelled(y, classes):
    """Two or three classes in place of the two of `y`."""
    codes = (y > 0).astype(int)
    if len(classes) == 3:
        codes[::4] = 2
    return classes[codes]


@pytest.fixture(scope="module")
def content(fitted, tmp_path_factory):
    """The bytes of a model file."""
    path = tmp_path_factory.mktemp("model") / "m.hinge"
    save(fitted, path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("examples")


def assert_refused(model, path, sentence, monkeypatch):
    """Neither is it saved, nor is what was saved without a look loaded."""
    with pytest.raises(ValueError, match=sentence):
        save(model, path)
    with monkeypatch.context() as blind:
        blind.setattr(model_files, "_model", lambda header, members: None)
        save(model, path)
    with pytest.raises(ModelFileError, match=sentence):
        load(path)


def assert_same(a, b):
    assert type(a) is type(b)
    assert a.get_params(deep=False) == b.get_params(deep=False)
    for name in machines.ATTRIBUTES:
        assert hasattr(a, name) == hasattr(b, name), name
        if hasattr(a, name):
            one, other = getattr(a, name), getattr(b, name)
            assert type(one) is type(other), name
            if sp.issparse(one):
                assert one.dtype == other.dtype
                one, other = one.toarray(), other.toarray()
            one, other = np.asarray(one), np.asarray(other)
            assert (one.dtype, one.shape) == (other.dtype, other.shape), name
            same = np.array_equal(one, other) if one.dtype == object else one.tobytes() == other.tobytes()
            assert same, name


def rewritten(content, changes, sealed=True):
    """The archive with members changed; `sealed` gives it the right checksum again."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members.update(changes)
    if sealed:
        members.pop(model_files.CHECKSUM)
        members[model_files.CHECKSUM] = model_files._checksum(members)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return stream.getvalue()


def header_with(content, **changes):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        header = json.loads(archive.read(model_files.HEADER))
    return {model_files.HEADER: json.dumps(header | changes).encode()}


# --- round trips -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", LABELS)
def test_round_trip_is_bit_equal(kind, tiny_csr, tmp_path):
    X, y = tiny_csr
    model = LinearSVC(lam=0.01, random_state=3).fit(X, labelled(y, LABELS[kind]))
    save(model, tmp_path / "m.hinge")
    again = load(tmp_path / "m.hinge")
    assert_same(model, again)
    assert again.classes_.dtype == LABELS[kind].dtype
    for rows in (X, X.toarray(), X.toarray().astype(np.float64)):
        assert model.decision_function(rows).tobytes() == again.decision_function(rows).tobytes()
        expected = model.predict(rows)
        assert again.predict(rows).dtype == expected.dtype
        assert again.predict(rows).tolist() == expected.tolist()


def test_parameters_of_all_kinds(tiny_csr, tmp_path):
    X, y = tiny_csr
    solver = SDCA(first_pass="plain", block_rows=4)
    parameters = {
        "C": np.float64(0.1),
        "solver": solver,
        "class_weight": {-1: 1.0, np.int64(1): 2},
        "max_time": 1e6,
        "max_iter": 7,
        "tol": 0.5,
        "random_state": 5,
        "intercept": "penalized",
        "warm_start": True,
    }
    model = LinearSVC(**parameters).fit(X, y)
    save(model, tmp_path / "m.hinge")
    again = load(tmp_path / "m.hinge")
    assert_same(model, again)
    assert again.solver == solver
    assert again.class_weight == {-1: 1.0, 1: 2}
    assert type(again.C) is float


def test_nested_solver(fitted, tmp_path):
    model = load_of(fitted, tmp_path, solver=Amplified(solver=Pegasos(), delta=0.2))
    assert model.solver == Amplified(solver=Pegasos(), delta=0.2)


def load_of(fitted, tmp_path, **parameters):
    """The fitted model with other parameters, saved and loaded."""
    model = LinearSVC(**parameters)
    for name in machines.ATTRIBUTES:
        if hasattr(fitted, name):
            setattr(model, name, getattr(fitted, name))
    save(model, tmp_path / "m.hinge")
    return load(tmp_path / "m.hinge")


def test_what_is_not_plain_gets_its_default(fitted, tmp_path):
    class Mine(Newton):
        pass

    unstorable = {"random_state": np.random.RandomState(0), "solver": Mine(), "class_weight": [1, 2]}
    model = load_of(fitted, tmp_path, lam=0.25, **unstorable)
    assert (model.random_state, model.solver, model.class_weight) == (None, "auto", None)
    assert model.lam == 0.25


def test_numbers_that_json_lacks(fitted, tmp_path):
    fitted = load_of(fitted, tmp_path)
    fitted.gap_ = np.inf
    fitted.objective_ = float("nan")
    again = load_of(fitted, tmp_path)
    assert again.gap_ == np.inf
    assert np.isnan(again.objective_)
    with zipfile.ZipFile(tmp_path / "m.hinge") as archive:
        json.loads(archive.read(model_files.HEADER), parse_constant=pytest.fail)


@pytest.mark.parametrize("three", [False, True])
def test_probabilities(three, tiny, tmp_path, monkeypatch):
    X, y = tiny
    y = np.where(X[:, 0] > 0.5, 2, y) if three else y
    for model in (LinearSVC().fit(X, y).calibrate(X, y), SVC(probability=True).fit(X, y), SVC().fit(X, y)):
        save(model, tmp_path / "m.hinge")
        again = load(tmp_path / "m.hinge")
        assert_same(model, again)
        assert hasattr(again, "predict_proba") == hasattr(model, "predict_proba")
        if hasattr(model, "predict_proba"):
            assert again.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
            model.probA_ = model.probA_[:0]
            assert_refused(model, tmp_path / "m.hinge", "one for each decision value", monkeypatch)


@pytest.mark.parametrize("method", ["isotonic", "venn_abers"])
def test_steps_of_probabilities(method, tiny, tmp_path, monkeypatch):
    X, y = tiny
    model = LinearSVC().fit(X, y).calibrate(X, y, method=method)
    save(model, tmp_path / "m.hinge")
    assert load(tmp_path / "m.hinge").predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    model._step_scores = model._step_scores[::-1].copy()
    assert_refused(model, tmp_path / "m.hinge", "not in order", monkeypatch)


def test_feature_names(tiny, tmp_path):
    X, y = tiny
    frame = pd.DataFrame(X.astype(np.float32), columns=[f"größe {j}" for j in range(X.shape[1])])
    model = LinearSVC(lam=0.01).fit(frame, y)
    save(model, tmp_path / "m.hinge")
    again = load(tmp_path / "m.hinge")
    assert again.feature_names_in_.tolist() == frame.columns.tolist()
    assert again.predict(frame).tolist() == model.predict(frame).tolist()
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[frame.columns[::-1]])


def test_a_stream_has_no_certificate_to_store(tiny_csr, tmp_path):
    X, y = tiny_csr
    model = LinearSVC(lam=0.01, random_state=0).partial_fit(X, y, classes=[-1, 1])
    save(model, tmp_path / "m.hinge")
    again = load(tmp_path / "m.hinge")
    assert not hasattr(again, "gap_")
    assert again.predict(X).tolist() == model.predict(X).tolist()


def test_a_loaded_model_can_learn_on(fitted, tiny_csr, tmp_path):
    X, y = tiny_csr
    again = load_of(fitted, tmp_path, lam=0.01, random_state=0)
    before = again.coef_.copy()
    again.partial_fit(X[:20], y[:20])
    assert not np.array_equal(before, again.coef_)
    assert again.score(X, y) > 0.7


def test_numpy_reads_it_too_and_the_same_model_gives_the_same_bytes(fitted, content, tmp_path):
    save(fitted, tmp_path / "m.hinge")
    assert (tmp_path / "m.hinge").read_bytes() == content
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        assert np.array_equal(archive["coef_"], fitted.coef_)


# --- kernel machines -------------------------------------------------------------------------------


KERNEL_MACHINES = {
    "two classes": SVC(),
    "pairs": SVC(kernel=Polynomial(2, 0.5, 1.0), decision_function_shape="ovo", warm_start=True),
    "the rest": SVC(multiclass="ovr", gamma=0.5, solver=BlockDual(block=16), class_weight="balanced"),
    "linear": SVC(kernel="linear", tol=1e-6),
    "laplacian": SVC(kernel=Laplacian(0.3), fit_intercept=False),
    "precomputed": SVC(kernel="precomputed"),
    "slack": SVC(slack=0.02, gamma=0.3),  # well below what the smaller class bears
    "nu": NuSVC(nu=0.1, solver=LevelBlocks(block=16)),
}


@pytest.fixture(scope="module")
def kernel_file(tiny_csr, tmp_path_factory):
    """A fitted machine of three classes on sparse rows, and the bytes of its file."""
    X, y = tiny_csr
    model = SVC(gamma=0.5, random_state=0).fit(X, labelled(y, np.array([0, 1, 2])))
    path = tmp_path_factory.mktemp("kernel") / "m.hinge"
    save(model, path)
    return model, path.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNEL_MACHINES)
@pytest.mark.parametrize("form", ["dense", "float32", "csr_array", "csr_matrix"])
def test_kernel_machines(name, form, tiny, tmp_path):
    model, (X, y) = KERNEL_MACHINES[name], tiny
    X = X.astype(np.float32) if form == "float32" else X
    X = getattr(sp, form)(X) if form.startswith("csr") else X
    if name == "precomputed":
        X = X @ X.T
        X = X.toarray() if sp.issparse(X) else X
    words = ["a", "bb"] if name in ("two classes", "slack") else ["a", "bb", "ccc"]
    model = clone(model).fit(X, labelled(y, np.array(words)))
    save(model, tmp_path / "m.hinge")
    again = load(tmp_path / "m.hinge")
    assert_same(model, again)
    assert model.decision_function(X).tobytes() == again.decision_function(X).tobytes()
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert again.kernel_ == model.kernel_
    assert again.fit(X, labelled(y, np.array(words))).gap_ <= 1e-3
    assert b"pickle" not in (tmp_path / "m.hinge").read_bytes()


@pytest.mark.sampled
@pytest.mark.parametrize("form", ["dense", "csr_matrix"])
@pytest.mark.parametrize(
    "model",
    [
        LinearSVR(),
        SVR(kernel="poly", degree=2),
        NuSVR(nu=0.3, C=10.0),
        OneClassSVM(nu=0.2),
        OneClassSVM(kernel="linear"),
    ],
)
def test_models_without_classes(model, form, tiny, tmp_path):
    X, y = tiny
    t = X[:, 0] - 2.0 * X[:, 1] + y
    X = X + 3.0 if form == "dense" else sp.csr_matrix(X + 3.0)
    model = clone(model).fit(X, t)
    save(model, tmp_path / "m.hinge")
    again = load(tmp_path / "m.hinge")
    assert_same(model, again)
    assert again.predict(X).tobytes() == model.predict(X).tobytes()
    if isinstance(model, OneClassSVM):
        assert again.score_samples(X).tobytes() == model.score_samples(X).tobytes()
        assert again.radius_ == model.radius_ or np.isnan(model.radius_)
    content = (tmp_path / "m.hinge").read_bytes()
    (tmp_path / "m.hinge").write_bytes(rewritten(content, header_with(content, attributes={"n_features_in_": 8})))
    with pytest.raises(ModelFileError, match="fits together"):
        load(tmp_path / "m.hinge")


def test_a_kernel_that_is_code_is_refused(tiny, tmp_path):
    X, y = tiny
    for model in (SVC(kernel=lambda A, B: A @ B.T).fit(X, y), SVC(kernel=Function(lambda a, b: a @ b)).fit(X, y)):
        with pytest.raises(ValueError, match=r"model files hold no code: use pickle .*kernel='precomputed'"):
            save(model, tmp_path / "m.hinge")
    assert list(tmp_path.iterdir()) == []


def test_a_machine_whose_parameters_were_changed_since(tiny, tmp_path):
    X, y = tiny
    model = SVC(kernel=Gaussian(0.5)).fit(X, y).set_params(kernel=lambda A, B: A @ B.T)
    save(model, tmp_path / "m.hinge")
    again = load(tmp_path / "m.hinge")
    assert again.kernel == "rbf"  # the default
    assert model.decision_function(X).tobytes() == again.decision_function(X).tobytes()


@pytest.mark.slow
def test_bytes_of_a_kernel_machine(kernel_file, folder):
    model, content = kernel_file
    survived = sum(
        same_or_sentence(model, content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :], folder / "k")
        for at in range(0, len(content), 11)
    )
    assert survived < 0.2 * len(content) / 11


@pytest.mark.slow
def test_sealed_nonsense_of_a_kernel_machine(kernel_file, tmp_path):
    model, content = kernel_file
    n = len(model.support_)
    indices = model.support_vectors_.indices.copy()
    indices[0] = 10**6
    for changes in (
        {"dual_coef_.npy": npy(np.ones((2, n - 1)))},
        {"dual_coef_.npy": npy(np.ones((4, n)))},
        {"dual_coef_.npy": npy(np.ones((2, n), int))},
        {"intercept_.npy": npy(np.ones(2))},
        {"n_support_.npy": npy(np.array([n, 1, -1]))},
        {"n_support_.npy": npy(model.n_support_ + 1)},
        {"support_.npy": npy(model.support_ + 60)},
        {"support_.npy": npy(model.support_[:-1])},
        {"support_vectors_.indices.npy": npy(indices)},
        {"support_vectors_.indptr.npy": npy(model.support_vectors_.indptr[:-1])},
        {"support_vectors_.data.npy": npy(np.array(["a"] * len(indices)))},
        {"support_vectors_.npy": npy(np.ones((n, 3)))},
        {"classes_.npy": npy(np.arange(4))},
        header_with(content, attributes={}),
    ):
        (tmp_path / "m.hinge").write_bytes(rewritten(content, changes))
        with pytest.raises(ModelFileError, match="does not hold a model that fits together"):
            load(tmp_path / "m.hinge")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        attributes = json.loads(archive.read(model_files.HEADER))["attributes"]
    for name, value in (
        ("kernel_", {"kernel": "Function", "settings": {"function": "print"}}),
        ("kernel_", {"kernel": "Gaussian", "settings": {"sigma": 1.0}}),
        ("kernel_", "rbf"),
        ("support_vectors_", {"csr": "csc_array", "shape": [n, 7]}),
        ("support_vectors_", {"csr": "csr_array", "shape": [n, 9]}),
        ("shape_fit_", {"tuple": [60, 8]}),
    ):
        changes = header_with(content, attributes={**attributes, name: value})
        (tmp_path / "m.hinge").write_bytes(rewritten(content, changes))
        with pytest.raises(ModelFileError, match="fits together"):
            load(tmp_path / "m.hinge")


# --- refusals to save ------------------------------------------------------------------------------


def test_only_fitted_models_are_saved(tmp_path):
    with pytest.raises(NotFittedError):
        save(LinearSVC(), tmp_path / "m.hinge")
    with pytest.raises(TypeError, match="not a Pegasos:"):
        save(Pegasos(), tmp_path / "m.hinge")
    assert list(tmp_path.iterdir()) == []


def test_what_could_not_be_loaded_replaces_no_model(tiny, tmp_path):
    """A fit on other columns that was interrupted, and a parameter that is none, after a model was saved."""
    X, y = tiny
    model, path = LinearSVC().fit(X, y), tmp_path / "m.hinge"
    save(model, path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"LinearSVC does not fit together.*C must be .* Fit it again"):
        save(clone(model).fit(X, y).set_params(C=-1.0), path)
    model.n_features_in_ += 1
    with pytest.raises(ValueError, match="does not fit together"):
        save(model, path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_labels_that_no_file_can_hold(fitted, tmp_path):
    model = load_of(fitted, tmp_path)
    (tmp_path / "m.hinge").unlink()
    model.classes_ = np.array([("a", 1), ("b", 2), None], dtype=object)[:2]
    with pytest.raises(ValueError, match="classes_ cannot be stored"):
        save(model, tmp_path / "m.hinge")
    assert list(tmp_path.iterdir()) == []


# --- the same model or a sentence ------------------------------------------------------------------


def same_or_sentence(fitted, damaged, path):
    """Whether the damaged file still gives the model; whatever is neither that nor a sentence fails."""
    path.write_bytes(damaged)
    try:
        model = load(path)
    except ModelFileError as error:
        sentence = str(error)
    else:
        assert_same(fitted, model)
        return True
    assert str(path) in sentence
    assert sentence.endswith(".")
    return False


@pytest.mark.slow
def test_every_byte_counts_or_does_not_matter(fitted, content, folder):
    survived = sum(
        same_or_sentence(fitted, content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :], folder / "m")
        for at in range(0, len(content), 2)
    )
    assert survived < 0.2 * len(content)  # dates and such of the archive


@pytest.mark.slow
@settings(max_examples=300)
@given(st.data())
def test_flipped_bits(fitted, content, folder, data):
    damaged = bytearray(content)
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=3)):
        damaged[at] ^= data.draw(st.integers(1, 255))
    same_or_sentence(fitted, bytes(damaged), folder / "m")


@pytest.mark.slow
@settings(max_examples=100)
@given(st.data())
def test_cut_pieces(fitted, content, folder, data):
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(content))] * 2)))
    same_or_sentence(fitted, content[:start] + content[stop:], folder / "m")


@pytest.mark.slow
@settings(max_examples=100)
@given(length=st.integers(0, 10**6))
@example(0)
@example(1)
def test_a_file_cut_short_is_never_a_model(content, folder, length):
    (folder / "m").write_bytes(content[: length % len(content)])
    with pytest.raises(ModelFileError, match=r"cut short|empty|not a model file"):
        load(folder / "m")


@pytest.mark.slow
@settings(max_examples=100)
@given(foreign=st.binary(max_size=200))
@example(foreign=b"PK\x03\x04")
@example(foreign=b"PK\x05\x06" + bytes(18))
def test_foreign_bytes(folder, foreign):
    (folder / "m").write_bytes(foreign)
    with pytest.raises(ModelFileError):
        load(folder / "m")


@pytest.mark.parametrize(
    ("start", "advice"), [("svm_type c_svc", "svm-predict"), ("solver_type L2R", "linear-predict")]
)
def test_models_of_others_are_named(start, advice, folder):
    (folder / "other").write_text(start)
    with pytest.raises(ModelFileError, match=advice):
        load(folder / "other")


def test_other_archives(tmp_path, content):
    np.savez(tmp_path / "m.npz", coef_=np.ones(3))
    with pytest.raises(ModelFileError, match=r"m\.npz is an archive, but not a model file"):
        load(tmp_path / "m.npz")
    with zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(model_files.HEADER, b" " * 10**6)
    with pytest.raises(ModelFileError, match="damaged"):
        load(tmp_path / "bomb")


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        ({"version": 2}, "version 2 of the format, but hinge .* reads versions up to 1: upgrade hinge"),
        ({"version": "1"}, "states no version"),
        ({"format": "hinge.Forest"}, "does not hold a hinge.LinearSVC or hinge.LinearSVR"),
        ({"format": "hinge.SVC"}, "is missing"),
        ({"format": ["hinge.SVC"]}, "damaged|does not hold"),
        ({"parameters": {"D": 1}}, "fits together"),
        ({"parameters": {"solver": {"solver": "Magic", "settings": {}}}}, "names no solver"),
        ({"parameters": {"solver": {"solver": "SDCA", "settings": {"first_pass": "x"}}}}, "first_pass must be"),
        ({"attributes": {"n_features_in_": 8}}, "8 features"),
        ({"attributes": {}}, "n_features_in_ is missing"),
        ({"attributes": {"n_features_in_": 7, "predict": 1}}, "predict is not an attribute"),
        ({"attributes": [1]}, "fits together"),
    ],
)
def test_headers_that_say_something_else(header, sentence, content, tmp_path):
    path = tmp_path / "m.hinge"
    path.write_bytes(rewritten(content, header_with(content, **header)))
    with pytest.raises(ModelFileError, match=sentence) as caught:
        load(path)
    assert str(path) in str(caught.value)


def npy(array, **options):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asanyarray(array), **options)
    return stream.getvalue()


def test_edited_numbers(fitted, content, tmp_path):
    path = tmp_path / "m.hinge"
    edits = (
        {"coef_.npy": npy(2 * fitted.coef_)},
        {"gap_.npy": npy(0.0)},
        {model_files.CHECKSUM: b""},
        header_with(content, hinge="9"),
    )
    for changes in edits:
        path.write_bytes(rewritten(content, changes, sealed=False))
        with pytest.raises(ModelFileError, match="checksum is wrong"):
            load(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"coef_.npy": npy(np.ones((2, 7)))},
        {"coef_.npy": npy(np.ones((1, 7), int))},
        {"classes_.npy": npy(np.arange(4))},
        {"classes_.npy": npy(np.ones((2, 2)))},
        {"intercept_.npy": npy(np.ones((1, 1)))},
        {"coef_.npy": b"\x93NUMPY"},
        {"coef_.npy": b""},
        {"fit.npy": npy(1)},
    ],
)
def test_sealed_nonsense(changes, content, tmp_path):
    (tmp_path / "m.hinge").write_bytes(rewritten(content, changes))
    with pytest.raises(ModelFileError, match="does not hold a model that fits together"):
        load(tmp_path / "m.hinge")


class Mischief:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_no_pickle_is_opened(content, tmp_path):
    trap = tmp_path / "sprung"
    pickle.loads(pickle.dumps(Mischief(trap)))
    assert trap.exists()  # the trap works
    trap.unlink()
    array = npy(np.array([Mischief(trap), Mischief(trap)], dtype=object), allow_pickle=True)
    (tmp_path / "m.hinge").write_bytes(rewritten(content, {"classes_.npy": array}))
    with pytest.raises(ModelFileError, match="fits together"):
        load(tmp_path / "m.hinge")
    assert not trap.exists()
    assert b"pickle" not in content


def test_a_folder_is_no_model_file(tmp_path):
    with pytest.raises(ModelFileError, match="is a folder, and a model is one file"):
        load(tmp_path)
