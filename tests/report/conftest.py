"""Synthetic episodes: a street corner with walls, fifteen people, some of them in groups, and a robot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidestep.records import save_record
from sidestep.runs.episode import score_episode
from sidestep.runs.folder import RunFile, episode_path, save_results
from sidestep.runs.plan import Plan, PolicyPlan
from sidestep.types.outcome import Outcome, Rules
from sidestep.types.record import EpisodeRecord, Event, PolicyInfo
from sidestep.types.robot import Footprint, RobotLimits, RobotSpec
from sidestep.types.scenario import CirclePlacement, CrowdPart, RobotPlacement, Scenario
from sidestep.types.scene import Region, SceneSpec
from tests.needs import CHROMIUM
from tests.report.watching import GL

STEP_S = 0.05
PEOPLE = 15
RADIUS = 0.27

Builder = Callable[..., EpisodeRecord]


def box(x0: float, y0: float, x1: float, y1: float) -> tuple[tuple[float, float], ...]:
    return (x0, y0), (x1, y0), (x1, y1), (x0, y1)


def street() -> SceneSpec:
    return SceneSpec(
        name="street corner",
        regions=(
            Region(kind="sidewalk", polygon=box(-12, -12, 12, 12)),
            Region(kind="road", polygon=box(-12, -8, 12, -4.2)),
            Region(kind="crosswalk", polygon=box(-1.6, -8, 1.6, -4.2)),
            Region(kind="kerb", polygon=box(-12, -4.2, 12, -4)),
            Region(kind="grass", polygon=box(-12, 4.5, -3, 12), holes=(box(-9, 7, -6, 10),)),
            Region(kind="building", polygon=box(4, 4.5, 12, 12), name="café"),
            Region(kind="obstacle", polygon=box(2.0, 1.6, 2.8, 2.4)),
            Region(kind="furniture", polygon=box(-2.6, 2.9, -1.0, 3.3)),
        ),
    )


def walls_of(scene: SceneSpec) -> np.ndarray:
    rings = [np.array(r.polygon) for r in scene.regions if r.kind in {"building", "obstacle", "furniture"}]
    return np.concatenate([np.hstack([ring, np.roll(ring, -1, axis=0)]) for ring in rings]).astype(np.float32)


def walk(time: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """People crossing from every side; 0 and 1, and 2, 3, 4 walk together; the last leaves at half time."""
    angle = np.linspace(0, 2 * np.pi, PEOPLE, endpoint=False) + rng.normal(0, 0.1, PEOPLE)
    start = 5.5 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    velocity = -start / 5.5 * rng.uniform(0.6, 1.2, (PEOPLE, 1)) + rng.normal(0, 0.15, (PEOPLE, 2))
    for member, leader, offset in ((1, 0, (0.0, 0.7)), (3, 2, (0.7, 0.0)), (4, 2, (0.35, 0.7))):
        start[member], velocity[member] = start[leader] + offset, velocity[leader]
    position = start + time[:, None, None] * velocity
    position[len(time) // 2 :, -1] = np.nan
    return position, np.broadcast_to(velocity, position.shape).copy()


@pytest.fixture(scope="session")
def build() -> Builder:
    def build_record(
        policy: str = "orca",
        name: str = "corner",
        seed: int = 0,
        outcome: Outcome = Outcome.PEDESTRIAN_COLLISION,
        duration: float = 8.0,
        inline_scene: bool = True,
        footprint: Footprint | None = None,
    ) -> EpisodeRecord:
        rng = np.random.default_rng([seed, *policy.encode()])
        time = np.arange(round(duration / STEP_S) + 1) * STEP_S
        share = time / time[-1]
        bend = 0.8 * np.sin(np.pi * share) + 0.2 * rng.normal() * np.sin(2 * np.pi * share)
        path = np.stack([-5 + 10 * share, bend - 1.0], axis=1)
        step = np.gradient(path, time, axis=0)
        heading = np.arctan2(step[:, 1], step[:, 0])
        position, velocity = walk(time, rng)
        events: tuple[Event, ...] = (Event(float(time[-1]), "goal_reached"),)
        if outcome is Outcome.PEDESTRIAN_COLLISION:
            k = len(time) // 2
            position[k : k + 8, 5] = path[k : k + 8] + np.array([0.0, 0.25 + RADIUS - 0.02])
            events = (
                Event(float(time[k]), "collision_start", "person:105"),
                Event(float(time[k + 8]), "collision_end", "person:105"),
                *events,
            )
        scene = street()
        scenario = Scenario(
            name=name,
            suite="synthetic",
            scene=scene if inline_scene else "corner",
            robots=(RobotPlacement(start=(*path[0], 0.0), goal=(5.0, -1.0)),),
            crowd=(CrowdPart(placement=CirclePlacement(count=PEOPLE)),),
            rules=Rules(step_s=STEP_S, time_limit_s=30.0),
        )
        return EpisodeRecord(
            scenario=scenario,
            robot=RobotSpec(
                name="disc",
                dynamics="unicycle",
                footprint=footprint or Footprint(radius=0.25),
                limits=RobotLimits(max_speed=1.5),
            ),
            policy=PolicyInfo(policy, {"horizon": 5}, ("goal", "pedestrians")),
            seed=seed,
            outcome=outcome,
            source="generated",
            mode="sync",
            time=time,
            robot_pose=np.column_stack([path, heading]),
            robot_velocity=np.column_stack([step, np.gradient(heading, time)]),
            command=np.zeros((len(time) - 1, 4)),
            applied=np.zeros((len(time) - 1, 2)),
            limited=np.zeros(len(time) - 1),
            planning_time=np.full(len(time) - 1, 0.002),
            person_id=np.arange(PEOPLE) + 100,
            person_radius=np.full(PEOPLE, RADIUS),
            person_group=np.array([0, 0, 1, 1, 1] + [-1] * (PEOPLE - 5)),
            person_model=("orca",) * PEOPLE,
            person_position=position,
            person_velocity=np.where(np.isnan(position), np.nan, velocity),
            person_heading=np.where(np.isnan(position[..., 0]), np.nan, np.arctan2(velocity[..., 1], velocity[..., 0])),
            person_present=np.isfinite(position[..., 0]),
            walls=walls_of(scene),
            events=events,
            package_version="0.0.0",
        )

    return build_record


@pytest.fixture(scope="session")
def record(build: Builder) -> EpisodeRecord:
    return build()


EVIL = "</script><img src=x onerror=alert(1)> \"'&{{ 7 * 7 }} <!--"
"""A scenario name that breaks out of anything which is not escaped."""


@pytest.fixture(scope="session")
def run_folder(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run: two policies, two scenarios (one of them evil), two seeds."""
    folder = tmp_path_factory.mktemp("runs") / "first"
    outcomes = (Outcome.SUCCESS, Outcome.PEDESTRIAN_COLLISION, Outcome.TIMEOUT)
    records = [
        build(policy=policy, name=name, seed=seed, outcome=outcomes[(k + seed) % 3], duration=4.0 + k)
        for policy in ("orca", "straight")
        for k, name in enumerate(("corner", EVIL))
        for seed in (0, 1)
    ]
    plan = Plan(
        suite="synthetic",
        scenarios=tuple({record.scenario.name: record.scenario for record in records}.values()),
        policies=(PolicyPlan(name="orca", settings={"note": EVIL}), PolicyPlan(name="straight")),
        seeds=(0, 1),
    )
    for record in records:
        save_record(record, episode_path(folder, record.policy.name, record.scenario.name, record.seed))
    RunFile(plan, commit="abc123", complete=True).save(folder)
    save_results([score_episode(record, "paper") for record in records], folder / "results.parquet", "paper")
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=GL)
        yield browser
        browser.close()
