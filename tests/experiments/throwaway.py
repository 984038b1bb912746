"""An experiment for the time of a test: what someone writes who adds one."""

from hinge.display.figure import Panel, Series
from hinge.experiments.base import Experiment, Sentence
from hinge.report.outcome import within

GROW = Sentence("squares grow", "Table 0", "Squares grow", within(0.1, 0.2))


class Squares(Experiment):
    """Squares of small numbers."""

    name = "throwaway-squares"

    def cells(self, scale):
        """A number each."""
        return [{"k": k, "seed": 0} for k in range(1, 4)]

    def run(self, cell):
        """Its square."""
        return {"square": cell["k"] ** 2}

    def report(self, draft, results, scale):
        """They do."""
        squares = results.column("square")
        draft.claims.add(GROW, "small numbers", max(squares), 9.0, "k up to 3")
        draft.figure(
            "Squares.", [Panel("Squares", "k", "square", [Series("k²", [r.cell["k"] for r in results], squares)])]
        )


experiment = Squares()
