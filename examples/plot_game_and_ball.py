"""
A matrix game and a ball
========================

Optimal strategies and the smallest ball are the same kind of problem: the largest smallest value. Both come with an
interval that holds the exact answer.
"""

# %%
# A game
# ------
# Colonel Blotto with five soldiers and three hills: whoever sends more to a hill takes it.

from itertools import product

import matplotlib.pyplot as plt
import numpy as np

import hinge

ways = [way for way in product(range(6), repeat=3) if sum(way) == 5]
payoff = np.array([[np.sign(np.subtract(mine, theirs)).sum() for mine in ways] for theirs in ways], float)
game = hinge.solve_game(payoff, eps=1e-3)
print(f"{len(ways)} ways to send five soldiers; the value lies in [{game.lower:.4f}, {game.upper:.4f}]")

fig, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
played = np.argsort(-game.x)[:10]
ax.barh([str(ways[k]) for k in played][::-1], game.x[played][::-1])
ax.set(xlabel="how often to play it", title="The ten most played")
plt.show()

# %%
# A ball
# ------
# Few points decide where it lies: those with a weight p.

X = np.random.default_rng(1).standard_normal((300, 2)) @ np.array([[1.5, 0.4], [0.0, 0.7]])
ball = hinge.enclosing_ball(X, eps=1e-6)
touching = ball.p > 1e-6
turn = np.linspace(0, 2 * np.pi, 200)
fig, ax = plt.subplots(figsize=(5.5, 5.5), layout="constrained")
ax.scatter(*X.T, s=8, color="grey")
ax.scatter(*X[touching].T, s=50, color="tab:orange", label="points that hold it")
ax.plot(*(ball.center[:, None] + ball.radius[1] * np.array([np.cos(turn), np.sin(turn)])), color="tab:blue")
ax.set(aspect="equal", title=f"radius {ball.radius[1]:.4f}")
ax.legend()
plt.show()
print(f"radius between {ball.radius[0]:.6f} and {ball.radius[1]:.6f}, held by {touching.sum()} points")

# %%
# A margin
# --------

made = hinge.datasets.make_separable(1000, 50, 0.2)
found = hinge.max_margin(made.X_train, made.y_train, eps=1e-3)
print(f"margin in [{found.lower:.5f}, {found.upper:.5f}], and it is {made.margin}")
