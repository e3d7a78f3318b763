"""The counterfactual of an episode: the same scenario under the same seed, without the robot.

The world is built as always, so that everybody starts at the same place with the same random numbers; then the robots
are taken away. People neither see nor touch them, and vehicles drive as if the road were empty. The people of events
act on the robot and have nothing to act on: they stay where they begin. A counterfactual depends on the scenario and
the seed only, so that all policies share it, and a longer one begins like a shorter one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import nan
from pathlib import Path

import numpy as np

from sidestep.kernels import layout
from sidestep.kernels.layout import COVER
from sidestep.simulation.build import World, build_world
from sidestep.simulation.directors import BackgroundDirector, Cast, Director, EventDirector
from sidestep.simulation.recorder import Recorder
from sidestep.simulation.worlds import Worlds
from sidestep.types import EpisodeRecord, Event, Outcome, PolicyInfo, Scenario
from sidestep.types.base import IntArray
from sidestep.types.behaviour import CHOOSES

NO_POLICY = PolicyInfo("no robot")
"""Drives in a counterfactual."""


def run_counterfactual(
    scenario: Scenario, seed: int, steps: int | None = None, base: Path | None = None
) -> EpisodeRecord:
    """The record of ``scenario`` under ``seed`` without the robots, ``steps`` long (None: up to the time limit). The
    poses of the robots are NaN."""
    world = without_robots(build_world(scenario, seed, base))
    most = world.scenario.rules.max_steps
    worlds, recorder = Worlds([world]), Recorder(world)
    recorder.note_state(worlds, 0)
    for _ in range(most if steps is None else min(steps, most)):
        worlds.step()
        recorder.note_step(worlds, 0, None, nan)
    record = recorder.finish(NO_POLICY, Outcome.TIMEOUT, _first_choices(worlds.directors[0], world), "sync")
    others = record.other_pose.copy()
    others[:, : len(world.scenario.robots) - 1] = nan
    return replace(
        record,
        robot_pose=np.full_like(record.robot_pose, nan),
        robot_velocity=np.full_like(record.robot_velocity, nan),
        other_pose=others,
    )


def _first_choices(director: Director | None, world: World) -> list[Event]:
    """When people first drew what to do next: from then on they may do something else than with the robot."""
    events = []
    for each in director.directors if isinstance(director, Cast) else ():
        if isinstance(each, BackgroundDirector):
            times = each.background.first_choice_s
            ids = world.person_id[each.columns]
            events += [Event(times[k], "trigger", f"person:{ids[k]}", text=CHOOSES) for k in range(len(times))]
    return sorted((event for event in events if np.isfinite(event.time)), key=lambda event: event.time)


def without_robots(world: World) -> World:
    """The world with its robots out of everybody's sight and way; vehicles stay."""
    flags = world.flags.copy()
    flags[layout.ACTIVE, _robot_columns(world)] = 0
    return replace(world, flags=flags, direct=None if world.direct is None else _without_events(world.direct))


def _robot_columns(world: World) -> IntArray:
    """The robots' own columns and those of the discs that cover them."""
    first_disc = world.people + len(world.robots)
    columns: list[int] = []
    for r in range(len(world.scenario.robots)):
        discs, first = world.body[r, COVER].astype(int).tolist()
        columns += [world.people + r, *range(first_disc + first, first_disc + first + discs)]
    return np.array(columns)


def _without_events(make: Callable[[], Director]) -> Callable[[], Director]:
    def made() -> Director:
        director = make()
        if not isinstance(director, Cast):
            return director
        return Cast([each for each in director.directors if not isinstance(each, EventDirector)])

    return made
