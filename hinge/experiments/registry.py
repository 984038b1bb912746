"""Every experiment, by name: ``claims.toml`` lists them with what the papers say.

A new experiment is a file of its own, which ends with ``experiment = ...``, and an entry there: `find`, ``hinge
reproduce``, its report, the tests and the documentation's list then have it. To list experiments imports none of them.
"""

import tomllib
from importlib import resources
from typing import NamedTuple

PAPERS = {
    "pegasos": "Shalev-Shwartz, Singer, Srebro 2007",
    "talk": "Shalev-Shwartz, Srebro 2008 (talk)",
    "simba": "Hazan, Koren, Srebro 2011",
    "sbp": "Cotter, Shalev-Shwartz, Srebro 2012",
    "survey": "Irpan, Kwan 2015, of Clarkson, Hazan, Woodruff 2012",
}
"""With what a name begins, and the paper."""


class Listed(NamedTuple):
    """An experiment as it is listed.

    Attributes
    ----------
    title : str
    paper : str
        Authors and year.
    place : str
        "Table 1", "Figure 2", "section 5".
    question : str
        What the paper says there.
    module : str
        Its file; by default "pegasos-table1" is in ``hinge.experiments.pegasos.table1``.
    """

    title: str
    paper: str
    place: str
    question: str
    module: str = ""


TABLE = tomllib.loads(resources.files("hinge.experiments").joinpath("claims.toml").read_text("utf-8"))
BY_NAME = {
    name: Listed(one["title"], one.get("paper", PAPERS[name.partition("-")[0]]), one["place"], one["question"])
    for name, one in TABLE.items()
    if "title" in one
}
"""What to type, which begins with the paper, and what it is."""


def names() -> tuple[str, ...]:
    """What ``hinge reproduce`` understands, besides "all" and the names of papers."""
    return tuple(BY_NAME)


def module_of(name: str) -> str:
    """The module that ends with this experiment."""
    paper, _, rest = name.partition("-")
    return BY_NAME[name].module or f"hinge.experiments.{paper}.{rest.replace('-', '_')}"
