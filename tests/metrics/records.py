"""Tiny records written by hand, for cases that can be computed on paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidestep.types import EpisodeRecord, Event, Footprint, Outcome, PolicyInfo, RobotLimits, RobotSpec, Rules
from sidestep.types.scenario import RobotPlacement, Scenario

STEP_S = 0.125
"""A power of two, so that times and distances in tests are exact."""
CIRCLE = Footprint(radius=0.25)
BOX = Footprint(polygon=((-0.5, -0.25), (0.5, -0.25), (0.5, 0.25), (-0.5, 0.25)))


@dataclass(frozen=True)
class Walker:
    """A person: ``position`` (2,) stands, (T+1, 2) moves; ``velocity`` by differences unless given."""

    position: Any
    velocity: Any = None
    radius: float = 0.25
    group: int = -1
    present: Any = True


def make_record(
    positions: Any,
    *,
    heading: Any = 0.0,
    velocity: Any = None,
    omega: Any = 0.0,
    goal: tuple[float, float] | None = None,
    route: tuple[tuple[float, float], ...] = (),
    people: Sequence[Walker] = (),
    walls: Any = (),
    events: Sequence[Event] = (),
    outcome: Outcome = Outcome.SUCCESS,
    footprint: Footprint = CIRCLE,
    cooldown_s: float = 1.0,
    step_s: float = STEP_S,
    limited: Any = 0,
    planning_time: Any = 0.01,
    other_position: Any = None,
    dynamics: Any = "unicycle",
    rules: Mapping[str, Any] | None = None,
    reached: bool | None = None,
) -> EpisodeRecord:
    """A record of a robot at ``positions`` (T+1, 2); velocities are differences unless given, the goal is the
    last position. ``reached``: whether the goal is reached at the end; None: if the outcome is success."""
    positions = np.asarray(positions, dtype=float).reshape(-1, 2)
    states, steps = len(positions), len(positions) - 1
    goal = tuple(positions[-1]) if goal is None else goal
    heading = np.broadcast_to(heading, states)
    tracks = [np.broadcast_to(np.asarray(p.position, dtype=float), (states, 2)) for p in people]
    present = [np.broadcast_to(p.present, states) for p in people]
    speeds = [
        _differences(track, step_s) if p.velocity is None else np.broadcast_to(p.velocity, (states, 2))
        for p, track in zip(people, tracks, strict=True)
    ]
    velocity = _differences(positions, step_s) if velocity is None else np.broadcast_to(velocity, (states, 2))
    if reached if reached is not None else outcome is Outcome.SUCCESS:
        if not any(event.kind == "goal_reached" for event in events):
            events = [*events, Event(steps * step_s, "goal_reached")]
    there = np.stack(present, axis=1) if people else np.zeros((states, 0), dtype=bool)

    def stacked(parts: list[Any], width: int) -> Any:
        whole = np.stack(parts, axis=1) if parts else np.zeros((states, 0, width))
        return np.where(there[..., None], whole, np.nan)

    others = {}
    if other_position is not None:
        pose = np.zeros((states, 1, 3))
        pose[:, 0, :2] = other_position
        others = {"other_pose": pose, "other_radius": np.array([0.5])}
    return EpisodeRecord(
        scenario=Scenario(
            name="by-hand",
            robots=(RobotPlacement(start=(*positions[0], heading[0]), goal=goal, route=route),),
            rules=Rules(**{"step_s": step_s, "collision_cooldown_s": cooldown_s, **(rules or {})}),
        ),
        robot=RobotSpec(name="robot", dynamics=dynamics, footprint=footprint, limits=RobotLimits(max_speed=2)),
        policy=PolicyInfo("by-hand"),
        seed=0,
        outcome=outcome,
        source="generated",
        mode="sync",
        time=np.arange(states) * step_s,
        robot_pose=np.column_stack([positions, heading]),
        robot_velocity=np.column_stack([velocity, np.broadcast_to(omega, states)]),
        command=np.zeros((steps, 4)),
        applied=np.zeros((steps, 2)),
        limited=np.broadcast_to(limited, steps),
        planning_time=np.broadcast_to(planning_time, steps),
        person_id=np.arange(len(people)) + 10,
        person_radius=np.array([p.radius for p in people]),
        person_group=np.array([p.group for p in people], dtype=int),
        person_model=("orca",) * len(people),
        person_position=stacked(tracks, 2),
        person_velocity=stacked(speeds, 2),
        person_heading=np.where(there, 0.0, np.nan),
        person_present=there,
        walls=np.asarray(walls, dtype=float).reshape(-1, 4),
        events=tuple(events),
        **others,
    )


def line(start: tuple[float, float], velocity: tuple[float, float], steps: int, step_s: float = STEP_S) -> Any:
    """(steps + 1, 2) positions on a straight line at constant velocity."""
    return np.asarray(start) + np.arange(steps + 1)[:, None] * step_s * np.asarray(velocity)


def straight_run(steps: int = 64, **settings: Any) -> EpisodeRecord:
    """A robot (circle, 0.25 m) that drives from the origin along x at 1 m/s, 8 m in 8 s unless told
    otherwise."""
    return make_record(line((0, 0), (1, 0), steps, settings.get("step_s", STEP_S)), **settings)


def _differences(positions: Any, step_s: float) -> Any:
    """Velocity of the step that ends in each state; that of the first step for state 0."""
    if len(positions) == 1:
        return np.zeros((1, 2))
    steps = np.diff(positions, axis=0) / step_s
    return np.concatenate([steps[:1], steps])
