"""The sampling planner among walls, alone and as a guide."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.policies.sampling.goal_field import make_goal_field
from sidestep.policies.sampling.planner import Checkpoints, PlannerSettings, SamplingPlanner
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.free_space import free_mask, geodesic_distance
from sidestep.scenes.load import resolve_scene
from sidestep.simulation import run_episode
from sidestep.simulation.robots import load_robot
from sidestep.types import Outcome, Scenario, Task

WALLED = ["blind_corner", "corridor", "hallway_crossing", "intersection_4way", "narrow_doorway", "room"]


def task(scene: str | None, start: tuple[float, float, float], goal: tuple[float, float]) -> Task:
    compiled = None if scene is None else compile_scene(resolve_scene(scene))
    return Task(load_robot("pioneer_3dx"), start, 0.05, 60.0, 0.3, goal, compiled, np.array([goal]))


def random_scenario(plan: str, seed: int) -> Scenario:
    scene = compile_scene(resolve_scene(plan))
    rng = np.random.default_rng(seed)
    x0, y0, x1, y1 = scene.bounds
    while True:
        ends = rng.uniform((x0, y0), (x1, y1), (2, 2))
        if free_mask(scene, ends, 0.25).all() and math.dist(*ends) > 2.0:
            break
    robot = {
        "spec": "pioneer_3dx",
        "start": [*ends[0], rng.uniform(-3.1, 3.1)],
        "goal": list(ends[1]),
        "dynamics": "policy",
    }
    length = geodesic_distance(scene, *ends, 0.2)
    return Scenario.parse(
        {"name": "walls", "scene": plan, "robots": [robot], "rules": {"time_limit_s": 10 + 2 * length}}, "test"
    )


@pytest.mark.parametrize("policy", ["sampling", "orca", "social_force"])
@pytest.mark.parametrize("plan", WALLED)
def test_reaches_the_goal_and_touches_no_wall(plan: str, policy: str) -> None:
    for seed in range(2):
        record = run_episode(random_scenario(plan, seed), registry.make_policy(policy))
        assert record.outcome is Outcome.SUCCESS, (plan, seed, record.robot_pose[-1])


def test_keeps_the_limits_of_a_unicycle() -> None:
    record = run_episode(random_scenario("room", 7), registry.make_policy("sampling"))
    v, omega = record.command[:, 1], record.command[:, 2]
    assert v.min() >= 0.0
    assert v.max() <= 1.2 + 1e-6
    assert np.abs(omega).max() <= 1.1 + 1e-9
    assert (record.limited == 0).all()


def test_same_commands_every_time() -> None:
    first, again = (run_episode(random_scenario("lobby", 3), registry.make_policy("sampling")) for _ in range(2))
    assert first.digest == again.digest


def test_goal_field_is_the_shortest_way() -> None:
    goal, scene = (-6.0, -3.0), compile_scene(resolve_scene("narrow_doorway"))
    field = make_goal_field(scene, goal, 0.2)
    for start in ((5.0, 2.0), (-3.0, 3.0), (2.0, -3.0)):
        assert field.distance_at(*start) == pytest.approx(geodesic_distance(scene, start, goal, 0.2), rel=0.04)


def test_without_walls_the_plan_leads_straight_to_the_goal() -> None:
    planner = SamplingPlanner(task(None, (0.0, 0.0, 0.0), (5.0, 0.5)))
    plan = planner.plan((0.0, 0.0, 0.0))
    assert plan is not None
    assert math.dist(plan.end, (5.0, 0.5)) < 1e-3
    assert plan.time[-1] < 1.05 * math.hypot(5.0, 0.5) / 1.2


def test_turns_on_the_spot_when_the_goal_is_behind() -> None:
    plan = SamplingPlanner(task("corridor", (0.0, 0.0, 0.0), (-6.0, 0.0))).plan((0.0, 0.0, 0.0))
    assert plan is not None
    assert plan.turn_to is not None
    assert math.cos(plan.turn_to) < -0.7


def test_a_checkpoint_is_kept_until_it_is_near() -> None:
    guide = Checkpoints(SamplingPlanner(task("corridor", (-9.0, 0.0, 0.0), (9.0, 0.0))))
    first = guide.target(-9.0, 0.0)
    assert 4.0 < math.dist(first, (-9.0, 0.0)) < 7.3
    assert guide.target(first[0] - 1.1, first[1]) == first
    assert guide.target(first[0] - 0.9, first[1]) != first
    guide.restart()
    assert guide.target(-9.0, 0.0) == first
    assert guide.target(8.0, 0.3) == (9.0, 0.0)


def test_a_checkpoint_is_in_plain_sight() -> None:
    job = task("blind_corner", (-8.0, 0.0, 0.0), (0.0, -8.0))
    assert job.map is not None
    guide = Checkpoints(SamplingPlanner(job))
    for x, y in ((-8.0, 0.0), (-4.0, 0.3), (-1.5, 0.0), (0.0, -0.2), (0.3, -3.0)):
        target = guide.target(x, y)
        between = [job.map.clearance(x + f * (target[0] - x), y + f * (target[1] - y)) for f in np.linspace(0, 1, 50)]
        assert min(between) > 0.2


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("sampling", {"horizon": 0.0}, "horizon: must be greater than 0"),
        ("sampling", {"wall_gap": -1.0}, "wall_gap: must be at least 0"),
        ("sampling", {"margin": math.nan}, "margin: must be a finite number"),
        ("sampling", {"horizons": 3.0}, "unknown key 'horizons'; did you mean 'horizon'"),
        ("orca", {"guide": "samplin"}, "guide: must be sampling or route"),
        ("orca", {"horizon": -1.0}, "horizon: must be greater than 0"),
        ("orca", {"radius_scale": 0.0}, "radius_scale"),
        ("social_force", {"relaxation_time": 0.0}, "relaxation_time"),
        ("social_force", {"near_range": 0.0}, "near_range"),
        ("social_force", {"guide": "star"}, "guide: must be"),
    ],
)
def test_bad_settings_are_refused(name: str, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        registry.make_policy(name, settings)


def test_a_planner_without_a_goal_is_refused() -> None:
    with pytest.raises(BadInput, match="needs a goal"):
        SamplingPlanner(Task(load_robot("pioneer_3dx"), (0.0, 0.0, 0.0), 0.05, 60.0, 0.3), PlannerSettings())


def test_collides_with_people_whom_the_others_avoid() -> None:
    robot = {"spec": "pioneer_3dx", "start": [-5, 0, 0], "goal": [5, 0], "dynamics": "policy"}
    person = {
        "model": "orca",
        "sees_robot": False,
        "radius": 0.2,
        "people": [{"start": [5, 0], "waypoints": [[-6, 0]]}],
    }
    scenario = Scenario.parse({"name": "head-on", "robots": [robot], "crowd": [person]}, "test")
    outcomes = {
        name: run_episode(scenario, registry.make_policy(name)).outcome for name in ("sampling", "orca", "social_force")
    }
    assert outcomes["sampling"] is Outcome.PEDESTRIAN_COLLISION
    assert outcomes["orca"] is outcomes["social_force"] is Outcome.SUCCESS
