"""
Text, and the words that decide
===============================

A linear machine on word counts: which words speak for a class, and how few of them the 1-norm needs.
"""

# %%
# Some text
# ---------
# Reviews of a kitchen, made up of phrases that praise, phrases that blame, and phrases that do neither. One review in
# twenty has the wrong mark.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split

from hinge import LinearSVC
from hinge.explain import feature_table

rng = np.random.default_rng(0)
GOOD = [
    "crisp crust",
    "warm welcome",
    "fresh herbs",
    "generous portions",
    "perfectly cooked",
    "lovely garden",
    "friendly waiter",
]
BAD = ["cold soup", "rude waiter", "stale bread", "long wait", "overcooked fish", "noisy room", "tiny portions"]
PLAIN = ["we came on monday", "the table by the window", "my sister ordered pasta", "the bill came", "there was music"]


def review(good):
    """Some plain phrases, and more of one kind than of the other."""
    telling = list(rng.choice(GOOD if good else BAD, 3)) + list(rng.choice(BAD if good else GOOD, 1))
    return " and ".join(rng.permutation(telling + list(rng.choice(PLAIN, 3))))


marks = rng.random(1200) < 0.5
reviews = [review(mark) for mark in marks]
given = np.where(rng.random(len(marks)) < 0.05, ~marks, marks)
train, test, y, y_test = train_test_split(reviews, np.where(given, "good", "bad"), random_state=0)
print(train[0])

# %%
# A fit and its certificate
# -------------------------

words = TfidfVectorizer()
X, X_test = words.fit_transform(train), words.transform(test)
model = LinearSVC(C=1.0).fit(X, y)
print(f"error {1 - model.score(X_test, y_test):.3f}, certified gap {model.gap_:.1e}, ended by {model.stop_reason_!r}")

# %%
# The words
# ---------
# A weight alone says little: a rare word may have a large one. `feature_table` multiplies it by the spread of the
# feature, which is how far the decision value moves with it.

table = feature_table(model, X, names=words.get_feature_names_out(), top=16)
order = np.argsort(table.effect)
colours = np.where(table.effect[order] > 0, "tab:blue", "tab:orange")
fig, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
ax.barh(np.array(table.feature)[order], table.effect[order], color=colours)
ax.axvline(0, color="grey", lw=0.8)
ax.set(xlabel="effect on the decision value (right: good, left: bad)", title="The sixteen words that move it most")
plt.show()

# %%
# Fewer words
# -----------
# With the 1-norm most weights are exactly zero.

sparse = LinearSVC(penalty="l1", C=0.3).fit(X, y)
print(f"{(sparse.coef_ != 0).sum()} of {X.shape[1]} words, error {1 - sparse.score(X_test, y_test):.3f}")
