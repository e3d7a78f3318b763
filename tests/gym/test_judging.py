"""One referee: the same actions end the same way, at the same step, in the same state and with the same digest, in an
episode of the benchmark and in a learning environment; and rewards follow the benchmark's outcomes."""

from __future__ import annotations

import copy
from math import pi
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep.gym.batch import ENDINGS, EnvironmentBatch, RewardWeights
from sidestep.gym.environment import CrowdEnv
from sidestep.gym.vector import CrowdVectorEnv
from sidestep.interfaces import Policy
from sidestep.kernels import referee
from sidestep.kernels.dynamics import ROBOT_HEADING, ROBOT_OMEGA, ROBOT_VX, ROBOT_VY, ROBOT_X, ROBOT_Y
from sidestep.simulation import run_episode
from sidestep.simulation.build import build_world
from sidestep.simulation.recorder import Recorder
from sidestep.simulation.referee import OUTCOME_CODES, Referee
from sidestep.simulation.robots import native_bounds
from sidestep.types import HolonomicVelocity, Native, Observation, Outcome, Scenario, Task, Velocity
from sidestep.types.decide import outcome_of_event
from sidestep.types.record import EpisodeRecord
from tests.gym.scenes import FORWARD, STAND, by_hand, drive, environment, stander
from tests.simulation.traffic.roads import on_the_road

STATE = [ROBOT_X, ROBOT_Y, ROBOT_HEADING, ROBOT_VX, ROBOT_VY, ROBOT_OMEGA]
ALL_END = [outcome.value for outcome in Outcome]
SHORT = {"step_s": 0.1, "time_limit_s": 8.0}
STREET = {
    "name": "street",
    "regions": [
        {"kind": "sidewalk", "polygon": [[-3, -1.5], [6, -1.5], [6, 1.5], [-3, 1.5]], "holes": []},
        {"kind": "sidewalk", "polygon": [[6.01, -1.5], [20, -1.5], [20, 1.2], [6.01, 1.5]]},
        {"kind": "obstacle", "polygon": [[4, 0.4], [5, 0.4], [5, 1.4], [4, 1.4]]},
    ],
}
PAIR = [{"start": [2.0, side * 0.9], "radius": 0.2, "group": 4} for side in (-1, 1)]
TALKING = {"model": "static", "people": PAIR}
WALKERS = {"model": "orca", "at_end": "loop", "placement": {"kind": "random", "count": 5, "area": [1, -1.4, 6, 1.4]}}
SIGN = {"kind": "gesturing", "at": [3.0, 1.0], "trigger_m": 2.9}


APPROACH = {"kind": "frontal", "at": [6, 0]}
CAR = {"kind": "car", "path": [[6.0, -8.0], [6.0, 20.0]], "speed": 1.0, "driver": "follow_path"}
VAN = {"kind": "van", "start": [0.0, 2.0, 0.1], "driver": "parked"}

BRIEF = {"step_s": 0.1, "time_limit_s": 6.0}
CLOSE_EXIT = {"area": [0, -7, 25, 3], "side": "east", "pose": [25, -1.75, 0], "lateral_m": 5.0, "angle_rad": 1.3}
ON_LANE = [{"spec": "car", "start": [10, -1.75, 0], "goal": [110, -1.75], "speed": 5.0}]
ON_THE_ROAD = {"model": "orca", "placement": {"kind": "random", "count": 4, "area": [18, -6, 40, 3]}}
AHEAD = {"kind": "car", "path": [[20.0, -1.75], [110.0, -1.75]], "speed": 2.0, "driver": "follow_path"}


def case(
    robot: str, crowd: Any = (), events: Any = (), scene: Any = STREET, traffic: Any = (), **rules: Any
) -> Scenario:
    """From (0, 0) along x."""
    way = [[1.5 * k, 0.0] for k in range(1, 6)]
    return Scenario.parse(
        {
            "name": f"judging-{robot}",
            "suite": "tests",
            "scene": scene,
            "robots": [{"spec": robot, "start": [0, 0, 0], "goal": [9, 0], "route": way}],
            "crowd": list(crowd),
            "events": list(events),
            "traffic": list(traffic),
            "rules": {**SHORT, **rules},
        },
        "test scenario",
    )


CASES: dict[str, Scenario] = {
    "ground": case("point", stay_on=["sidewalk"], ends_on=ALL_END),
    "groups": case("pioneer_3dx", [TALKING], avoid_groups=True, ends_on=["group_intrusion"]),
    "gesturing": case("point", events=[SIGN], success="stop", stop_within_m=2.5, stop_for_s=0.5, goal_radius_m=7.0),
    "contacts go on": case("point", [WALKERS], ends_on=["success"], goal_radius_m=7.0),
    "freezing": case("pioneer_3dx", [WALKERS], frozen_after_s=0.4, ends_on=ALL_END),
    "resets": case(
        "delivery_robot", [TALKING], stay_on=["sidewalk"], avoid_groups=True,
        frozen_after_s=0.5, on_failure="reset", ends_on=ALL_END, collision_cooldown_s=0.5,
    ),
    "bicycle": case("car", [WALKERS], scene="open", goal_radius_m=3.0),
    "directed, held actions": case("point", [WALKERS], [APPROACH], control_every=3),
    "traffic": case("pioneer_3dx", [WALKERS], scene="open", control_every=2, traffic=[CAR, VAN]),
    "resets, held actions": case(
        "point", [WALKERS], stay_on=["sidewalk"], control_every=3, frozen_after_s=0.5, on_failure="reset",
        ends_on=ALL_END, goal_radius_m=2.0,
    ),
    "road": on_the_road(robots=ON_LANE, rules={**BRIEF, "exit": CLOSE_EXIT, "lanes": {"most_invasions": 4}}),
    "lanes among walkers": on_the_road(
        robots=ON_LANE,
        crowd=[ON_THE_ROAD],
        rules={**BRIEF, "success": "goal", "exit": None, "lanes": {"counts": "any"}, "ends_on": ["success"]},
    ),
    "exit, held actions": on_the_road(
        robots=ON_LANE, traffic=[AHEAD], rules={**BRIEF, "exit": CLOSE_EXIT, "lanes": None, "control_every": 3}
    ),
}  # fmt: skip


class Replay(Policy):
    """Plays native commands and keeps the states that it sees."""

    needs = frozenset({"goal"})
    name = "replay"

    def __init__(self, commands: Any, dynamics: str) -> None:
        self._commands = commands
        kinds: dict[str, Any] = {"holonomic": HolonomicVelocity, "unicycle": Velocity, "bicycle": Native}
        self._kind = kinds[dynamics]
        self.seen: list[tuple[float, ...]] = []

    def reset(self, task: Task) -> None:
        self.seen = []

    def act(self, observation: Observation) -> Any:
        robot = observation.robot
        self.seen.append((robot.x, robot.y, robot.heading, robot.vx, robot.vy, robot.omega))
        return self.command(len(self.seen) - 1)

    def command(self, step: int) -> Any:
        return self._kind(*self._commands[step].tolist())


def random_actions(scenario: Scenario, seed: int) -> Any:
    """Mostly ahead, in pieces, with some standing."""
    rng = np.random.default_rng(seed)
    pieces = []
    while len(pieces) < scenario.rules.max_steps:
        piece = rng.uniform([-0.2, -0.7], [1.0, 0.7]) if rng.random() < 0.8 else np.array([rng.choice([0.0, -1.0]), 0])
        pieces += [piece] * int(rng.integers(1, 20))
    return np.array(pieces[: scenario.rules.max_steps], np.float32)


def outcomes_of(record: EpisodeRecord) -> int:
    """Everything that happened, as the referee's bits."""
    kinds = {outcome_of_event(event) for event in record.events}
    if record.scenario.rules.success == "stop" and any(event.kind == "goal_reached" for event in record.events):
        kinds.discard(Outcome.SUCCESS)
    return sum(1 << OUTCOME_CODES[outcome] for outcome in kinds if outcome is not None)


def check(scenario: Scenario, seed: int) -> EpisodeRecord:
    world = build_world(scenario, seed)
    actions = random_actions(scenario, seed)
    low, high = np.array(native_bounds(world.robots[0]))
    commands = (low + high) / 2 + (high - low) / 2 * actions.astype(np.float64)
    policy = Replay(commands, world.robots[0].dynamics)
    record = run_episode(scenario, policy, seed=seed, act_limit_s=None)
    env = CrowdEnv("Scenario", scenario=scenario)
    batch = EnvironmentBatch([world, world, world], RewardWeights(), 4, size=2)
    for again in range(2):  # a second episode begins from nothing that the first one left
        env.reset(options={"world_seed": seed})
        over, steps = False, 0
        recorder, judge = Recorder(world), Referee(world)
        recorder.note_state(env._environments.worlds, 0)
        while not over:
            here = env._environments.worlds.robot_state[0, 0]
            assert policy.seen[steps] == tuple(here[STATE].tolist()), (again, steps)
            assert np.array_equal(batch.worlds.robot_state[0, 0], here)
            batch.action[:] = actions[steps]
            batch.step()
            _, _, terminated, truncated, info = env.step(actions[steps])
            judge.watch(env._environments.worlds, 0)
            recorder.note_step(env._environments.worlds, 0, policy.command(steps), 0.0)
            over, steps = terminated or truncated, steps + 1
            assert batch.ending[:, 0].tolist() == [batch.ending[0, 0]] * 2
            assert ENDINGS[batch.ending[0, 0]] == info["termination_reason"]
        worlds = env._environments.worlds
        assert info["termination_reason"] == record.outcome.value
        assert info["is_success"] == (record.outcome is Outcome.SUCCESS)
        assert int(worlds.clock[0]) == record.steps
        assert np.array_equal(worlds.robot_state[0, 0, :2], record.robot_pose[-1, :2])
        people, there = worlds.agents[0, :2, : worlds.people].T, record.person_present[-1]
        assert np.array_equal(people[there], record.person_position[-1, there])
        assert truncated == any(event.kind == "timeout" for event in record.events)
        assert int(worlds.marks[0, 0, referee.HAPPENED]) == outcomes_of(record)
        if is_seen_whole(scenario):
            assert recorder.finish(record.policy, judge.outcome, judge.events, "sync").digest == record.digest
        batch.reset(np.arange(2))
    return record


def is_seen_whole(scenario: Scenario) -> bool:
    """Whether an environment shows every state of the record: not those within a held action, nor where a robot failed
    before it was put back."""
    return scenario.rules.control_every == 1 and scenario.rules.on_failure == "end"


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=12)
@given(seed=st.integers(0, 10_000))
def test_the_same_actions_end_the_same_way(name: str, seed: int) -> None:
    check(CASES[name], seed)


def test_the_actions_above_meet_every_rule() -> None:
    """Otherwise the property would be empty."""
    met = {name: {event.kind for seed in range(12) for event in check(CASES[name], seed).events} for name in CASES}
    assert "off_route" in met["ground"]
    assert "group_intrusion" in met["groups"]
    assert {"stopped", "disobeyed", "timeout"} <= met["gesturing"]
    assert {"collision_start", "goal_reached", "timeout"} <= met["contacts go on"]
    assert "frozen" in met["freezing"]
    assert {"reset", "off_route", "frozen"} <= met["resets"]
    assert {"reset", "goal_reached"} <= met["resets, held actions"]
    assert {"trigger", "collision_start"} <= met["directed, held actions"]
    touched = {event.subject for seed in range(12) for event in check(CASES["traffic"], seed).events}
    assert "vehicle:1" in touched  # the car yields
    assert {"lane_crossing", "lane_invasion", "exited", "wrong_exit"} <= met["road"]
    assert {"lane_crossing", "lane_invasion", "timeout"} <= met["lanes among walkers"]
    assert {"exited", "wrong_exit", "collision_start"} <= met["exit, held actions"]


# endings and rewards by hand


def test_a_contact_that_does_not_end_a_benchmark_episode_does_not_end_a_learning_one() -> None:
    """The default rules: the robot drives through the person; the outcome is the benchmark's all the same."""
    scenario = by_hand([stander(1.5, 0.0)], ends_on=["success"])
    steps, total, terminated, _, info = drive(environment(scenario, weights=RewardWeights(discomfort=0.0)), FORWARD)
    assert (steps, terminated) == (11, True)  # at the goal
    assert info == {"is_success": False, "termination_reason": "pedestrian_collision"}
    assert total == pytest.approx(-0.25 + 0.1 * 2.75)  # one contact, no success


def test_a_late_end_after_a_contact_is_truncated_and_says_collision() -> None:
    scenario = by_hand([stander(0.5, 0.0)], ends_on=["success"], time_limit_s=1.0)
    *_, terminated, truncated, info = drive(environment(scenario), STAND)
    assert (terminated, truncated) == (False, True)
    assert info["termination_reason"] == "pedestrian_collision"


STOPPING = {"success": "stop", "stop_for_s": 0.5, "step_s": 0.1, "ends_on": ["disobeyed"]}
UPWARDS = {"robots": [{"spec": "point", "start": [0, 0, pi / 2], "goal": [0, 6]}]}


def gesturing() -> Scenario:
    scenario = by_hand(**UPWARDS, **STOPPING)
    sign = {"kind": "gesturing", "at": [1.2, 3.0], "trigger_m": 3.0}
    return Scenario.parse({**scenario.model_dump(mode="json"), "events": [sign]}, "gesturing")


def test_reward_is_for_stopping_where_the_task_is_to_stop() -> None:
    weights = RewardWeights(progress=0.0, discomfort=0.0)
    env = environment(gesturing(), weights=weights)
    total = 0.0
    for k in range(40):
        _, reward, terminated, _, info = env.step(np.array([0.0, 1.0 if k < 10 else 0.0], np.float32))
        total += reward
        if terminated:
            break
    assert info == {"is_success": True, "termination_reason": "success"}
    assert total == pytest.approx(1.0)
    _, total, _, _, info = drive(environment(gesturing(), weights=weights), np.array([0.0, 1.0], np.float32))
    assert info == {"is_success": False, "termination_reason": "disobeyed"}
    assert total == pytest.approx(-0.25)  # the goal is worth nothing here


def test_being_carried_is_no_progress() -> None:
    way = {"spec": "point", "start": [0, 0, 0], "goal": [9, 0], "route": [[3, 0], [6, 0]]}
    rules = {"frozen_after_s": 0.5, "on_failure": "reset", "ends_on": ["frozen"], "time_limit_s": 2.0}
    env = environment(by_hand(robots=[way], **rules))
    _, total, _, truncated, info = drive(env, STAND)
    assert env._environments.worlds.robot_state[0, 0, 0] == 6.0
    assert truncated
    assert info["termination_reason"] == "frozen"
    assert total == pytest.approx(-0.25 * 4)  # four times frozen, no metre of its own
    held = environment(by_hand(robots=[way], **rules, control_every=4))
    assert drive(held, STAND)[1] == pytest.approx(-0.25 * 4)


def test_the_vector_environment_judges_alike() -> None:
    env = CrowdVectorEnv(3, "Scenario", scenario=gesturing(), pool=4, weights=RewardWeights(progress=0.0))
    env.reset(seed=0)
    for episode in range(2):
        for k in range(40):
            actions = np.zeros((3, 2), np.float32)
            actions[:, 1] = [1.0, 1.0 if k < 10 else 0.0, 1.0 if k < 10 else 0.0]
            _, rewards, terminated, _, info = env.step(actions)
            if terminated[1:].any():
                break
        assert terminated.tolist() == [False, True, True], episode
        assert rewards[1:].tolist() == [1.0, 1.0]
        assert info["final_info"]["termination_reason"][1] == "success"
        while not terminated[0] and episode == 0:  # the first drives on past the hand and begins anew
            actions[1:] = 0.0
            _, _, terminated, _, info = env.step(actions)
        assert episode or info["final_info"]["termination_reason"][0] == "disobeyed"
        env.reset(seed=0)


def test_a_copy_has_a_referee_of_its_own() -> None:
    env = environment(by_hand())
    env.step(FORWARD)
    counterfactual = copy.deepcopy(env)
    assert drive(counterfactual, FORWARD)[4]["termination_reason"] == "success"
    assert env.step(STAND)[4]["termination_reason"] == ""
    assert drive(env, FORWARD)[4]["termination_reason"] == "success"
