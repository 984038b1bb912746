"""An experiment for the time of a test: what someone writes who adds one."""

from hinge.display.figure import Figure, Panel, Series
from hinge.experiments.base import Experiment, Outcome, claim, expect


class Squares(Experiment):
    """Squares of small numbers."""

    name = "throwaway-squares"
    question = "Whether squares grow."

    def cells(self, scale):
        """A number each."""
        return [{"k": k, "seed": 0} for k in range(1, 4)]

    def run(self, cell):
        """Its square."""
        return {"square": cell["k"] ** 2}

    def outcome(self, results, scale):
        """They do."""
        squares = results.column("square")
        found = claim("Squares grow", max(squares, default=None), expect(9.0, within=(0.1, 0.2)), "k up to 3")
        panel = Panel("Squares", "k", "square", [Series("k²", [r.cell["k"] for r in results], squares)])
        return Outcome([found], [Figure(self.name, "Squares.", [panel])])


experiment = Squares()
