"""Learning environments: Gymnasium, a native vector environment, Stable-Baselines3 and PettingZoo adapters.

``import sidestep.gym`` registers the ids ``sidestep/NAME-v0``; ``gymnasium.make("sidestep.gym:sidestep/Crossing-v0")``
and ``gymnasium.make_vec`` import it by themselves. Nothing heavy is imported until an environment is made.

All of them step the same compiled worlds as the benchmark does (:mod:`sidestep.simulation.worlds`), and
:func:`as_policy` drives in the benchmark what was trained here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymnasium.envs.registration import register as _register
from gymnasium.envs.registration import registry as _registry

if TYPE_CHECKING:
    from sidestep.gym.policy import as_policy
    from sidestep.gym.training import save_model, save_normalization

IDS: dict[str, str] = {
    "Crossing": "people on a circle who walk to the opposite side and back, in the open",
    "Corridor": "people walking up and down a corridor three metres wide",
    "Doorway": "people walking about two rooms that a door joins",
    "Plaza": "people walking about a square with four columns",
    "Scenario": "any scenario with one robot: pass scenario=FILE, a suite's name or a Scenario object",
    "Suite": "every scenario of a suite: pass suite=NAME, and a split or names of scenarios",
}
INTERSECTION = "sidestep/Intersection-v0"
"""A car at crowded intersections, with camera, lidar, measurements and high-level commands."""

__all__ = ["IDS", "as_policy", "register", "save_model", "save_normalization"]


def register() -> None:
    """Register the ids ``sidestep/NAME-v0`` with Gymnasium, those that are not registered yet."""
    for name in IDS:
        identifier = f"sidestep/{name}-v0"
        if identifier not in _registry:
            _register(
                identifier,
                entry_point="sidestep.gym.environment:CrowdEnv",
                vector_entry_point="sidestep.gym.vector:CrowdVectorEnv",
                order_enforce=False,  # the environment says itself that a reset is needed
                kwargs={"task": name},
            )
    if INTERSECTION not in _registry:
        _register(INTERSECTION, entry_point="sidestep.gym.intersection:IntersectionEnv", order_enforce=False)


def __getattr__(name: str) -> Any:
    if name == "as_policy":
        from sidestep.gym.policy import as_policy

        return as_policy
    if name in ("save_model", "save_normalization"):
        from sidestep.gym import training

        return getattr(training, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


register()
