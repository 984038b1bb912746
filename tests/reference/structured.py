"""Pegasos for structured outputs, line by line; one-slack cutting planes for its optimum; and a chain to label."""

import numpy as np
from scipy.optimize import minimize


def pegasos(inputs, outputs, lam, sets, features, decode, output="last"):
    """w after the iterations whose sets A_t are these."""
    w = np.zeros(len(features(inputs[0], outputs[0])))
    total, mass = 0.0 * w, 0.0
    for t, A in enumerate(sets, start=1):
        found = [decode(w, inputs[i], outputs[i]) for i in A]
        eta = 1 / (lam * t)
        step = sum(
            features(inputs[i], outputs[i]) - features(inputs[i], wrong) for i, wrong in zip(A, found, strict=True)
        )
        w = (1 - eta * lam) * w + eta / len(A) * step
        total, mass = total + t * w, mass + t
    return w if output == "last" else total / mass


def optimum(inputs, outputs, lam, features, loss, decode, tol):
    """Bounds from below and above on the least objective, within a factor of 1 + tol."""
    n = len(inputs)
    w, beta, best = np.zeros(len(features(inputs[0], outputs[0]))), np.zeros(0), np.inf
    A, b = np.zeros((0, len(w))), np.zeros(0)
    while True:
        found = [decode(w, x, y) for x, y in zip(inputs, outputs, strict=True)]
        pairs = list(zip(inputs, outputs, found, strict=True))
        plane = sum(features(x, y) - features(x, wrong) for x, y, wrong in pairs) / n
        offset = sum(loss(y, wrong) for _, y, wrong in pairs) / n
        best = min(best, lam / 2 * w @ w + offset - w @ plane)
        A, b = np.vstack([A, plane]), np.append(b, offset)
        beta = most(A, b, lam, np.append(beta, 0.0))
        w = beta @ A / lam
        least = b @ beta - lam / 2 * w @ w
        if best <= (1 + tol) * least:
            return least, best
        bind = beta > 1e-8
        A, b, beta = A[bind], b[bind], beta[bind]


def most(A, b, lam, beta):
    """The maximum of bᵀβ - ‖Aᵀβ‖²/(2λ) over β ≥ 0, Σβ ≤ 1, from this β."""
    found = minimize(
        lambda x: (x @ A) @ (A.T @ x) / (2 * lam) - b @ x,
        beta,
        jac=lambda x: A @ (x @ A) / lam - b,
        bounds=[(0, 1)] * len(b),
        constraints={"type": "ineq", "fun": lambda x: 1 - x.sum(), "jac": lambda x: -np.ones(len(x))},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return np.maximum(found.x, 0.0)


class Chain:
    """Labels of the places of a sequence, each with its features, and a score for neighbours; Viterbi decodes."""

    def __init__(self, k, d):
        self.k, self.d = k, d

    def features(self, x, y):
        places, neighbours = np.zeros((self.k, self.d)), np.zeros((self.k, self.k))
        np.add.at(places, y, x)
        np.add.at(neighbours, (y[:-1], y[1:]), 1.0)
        return np.concatenate([places.ravel(), neighbours.ravel()])

    def loss(self, y, other):
        return float((y != other).sum())

    def decode(self, w, x, y):
        places, neighbours = w[: self.k * self.d].reshape(self.k, -1), w[self.k * self.d :].reshape(self.k, -1)
        scores, back = x @ places.T + (np.arange(self.k) != y[:, None]), []
        best = scores[0]
        for score in scores[1:]:
            paths = best[:, None] + neighbours
            back.append(paths.argmax(axis=0))
            best = paths.max(axis=0) + score
        labels = [int(best.argmax())]
        for before in reversed(back):
            labels.append(int(before[labels[-1]]))
        return np.array(labels[::-1])

    def sample(self, n, seed=0, noise=1.0):
        """Sequences of four to nine places, of labels that tend to follow one another round."""
        rng = np.random.default_rng(seed)
        centres, inputs, outputs = rng.standard_normal((self.k, self.d)), [], []
        for _ in range(n):
            steps = rng.random(rng.integers(4, 10)) < 0.8
            y = (rng.integers(self.k) + np.cumsum(steps)) % self.k
            inputs.append(centres[y] + noise * rng.standard_normal((len(y), self.d)))
            outputs.append(y)
        return inputs, outputs
