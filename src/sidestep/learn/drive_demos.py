"""Drive the intersection suite and write down what the driver saw and did, frame by frame, as demonstrations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from sidestep.errors import BadInput
from sidestep.learn.demonstration_layout import DemonstrationFrame
from sidestep.learn.demonstrations import DemonstrationWriter
from sidestep.policies.driving.pid import NoisyPidDriver
from sidestep.registry import make_policy
from sidestep.simulation.session import Session
from sidestep.suites.intersection import INTERSECTION_SUITE, MIDDLE_M, TRAIN_WEATHERS, WEATHERS
from sidestep.types import Drive, Observation, Scenario
from sidestep.types.base import FloatArray

NEEDS = frozenset({"rgb", "lidar", "measurements", "high_level_command"})
LIDAR_RANGE_M = 40.0
TO_THE_RIGHT = np.array([1.0, -1.0, -1.0, 1.0], np.float32)
TOWNS = {0: 3, 1: 3, 2: 3, 3: 3, 4: 5, 5: 5}
"""Number of the published town of each scene."""


class DemonstrationPlan(NamedTuple):
    """Which episodes to drive."""

    split: str = "dev"
    drivers: Sequence[str] = ("pid", "pid_noise")
    """Policies, in turn."""
    seeds: Sequence[int] = (0,)
    weathers: Sequence[str] = TRAIN_WEATHERS
    """In turn."""
    every: int = 1
    """Keep every so many frames, the last one always."""
    success_only: bool = True
    vehicles: bool = False
    people: str = "standard"


class DemonstrationCount(NamedTuple):
    """What was driven."""

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
    options = {"split": plan.split, "vehicles": plan.vehicles, "people": plan.people}
    suites = {
        weather: INTERSECTION_SUITE.with_options({**options, "weather": weather}).scenarios()
        for weather in plan.weathers
    }
    routes = len(next(iter(suites.values())))
    for seed in plan.seeds:
        for route in range(routes):
            k = len(episodes)
            weather, driver = plan.weathers[k % len(plan.weathers)], plan.drivers[(k // 2) % len(plan.drivers)]
            episodes.append((suites[weather][route], driver, seed, weather))
    return episodes


def drive_demonstrations(
    plan: DemonstrationPlan, writer: DemonstrationWriter, progress: Callable[[int, int, str], None]
) -> DemonstrationCount:
    """Drive every episode of the plan."""
    return drive_demonstrations_of(plan_episodes(plan), plan.every, plan.success_only, writer, progress)


def drive_demonstrations_of(
    episodes: Sequence[PlannedEpisode], every: int, success_only: bool, writer: DemonstrationWriter,
    progress: Callable[[int, int, str], None],
) -> DemonstrationCount:  # fmt: skip
    """Drive ``episodes``. Without ``success_only`` frames are written while they are driven."""
    successes = frames = 0
    for k, (scenario, driver, seed, weather) in enumerate(episodes):
        branch: int = scenario.notes["branch"]
        waiting: list[DemonstrationFrame] = []
        keep = waiting.append if success_only else partial(writer.add, branch)
        outcome, count = drive_episode(scenario, driver, seed, weather, writer.next_trace, every, keep)
        successes += outcome == "success"
        if outcome == "success" or not success_only:
            frames += count
            for frame in waiting:
                writer.add(branch, frame)
        progress(k + 1, len(episodes), f"{frames} frames")
    writer.flush()
    return DemonstrationCount(len(episodes), successes, frames)


def drive_episode(
    scenario: Scenario, driver: str, seed: int, weather: str, trace: int, every: int,
    keep: Callable[[DemonstrationFrame], None],
) -> tuple[str, int]:  # fmt: skip
    """One episode: its outcome, and how many frames were kept. Of a driver with noise the action without noise is kept:
    how to get back."""
    policy = make_policy(driver)
    session = Session(scenario, needs=NEEDS | policy.needs, name=driver)
    observation = session.reset(seed)
    policy.reset(session.task)
    labels = episode_labels(scenario, weather, trace)
    step = kept = 0
    while not session.done:
        command = policy.act(observation)
        assert isinstance(command, Drive)
        meant = policy.clean if isinstance(policy, NoisyPidDriver) else command
        seen = observation
        observation, done = session.step(command)
        if step % every == 0 or done:
            keep(make_frame(seen, meant, labels, done))
            kept += 1
        step += 1
    return str(session.outcome), kept


Labels = tuple[int, int, int, int, int]
"""Pose, town, scene, trace and weather of the frames of an episode."""


def episode_labels(scenario: Scenario, weather: str, trace: int) -> Labels:
    """Labels of every frame of an episode of ``scenario`` under a weather of the suite."""
    scene: int = scenario.notes["scene"]
    return scenario.notes["pose"], TOWNS[scene], scene, trace, list(WEATHERS).index(weather)


def make_frame(observation: Observation, command: Drive, labels: Labels, done: bool) -> DemonstrationFrame:
    """A frame in the published frame: y, angles and steer to the right."""
    assert observation.lidar is not None
    assert observation.extra is not None
    pose, town, scene, trace, weather = labels
    robot = observation.robot
    x, y = robot.x + MIDDLE_M * np.cos(robot.heading), robot.y + MIDDLE_M * np.sin(robot.heading)
    ranges: FloatArray = np.minimum(observation.lidar.ranges[::-1] / np.float32(LIDAR_RANGE_M), np.float32(1.0))
    return DemonstrationFrame(
        image=np.asarray(observation.rgb),
        lidar=np.asarray(ranges, np.float32),
        measurements=np.asarray(observation.extra["measurements"] * TO_THE_RIGHT, np.float32),
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
