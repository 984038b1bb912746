"""
Labelling sequences with a decoder of your own
==============================================

The output of a structured machine is whatever a decoder finds the best of. Here it is the labels of all places of a
sequence: the weather of some days, of which only noisy measurements are known. Weather lasts, so that the days before
and after tell something about a day. Three functions say what the machine needs to know: a joint feature map, a loss,
and a decoder.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from hinge import Stop, solve
from hinge.problems import Structured
from hinge.solvers import StructuredPegasos

rng = np.random.default_rng(0)
LABELS, CHANGE, NOISE = 3, 0.15, 1.0
TYPICAL = np.array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]])


def sequence(days=20):
    """Labels that stay for some days, and two measurements of each day."""
    labels = (rng.integers(LABELS) + np.cumsum((rng.random(days) < CHANGE) * rng.integers(1, LABELS, days))) % LABELS
    return TYPICAL[labels] + NOISE * rng.standard_normal((days, 2)), labels


# %%
# What the machine is told
# ------------------------
# The features of a sequence with its labels: the sum of the measurements at each label, how often it occurs, and how
# often each label follows each other one. The loss is the number of wrong labels. The decoder is Viterbi's algorithm;
# without the labels of the sequence, `y=None`, it predicts.


def features(x, y):
    """Sums over places, by label, and counts of neighbours."""
    places, neighbours = np.zeros((LABELS, 3)), np.zeros((LABELS, LABELS))
    np.add.at(places, y, np.column_stack([x, np.ones(len(x))]))
    np.add.at(neighbours, (y[:-1], y[1:]), 1.0)
    return np.concatenate([places.ravel(), neighbours.ravel()])


def loss(y, other):
    """The number of wrong labels."""
    return np.count_nonzero(y != other)


def decode(w, x, y=None):
    """The labels of the highest score; with y, of the highest score plus loss."""
    places, neighbours = w[: 3 * LABELS].reshape(LABELS, 3), w[3 * LABELS :].reshape(LABELS, LABELS)
    scores = x @ places[:, :2].T + places[:, 2]
    if y is not None:
        scores = scores + (np.arange(LABELS) != y[:, None])
    best, back = scores[0], []
    for score in scores[1:]:
        paths = best[:, None] + neighbours
        back.append(paths.argmax(axis=0))
        best = paths.max(axis=0) + score
    labels = [best.argmax()]
    for before in reversed(back):
        labels.append(before[labels[-1]])
    return np.array(labels[::-1])


# %%
# Training
# --------
# Nothing else is known of the outputs, and still the answer has a certificate: the outputs that the decoder found are a
# point of the dual.
train, test = [sequence() for _ in range(100)], [sequence() for _ in range(200)]
problem = Structured(*zip(*train, strict=True), lam=1.0, features=features, loss=loss, decode=decode)
result = solve(problem, StructuredPegasos(), stop=Stop(tol=0.02, max_iter=200 * len(train)))
w = result.solution.w
print(f"gap {result.certificate.gap:.3f} after {result.n_iter / problem.n:.0f} passes")


def error(w):
    """The share of wrong labels in new sequences."""
    return sum(loss(y, decode(w, x)) for x, y in test) / sum(len(y) for _, y in test)


alone = w.copy()
alone[3 * LABELS :] = 0.0
print(f"wrong labels: {error(w):.1%}; {error(alone):.1%} if each day is labelled by itself")

# %%
# The weights of neighbours have learned that weather lasts.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), width_ratios=(3, 1), layout="constrained")
x, y = test[0]
for k, labels in enumerate((y, decode(w, x), decode(alone, x))):
    left.scatter(range(len(y)), np.full(len(y), -k), c=labels, cmap="viridis", marker="s", s=120)
left.set_yticks([0, -1, -2], ["true", "chain", "days alone"])
left.set_xlabel("day")
left.set_ylim(-2.6, 0.6)
image = right.imshow(w[3 * LABELS :].reshape(LABELS, LABELS), cmap="viridis")
right.set(xlabel="next day", ylabel="day", title="score", xticks=range(LABELS), yticks=range(LABELS))
figure.colorbar(image, ax=right)
plt.show()
