"""Transformers of scikit-learn: what they learned comes back, what points into rows is computed anew."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, SelectPercentile, VarianceThreshold, chi2
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from hinge.datasets.base import plain_array
from hinge.files.plain_values import LEARNED, stored_transformer, transformer_of, width_of

NAN = float("nan")
WORDS = ["the cat sat", "the dog ran off", "a cat and a dog", "sat"]
LETTERS = np.array([["x", 1.5], ["y", None], ["x", 2.5], ["z", None], [NAN, 1.5]], dtype=object)
HOLES = np.array([[1.0, NAN, NAN], [2.0, 3.0, NAN], [NAN, 5.0, NAN], [2.0, 3.0, NAN]])
COUNTS = np.random.default_rng(0).integers(0, 9, (12, 5)).astype(float)
CASES = [
    (StandardScaler(), COUNTS),
    (StandardScaler(with_mean=False, with_std=False), COUNTS),
    (MinMaxScaler(feature_range=(-1, 1), clip=True), COUNTS),
    (MaxAbsScaler(), COUNTS.astype(np.float32)),
    (RobustScaler(with_centering=False), COUNTS),
    (Normalizer("l1"), COUNTS + 1),
    (Binarizer(threshold=2.0), COUNTS),
    (FunctionTransformer(), COUNTS),
    (OneHotEncoder(handle_unknown="ignore"), LETTERS),
    (OneHotEncoder(drop="if_binary", sparse_output=False, dtype=np.float32), np.array([["a"], ["b"]])),
    (OneHotEncoder(min_frequency=2, drop="first", handle_unknown="infrequent_if_exist"), LETTERS[:, :1]),
    (OneHotEncoder(categories=[[0, 1, 2, 3]], drop=[2], max_categories=None), np.array([[0], [1], [3]])),
    (OrdinalEncoder(encoded_missing_value=-1, min_frequency=2), LETTERS[:, :1]),
    (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-2), LETTERS),
    (SimpleImputer(add_indicator=True), HOLES),
    (SimpleImputer(strategy="most_frequent"), LETTERS[:, :1]),
    (SimpleImputer(strategy="constant", fill_value="?", missing_values=None), LETTERS[:3]),
    (MissingIndicator(), HOLES),
    (CountVectorizer(ngram_range=(1, 2), stop_words=["the"]), WORDS),
    (TfidfVectorizer(sublinear_tf=True, dtype=np.float32), WORDS),
    (TfidfVectorizer(use_idf=False, norm=None, vocabulary={"cat": 1, "dog": 0}), WORDS),
    (HashingVectorizer(n_features=32), WORDS),
    (TfidfTransformer(), COUNTS),
    (SelectKBest(chi2, k=2), COUNTS),
    (SelectPercentile(percentile=50), COUNTS),
    (VarianceThreshold(0.1), COUNTS),
    (PCA(3, whiten=True, random_state=np.random.RandomState(0)), COUNTS),
    (TruncatedSVD(2, random_state=0), COUNTS),
    (Nystroem(n_components=4, gamma=0.1, random_state=0), COUNTS),
    (RBFSampler(n_components=6, random_state=0), COUNTS),
]


def there_and_back(part):
    arrays = {}
    found = stored_transformer(part, "0.", arrays)
    unpacked = {name.removesuffix(".npy"): plain_array(content) for name, content in arrays.items()}
    again = transformer_of(found, "0.", unpacked)
    assert not unpacked
    return again


def dense(a):
    return a.toarray() if hasattr(a, "toarray") else np.asarray(a)


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore:Skipping features")
@pytest.mark.parametrize(("part", "X"), CASES, ids=lambda case: type(case).__name__ if hasattr(case, "fit") else "")
def test_the_same_rows_from_the_same(part, X):
    part = clone(part).fit(X, np.arange(len(X)) % 2)
    again = there_and_back(part)
    expected, found = part.transform(X), again.transform(X)
    assert type(found) is type(expected) and found.dtype == expected.dtype
    assert np.array_equal(dense(found), dense(expected), equal_nan=expected.dtype.kind == "f")
    assert width_of(again) == expected.shape[1]
    if hasattr(part, "get_feature_names_out") and not isinstance(part, FunctionTransformer | HashingVectorizer):
        assert again.get_feature_names_out().tolist() == part.get_feature_names_out().tolist()


def test_all_have_a_case():
    assert {type(part) for part, _ in CASES} == set(LEARNED)


def test_names_and_frames():
    frame = pd.DataFrame(COUNTS, columns=list("abcde"))
    part = StandardScaler().set_output(transform="pandas").fit(frame)
    again = there_and_back(part)
    pd.testing.assert_frame_equal(again.transform(frame), part.transform(frame))


@pytest.mark.parametrize(
    "part",
    [FunctionTransformer(np.log1p), CountVectorizer(tokenizer=str.split), SelectKBest(lambda X, y: X[0])],
    ids=lambda part: type(part).__name__,
)
def test_code_is_refused(part):
    with pytest.raises(ValueError, match="cannot be stored, as model files hold no code"):
        stored_transformer(part, "", {})


def forged(key, value, of="attributes"):
    return lambda found: found[of].update({key: value})


@pytest.mark.parametrize(
    ("part", "X", "change"),
    [
        (StandardScaler(), COUNTS, forged("mean_", {"strings": ["a"] * 5})),
        (StandardScaler(), COUNTS, forged("n_features_in_", 1 << 40)),
        (StandardScaler(), COUNTS, forged("n_features_in_", 4)),
        (StandardScaler(), COUNTS, forged("transform", 4)),
        (StandardScaler(), COUNTS, forged("with_mean", "perhaps", "parameters")),
        (StandardScaler(), COUNTS, forged("feature_names_in_", {"strings": ["a"]})),
        (FunctionTransformer(), COUNTS, forged("func", {"function": "print"}, "parameters")),
        (OneHotEncoder(), LETTERS[:, :1], forged("categories_", {"list": []})),
        (OneHotEncoder(), LETTERS[:, :1], forged("categories_", {"list": [{"strings": []}]})),
        (OneHotEncoder(), LETTERS[:, :1], forged("_n_features_outs", {"list": [0]})),
        (OneHotEncoder(min_frequency=2), LETTERS[:, :1], forged("_infrequent_indices", {"list": [{"tuple": [9]}]})),
        (TfidfVectorizer(), WORDS, forged("vocabulary_", {"strings": ["cat"] * 9})),
        (TfidfVectorizer(), WORDS, forged("vocabulary_", {"strings": ["a", "b"]})),
        (SimpleImputer(), COUNTS, forged("_fit_dtype", {"dtype": "M8[s]", "of": "dtype"})),
    ],
)
def test_forged_attributes_are_refused(part, X, change):
    """By the checks, or by the row that is put through; never by compiled code that trusts them."""
    part = clone(part).fit(X)
    arrays = {}
    found = stored_transformer(part, "", arrays)
    change(found)
    unpacked = {name.removesuffix(".npy"): plain_array(content) for name, content in arrays.items()}
    with pytest.raises((ValueError, TypeError, KeyError, AttributeError)):
        width_of(transformer_of(found, "", unpacked))


def test_rare_categories_must_be_categories():
    part = OneHotEncoder(min_frequency=2).fit(LETTERS[:, :1])
    arrays = {}
    found = stored_transformer(part, "", arrays)
    for rare in ([7], [-1], [1, 1]):
        with pytest.raises(ValueError, match="not among the categories"):
            transformer_of(found, "", {"_infrequent_indices.0": np.array(rare)})
