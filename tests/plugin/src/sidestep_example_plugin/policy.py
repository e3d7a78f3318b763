"""A policy that creeps ahead."""

from sidestep.types import Velocity


class Creep:
    """Drives straight on at a tenth of a metre per second."""

    name = "example_creep"
    summary = "creeps straight on"
    citation = ""
    needs = frozenset()

    def __init__(self, speed=0.1):
        self.settings = {"speed": speed}

    def reset(self, task):
        """Nothing to remember."""

    def act(self, observation):
        """Straight on."""
        return Velocity(self.settings["speed"], 0.0)
