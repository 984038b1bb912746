"""
A kernel on strings
===================

Points need not be vectors. Here they are words of two made-up languages, and the kernel counts the pairs of
neighbouring letters that two words share. It is a Python function, called only for the values that are needed.
"""

# %%
from collections import Counter
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

from hinge import SVC
from hinge.kernels import Function

rng = np.random.default_rng(0)
NORTH, SOUTH = ["sk", "tr", "ol", "eg", "un", "vi", "ar", "kr"], ["la", "mi", "so", "re", "ta", "no", "li", "ca"]


def word(syllables, others):
    """Three to five syllables, of which now and then one is borrowed."""
    return "".join(rng.choice(others if rng.random() < 0.15 else syllables) for _ in range(rng.integers(3, 6)))


y = np.arange(400) % 2
words = [word(SOUTH, NORTH) if south else word(NORTH, SOUTH) for south in y]
print(words[:6])

# %%
# The kernel
# ----------


def pairs(word):
    """How often each pair of neighbouring letters is there."""
    return Counter(a + b for a, b in pairwise(word))


def shared(a, b):
    """The cosine between the counts of two words."""
    a, b = pairs(a), pairs(b)
    dot = sum(count * b[pair] for pair, count in a.items())
    return dot / np.sqrt(sum(c * c for c in a.values()) * sum(c * c for c in b.values()))


model = SVC(kernel=Function(shared, on="pairs"), C=10.0).fit(words[:300], y[:300])
print(f"error {1 - model.score(words[300:], y[300:]):.3f}, gap {model.gap_:.1e}")
print(f"{model.n_kernel_evals_} kernel values, {model.n_kernel_evals_ / 300**2:.0%} of the matrix")

# %%
# What it learned
# ---------------
# Decision values of words that it has not seen, and of two that mix both languages.

fig, ax = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
values = model.decision_function(words[300:])
bins = np.linspace(values.min(), values.max(), 25)
for south, name in enumerate(["north", "south"]):
    ax.hist(values[y[300:] == south], bins, alpha=0.7, label=f"words of the {name}")
ax.set_ylim(0, ax.get_ylim()[1] * 1.25)
for mixed, height in (("skolami", 0.92), ("tremisun", 0.82)):
    at = float(model.decision_function([mixed])[0])
    ax.axvline(at, color="black", lw=1, ls=":")
    ax.text(at, ax.get_ylim()[1] * height, f" {mixed}")
ax.set(xlabel="decision value", ylabel="words")
ax.legend(loc="upper left")
plt.show()
