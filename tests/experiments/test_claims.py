"""Every sentence of a paper that is judged: its quotation, its place and its rule, as `sentences.tsv` has them.

The table is to be read by a person beside the papers. Where their text is in the folder that `HINGE_PAPERS` names, or
in ``shared/papers`` beside the repository, every quotation is looked up in it.
"""

import csv
import os
import re
import tomllib
import unicodedata
from pathlib import Path

import pytest
from experiments.made_up import CLAIMS, named_in, sentences_of

from hinge.experiments import NAMES, load

TABLE = Path(__file__).with_name("sentences.tsv")
PAPERS = Path(os.environ.get("HINGE_PAPERS", Path(__file__).resolve().parents[3] / "shared" / "papers"))
TITLES = {
    "pegasos": "pegasos",
    "talk": "ml_perspective_talk",
    "simba": "simba",
    "sbp": "sbp",
    "survey": "sublinear_survey",
}


def judged():
    """Paper, quotation, place and rule of every sentence that counts, each once."""
    found = {}
    for name in NAMES:
        experiment = load(name)
        own = sorted((one for one in sentences_of(experiment) if one.quote), key=lambda one: one.quote)
        for one in own:
            found[name.partition("-")[0], one.quote] = (one.place, f"{one.what}: {one.rule.words}")
    return [(*key, *value) for key, value in found.items()]


def table():
    with TABLE.open(newline="", encoding="utf-8") as lines:
        return [tuple(row) for row in csv.reader(lines, delimiter="\t")]


def test_quotations_places_and_rules_are_those_of_the_table():
    assert sorted(judged()) == sorted(table())


def test_every_entry_of_the_papers_table_is_named_by_its_experiment_or_one_that_measures_it_again():
    table = tomllib.loads(CLAIMS.read_text("utf-8"))
    entries = {(of, name) for of, own in table.items() for name, one in own.items() if isinstance(one, dict)}
    read = set()
    for path in CLAIMS.parent.rglob("*.py"):
        read |= named_in(path.read_text("utf-8"), f"{path.parent.name}-{path.stem.replace('_', '-')}")
    assert entries == read


def test_a_rule_says_what_is_partly():
    for _, quote, place, rule in table():
        assert len(quote) <= 160 and place, quote
        assert "reproduced " in rule and "partly " in rule, rule


def letters(text):
    """Letters and digits alone, as scanned text has other signs, spaces and hyphens."""
    text = re.sub(r"\\(?:lambda|epsilon|varepsilon|eta|delta|nu|circ)\b", lambda found: GREEK[found[0]], text)
    text = re.sub(r"\\(?:tilde|frac|sqrt|mathbf|geq|leq|succeq|text|top|hat)\b|\\stackrel\{\?\}", "", text)
    text = "".join(sign for sign in unicodedata.normalize("NFKD", text.replace("ϵ", "ε")) if sign.isalnum())
    return text.lower()


GREEK = {
    "\\lambda": "λ",
    "\\epsilon": "ε",
    "\\varepsilon": "ε",
    "\\eta": "η",
    "\\delta": "δ",
    "\\nu": "ν",
    "\\circ": "",
}


@pytest.mark.skipif(not PAPERS.is_dir(), reason="the papers' text is not here: HINGE_PAPERS names its folder")
def test_quotations_are_in_the_papers():
    texts = {
        paper: letters(next(PAPERS.glob(f"{title}*.txt")).read_text(encoding="utf-8"))
        for paper, title in TITLES.items()
    }
    missing = [(paper, quote) for paper, quote, _, _ in table() if letters(quote) not in texts[paper]]
    assert not missing
