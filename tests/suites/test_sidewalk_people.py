"""The people of ``sidewalk-reactive``: groups that tempt, a way round them, and nobody in the way too early."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sidestep.kernels import layout
from sidestep.kernels.layout import GROUP_GAP_M
from sidestep.metrics.staged_events import event_state
from sidestep.policies.sidewalk.follow_lane import Expert, FollowLane
from sidestep.simulation import run_episode
from sidestep.simulation.build import World, build_world
from sidestep.simulation.crowd.events import Actor, EventScene, write_script
from sidestep.simulation.crowd.events.script import Setting
from sidestep.simulation.directors import write_scripts
from sidestep.suites.files import choose_options
from sidestep.suites.sidewalk.routes import TownRoutes, town_routes
from sidestep.suites.sidewalk.scenarios import BEHAVIOURS, GROUPS, SIDEWALK_REACTIVE
from sidestep.types import EpisodeRecord, Observation, Outcome, Scenario, Velocity
from sidestep.types.base import FloatArray
from tools.sidewalk_people import leaves_passage

KINDS = sorted(GROUPS)
TOWNS = town_routes().towns
ROBOT_WIDTH_M, ROBOT_RADIUS_M, PERSON_M = 0.6, 0.541, 0.3
FEW, FORTY = range(3, 49, 12), range(50, 90)


class AvoidsBodies(Expert):
    """The expert, to whom nobody belongs to a group: it keeps off everybody, and off nothing between them."""

    name = "avoids_bodies"

    def _drive(self, observation: Observation) -> Velocity:
        people = observation.pedestrians
        assert people is not None
        alone = replace(people, group=np.full(len(people), -1))
        return super()._drive(replace(observation, pedestrians=alone))


def scenarios(kind: str, towns: range) -> Iterator[Scenario]:
    named = {item.name: item for item in choose_options(SIDEWALK_REACTIVE, {"split": "all"}).scenarios()}
    return (named[f"{kind}-{TOWNS[number].town.lower()}"] for number in towns)


def standing(town: TownRoutes, kind: str) -> tuple[FloatArray, FloatArray]:
    """Where a group stands, m along the robot's way at its middle and m to the left of it: (N,), (N,)."""
    points = town.straight.points
    setting = Setting(points, 0.0, (), town.town)
    script = write_script(town.events[kind], setting, np.random.default_rng(0))
    place = np.array([(person.x, person.y) for person in script.people])
    x, y, ux, uy = setting.nearest_on_way(*place.mean(axis=0))
    off = place - (x, y)
    return off[:, 0] * ux + off[:, 1] * uy, off[:, 1] * ux - off[:, 0] * uy


def gap(town: TownRoutes, kind: str) -> tuple[float, float]:
    """The widest lane through a group, m between bodies across the way, and how far the two people at its sides who are
    nearest to each other stand from square to the way, rad."""
    along, aside = standing(town, kind)
    order = np.argsort(aside)
    steps = np.diff(aside[order])
    k = int(steps.argmax())
    low, high = order[: k + 1], order[k + 1 :]
    away = np.hypot(along[low][:, None] - along[high], aside[low][:, None] - aside[high])
    i, j = np.unravel_index(int(away.argmin()), away.shape)
    assert away.min() <= GROUP_GAP_M
    slant = np.arctan2(abs(along[low[i]] - along[high[j]]), abs(aside[low[i]] - aside[high[j]]))
    return float(steps[k] - 2 * PERSON_M), float(slant)


@pytest.mark.parametrize("kind", KINDS)
def test_most_groups_stand_across_the_way_with_a_gap_that_the_robot_fits_through(kind: str) -> None:
    found = np.array([gap(town, kind) for town in TOWNS])
    passable = found[:, 0] >= ROBOT_WIDTH_M + 0.3
    assert passable.mean() >= 0.9
    pairs = [k for k, town in enumerate(TOWNS) if passable[k] and getattr(town.events[kind], "people", None) != 3]
    assert np.quantile(found[pairs, 1], 0.9) < 0.1  # square to the way; of three who talk, two stand on one side
    assert found[passable, 1].max() < 0.6


def way_round(world: World) -> bool:
    people = world.agents[:2, : world.people].T.astype(np.float64)
    ego = world.scenario.ego
    points = np.array([ego.start[:2], *ego.route, ego.goal])
    return leaves_passage(points, world.scene.spec, people, PERSON_M, world.flags[layout.GROUP, : world.people])


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_a_way_round_every_group(kind: str) -> None:
    assert all(way_round(build_world(item, 7)) for item in scenarios(kind, range(50, 100, 12)))


def outcomes(kind: str, towns: range, policy: type[Expert]) -> Counter[str]:
    return Counter(_ending(run_episode(item, policy())) for item in scenarios(kind, towns))


def _ending(record: EpisodeRecord) -> str:
    touched = any(event.kind == "collision_start" for event in record.events)
    assert event_state(record) == "happened"
    return "touched" if touched else record.outcome.value


@pytest.mark.parametrize("kind", KINDS)
def test_who_avoids_bodies_but_not_groups_fails_by_that_alone(kind: str) -> None:
    found = outcomes(kind, FEW, AvoidsBodies)
    assert found["touched"] == 0
    assert found[Outcome.GROUP_INTRUSION.value] > len(FEW) / 2
    assert outcomes(kind, FEW, Expert) == {"success": len(FEW)}


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_groups_over_forty_towns(kind: str) -> None:
    assert np.mean([way_round(build_world(item, 0)) for item in scenarios(kind, FORTY)]) == 1.0
    found = outcomes(kind, FORTY, AvoidsBodies)
    assert found["touched"] <= 1
    assert found[Outcome.GROUP_INTRUSION.value] >= 0.6 * len(FORTY)
    assert outcomes(kind, FORTY, Expert)["success"] >= 0.95 * len(FORTY)


def clearance_before_trigger(world: World) -> float:
    """Least distance, m between centres, of anybody to a robot that goes along its route until the event begins."""
    robot = world.robot_state[:1, [0, 1, 2]].copy()
    robot[0, 2] = ROBOT_RADIUS_M
    (script,) = write_scripts(world.scenario, world.scene, world.seed, robot, "test")
    people = [Actor(k, person.speed, script.radius) for k, person in enumerate(script.people)]
    stage, act = EventScene(people, ROBOT_RADIUS_M, 0.05), script.act()
    ego = world.scenario.ego
    points = np.array([ego.start[:2], *ego.route, ego.goal])
    least = np.inf
    for a, b in pairwise(points):
        heading = float(np.arctan2(*(b - a)[::-1]))
        for part in np.arange(0.0, 1.0, 0.05 / np.hypot(*(b - a))):
            x, y = (a + part * (b - a)).tolist()
            velocity = (1.5 * np.cos(heading), 1.5 * np.sin(heading))
            stage.update(0.0, (x, y, heading, *velocity), world.agents, world.flags)
            if act.is_time(stage):
                return least
            least = min(least, *(np.hypot(person.x - x, person.y - y) for person in people))
    return least


@pytest.mark.parametrize("kind", BEHAVIOURS)
def test_nobody_stands_in_the_lane_before_the_event(kind: str) -> None:
    for item in scenarios(kind, range(3, 100, 24)):
        for seed in range(2):
            assert clearance_before_trigger(build_world(item, seed)) >= ROBOT_RADIUS_M + PERSON_M + 0.5


@pytest.mark.full
@pytest.mark.parametrize("kind", BEHAVIOURS)
def test_nobody_stands_in_the_lane_in_any_town(kind: str) -> None:
    for item in scenarios(kind, range(100)):
        assert clearance_before_trigger(build_world(item, 0)) >= ROBOT_RADIUS_M + PERSON_M + 0.5


@pytest.mark.parametrize("kind", ["overtaking", "crossing"])
def test_the_lane_follower_gets_as_far_as_the_event(kind: str) -> None:
    """In these towns it touched people who waited, before; now its failures are failures of the event."""
    for item in scenarios(kind, range(7, 60, 17)):
        record = run_episode(item, FollowLane())
        assert event_state(record) == "happened"
        begun = next(event.time for event in record.events if event.kind == "trigger")
        assert not any(event.kind == "collision_start" and event.time < begun for event in record.events)
