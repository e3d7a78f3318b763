"""Events: what people do because of where the robot is. A file per family of behaviours.

A behaviour is a function from the settings (``types.events``), the setting (``script.Setting``: the robot's way, the
ground) and a random generator to a ``Script``: people at time 0, and what makes the ``Act`` that they play. An act sees
an ``EventScene`` in every step and moves its people; it draws nothing at random. ``EVENTS`` of the registry
lists the functions; plug-ins add to it. The simulation's directors put the people into a world.
"""

from __future__ import annotations

import numpy as np

from sidestep import registry
from sidestep.errors import BadInput, UnknownName, plug_in_errors
from sidestep.simulation.crowd.events.script import Act, Actor, EventScene, FreeActor, Performer, Script, Setting
from sidestep.types.events import EventSpec, PluginEvent

__all__ = ["Act", "Actor", "EventScene", "FreeActor", "Performer", "Script", "Setting", "write_script"]


def write_script(event: EventSpec, setting: Setting, generator: np.random.Generator) -> Script:
    """The script of one event."""
    name = event.name if isinstance(event, PluginEvent) else event.kind
    if name not in registry.names("events"):
        raise UnknownName("event", name, registry.names("events"), setting.where)
    if isinstance(event, PluginEvent) and name in registry.EVENTS:
        raise BadInput(f"{setting.where}: {name!r} comes with Sidestep; write kind: {name}")
    with plug_in_errors("event", name, registry.EVENTS, f"asked for its script ({setting.where})"):
        script = registry.load("events", name)(event, setting, generator)
    if not isinstance(script, Script):
        raise BadInput(f"{setting.where}: plug-in event {name!r} must return a Script, not {script!r:.80}")
    return script
