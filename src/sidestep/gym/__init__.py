"""Learning environments: Gymnasium, a native vector environment, Stable-Baselines3 and PettingZoo adapters.

``import sidestep.gym`` announces the ids, then ``gymnasium.make("sidestep/Crossing-v0")`` works; or in one go
``gymnasium.make("sidestep.gym:sidestep/Crossing-v0")``. Nothing heavy is imported until an environment is made.

All of them step the same compiled worlds as the benchmark does (:mod:`sidestep.simulation.worlds`).
"""

from __future__ import annotations

import gymnasium

IDS: dict[str, str] = {
    "Crossing": "a circle of people who walk to the opposite side, in the open",
    "Corridor": "people coming the other way in a corridor",
    "Doorway": "people coming the other way through a narrow door",
    "Plaza": "people walking about a square with obstacles",
    "Scenario": "any scenario: pass scenario=FILE or a Scenario object",
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
                kwargs={"task": name},
            )


register()
