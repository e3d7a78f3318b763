"""Events: what people do because of where the robot is. One file per behaviour.

A behaviour is a function from the settings (``types.events``), the setting (``script.Setting``: the robot's way, the
ground) and a random generator to a ``Script``: people at time 0, and what makes the ``Act`` that they play. An act sees
a ``EventScene`` in every step and tells its people what to do; it draws nothing at random. The simulation's
``event_director`` puts them into a world.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep.crowd.events.approaching import frontal, lateral, overtaking
from sidestep.crowd.events.company import accompanying, crowding, following, leading
from sidestep.crowd.events.crossing import crossing
from sidestep.crowd.events.right_of_way import claiming, entering, exiting, gesturing, yielding
from sidestep.crowd.events.script import Act, Actor, EventScene, Performer, Script, Setting
from sidestep.crowd.events.standing import conversing, joining, leaving, obstructing, queuing
from sidestep.types.events import EventSpec

WRITERS: dict[str, Any] = {
    "obstructing": obstructing,
    "conversing": conversing,
    "queuing": queuing,
    "frontal": frontal,
    "lateral": lateral,
    "overtaking": overtaking,
    "crossing": crossing,
    "gesturing": gesturing,
    "joining": joining,
    "leaving": leaving,
    "following": following,
    "leading": leading,
    "accompanying": accompanying,
    "crowding": crowding,
    "yielding": yielding,
    "claiming": claiming,
    "exiting": exiting,
    "entering": entering,
}
"""Who writes the script of each kind of event."""

__all__ = ["WRITERS", "Act", "Actor", "EventScene", "Performer", "Script", "Setting", "write_script"]


def write_script(event: EventSpec, setting: Setting, generator: np.random.Generator) -> Script:
    """The script of one event."""
    script: Script = WRITERS[event.kind](event, setting, generator)
    return script
