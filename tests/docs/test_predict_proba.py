"""The page "Your SVC lost predict_proba?": scripts as they are written for scikit-learn run with another import."""

import numpy as np
import pytest

IMPORT = "from sklearn.svm import"

SNIPPETS = {
    "plain": """
from sklearn.datasets import load_iris
from sklearn.svm import SVC
X, y = load_iris(return_X_y=True)
clf = SVC(probability=True)
clf.fit(X, y)
p = clf.predict_proba(X[:5])
""",
    "pipeline": """
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
X, y = load_breast_cancer(return_X_y=True)
clf = make_pipeline(StandardScaler(), SVC(gamma="auto", probability=True)).fit(X, y)
p = clf.predict_proba(X)
""",
    "auc": """
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC
X, y = make_classification(n_samples=300, random_state=42)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=42)
model = SVC(kernel="linear", C=1.0, probability=True, random_state=42).fit(X_train, y_train)
p = model.predict_proba(X_test)
auc = roc_auc_score(y_test, p[:, 1])
assert auc > 0.8
""",
    "soft vote": """
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
X, y = load_iris(return_X_y=True)
parts = [("lr", LogisticRegression(max_iter=1000)), ("dt", DecisionTreeClassifier(max_depth=3)),
         ("svc", SVC(gamma=0.1, kernel="rbf", probability=True))]
vote = VotingClassifier(estimators=parts, voting="soft", weights=[2, 1, 2]).fit(X, y)
p = vote.predict_proba(X)
""",
    "grid": """
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
X, y = load_wine(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
grid = {"C": [0.1, 1, 10], "kernel": ["linear", "rbf"]}
search = GridSearchCV(SVC(probability=True), grid, scoring="neg_log_loss", cv=3).fit(X, y)
p = search.best_estimator_.predict_proba(X)
""",
    "nu": """
from sklearn.datasets import load_iris
from sklearn.svm import NuSVC
X, y = load_iris(return_X_y=True)
clf = NuSVC(nu=0.2, probability=True).fit(X, y)
p = clf.predict_proba(X)
""",
    "one against the rest": """
from sklearn.datasets import load_digits
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC
X, y = load_digits(n_class=4, return_X_y=True)
clf = OneVsRestClassifier(SVC(kernel="linear", probability=True, class_weight="balanced")).fit(X, y)
p = clf.predict_proba(X)
""",
    "stack": """
from sklearn.datasets import load_iris
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
X, y = load_iris(return_X_y=True)
stack = StackingClassifier([("svm", SVC(probability=True))], LogisticRegression(), stack_method="predict_proba", cv=3)
p = stack.fit(X, y).predict_proba(X)
""",
    "folds": """
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_predict
from sklearn.svm import SVC
X, y = load_iris(return_X_y=True)
p = cross_val_predict(SVC(kernel="rbf", C=1, gamma=0.5, probability=True), X, y, cv=3, method="predict_proba")
""",
    "words": """
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
texts = ["a good film", "great fun", "good and great", "a bad film", "no fun", "bad and dull"] * 5
labels = ["pos", "pos", "pos", "neg", "neg", "neg"] * 5
clf = Pipeline([("tfidf", TfidfVectorizer()), ("clf", SVC(kernel="linear", probability=True))])
clf.fit(texts, labels)
p = clf.predict_proba(["good fun", "dull"])
assert (clf.predict(["good fun", "dull"]) == ["pos", "neg"]).all()
assert p[0, 1] > p[1, 1] and list(clf.classes_) == ["neg", "pos"]
""",
}


def test_there_are_ten():
    assert len(SNIPPETS) == 10 and all(code.count(IMPORT) == 1 for code in SNIPPETS.values())


@pytest.mark.parametrize("name", SNIPPETS)
def test_they_run_unchanged_but_for_the_import(name):
    """And without a warning, which is an error here."""
    names = {}
    exec(SNIPPETS[name].replace(IMPORT, "from hinge import"), names)
    p = names["p"]
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
