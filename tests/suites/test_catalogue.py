"""The catalogue: every scenario can be built, happens as its name says, and is told from its baselines."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from sidestep.kernels import layout
from sidestep.metrics.score import score
from sidestep.registry import make_policy
from sidestep.scenes.free_space import free_mask
from sidestep.simulation import run_episode
from sidestep.simulation.build import build_world
from sidestep.simulation.loop import Episode, describe_policy, run_episodes, with_policy_dynamics
from sidestep.suites.files import load_suite
from sidestep.types import EpisodeRecord, HolonomicVelocity, MetricResult, Observation, Outcome, Scenario, Task

SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in load_suite("catalogue").scenarios()}
EVENTFUL = [name for name, scenario in SCENARIOS.items() if scenario.events]
SOLVED_BY = dict.fromkeys(SCENARIOS, "expert") | dict.fromkeys(
    ("blind-corner", "leading-human", "narrow-doorway"), "mpc"
)
FIGURE = {
    "frontal-approach", "pedestrian-obstruction", "pedestrian-overtaking", "robot-overtaking", "down-path",
    "intersection", "intersection-wait", "intersection-proceed", "blind-corner", "narrow-hallway", "narrow-doorway",
    "entering-room", "exiting-room", "entering-elevator", "exiting-elevator", "join-group", "leave-group",
    "following-human", "leading-human", "accompanying-peer", "crowd-navigation", "parallel-traffic",
    "perpendicular-traffic", "circular-crossing", "robot-crowding",
}  # fmt: skip


@cache
def played(name: str, policy: str, seed: int = 1) -> EpisodeRecord:
    return run_episode(SCENARIOS[name], make_policy(policy), seed=seed)


def measured(record: EpisodeRecord, metric: str) -> MetricResult:
    return score(record, [metric])[metric]


def test_the_figure_of_scenarios_is_whole_and_two_are_added() -> None:
    assert set(SCENARIOS) == FIGURE | {"unmarked-crossing", "stop-on-request"}
    for scenario in SCENARIOS.values():
        assert scenario.suite == "catalogue"
        assert len(scenario.summary) > 20
        assert scenario.notes["source"]
        assert scenario.tags


@pytest.mark.parametrize("name", SCENARIOS)
def test_builds_for_five_seeds_with_nobody_in_a_wall(name: str) -> None:
    for seed in range(5):
        world = build_world(with_policy_dynamics(SCENARIOS[name], make_policy("expert")), seed)
        people = world.agents[:, : len(world.person_id)]
        assert len(world.person_id)
        if len(world.scene.wall_points):
            for radius in np.unique(people[layout.RADIUS]):
                chosen = people[layout.RADIUS] == radius
                assert free_mask(
                    world.scene, people[: layout.PY + 1, chosen].T.astype(float), float(radius) - 1e-3
                ).all()


def test_seeds_differ() -> None:
    """In who is where, how fast somebody walks, or what they do."""
    for name, scenario in SCENARIOS.items():
        here, there = (build_world(with_policy_dynamics(scenario, make_policy("expert")), seed) for seed in (0, 1))
        assert here.agents.shape != there.agents.shape or (here.agents != there.agents).any(), name


@pytest.mark.parametrize("name", EVENTFUL)
def test_events_are_triggered_and_walls_hold(name: str) -> None:
    record = played(name, SOLVED_BY[name])
    kinds = {event.text for event in record.events if event.kind == "trigger"}
    assert kinds == {event.kind for event in SCENARIOS[name].events}
    assert record.outcome is Outcome.SUCCESS
    scene = build_world(with_policy_dynamics(SCENARIOS[name], make_policy("expert")), 1).scene
    if len(scene.wall_points):
        for k, radius in enumerate(record.person_radius):
            track = record.person_position[record.person_present[:, k], k].astype(float)
            assert free_mask(scene, track, float(radius) - 0.03).all()


@pytest.mark.parametrize(
    "name", ["frontal-approach", "pedestrian-obstruction", "narrow-doorway", "join-group", "intersection", "down-path"]
)
def test_who_sees_nobody_fails(name: str) -> None:
    assert played(name, "follow_lane").outcome in (Outcome.PEDESTRIAN_COLLISION, Outcome.GROUP_INTRUSION)


@pytest.mark.parametrize("name", ["blind-corner", "narrow-doorway"])
def test_prediction_solves_what_the_lane_does_not(name: str) -> None:
    assert played(name, "mpc").outcome is Outcome.SUCCESS


def test_wait_and_proceed_are_told_apart() -> None:
    obedient = played("intersection-wait", "expert")
    assert measured(obedient, "wait_obedience").value == 1.0
    assert measured(obedient, "proceed_obedience").value == 1.0
    blind = played("intersection-wait", "follow_lane")
    assert blind.outcome is Outcome.PEDESTRIAN_COLLISION
    assert measured(blind, "wait_obedience").value == 0.0
    assert not measured(blind, "proceed_obedience").valid
    let_go = played("intersection-proceed", "expert")
    assert measured(let_go, "proceed_obedience").value == 1.0
    assert not measured(let_go, "wait_obedience").valid


class Shy:
    """Drives on for 4 m and then stands for good."""

    name = "shy"
    needs = frozenset({"goal"})

    def reset(self, task: Task) -> None:
        self._until = task.start[0] + 4.0

    def act(self, observation: Observation) -> HolonomicVelocity:
        return HolonomicVelocity(1.0 if observation.robot.x < self._until else 0.0, 0.0)


def test_who_does_not_go_on_when_asked_disobeys() -> None:
    """From x = -6 it stands 5.2 m before the person, who signs from 6 m on; from x = -8 it is never asked."""
    scenario = SCENARIOS["intersection-proceed"]
    rules = scenario.rules.model_copy(update={"time_limit_s": 12.0})
    nearer = scenario.ego.model_copy(update={"start": (-6.0, 0.0, 0.0)})
    asked = scenario.model_copy(update={"rules": rules, "robots": (nearer,)})
    record = run_episode(asked, Shy(), seed=1)
    assert record.outcome is Outcome.TIMEOUT
    assert measured(record, "proceed_obedience").value == 0.0
    assert not measured(
        run_episode(scenario.model_copy(update={"rules": rules}), Shy(), seed=1), "proceed_obedience"
    ).valid


def test_stopping_is_the_task_of_one() -> None:
    record = played("stop-on-request", "expert")
    assert [event.kind for event in record.events][-1] == "stopped"
    assert measured(record, "wait_obedience").value == 1.0


@pytest.mark.parametrize("name", ["following-human", "leading-human", "accompanying-peer"])
def test_company_is_kept(name: str) -> None:
    record = played(name, SOLVED_BY[name])
    assert measured(record, "companion_share").value > 0.8
    assert 0.3 < measured(record, "companion_distance").value < 3.0


def test_records_do_not_depend_on_what_runs_beside_them() -> None:
    chosen = [(name, seed) for name in ("leave-group", "entering-room") for seed in (1, 2)]
    episodes = []
    for name, seed in chosen:
        policy = make_policy("expert")
        world = build_world(with_policy_dynamics(SCENARIOS[name], policy), seed)
        episodes.append(Episode(world, policy, describe_policy(policy)))
    together = [record.digest for record in run_episodes(episodes)]
    assert together == [played(name, "expert", seed).digest for name, seed in chosen]
    assert len(set(together)) == 4
