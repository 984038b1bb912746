"""What the README says of peers is what the race printed."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMES = {"scikit-learn `SVC`": ["scikit-learn"], "TorchKM": ["TorchKM"], "skglm": ["skglm"]}
NAMES |= {"LIBLINEAR 2.50, dual; primal": ["LIBLINEAR, dual", "LIBLINEAR, primal"]}
NAMES |= {"LIBLINEAR 2.50, dual": ["LIBLINEAR, dual"], "`SGDClassifier`, averaged": ["SGD, averaged"]}
PROBLEMS = {"Gaussian kernel": "kernel", "squared hinge": "squared", "hinge": "hinge"}


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def test_the_figures_of_the_readme_are_those_of_the_race():
    printed = (ROOT / "docs" / "races" / "peers.md").read_text()
    found = {tuple(row[:2]): row[2:] for line in printed.splitlines() if len(row := cells(line)) == 5}
    readme = (ROOT / "README.md").read_text()
    table = readme[readme.index("| peer | problem |") :].split("\n\n")[0].splitlines()[2:]
    assert len(table) == 6
    for line in table:
        peer, problem, times, sets = cells(line)
        shown = [(*re.fullmatch(r"(\S+) \((\S+)\)", one).groups(),) for one in times.split("; ")]
        for name, (mean, lowest), count in zip(NAMES[peer], shown, sets.split("; "), strict=True):
            assert found[PROBLEMS[problem], name] == [mean, lowest, count], line
