"""Every experiment, one a line, in the order of the papers.

A new experiment is a file of its own, which ends with ``experiment = ...``, and a line here: `find`, ``hinge
reproduce``, its report, the tests and the documentation's list then have it. To list experiments imports none of them.
"""

from typing import NamedTuple

PEGASOS = "Shalev-Shwartz, Singer, Srebro 2007"
TALK = "Shalev-Shwartz, Srebro 2008 (talk)"
SIMBA = "Hazan, Koren, Srebro 2011"
SBP = "Cotter, Shalev-Shwartz, Srebro 2012"
SURVEY = "Irpan, Kwan 2015, of Clarkson, Hazan, Woodruff 2012"
SURVEY_SDP = "Irpan, Kwan 2015, of Garber, Hazan 2011"


class Listed(NamedTuple):
    """An experiment as it is listed.

    Attributes
    ----------
    title : str
    paper : str
        Authors and year.
    place : str
        "Table 1", "Figure 2", "section 5".
    module : str
        Its file; by default "pegasos-table1" is in ``hinge.experiments.pegasos.table1``.
    """

    title: str
    paper: str
    place: str
    module: str = ""


BY_NAME: dict[str, Listed] = {
    "pegasos-table1": Listed("Training time", PEGASOS, "Table 1"),
    "pegasos-covertype": Listed("Covertype in three scalings", PEGASOS, "Table 1, its second row"),
    "pegasos-figure2": Listed("Pegasos against Norma and fixed steps", PEGASOS, "Figure 2"),
    "pegasos-figure3": Listed("The batch size k of Pegasos", PEGASOS, "Figure 3"),
    "pegasos-projection": Listed("The projection step", PEGASOS, "section 5, graphs omitted there"),
    "pegasos-bias": Listed("Three ways to a bias", PEGASOS, "section 4"),
    "pegasos-scaling": Listed("Iterations against m, ε and λ", PEGASOS, "section 3, Theorems 2 and 3"),
    "pegasos-confidence": Listed("How sure a run is", PEGASOS, "Theorem 3, Eq. (9)"),
    "pegasos-regret": Listed("All rows in each iteration", PEGASOS, "Theorem 1, Corollary 1"),
    "pegasos-kernel": Listed("Kernel evaluations of Pegasos", PEGASOS, 'section 4, "Using Mercer kernels"'),
    "talk-more-data": Listed("More data, less work", TALK, 'slide "Dependence on Data Set Size"'),
    "talk-sgd-dca": Listed(
        "SGD against dual coordinate ascent",
        TALK,
        'slides "Comparing SGD and DCA" and "SGD vs. DCA – Machine Learning Perspective"',
    ),
    "talk-combination": Listed("SGD and dual coordinate ascent combined", TALK, 'slide "Combining SGD and DCA ?"'),
    "talk-runtimes": Listed("The work that learning takes, by method", TALK, "table T(m, B, ε)"),
    "simba-figure1": Listed("Test error against feature accesses", SIMBA, "Figure 1, section 6"),
    "simba-runtime": Listed("The runtime of SIMBA for learning", SIMBA, "section 5, Corollary 5.1"),
    "simba-rates": Listed("SIMBA's rates: fixed for T, or falling with t", SIMBA, "Theorem 4.3, section 6"),
    "simba-regime": Listed("SIMBA in the theorem's regime", SIMBA, "section 5, Eq. (10) and (11)"),
    "simba-noise": Listed("What wrong labels cost SIMBA", SIMBA, "section 5, Eq. (7), Corollary 5.1"),
    "sbp-table1": Listed("Bounds on kernel evaluations, and what is needed", SBP, "Table 1"),
    "sbp-figure1": Listed("The water level and p*", SBP, "Figure 1, section 3.2"),
    "sbp-table2": Listed("The slack ν that belongs to λ", SBP, "Table 2"),
    "sbp-figure2": Listed("Test error against kernel evaluations", SBP, "Figure 2"),
    "sbp-runtimes": Listed("Seconds against LIBSVM", SBP, "section 5"),
    "sbp-rate": Listed("The rate of the SBP", SBP, "Lemma 3.2, section 3.1"),
    "sbp-sparsity": Listed("Support vectors of the SBP", SBP, "section 4.3"),
    "survey-perceptron": Listed("The sublinear perceptron", SURVEY, "Algorithm 1, Theorem 2.8"),
    "survey-lemmas": Listed("The lemmas behind the theorems", SURVEY, "section 2.3, Lemmas 2.1 to 2.7"),
    "survey-primal-dual": Listed("The generic primal-dual method", SURVEY, "Algorithm 2, Theorem 3.1"),
    "survey-sdp": Listed("The sublinear semidefinite solver", SURVEY_SDP, "Algorithm 3, Theorem 4.6"),
    "survey-bisection": Listed("Semidefinite optimisation by bisection", SURVEY_SDP, "section 4.1, Algorithm 3"),
}
"""What to type, which begins with the paper, and what it is."""


def names() -> tuple[str, ...]:
    """What ``hinge reproduce`` understands, besides "all" and the names of papers."""
    return tuple(BY_NAME)


def module_of(name: str) -> str:
    """The module that ends with this experiment."""
    paper, _, rest = name.partition("-")
    return BY_NAME[name].module or f"hinge.experiments.{paper}.{rest.replace('-', '_')}"
