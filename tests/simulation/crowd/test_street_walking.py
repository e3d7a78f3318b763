"""People of a street: what they have in mind, where they walk, how they look and decide."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import numpy as np
import pytest
import shapely

from sidestep.errors import BadInput
from sidestep.kernels import layout
from sidestep.scenes.load import resolve_scene
from sidestep.simulation import run_episode
from sidestep.simulation.build import build_world
from sidestep.simulation.crowd.behaviour.stops import PeopleView
from sidestep.simulation.crowd.people import make_people
from sidestep.simulation.crowd.spawn import Spawner
from sidestep.simulation.crowd.street_people import (
    CROSS,
    HESITATE,
    INTENTS,
    RUN,
    STAY,
    TURN_BACK,
    WALK_ON,
    StreetPlans,
    place_street_people,
)
from sidestep.simulation.crowd.street_walking import CROSSING, LOOKING, StreetWalkers
from sidestep.suites.street import STREET_SUITE
from sidestep.types import Drive, EpisodeRecord, Observation, Scenario, SceneSpec, Task
from sidestep.types.outcome import Rules
from sidestep.types.scenario import CrowdPart, RobotPlacement, StreetPlacement

ALL = {each.name: each for each in STREET_SUITE.with_options({"split": "all", "people": "many"}).scenarios()}


def ambient(name: str) -> Scenario:
    """A scenario without a car."""
    robot = RobotPlacement(spec="point", start=(500.0, 500.0, 0.0), goal=(501.0, 501.0))
    return ALL[name].model_copy(update={"robots": (robot,), "rules": Rules(step_s=0.05, time_limit_s=40.0)})


def plans_of(name: str, seeds: int = 40) -> tuple[StreetPlans, Any]:
    """Plans and people of many seeds, joined."""
    found = []
    part = ALL[name].crowd[0]
    assert isinstance(part.placement, StreetPlacement)
    scene = resolve_scene(ALL[name].scene)
    for seed in range(seeds):
        placer = Spawner(None, None, 40.0, "test", np.zeros((0, 3)))
        rng = np.random.Generator(np.random.PCG64(seed))
        found.append(place_street_people(placer, part, part.placement, scene, rng))
    plans = [plan for _, plan in found]
    joined = {
        field: np.concatenate([getattr(plan, field) for plan in plans])
        for field in StreetPlans._fields
        if field != "back"
    }
    people = [
        (person.start[i], person.routes[i, : person.route_length[i]]) for person, _ in found for i in range(len(person))
    ]
    return StreetPlans(**joined, back=()), people


@cache
def quiet(name: str, seed: int) -> tuple[EpisodeRecord, StreetPlans]:
    """An episode without a car, and what its people have in mind."""
    scenario = ambient(name)
    record = run_episode(scenario, "stop", seed=seed)
    world = build_world(scenario, seed)
    assert world.direct is not None
    director: Any = world.direct()
    return record, director.directors[0]._walkers._plans


def carriageway(record: EpisodeRecord) -> Any:
    """(T, N) who is on the carriageway."""
    scene = record.scenario.scene
    assert isinstance(scene, SceneSpec)
    road = shapely.union_all(
        [shapely.Polygon(r.polygon, r.holes) for r in scene.regions if r.kind in ("road", "crosswalk", "island")]
    )
    position = record.person_position
    return shapely.contains_xy(road.buffer(-0.1), position[..., 0], position[..., 1])


def test_intents_have_their_shares() -> None:
    plans, _ = plans_of("zebra-65-east", 60)
    counts = np.bincount(plans.intent, minlength=len(INTENTS)) / len(plans.intent)
    assert counts[WALK_ON] == pytest.approx(0.5, abs=0.05)
    assert counts[CROSS] == pytest.approx(0.28, abs=0.04)
    assert min(counts[[RUN, HESITATE, TURN_BACK, STAY]]) > 0.03
    crosses = np.isin(plans.intent, (CROSS, RUN, HESITATE))
    assert (plans.middle[crosses] == plans.kerb[crosses] + 1).all()
    assert (plans.middle[~crosses] == -1).all()
    assert (plans.run_mps[plans.intent == RUN] >= 2.2).all()
    assert plans.glances[crosses].mean() > plans.glances[plans.intent == STAY].mean() + 0.3


@pytest.mark.parametrize(
    ("name", "least", "most"), [("zebra-65-east", 0.8, 0.95), ("island-65-east", 0.6, 0.85), ("none-65-east", 0.0, 0.2)]
)
def test_most_who_cross_do_so_at_the_zebra_or_the_island(name: str, least: float, most: float) -> None:
    plans, people = plans_of(name)
    crosses = np.flatnonzero(np.isin(plans.intent, (CROSS, RUN, HESITATE)))
    x = np.array([people[i][1][plans.kerb[i], 0] for i in crosses])
    half = 2.0 if "zebra" in name else 4.0
    assert least <= (np.abs(x) < half).mean() <= most


@pytest.mark.parametrize("name", ["none-60-east", "zebra-65-west", "zebra+island-70-east"])
def test_without_a_car_everybody_does_what_they_have_in_mind(name: str) -> None:
    for seed in range(2):
        record, plans = quiet(name, seed)
        on_road = carriageway(record)
        walks = plans.intent == WALK_ON
        assert on_road[:, walks].any(axis=0).sum() <= 1
        stays = np.isin(plans.intent, (TURN_BACK, STAY))
        assert on_road[:, stays].any(axis=0).sum() <= 1
        crosses = np.flatnonzero(np.isin(plans.intent, (CROSS, RUN, HESITATE)))
        first = record.person_position[0, crosses, 1]
        there = np.array(
            [record.person_position[np.isfinite(record.person_position[:, k, 1]), k, 1][-1] for k in crosses]
        )
        assert (np.sign(first) != np.sign(there)).mean() > 0.85


def test_heads_turn_before_people_step_onto_the_road() -> None:
    record, plans = quiet("zebra-65-west", 0)
    on_road = carriageway(record)
    yaw = record.person_head_yaw
    assert yaw is not None
    looked = 0
    for k in np.flatnonzero(np.isin(plans.intent, (CROSS, RUN, HESITATE)) & plans.glances):
        steps = np.flatnonzero(on_road[:, k])
        if len(steps):
            before = yaw[max(steps[0] - 20, 0) : steps[0], k]
            looked += 1
            assert np.isfinite(before).any()
            assert np.nanmax(np.abs(before)) <= 1.4 + 1e-6
    assert looked > 3


def test_people_who_wait_at_the_kerb_face_the_road() -> None:
    record, plans = quiet("none-60-east", 1)
    speed = np.hypot(record.person_velocity[..., 0], record.person_velocity[..., 1])
    found = 0
    for k in np.flatnonzero(plans.intent == STAY):
        still = np.flatnonzero(speed[:, k] < 1e-6)
        if len(still) > 40:
            found += 1
            side = np.sign(record.person_position[still[-1], k, 1])
            assert np.sin(record.person_heading[still[-1], k]) == pytest.approx(-side, abs=1e-3)
            assert 6.0 - 0.1 <= len(still) * 0.05 <= 14.0 + 0.1
    assert found


def one_person(gap_s: float, claims: float = 0.0) -> StreetPlans:
    """Somebody at the kerb who crosses at 1 m/s and wants ``gap_s`` to be left."""
    numbers = {name: np.array([value]) for name, value in {"intent": CROSS, "kerb": 0, "middle": 1}.items()}
    times = {name: np.zeros(1) for name in ("looks_s", "stays_s", "pause_s")}
    flags = {name: np.zeros(1, bool) for name in ("waits_in_middle", "gives_up", "glances")}
    return StreetPlans(
        **numbers,
        **times,
        **flags,
        gap_s=np.array([gap_s]),
        claims_mps2=np.array([claims]),
        run_mps=np.ones(1),
        back=(np.zeros((1, 2)),),
    )


def look_once(plans: StreetPlans, vehicle_x: float, speed: float) -> int:
    """State after one step at the kerb (y = -3.75), while a vehicle comes in the near lane (y = -1.75) as a disc of
    radius 1 m."""
    agents = np.zeros((layout.AGENT_ROWS, 2), np.float32)
    flags = np.zeros((layout.FLAG_ROWS, 2), np.int32)
    flags[layout.ACTIVE] = 1
    agents[[layout.PX, layout.PY], 0] = 0.0, -3.75
    agents[[layout.GOAL_X, layout.GOAL_Y], 0] = 0.0, -3.75
    agents[[layout.PX, layout.PY, layout.VX, layout.RADIUS], 1] = vehicle_x, -1.75, speed, 1.0
    routes = np.array([[[0.0, -3.75], [0.0, -0.25], [0.0, 4.25], [30.0, 4.25]]], np.float32)
    view = PeopleView(agents[:, :1], flags[:, :1], routes, np.array([4], np.int32), 1.0, agents, flags, 0, 1)
    walkers = StreetWalkers(plans, layout.MODEL_ORCA)
    walkers.advance(view, 0.05)
    return int(walkers._state[0])


@pytest.mark.parametrize(("away_m", "expected"), [(65.9, LOOKING), (66.1, CROSSING)])
def test_gap_acceptance_by_hand(away_m: float, expected: int) -> None:
    """The person leaves the vehicle's lane, 2 + 1.5 m away, after 3.5 s and wants 3 s more: at 10 m/s its front has to
    be 65 m away, its middle 66 m."""
    assert look_once(one_person(3.0), -away_m, 10.0) == expected
    assert look_once(one_person(3.0), away_m, -10.0) == expected
    assert look_once(one_person(3.0), -away_m, -10.0) == CROSSING  # it drives away


@pytest.mark.parametrize(("away_m", "expected"), [(25.4, LOOKING), (25.8, CROSSING)])
def test_claiming_the_zebra_by_hand(away_m: float, expected: int) -> None:
    """At 10 m/s a driver who reacts after 0.8 s stops by 3 m/s² within 8 + 100 / 6 = 24.7 m."""
    assert look_once(one_person(3.0, claims=3.0), -away_m, 10.0) == expected


def test_a_vehicle_that_stands_in_the_way_is_waited_for() -> None:
    assert look_once(one_person(1.0), -1.2, 0.0) == LOOKING
    assert look_once(one_person(1.0, claims=3.0), -1.2, 0.0) == LOOKING
    assert look_once(one_person(1.0), -5.0, 0.0) == CROSSING


class Steady:
    """Drives straight on at a constant speed and looks at nobody."""

    needs: ClassVar[frozenset[str]] = frozenset()

    def reset(self, task: Task) -> None:
        pass

    def act(self, observation: Observation) -> Drive:
        error = 8.3 - observation.robot.speed
        return Drive(0.0, min(max(2.0 * error, 0.0), 1.0), min(max(-error, 0.0), 1.0))


def test_people_without_a_zebra_let_a_steady_car_pass_or_cross_in_time() -> None:
    """Contacts with a car that never brakes are rare where nobody relies on drivers, and people wait."""
    waited = hits = 0
    for seed in range(6):
        record = run_episode(ALL["none-65-east"], Steady(), seed=seed, act_limit_s=None)
        hits += any(event.kind == "collision_start" for event in record.events)
        speed = np.hypot(record.person_velocity[..., 0], record.person_velocity[..., 1])
        waited += int((speed[100:] < 1e-6).any(axis=0).sum())
    assert hits <= 2
    assert waited > 6


def test_a_street_is_needed() -> None:
    part = CrowdPart(placement=StreetPlacement())
    placer = Spawner(None, None, 40.0, "test", np.zeros((0, 3)))
    with pytest.raises(BadInput, match="street:zebra-65"):
        place_street_people(placer, part, StreetPlacement(), SceneSpec(), np.random.Generator(np.random.PCG64(0)))
    with pytest.raises(BadInput, match="least, most"):
        StreetPlacement.parse({"count": [5, 3]}, "test")
    with pytest.raises(BadInput, match="vehicle_mps"):
        StreetPlacement.parse({"vehicle_mps": 0.0}, "test")


def test_the_same_seed_gives_the_same_episode() -> None:
    first, again, other = (
        run_episode(ALL["zebra-60-east"], "human_driver", seed=seed, act_limit_s=None) for seed in (3, 3, 4)
    )
    assert first.digest == again.digest
    assert first.digest != other.digest


def test_nobody_is_placed_where_there_are_none() -> None:
    part = CrowdPart(placement=StreetPlacement(count=(0, 0)))
    placer = Spawner(None, None, 40.0, "test", np.zeros((0, 3)))
    people, plans = place_street_people(
        placer,
        part,
        StreetPlacement(count=(0, 0)),
        resolve_scene("street:none-65"),
        np.random.Generator(np.random.PCG64(0)),
    )
    assert (
        len(people)
        == len(make_people(np.zeros((0, 2)), np.zeros((0, 1, 2)), np.zeros(0, np.int64), np.zeros(0), 0.2))
        == 0
    )
    assert len(plans.intent) == 0
