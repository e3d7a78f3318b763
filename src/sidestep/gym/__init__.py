"""Learning environments: Gymnasium, a native vector environment, Stable-Baselines3 and PettingZoo adapters.

``import sidestep.gym`` announces the ids, then ``gymnasium.make("sidestep/Crossing-v0")`` works; or in one go
``gymnasium.make("sidestep.gym:sidestep/Crossing-v0")``. Nothing heavy is imported until an environment is made.

All of them step the same compiled worlds as the benchmark does (:mod:`sidestep.simulation.worlds`).
"""

from __future__ import annotations

import gymnasium

IDS: dict[str, str] = {
    "Crossing": "people on a circle who walk to the opposite side and back, in the open",
    "Corridor": "people walking up and down a corridor three metres wide",
    "Doorway": "people walking about two rooms that a door joins",
    "Plaza": "people walking about a square with four columns",
    "Scenario": "any scenario with one robot: pass scenario=FILE, a suite's name or a Scenario object",
}


def register() -> None:
    """Announce ``sidestep/NAME-v0`` to Gymnasium."""
    for name in IDS:
        identifier = f"sidestep/{name}-v0"
        if identifier not in gymnasium.registry:
            gymnasium.register(
                identifier,
                entry_point="sidestep.gym.environment:CrowdEnv",
                vector_entry_point="sidestep.gym.vector:CrowdVectorEnv",
                order_enforce=False,  # the environment says itself that a reset is needed
                kwargs={"task": name},
            )


register()
