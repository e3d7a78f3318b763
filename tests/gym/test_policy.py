"""What was trained in an environment drives in the benchmark: the same observations to the bit, the same commands, the
same outcome at the same step in the same state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from sidestep.errors import BadInput
from sidestep.gym import as_policy
from sidestep.gym.environment import CrowdEnv
from sidestep.simulation import run_episode
from sidestep.simulation.check import check_policy
from sidestep.types import HolonomicVelocity, Native, Scenario, Velocity
from sidestep.types.record import EpisodeRecord
from tests.gym.scenes import by_hand, stander
from tests.gym.test_judging import CASES, WALKERS, case

LIMITED = {"range_m": 3.0, "field_of_view": 4.0, "occlusion": True}


def changed(scenario: Scenario, **changes: Any) -> Scenario:
    return Scenario.parse({**scenario.model_dump(mode="json"), **changes}, "test scenario")


SCENARIOS: dict[str, Scenario] = {
    **CASES,
    "limited sight": changed(case("pioneer_3dx", [WALKERS]), sensors={"pedestrians": LIMITED}),
}


class Linear:
    """A network of one layer with random weights: looks at all that it is given."""

    def __init__(self, space: spaces.Dict, seed: int) -> None:
        self.observation_space = space
        rng = np.random.default_rng(seed)
        self._weights = {name: rng.normal(0, 0.3, (2, int(np.prod(part.shape)))) for name, part in space.items()}
        self.seen: list[dict[str, Any]] = []

    def predict(self, observation: dict[str, Any], *, deterministic: bool) -> tuple[Any, None]:
        assert deterministic
        self.seen.append({name: value.copy() for name, value in observation.items()})
        total = np.array([1.0, 0.0])
        for name, weights in self._weights.items():
            total = total + weights @ np.tanh(observation[name].astype(np.float64).ravel() / 10.0) / 3.0
        return np.tanh(total).astype(np.float32), None


def drive(env: CrowdEnv, model: Any, seed: int) -> tuple[dict[str, Any], int]:
    observation, info = env.reset(options={"world_seed": seed})
    over = False
    while not over:
        observation, _, terminated, truncated, info = env.step(model.predict(observation, deterministic=True)[0])
        over = terminated or truncated
    return info, int(env._environments.worlds.clock[0])


def check_same(env: CrowdEnv, scenario: Scenario, model: Any, seed: int, **options: Any) -> EpisodeRecord:
    info, steps = drive(env, model, seed)
    record = run_episode(scenario, as_policy(model, **options), seed=seed, act_limit_s=None)
    assert record.error == ""
    assert (record.outcome.value, record.steps) == (info["termination_reason"], steps)
    worlds = env._environments.worlds
    assert np.array_equal(worlds.robot_state[0, 0, :3], record.robot_pose[-1]) or scenario.rules.on_failure == "reset"
    people, there = worlds.agents[0, :2, : worlds.people].T, record.person_present[-1]
    assert np.array_equal(people[there], record.person_position[-1, there])
    return record


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_random_network_drives_alike(name: str) -> None:
    scenario = SCENARIOS[name]
    env = CrowdEnv("Scenario", scenario=scenario, sensors=("lidar", "grid"), grid={"size": 24, "cell_m": 0.4})
    outcomes = set()
    for seed in range(6):
        model = Linear(env.observation_space, seed)
        record = check_same(env, scenario, model, seed, grid={"cell_m": 0.4})
        outcomes.add(record.outcome)
        half = len(model.seen) // 2
        assert len(model.seen) == 2 * half
        for one, other in zip(model.seen[:half], model.seen[half:], strict=True):
            assert one.keys() == other.keys()
            for entry in one:
                assert one[entry].dtype == other[entry].dtype
                assert np.array_equal(one[entry], other[entry]), entry
    assert record.policy.needs == ("learning",)
    assert record.scenario.sensors.extra["learning"]["rows"] == env.observation_space["people"].shape[0]


def test_fewer_rows_than_people_and_a_batch_of_episodes() -> None:
    """Columns for larger worlds beside it change nothing of what is observed."""
    from sidestep.interfaces import describe_policy
    from sidestep.simulation.build import build_world
    from sidestep.simulation.loop import Episode, for_policy, run_episodes

    crowded = by_hand([stander(k - 4.0, 3.0) for k in range(9)], robot="pioneer_3dx", goal=(4.0, 1.0), walled=True)
    coming = {"start": [2.0, 2.0], "waypoints": [[2.0, -2.8]], "speed": 1.0, "enter_s": 0.5}
    small = by_hand(crowd=[{"people": [coming, stander(4.0, -2.0)]}], robot="pioneer_3dx", goal=(4.0, 1.0), walled=True)
    env = CrowdEnv("Scenario", scenario=small)
    assert env.observation_space["people"].shape == (2, 5)
    model = Linear(env.observation_space, 3)
    info, steps = drive(env, model, 0)
    alone = model.seen
    model.seen = []
    policies = [as_policy(model), as_policy(Linear(env.observation_space, 4))]
    episodes = [
        Episode(build_world(for_policy(scenario, policy), 0), policy, describe_policy(policy))
        for scenario, policy in zip((small, crowded), policies, strict=True)
    ]
    record = run_episodes(episodes)[0]
    assert (record.outcome.value, record.steps) == (info["termination_reason"], steps)
    assert all(np.array_equal(one["people"], other["people"]) for one, other in zip(alone, model.seen, strict=True))


@pytest.mark.parametrize(("robot", "kind"), [("point", HolonomicVelocity), ("pioneer_3dx", Velocity), ("car", Native)])
def test_actions_become_native_commands(robot: str, kind: type) -> None:
    scenario = by_hand(robot=robot, goal=(8.0, 0.0))
    env = CrowdEnv("Scenario", scenario=scenario)
    policy = as_policy(lambda observation: [0.5, -7.0], observation_space=env.observation_space)
    record = run_episode(scenario, policy)
    assert record.command[0, 0] == [Velocity, HolonomicVelocity, None, None, None, Native].index(kind)
    spec = env._environments.worlds.worlds[0].robots[0]
    limits = spec.limits
    slowest = -limits.max_speed if robot == "point" else max(limits.min_speed, -limits.max_speed)
    low = {"point": -limits.max_speed, "pioneer_3dx": -(limits.max_turn_rate or 0), "car": -(limits.max_steer or 0)}
    assert record.command[0, 1] == pytest.approx(slowest + 0.75 * (limits.max_speed - slowest))
    assert record.command[0, 2] == low[robot]


def test_pictures() -> None:
    scenario = by_hand([stander(2.0, 0.5)], robot="pioneer_3dx", time_limit_s=1.0)
    camera = {"width": 24, "height": 16, "field_of_view": 1.5}
    env = CrowdEnv("Scenario", scenario=scenario, sensors=("depth",), camera=camera)
    model = Linear(env.observation_space, 1)
    check_same(env, scenario, model, 0, camera=camera)
    half = len(model.seen) // 2
    assert all(
        np.array_equal(a["depth"], b["depth"]) for a, b in zip(model.seen[:half], model.seen[half:], strict=True)
    )
    record = run_episode(scenario, as_policy(model))
    assert "give it its camera" in record.error


def test_a_scenarios_limits_hold_in_environments() -> None:
    """Whoever the detector of the benchmark does not report is not observed either."""
    people = [stander(2.0, 0.0), stander(4.0, 0.0), stander(-1.0, 0.0), stander(0.0, 2.0), stander(0.0, 9.0)]
    everybody = by_hand(people, robot="pioneer_3dx")

    def mask(**limits: Any) -> list[int]:
        scenario = changed(everybody, sensors={"pedestrians": limits})
        observation, _ = CrowdEnv("Scenario", scenario=scenario, sensors=("grid",)).reset(seed=0)
        assert not observation["people"][observation["mask"] == 0].any()
        assert (observation["grid"][1] > 0).any() == any(observation["mask"][k] for k in (0, 2, 3))
        seen: list[int] = observation["mask"].tolist()
        return seen

    assert mask() == [1, 1, 1, 1, 1]
    assert mask(range_m=5.0) == [1, 1, 1, 1, 0]
    assert mask(range_m=5.0, field_of_view=1.0) == [1, 1, 0, 0, 0]
    assert mask(occlusion=True) == [1, 0, 1, 1, 0]


def test_what_cannot_be_a_policy() -> None:
    env = CrowdEnv("Crossing")
    with pytest.raises(BadInput, match="observation_space"):
        as_policy(lambda observation: [0, 0])
    with pytest.raises(BadInput, match="no 'robot'"):
        as_policy(lambda observation: [0, 0], observation_space=spaces.Dict({"x": spaces.Box(0, 1, (2,))}))
    space = spaces.Dict({**env.observation_space.spaces, "robots": spaces.Box(0, 1, (2, 5))})
    with pytest.raises(BadInput, match="robots"):
        as_policy(lambda observation: [0, 0], observation_space=space)
    scanned = CrowdEnv("Crossing", sensors=("lidar",)).observation_space
    with pytest.raises(BadInput, match="trained with 180"):
        as_policy(lambda observation: [0, 0], observation_space=scanned, lidar={"rays": 90})
    for answer, why in (([0.0], "two finite"), ([0.0, float("nan")], "two finite")):
        policy = as_policy(lambda observation, answer=answer: answer, observation_space=env.observation_space)
        assert why in run_episode(env.scenario, policy).error


def test_the_contract_of_policies() -> None:
    env = CrowdEnv("Crossing", sensors=("lidar",))
    check_policy(as_policy(Linear(env.observation_space, 0)))
