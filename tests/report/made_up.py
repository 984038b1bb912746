"""Figures and sections made up for tests: odd data, and text that would be code if it were not escaped."""

import math

from hinge.display.figure import Beside, Figure, Panel, ReportTable, Series, loglog
from hinge.experiments.base import CellResult, CellResults, Claims, Outcome, Sentence
from hinge.report.outcome import Section, at_least, at_most, within

EVIL = "<script>window.broken = true</script> & \"quotes\" 'too' $x_1$ </script>"
X = [1.0, 10.0, 100.0, 1000.0]


def many(count):
    """So many series with bands, and two laws beside them."""
    lines = [
        Series(
            f"solver {i}",
            X,
            [x ** (-0.2 - 0.1 * i) for x in X],
            [0.5 * x ** (-0.2 - 0.1 * i) for x in X],
            [2 * x ** (-0.2 - 0.1 * i) for x in X],
        )
        for i in range(count)
    ]
    return [*lines, *(Series(f"law {p}", X, [x**-p for x in X], kind="theory") for p in (0.5, 1))]


ODD = Figure(
    "odd",
    "Odd data.",
    [
        loglog(
            "zeros and NaN",
            "x",
            "y",
            [
                Series(
                    "a",
                    [0, 1, 2, 3, 4, 5],
                    [1, 1, math.nan, 1e-2, -1, 0],
                    [0, -0.5, 1, 1e-3, -2, 0],
                    [1, 2, 3, 0.5, 0, 0],
                )
            ],
        ),
        Panel("empty", "x", "y", []),
        loglog("one point", "x", "y", [Series("a", [3], [5], [4], [7]), Series("b", [4], [5], kind="theory")]),
        loglog("nothing finite", "x", "y", [Series("a", [math.nan, math.inf], [1.0, 2.0])]),
        loglog("nothing positive", "x", "y", [Series("a", [-1.0, 0.0], [-1.0, -2.0])]),
        Panel("points", "x", "y", [Series("b", [1, 2], [3, 4], [2, 3], [4, 9], "points")]),
    ],
)
MANY = Figure(
    "many",
    "Twelve solvers.",
    [
        loglog(
            "A title so long that no panel would hold it in one line, with λ = 0.0001 and 781,265 rows",
            "iterations",
            "objective above the optimum",
            many(12),
        ),
        Panel(EVIL, EVIL, EVIL, [*many(2)[:1], Series(EVIL, X, X, kind="points"), Series("_under", X, X)]),
    ],
)


def sections():
    """Two of them: one with everything, one in which nothing could be measured."""
    where = f"made-up data, 10 rows {EVIL}"
    claims = Claims()
    for quote, unit, rule, ours, paper in (
        ("Error on made-up data", "share of rows", within(0.05, 0.2), 0.0541, 0.0534),
        (f"Speed {EVIL}", "times", at_least(5, 2), 3.3, 10.0),
        ("Kernel evaluations", "", at_most(3e6, 6e6), 1.7e7, 2.4e6),
        ("No number", "", at_least(1, 0), None, "words"),
    ):
        sentence = Sentence(quote, "section 1", f"what is measured {EVIL}", rule, unit, changed=EVIL)
        claims.add(sentence, f"a set {EVIL}", ours, paper, where)
    table = ReportTable(
        "t", "A wide table", ["set", *(f"column {i}" for i in range(12))], [["ccat", *([1234.5678] * 12)]]
    )
    results = CellResults(
        CellResult(
            {"set": "ccat", "seed": i, "at": [1, 2]},
            {"error": 0.5, "seed": 7, "curve": [1, 2], "bad": math.nan},
            0.5,
            f"machine {i % 2}",
        )
        for i in range(4)
    )
    printed = ReportTable(
        "p",
        "Their table",
        ["", "seconds", *(f"with bias|{name}" for name in ("σ²", "λ", "ν")), EVIL],
        [[Beside("CCAT", EVIL), Beside(77, 14.04, f"on fewer rows {EVIL}"), "0.5", "1/n", Beside(6.34e-4, None), ""]],
    )
    outcome = Outcome(claims, [MANY, ODD], [table], [f"ccat is missing {EVIL}"], printed)
    return [
        Section("made-up", f"Made up {EVIL}", "Nobody 2000", "Table 1", f"Why? {EVIL}", outcome, results, [EVIL]),
        Section("none", "Nothing measured", "Nobody 2001", "Figure 2", "What?", Outcome([]), CellResults()),
    ]
