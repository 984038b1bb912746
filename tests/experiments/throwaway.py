"""An experiment for the time of a test: what someone writes who adds one."""

from hinge.display.figure import Figure, Panel, Series
from hinge.experiments.base import Claims, Experiment, Outcome, Sentence
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

    def outcome(self, results, scale):
        """They do."""
        squares = results.column("square")
        claims = Claims()
        claims.add(GROW, "small numbers", max(squares, default=None), 9.0, "k up to 3")
        panel = Panel("Squares", "k", "square", [Series("k²", [r.cell["k"] for r in results], squares)])
        return Outcome(claims, [Figure(self.name, "Squares.", [panel])])


experiment = Squares()
