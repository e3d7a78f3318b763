"""Policies: one without a base class, one with it that needs the plug-in's sensor."""

from sidestep.interfaces import Policy
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


class Wary(Policy):
    """Drives straight on and stops for good once somebody is nearer than ``margin``."""

    name = "example_wary"
    needs = frozenset({"example_nearest"})

    def __init__(self, margin=1.0):
        self.settings = {"margin": margin}

    def reset(self, task):
        """Nobody has been near yet."""
        self.stopped = False

    def act(self, observation):
        """Straight on or stand."""
        distance, _ = observation.extra["example_nearest"]
        self.stopped |= bool(distance < self.settings["margin"])
        return Velocity(0.0 if self.stopped else 0.5, 0.0)
