"""A scripted robot and a straight sidewalk, shared by the tests of events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from sidestep.simulation import run_episode
from sidestep.types import EpisodeRecord, HolonomicVelocity, Observation, Scenario, Task
from sidestep.types.base import FloatArray

STEP = 0.1
ROBOT_RADIUS = 0.3  # of the spec "point"
Drive = Callable[[Observation], tuple[float, float]]


class Scripted:
    """Drives as a function of the observation says: (vx, vy), m/s."""

    name = "scripted"
    needs: ClassVar[frozenset[str]] = frozenset({"pedestrians"})

    def __init__(self, drive: Drive) -> None:
        self._drive = drive
        self.seen: list[Observation] = []

    def reset(self, task: Task) -> None:
        self.seen = []

    def act(self, observation: Observation) -> HolonomicVelocity:
        self.seen.append(observation)
        return HolonomicVelocity(*self._drive(observation))


def straight(speed: float) -> Drive:
    """Along +x at a constant speed."""
    return lambda _: (speed, 0.0)


def scenario(event: dict[str, Any] | list[dict[str, Any]], **changes: Any) -> Scenario:
    """A holonomic disc from (0, 0) to (40, 0) without limits of acceleration; contacts do not end the episode."""
    limits = {"max_speed": 3.0}
    spec = {"name": "disc", "dynamics": "holonomic", "footprint": {"radius": ROBOT_RADIUS}, "limits": limits}
    document = {
        "name": "event",
        "suite": "tests",
        "robots": [{"spec": spec, "start": [0, 0, 0], "goal": [40, 0]}],
        "events": event if isinstance(event, list) else [event],
        "rules": {"step_s": STEP, "time_limit_s": 20, "ends_on": []},
    }
    return Scenario.parse(document | changes, "test")


def play(event: dict[str, Any] | list[dict[str, Any]], drive: Drive, seed: int = 0, **changes: Any) -> EpisodeRecord:
    """The record of one episode."""
    return run_episode(scenario(event, **changes), Scripted(drive), seed=seed)


def trigger_time(record: EpisodeRecord) -> float | None:
    """When the event was triggered; None: never. More than once is an error."""
    times = [event.time for event in record.events if event.kind == "trigger"]
    assert len(times) <= 1
    return times[0] if times else None


def contacts(record: EpisodeRecord) -> list[str]:
    """Who touched the robot, in order."""
    return [event.subject for event in record.events if event.kind == "collision_start"]


def gaps(record: EpisodeRecord) -> FloatArray:
    """(T+1, N) m between the bodies; NaN when absent."""
    offset = record.person_position - record.robot_pose[:, None, :2]
    return np.hypot(offset[..., 0], offset[..., 1]) - record.person_radius - ROBOT_RADIUS


def at(record: EpisodeRecord, time: float) -> int:
    """The index of the state at ``time``."""
    return round(time / STEP)
