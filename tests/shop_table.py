"""A table as people have them: a header, words, gaps, string labels."""

import csv

import numpy as np

HEAD = ["age", "city", "income", "member", "bought"]


def shop(path, n, seed=0, gaps=0.05):
    """Write rows whose label follows from their age, city and income, with some noise."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(n):
        age, income = int(rng.integers(18, 80)), round(float(rng.normal(50, 15)), 1)
        city, member = str(rng.choice(["Oslo", "Rome", "Lima"])), str(rng.choice(["yes", "no"]))
        score = (age - 45) / 15 + 1.5 * (city == "Oslo") - (income - 50) / 20 + 0.5 * rng.normal()
        cells = [age, city, income, member, "buyer" if score > 0.3 else "visitor"]
        lines.append(["" if j < 4 and rng.random() < gaps else cell for j, cell in enumerate(cells)])
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([HEAD, *lines])
    return path
