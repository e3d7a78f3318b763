"""An event: somebody stands beside the way and waves when the robot is near."""

from sidestep.simulation.crowd.events import Act, Performer, Script
from sidestep.types.base import Model, Point, Positive


class Waving(Model):
    """What a scenario writes under ``settings``."""

    at: Point
    trigger_m: Positive = 2.0


class Wave(Act):
    """One episode of it. The event is triggered when somebody of it is within ``trigger_m`` ahead of the robot."""

    def begin(self, stage):
        """Turn to the robot and wave."""
        for person in stage.people:
            person.face(stage.x, stage.y)
            person.gesture("wave")


def waving(event, setting, generator):
    """The script: one person, and what makes their act in each episode."""
    settings = Waving.parse(event.settings, setting.where)
    people = (Performer(*settings.at, heading=0.0),)
    return Script("example_waving", people, event.radius, lambda: Wave(settings.trigger_m))
