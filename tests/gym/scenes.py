"""Hand-placed scenarios whose course can be worked out on paper."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep.gym.environment import CrowdEnv
from sidestep.gym.tasks import CONTACTS_END
from sidestep.types import Scenario

FORWARD = np.array([1.0, 0.0], np.float32)
STAND = np.zeros(2, np.float32)


def stander(x: float, y: float, **more: Any) -> dict[str, Any]:
    """A person who stands."""
    return {"start": [x, y], **more}


def by_hand(
    people: list[dict[str, Any]] | None = None,
    robot: str = "point",
    start: tuple[float, float, float] = (0.0, 0.0, 0.0),
    goal: tuple[float, float] = (3.0, 0.0),
    walled: bool = False,
    crowd: list[dict[str, Any]] | None = None,
    robots: list[dict[str, Any]] | None = None,
    **rules: Any,
) -> Scenario:
    """One robot, people who do not see it, and if ``walled`` a room of 10 m by 10 m with the origin in the middle."""
    room = [{"kind": "walkable", "polygon": [[-5, -5], [5, -5], [5, 5], [-5, 5]]}]
    part = {"model": "orca", "sees_robot": False, "people": people or []}
    return Scenario.parse(
        {
            "name": "by-hand",
            "suite": "tests",
            "scene": {"name": "room", "enclosed": True, "regions": room} if walled else "open",
            "robots": robots or [{"spec": robot, "start": list(start), "goal": list(goal)}],
            "crowd": crowd if crowd is not None else ([part] if people else []),
            "rules": {
                "step_s": 0.25,
                "time_limit_s": 10.0,
                "goal_radius_m": 0.3,
                "ends_on": CONTACTS_END,
                **rules,
            },
        },
        "test scenario",
    )


def environment(scenario: Scenario, **options: Any) -> CrowdEnv:
    """An environment of it, reset."""
    made = CrowdEnv("Scenario", scenario=scenario, **options)
    made.reset(seed=0)
    return made


def drive(env: Any, action: Any, most: int = 200) -> tuple[int, float, bool, bool, dict[str, Any]]:
    """Repeat one action to the end: steps, sum of rewards, terminated, truncated, last info."""
    total = 0.0
    for count in range(1, most + 1):
        _, reward, terminated, truncated, info = env.step(action)
        total += reward
        if terminated or truncated:
            return count, total, terminated, truncated, info
    raise AssertionError(f"not over after {most} steps")


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two observations are equal to the last bit."""
    return one.keys() == other.keys() and all(np.array_equal(one[key], other[key]) for key in one)
