"""
Which tests are worth their price
=================================

A diagnosis is to be learned from laboratory tests that cost money, twice: to train the model, and for every patient
to come. How much will an accuracy cost? Which tests should be bought at all? And which of them for this patient?

The measurements are the breast cancer data of scikit-learn (Wisconsin). **The prices are made up**: 1 for a mean value
of an image, 4 for a standard error, 10 for a worst value.
"""

# %%
# What an accuracy will cost
# --------------------------
# Before anything is bought, nothing can be known. A pilot of a stated cost tells what an error will probably cost, if
# all tests of random patients are bought, and between what limits. What it bought is not paid for again.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import hinge
from hinge import LinearSVC, Oracle

warnings.simplefilter("ignore", ConvergenceWarning)  # fits that may not read all rows say that they have no certificate
data = load_breast_cancer()
prices = np.array([10.0 if "worst" in name else 4.0 if "error" in name else 1.0 for name in data.feature_names])
X, X_new, y, y_new = train_test_split(data.data, data.target, test_size=169, random_state=0)
scaler = StandardScaler().fit(X)
X, X_new = scaler.transform(X), scaler.transform(X_new)
everything = len(y) * prices.sum()


class Laboratory:
    """Sells single tests of patients."""

    shape = X.shape

    def row(self, i):
        return X[i]

    def column(self, j):
        return X[:, j]

    def cells(self, i, columns):
        return X[i, columns]


model = LinearSVC(lam=0.01, loss="hinge", random_state=0)
plan = hinge.plan_cost(model, Oracle(Laboratory(), prices=prices), y, error=0.05, pilot_cost=0.25 * everything)
print(f"5% error: about {plan.cost:.0f}, between {plan.low:.0f} and {plan.high:.0f}; all tests cost {everything:.0f}")

# %%
# Which tests to buy
# ------------------
# With `solver="thrifty"` some patients are bought whole, each test is judged by what it explains for its price, and
# only those that are worth it are bought of the other patients. All others have a weight of exactly zero.

bought = LinearSVC(lam=0.01, loss="hinge", solver="thrifty", random_state=0)
bought.fit(Oracle(Laboratory(), prices=prices, max_cost=0.2 * everything), y)
used = np.flatnonzero(bought.coef_[0])
print(f"paid {bought.cost_:.0f}; uses {len(used)} of {len(prices)} tests")
print(f"error on new patients {1 - bought.score(X_new, y_new):.3f}")
print(f"a new patient costs {prices[used].sum():g} instead of {prices.sum():g}")

# %%
# Cost and error, with and without a choice of tests. The frugal learner, which is the default, chooses patients, not
# tests: where many tests say nearly the same, as here, it errs as little or less for the same money, but every new
# patient costs the full price.

shares, errors, rows = [0.1, 0.2, 0.4, 0.8], {}, {}
for solver in ("thrifty", "frugal"):
    fits = [
        LinearSVC(lam=0.01, loss="hinge", solver=solver, random_state=seed).fit(
            Oracle(Laboratory(), prices=prices, max_cost=share * everything), y
        )
        for share in shares
        for seed in range(3)
    ]
    errors[solver] = np.reshape([1 - fit.score(X_new, y_new) for fit in fits], (-1, 3)).mean(axis=1)
    rows[solver] = np.reshape([prices[fit.coef_[0] != 0].sum() for fit in fits], (-1, 3)).mean(axis=1)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for solver in errors:
    left.plot(shares, errors[solver], "o-", label=solver)
    right.plot(shares, rows[solver], "o-", label=solver)
left.set(xlabel="share of the full price, to train", ylabel="error on new patients", ylim=0)
right.set(xlabel="share of the full price, to train", ylabel="price of a new patient", ylim=0)
left.legend()
plt.show()

# %%
# Which tests for this patient
# ----------------------------
# Most new patients need not even these tests. `learn_order` puts them in the order of what they tell for their price,
# and `buy` stops for each patient as soon as the diagnosis is sure enough. The order is kept in a model file.

bought.learn_order(X, prices=prices)
price_of = np.concatenate([[0.0], np.cumsum(bought.reading_order_.prices)])
for confidence in (0.99, 0.95):
    receipt = bought.buy(X_new, confidence=confidence)
    wrong = np.mean(receipt.labels != y_new)
    paid = price_of[receipt.cells].mean()
    print(f"{confidence:.0%}: {receipt.cells.mean():.1f} tests for {paid:.1f}; error {wrong:.3f}")
