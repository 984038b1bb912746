import copy
import pickle
from contextlib import ExitStack

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hinge
from hinge import SVC, SVCCV, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM, tune
from hinge.access.arrays import Home, copies_to_host
from hinge.estimators.data import any_arrays
from hinge.estimators.data.any_arrays import host_model

torch = pytest.importorskip("torch")

rng = np.random.default_rng(0)
X = rng.standard_normal((300, 6))
Y = {"codes": np.digitize(X[:, 0], [-0.5, 0.5]), "targets": X[:, 1] + 0.1 * rng.standard_normal(300)}
T = torch.from_numpy(X)
MODELS = [SVC(), SVC(kernel="linear"), SVC(multiclass="ovr"), SVC(break_ties=True), NuSVC(nu=0.2), LinearSVC()]
MODELS += [SVR(), NuSVR(), LinearSVR(), OneClassSVM(), OneClassSVM(kernel="linear", nu=0.2)]


@pytest.fixture
def dispatch():
    with ExitStack() as stack:
        try:
            stack.enter_context(config_context(array_api_dispatch=True))
        except ImportError as error:  # scikit-learn before 1.7 needs another package for it
            pytest.skip(str(error))
        yield


def labels(model):
    return Y["targets" if isinstance(model, SVR | NuSVR | LinearSVR) else "codes"]


@pytest.mark.filterwarnings("ignore:The fit ended because no more progress")
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_tensors_as_arrays_and_back(model, dispatch):
    theirs, ours = copy.copy(model).fit(X, labels(model)), copy.copy(model).fit(T, torch.from_numpy(labels(model)))
    for name in ("predict", "decision_function", "score_samples"):
        if hasattr(model, name):
            found = getattr(ours, name)(T)
            assert isinstance(found, torch.Tensor)
            np.testing.assert_array_equal(found.numpy(), getattr(theirs, name)(X))
    assert isinstance(ours.intercept_, torch.Tensor)
    np.testing.assert_array_equal(ours.intercept_.numpy(), theirs.intercept_)
    if hasattr(model, "score"):
        weight = torch.linspace(0.0, 1.0, len(X))
        assert ours.score(T, torch.from_numpy(labels(model)), sample_weight=weight) == theirs.score(
            X, labels(model), sample_weight=weight.numpy()
        )


def test_without_dispatch_results_are_arrays_as_in_scikit_learn():
    model = SVC().fit(T, torch.from_numpy(Y["codes"]))
    assert type(model.predict(T)) is type(model.support_vectors_) is np.ndarray
    assert type(model.predict(X)) is np.ndarray and not hasattr(model, any_arrays.KEPT)


def test_rows_as_a_keyword_and_labels_of_another_kind(dispatch):
    strict = pytest.importorskip("array_api_strict")
    ours = SVC().fit(X=T, y=strict.asarray(Y["codes"]), sample_weight=np.ones(300))
    theirs = SVC().fit(X, torch.from_numpy(Y["codes"]), torch.ones(300))
    np.testing.assert_array_equal(ours.predict(X=T).numpy(), theirs.predict(X))


# --- where torch computes: "cpu:0" is torch's CPU, on which tensors stay as on a GPU


ON_A_DEVICE = [SVC(gamma=0.2), SVC(kernel="linear"), NuSVC(nu=0.2, gamma=0.2), SVR(gamma=0.2), OneClassSVM(gamma=0.2)]
ON_A_DEVICE += [LinearSVC()]


@pytest.mark.parametrize("model", ON_A_DEVICE, ids=repr)
def test_rows_on_a_device_give_the_answer_of_rows_that_are_sent(model, dispatch):
    model.device = "cpu:0"
    sent, lying = copy.copy(model).fit(X, labels(model)), copy.copy(model).fit(T, labels(model))
    assert lying.device == "cpu:0"
    for name in ("predict", "decision_function"):
        if hasattr(model, name):
            np.testing.assert_allclose(getattr(lying, name)(T).numpy(), getattr(sent, name)(X), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("model", [SVC(device="cpu:0"), LinearSVC(device="cpu:0")], ids=repr)
def test_no_row_and_no_kernel_value_comes_to_the_host(model, dispatch):
    rng, n = np.random.default_rng(0), 400
    for d in (4, 400):
        rows = torch.from_numpy(rng.standard_normal((n, d)))
        y = (rows[:, 0] > 0).long()
        with copies_to_host() as fit:
            model.fit(rows, y)
        assert fit.largest <= 8 * max(n, 4 * d)  # one number a row, or a few weight vectors
        assert fit.bytes <= 8 * (16 * n + 64 * d)
        with copies_to_host() as copies:
            found = model.predict(rows)
            model.decision_function(rows)
        assert copies.bytes == 0 and isinstance(found, torch.Tensor)


def test_probabilities_need_decision_values_only(dispatch):
    model = SVC(device="cpu:0").fit(T, Y["codes"])
    with copies_to_host() as copies:
        model.calibrate(T, Y["codes"])
    assert copies.bytes > 0
    with copies_to_host() as copies:
        found = model.predict_proba(T)
    assert copies.bytes == 3 * 8 * 300
    np.testing.assert_allclose(found.sum(1).numpy(), 1.0)
    assert isinstance(model.probA_, torch.Tensor)
    np.testing.assert_array_equal(found.argmax(1).numpy(), model.predict(T).numpy())
    model.calibrate(method="isotonic")  # with the rows to which the model refers
    assert isinstance(model._step_values, torch.Tensor) and not hasattr(model, "probA_")
    assert isinstance(model.predict_proba(T), torch.Tensor)


def test_probabilities_within_the_fit(dispatch):
    ours = SVC(device="cpu:0", probability=True).fit(T, Y["codes"])
    theirs = SVC(device="cpu:0", probability=True).fit(X, Y["codes"])
    np.testing.assert_allclose(ours.predict_proba(T).numpy(), theirs.predict_proba(X), atol=1e-6)


def test_text_labels_stay_of_numpy(dispatch):
    names = np.array(["ash", "birch", "cedar"])[Y["codes"]]
    model = SVC(device="cpu:0").fit(T, names)
    assert type(model.predict(T)) is type(model.classes_) is np.ndarray
    assert model.score(T, names) > 0.9


def test_other_types_of_numbers_on_a_device():
    for rows in (T.float(), T.half(), (10 * T).int(), T > 0):
        model = SVC(device="cpu:0").fit(rows, Y["codes"])
        given = rows.numpy()
        np.testing.assert_array_equal(model.predict(rows), SVC(device="cpu:0").fit(given, Y["codes"]).predict(given))
        LinearSVC(device="cpu:0", tol=0.1).fit(rows, Y["codes"]).predict(rows)


@pytest.mark.parametrize("model", [SVC(device="cpu:0", gamma=0.2), LinearSVC(device="cpu:0")], ids=repr)
def test_tensors_by_columns(model):
    by_rows = model.fit(T, Y["codes"]).decision_function(T)
    columns = T.T.contiguous().T
    np.testing.assert_allclose(model.fit(columns, Y["codes"]).decision_function(columns), by_rows, atol=1e-6)


def test_a_pipeline_keeps_its_arrays(dispatch):
    model = make_pipeline(StandardScaler(), SVC(device="cpu:0")).fit(T, torch.from_numpy(Y["codes"]))
    assert isinstance(model.predict(T), torch.Tensor)
    assert model.score(T, torch.from_numpy(Y["codes"])) > 0.9


def test_what_only_the_host_can_do_is_done_there(dispatch):
    for model in (SVC(kernel=lambda A, B: A @ B.T), LinearSVC("l1", dual=False), LinearSVR()):
        y = labels(model)
        np.testing.assert_array_equal(model.fit(T, y).predict(T).numpy(), copy.copy(model).fit(X, y).predict(X))
    model = SVC(device="cpu:0").fit(T, Y["codes"])
    assert isinstance(model.predict_set(T), torch.Tensor)
    small = model.compress(T, n_support=40)
    assert isinstance(small.support_vectors_, torch.Tensor) and len(small.support_) == 40
    assert isinstance(small.predict(T), torch.Tensor)


def test_a_search(dispatch):
    ours = SVCCV(device="cpu:0", Cs=3, gammas=1, cv=3).fit(T, torch.from_numpy(Y["codes"]))
    theirs = SVCCV(device="cpu:0", Cs=3, gammas=1, cv=3).fit(X, Y["codes"])
    assert ours.C_ == theirs.C_ == tune(SVC(device="cpu:0"), T, torch.from_numpy(Y["codes"]), Cs=3, gammas=1, cv=3).C
    np.testing.assert_array_equal(ours.predict(T).numpy(), theirs.predict(X))


# --- the model


def test_fits_after_one_another(dispatch):
    model = SVC(device="cpu:0", warm_start=True).fit(T, Y["codes"])
    model.fit(T, Y["codes"])
    assert isinstance(model.dual_coef_, torch.Tensor)
    model.fit(X, Y["codes"])
    assert type(model.dual_coef_) is np.ndarray and host_model(model) is model
    linear = LinearSVC().partial_fit(T, Y["codes"], classes=[0, 1, 2])
    before = linear.coef_.clone()
    assert not torch.equal(linear.partial_fit(T, Y["codes"]).coef_, before)


def test_a_fit_that_fails_changes_nothing(dispatch):
    model = SVC(device="cpu:0").fit(T, Y["codes"])
    before = vars(model).copy()
    with pytest.raises(ValueError, match="NaN"):
        model.fit(T * torch.nan, Y["codes"])
    assert vars(model) == before


def test_attributes_that_users_set_count(dispatch):
    model = LinearSVC(device="cpu:0").fit(T, Y["codes"])
    before = model.decision_function(T)
    model.intercept_ = model.intercept_ + 1.0
    torch.testing.assert_close(model.decision_function(T), before + 1.0)


def test_copies_files_and_conversions(tmp_path, dispatch):
    model = SVC(device="cpu:0").fit(T, Y["codes"])
    expected = model.predict(T)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert torch.equal(other.predict(T), expected)
    hinge.save(model, tmp_path / "model.hinge")
    loaded = hinge.load(tmp_path / "model.hinge")
    assert type(loaded.support_vectors_) is np.ndarray
    np.testing.assert_array_equal(loaded.predict(X), expected.numpy())
    np.testing.assert_array_equal(model.to_sklearn().predict(X), expected.numpy())
    assert hinge.explain.row_table(model, T, Y["codes"]).row.max() < 300


def test_other_methods_of_linear_models(dispatch):
    model = LinearSVC(device="cpu:0").fit(T, Y["codes"])
    expected = model.decision_function(T)
    assert sp.issparse(model.sparsify().coef_)
    torch.testing.assert_close(model.decision_function(T), expected)
    assert isinstance(model.densify().coef_, torch.Tensor)
    assert "LinearSVC" in model._repr_html_()
    model.learn_order(T)
    assert torch.equal(model.predict(T, confidence=1.0), model.predict(T))


def test_rows_of_another_kind_than_those_of_the_fit(dispatch):
    model = SVC().fit(T, Y["codes"])
    with pytest.raises(ValueError, match=r"SVC.predict\(\) must use the same namespace.*torch on cpu.*NumPy"):
        model.predict(X)
    with config_context(array_api_dispatch=False):
        assert type(model.predict(X)) is np.ndarray
    assert isinstance(SVC().fit(X, Y["codes"]).predict(T), torch.Tensor)  # such as one that was loaded


# --- what cannot be


def test_devices_that_contradict_each_other():
    there = Home("torch", torch.device("cuda", 1))
    assert any_arrays._computes_on(SVC(), there) == "cuda:1"
    assert any_arrays._computes_on(SVC(device="cuda"), Home("cupy", 1)) == "cuda:1"
    assert any_arrays._computes_on(LinearSVR(), there) == "cuda:1"
    assert any_arrays._computes_on(SVC(), Home("torch", torch.device("cpu"))) is None
    assert any_arrays._computes_on(SVC(device="cuda"), Home("torch", torch.device("cpu"))) is None
    with pytest.raises(ValueError, match=r"X lies on cuda:1, and device='cpu' was asked for: give X on the host"):
        any_arrays._computes_on(SVC(device="cpu"), there)
    with pytest.raises(ValueError, match=r"device='cuda:0' was asked for: give X there"):
        any_arrays._computes_on(SVC(device="cuda:0"), there)


@pytest.mark.parametrize("kind", [SVC, LinearSVC])
@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (T * torch.nan, "contains NaN"),
        (T * 1e200 * 1e200, "contains infinity"),
        (T * 1e160, "squares overflow"),
        (T[:, :0], "one column or more"),
        (T[0], "must be a table"),
        (T.to(torch.complex64), "real numbers"),
        (T.to_sparse(), "sparse tensor"),
    ],
)
def test_bad_rows_on_a_device(kind, rows, sentence):
    with pytest.raises(ValueError, match=sentence):
        kind(device="cpu:0").fit(rows, Y["codes"][: len(rows)])


def test_bad_labels_and_widths_on_a_device():
    with pytest.raises(ValueError, match="one label a row"):
        SVC(device="cpu:0").fit(T, Y["codes"][:-1])
    with pytest.raises(ValueError, match="requires y"):
        SVC(device="cpu:0").fit(T, None)
    with pytest.raises(ValueError, match="X has 3 features, but SVC is expecting 6 features as input"):
        SVC(device="cpu:0").fit(T, Y["codes"]).predict(T[:, :3])


@pytest.mark.gpu
@pytest.mark.parametrize("kind", [SVC, LinearSVC])
def test_on_a_gpu(kind):
    if not torch.cuda.is_available():
        pytest.skip("There is no GPU.")
    rows, y = T.cuda(), torch.from_numpy(Y["codes"]).cuda()
    with copies_to_host() as copies:
        model = kind().fit(rows, y)
    assert copies.largest <= 3 * 8 * 300
    with copies_to_host() as copies:
        found, values = model.predict(rows), model.decision_function(rows)
    assert copies.bytes == 0 and found.is_cuda and values.is_cuda and model.intercept_.is_cuda
    assert model.score(rows, y) == pytest.approx(kind(device="cuda").fit(X, Y["codes"]).score(X, Y["codes"]), abs=0.01)
    with pytest.raises(ValueError, match="device='cpu' was asked for"):
        kind(device="cpu").fit(rows, y)
