"""A suite of one empty scene."""

from sidestep.types import Scenario


class Empty:
    """One robot, nobody else."""

    name = "example_empty"
    summary = "one robot, nobody else"

    def scenarios(self):
        """The one scenario."""
        robot = {"spec": "point", "start": [0, 0, 0], "goal": [1, 0]}
        rules = {"step_s": 0.1, "time_limit_s": 5}
        document = {"name": "alone", "suite": self.name, "robots": [robot], "rules": rules}
        return [Scenario.parse(document, "example plug-in")]


EMPTY = Empty()
