"""Drive the intersection suite and write down what the driver saw and did, frame by frame, as demonstrations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sidestep.errors import BadInput, UnknownName
from sidestep.interfaces import Policy
from sidestep.learning.demonstration_layout import DemonstrationFrame
from sidestep.learning.demonstrations import DemonstrationWriter
from sidestep.policies.driving.measurements import published_measurements
from sidestep.policies.driving.pid import NoisyPidDriver
from sidestep.registry import make_policy, policy_maker
from sidestep.simulation.loop import for_policy
from sidestep.simulation.session import Session
from sidestep.suites.driving_place import TOWNS
from sidestep.suites.intersection import INTERSECTION_SUITE, MIDDLE_M, TRAIN_WEATHERS, numbered_weathers
from sidestep.types import Drive, Observation, Scenario
from sidestep.types.base import FloatArray

NEEDS = frozenset({"rgb", "lidar", "measurements", "high_level_command"})
LIDAR_RANGE_M = 40.0


class DemonstrationPlan(NamedTuple):
    """The episodes to drive."""

    split: str = "dev"
    drivers: Sequence[str] = ("pid", "pid_noise")
    """Policies, in turn."""
    seeds: Sequence[int] = (0,)
    weathers: Sequence[str] = TRAIN_WEATHERS
    """Weathers, which take turns."""
    every: int = 1
    """Keep every so many frames, the last one always."""
    success_only: bool = True
    vehicles: bool = False
    people: str = "standard"
    scenes: Sequence[int] = ()
    """Only these; empty: all of the split."""
    limit: int | None = None
    """At most so many episodes; None: all."""


class DemonstrationCount(NamedTuple):
    """Result of driving a plan."""

    episodes: int
    successes: int
    frames: int


PlannedEpisode = tuple[Scenario, str, int, str]
"""Scenario, driver, seed and weather."""


def plan_episodes(plan: DemonstrationPlan) -> list[PlannedEpisode]:
    """Every episode of a plan."""
    if plan.every < 1:
        raise BadInput(f"every must be at least 1, got {plan.every}")
    episodes: list[PlannedEpisode] = []
    options = {"split": "all" if plan.scenes else plan.split, "vehicles": plan.vehicles, "people": plan.people}
    suites = {weather: _routes({**options, "weather": weather}, plan.scenes) for weather in plan.weathers}
    routes = len(next(iter(suites.values())))
    for seed in plan.seeds:
        for route in range(routes):
            k = len(episodes)
            weather, driver = plan.weathers[k % len(plan.weathers)], plan.drivers[(k // 2) % len(plan.drivers)]
            episodes.append((suites[weather][route], driver, seed, weather))
    return episodes[: plan.limit]


def _routes(options: Mapping[str, Any], scenes: Sequence[int]) -> list[Scenario]:
    every = INTERSECTION_SUITE.with_options(dict(options)).scenarios()
    known = sorted({each.notes["scene"] for each in every})
    for scene in scenes:
        if scene not in known:
            raise UnknownName("scene", str(scene), [str(each) for each in known], "intersection")
    return [each for each in every if not scenes or each.notes["scene"] in scenes]


def check_plan(plan: DemonstrationPlan) -> None:
    """Raise an error, before a file is made, for what cannot be driven: scenes, settings, policies and their extras."""
    plan_episodes(plan)
    for driver in plan.drivers:
        policy_maker(driver)


def drive_demonstrations(
    plan: DemonstrationPlan, writer: DemonstrationWriter, progress: Callable[[int, int, str], None]
) -> DemonstrationCount:
    """Drive every episode of the plan."""
    return drive_demonstrations_of(plan_episodes(plan), plan.every, plan.success_only, writer, progress)


def drive_demonstrations_of(
    episodes: Sequence[PlannedEpisode], every: int, success_only: bool, writer: DemonstrationWriter,
    progress: Callable[[int, int, str], None], settings: Mapping[str, Any] | None = None,
) -> DemonstrationCount:  # fmt: skip
    """Drive ``episodes``. Without ``success_only`` frames are written while they are driven. ``settings`` are those of
    the policies that drive."""
    successes = frames = 0
    for k, (scenario, driver, seed, weather) in enumerate(episodes):
        branch: int = scenario.notes["branch"]
        waiting: list[DemonstrationFrame] = []
        keep = waiting.append if success_only else partial(writer.add, branch)
        labels = episode_labels(scenario, weather, writer.next_trace, writer.weathers)
        outcome, count = drive_episode(scenario, make_policy(driver, settings), seed, labels, every, keep)
        successes += outcome == "success"
        if outcome == "success" or not success_only:
            frames += count
            for frame in waiting:
                writer.add(branch, frame)
        progress(k + 1, len(episodes), f"{frames} frames")
    writer.flush()
    return DemonstrationCount(len(episodes), successes, frames)


def drive_episode(
    scenario: Scenario, policy: Policy, seed: int, labels: Labels, every: int,
    keep: Callable[[DemonstrationFrame], None],
) -> tuple[str, int]:  # fmt: skip
    """One episode: its outcome, and how many frames were kept. For a driver with noise, the action without noise is
    kept: how to get back. A policy that wants other settings of sensors than the scenario's looks from a session of its
    own, which carries out the same commands."""
    own = for_policy(scenario, policy)
    is_apart = own.sensors != scenario.sensors
    session = Session(scenario, needs=NEEDS if is_apart else NEEDS | policy.needs, name=policy.name)
    eyes = Session(own, needs=policy.needs, name=policy.name) if is_apart else session
    seen, observation = session.reset(seed), eyes.reset(seed)
    policy.reset(eyes.task)
    step = kept = 0
    while not session.done:
        command = policy.act(observation)
        if not isinstance(command, Drive):
            raise BadInput(f"{policy.name}: commands {type(command).__name__}; demonstrations need steer and pedals")
        meant = policy.clean if isinstance(policy, NoisyPidDriver) else command
        before = seen
        seen, *_ = session.step(command)
        observation = eyes.step(command)[0] if is_apart else seen
        if step % every == 0 or session.done:
            keep(make_frame(before, meant, labels, session.done))
            kept += 1
        step += 1
    return str(session.outcome), kept


Labels = tuple[int, int, int, int, int]
"""Pose, town, scene, trace and weather of the frames of an episode."""


def episode_labels(scenario: Scenario, weather: str, trace: int, weathers: Sequence[str]) -> Labels:
    """Labels of every frame of an episode of ``scenario`` under a weather of the suite, which is numbered by its place
    in ``weathers``, or in the published list where they are not named."""
    scene: int = scenario.notes["scene"]
    weathers = weathers or numbered_weathers([weather], vehicles=scenario.lane_traffic is not None)
    if weather not in weathers:
        raise BadInput(
            f"weather {weather!r:.40} is not among those that the file names ({', '.join(weathers) or 'none'}); write "
            "another file"
        )
    return scenario.notes["pose"], TOWNS.get(scene, 0), scene, trace, weathers.index(weather)


def make_frame(observation: Observation, command: Drive, labels: Labels, done: bool) -> DemonstrationFrame:
    """A frame in the published frame: y, angles and steer to the right."""
    assert observation.lidar is not None
    assert observation.extra is not None
    pose, town, scene, trace, weather = labels
    robot = observation.robot
    x, y = robot.x + MIDDLE_M * np.cos(robot.heading), robot.y + MIDDLE_M * np.sin(robot.heading)
    ranges: FloatArray = np.minimum(observation.lidar.ranges[::-1] / np.float32(LIDAR_RANGE_M), np.float32(1.0))
    return DemonstrationFrame(
        image=np.asarray(observation.rgb)[..., ::-1],
        lidar=np.asarray(ranges, np.float32),
        measurements=published_measurements(observation.extra["measurements"]),
        command=np.asarray(observation.extra["high_level_command"], np.int64),
        location=np.array([x, -y, 0.0], np.float32),
        rotation=np.array([0.0, 0.0, -np.degrees(robot.heading)], np.float32),
        action=np.array([-command.steer, command.throttle, command.brake], np.float32),
        pose=pose,
        town=town,
        scene=scene,
        trace=trace,
        weather=weather,
        done=done,
    )
