"""Events: what people do because of where the robot is. One file per behaviour.

A behaviour is a function from the settings (``types.events``), the setting (``script.Setting``: the robot's way, the
ground) and a random generator to a ``Script``: people at time 0, and what makes the ``Act`` that they play. An act sees
a ``Stage`` in every step and tells its people what to do; it draws nothing at random. The simulation's
``event_director`` puts them into a world.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep.crowd.events.accompanying import accompanying
from sidestep.crowd.events.claiming import claiming
from sidestep.crowd.events.conversing import conversing
from sidestep.crowd.events.crossing import crossing
from sidestep.crowd.events.crowding import crowding
from sidestep.crowd.events.entering import entering
from sidestep.crowd.events.exiting import exiting
from sidestep.crowd.events.following import following
from sidestep.crowd.events.frontal import frontal
from sidestep.crowd.events.gesturing import gesturing
from sidestep.crowd.events.joining import joining
from sidestep.crowd.events.lateral import lateral
from sidestep.crowd.events.leading import leading
from sidestep.crowd.events.leaving import leaving
from sidestep.crowd.events.obstructing import obstructing
from sidestep.crowd.events.overtaking import overtaking
from sidestep.crowd.events.queuing import queuing
from sidestep.crowd.events.script import Act, Performer, Script, Setting
from sidestep.crowd.events.stage import Actor, Stage
from sidestep.crowd.events.yielding import yielding
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

__all__ = ["WRITERS", "Act", "Actor", "Performer", "Script", "Setting", "Stage", "write_script"]


def write_script(event: EventSpec, setting: Setting, generator: np.random.Generator) -> Script:
    """The script of one event."""
    script: Script = WRITERS[event.kind](event, setting, generator)
    return script
