"""SA-CADRL: the look ahead, the value network, the weights file and what the policy does."""

from __future__ import annotations

from math import cos, sin
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.policies.cadrl.lookahead import (
    FEATURES,
    GAMMA,
    OTHER,
    OTHER_FLOATS,
    OWN,
    SLOTS,
    Around,
    Fan,
    Look,
    breaks_norm,
    closest_approach,
    look_ahead,
)
from sidestep.policies.cadrl.network import (
    SHAPES,
    SHIPPED,
    NetworkWeights,
    Walls,
    empty_work,
    farthest_visible,
    load_weights,
    lowest_clearance,
    save_weights,
    state_values,
)
from sidestep.policies.cadrl.policy import Cadrl, candidates
from sidestep.simulation import run_episode
from sidestep.simulation.robots import load_robot
from sidestep.types import HolonomicVelocity, Observation, Outcome, Pedestrians, RobotState, Task
from tests.reference.cadrl_values import plain_values
from tests.simulation.scenarios import make, room

F = np.float32


def random_weights(seed: int) -> NetworkWeights:
    rng = np.random.default_rng(seed)
    return NetworkWeights(*(rng.normal(0, 0.3, shape).astype(F) for shape in SHAPES.values()))


def look(own: list[float], others: list[list[float]], table: Any, horizon: float = 0.5, norm: float = 0.0) -> Any:
    a = len(table)
    nearest, states = np.zeros(SLOTS, np.int64), np.zeros((FEATURES, a), F)
    gain, factor = np.zeros(a, F), np.zeros(a, F)
    people = np.array(others, F).reshape(-1, OTHER_FLOATS)
    around, fan = Around(np.array(own, F), people, nearest), Fan(table, F(horizon), F(norm))
    found = look_ahead(around, len(people), fan, Look(states, gain, factor))
    return found, nearest, states, gain, factor


def people_at(positions: Any, velocities: Any, radius: float = 0.2) -> Pedestrians:
    n = len(positions)
    position, velocity = np.array(positions, float).reshape(n, 2), np.array(velocities, float).reshape(n, 2)
    return Pedestrians(np.arange(n), position, velocity, np.zeros(n), np.full(n, radius), np.full(n, -1, np.int32))


def decide(policy: Cadrl, people: Pedestrians, start: Any = (0.0, 0.0), goal: Any = (8.0, 0.0)) -> HolonomicVelocity:
    route = np.array([start, goal], float)
    task = Task(load_robot("pioneer_3dx", "holonomic"), (*start, 0.0), 0.05, 60.0, 0.3, tuple(goal), None, route)
    policy.reset(task)
    return policy.act(Observation(0.0, RobotState(*start, 0.0, 0.0, 0.0, 0.0), tuple(goal), people))


@pytest.mark.parametrize("found", range(SLOTS + 1))
def test_kernel_gives_the_values_of_the_plain_formula(found: int) -> None:
    weights, rng = random_weights(1), np.random.default_rng(2)
    states = rng.normal(0, 1, (FEATURES, 33)).astype(F)
    states[0] = np.abs(states[0]) * 5
    for k in range(SLOTS):
        rows = slice(OWN + k * OTHER, OWN + (k + 1) * OTHER)
        states[rows] = states[rows] if k < found else 0.0
        states[rows.stop - 1] = k < found
    values = np.zeros(33, F)
    state_values(states, found, weights, empty_work(33), values)
    np.testing.assert_allclose(values, plain_values(weights, states.T), atol=2e-6, rtol=2e-5)


@given(st.permutations(range(SLOTS)), st.integers(0, 50))
def test_the_order_of_the_others_does_not_matter(order: list[int], seed: int) -> None:
    state = np.random.default_rng(seed).normal(0, 1, (1, FEATURES)).astype(F)
    state[0, 0] = 4.0
    others = state[:, OWN:].reshape(1, SLOTS, OTHER)
    others[..., -1] = 1.0
    turned = np.concatenate([state[:, :OWN], others[:, order].reshape(1, -1)], axis=1)
    weights = random_weights(seed)
    assert plain_values(weights, turned)[0] == pytest.approx(plain_values(weights, state)[0], rel=1e-5)


def test_look_ahead_by_hand() -> None:
    """4 m to a goal on the y axis, 1 m/s, 0.5 s: somebody 1 m to the side is left alone, one straight ahead is hit."""
    table = np.array([[1, 1, 0], [0, 1, 0]], F)
    found, _, states, gain, factor = look([0, 4, 0, 0, 1, 0.2], [[2, 1, -1, 0, 0.2]], table)
    assert found == 1
    assert states[:OWN, 0] == pytest.approx([3.5, 1, 1, 0, 0.2])
    # from (0, 0.5) the other at (1.5, 1) is 0.5 ahead and 1.5 to the right of the way to the goal, and moves left
    assert states[OWN : OWN + OTHER, 0] == pytest.approx([0.5, -1.5, 0, 1, 0.2, np.hypot(1.5, 0.5), 0.4, 1])
    assert gain.tolist() == [0.0, 0.0]
    assert factor == pytest.approx([GAMMA**0.5] * 2)
    _, _, _, gain, factor = look([0, 4, 0, 0, 1, 0.2], [[0, 0.6, 0, 0, 0.2]], table)
    assert factor[0] == 0.0
    assert gain[0] == pytest.approx(
        -0.25 * GAMMA**0.2 + 0.02 * (0.1 - 0.4), rel=1e-4
    )  # contact after 0.2 s, then deeper
    _, _, _, gain, _ = look([0, 4, 0, 0, 1, 0.2], [[0, 1.0, 0, 0, 0.2]], table)
    assert gain == pytest.approx([-0.1 + 0.1 / 2, 0.0], abs=1e-6)  # 0.1 m is left at the end; standing leaves 0.6 m


def test_the_three_nearest_are_seen_and_nobody_beyond_reach() -> None:
    at = [[5, 0], [1, 0], [0, 3], [0, -2], [30, 0]]
    found, nearest, states, _, _ = look(
        [9, 0, 0, 0, 1, 0.2], [[*p, 0, 0, 0.2] for p in at], candidates(1, 4), horizon=0.2
    )
    assert (found, nearest.tolist()) == (3, [1, 3, 2])
    found, _, states, _, _ = look([9, 0, 0, 0, 1, 0.2], [[*at[4], 0, 0, 0.2]], candidates(1, 4))
    assert found == 0
    assert not states[OWN:].any()


@pytest.mark.parametrize(
    ("other", "velocity", "breach"),
    [
        ((2, -1), (-1, 0), True),  # comes the other way on the right: the robot passes on the wrong side
        ((2, 1), (-1, 0), False),
        ((2, 0.5), (0.5, 0), True),  # slower, same way, on the left: overtaken on the wrong side
        ((2, -0.5), (0.5, 0), False),
        ((2, 0.5), (1.5, 0), False),  # faster: not overtaken
        ((0.5, -1.5), (0, 0.5), True),  # from the right, and the robot is through first
        ((1.5, -0.5), (0, 1.0), False),  # from the right, goes through in front of the robot
        ((0.5, 1.5), (0, -1.0), False),  # from the left
    ],
)
def test_right_hand_rule(other: Any, velocity: Any, breach: bool) -> None:
    numbers = [F(v) for v in (*other, 1.0, 0.0, *velocity)]
    assert breaks_norm(F(6.0), *numbers) is breach
    assert not breaks_norm(F(2.0), *numbers)  # near the goal no rule holds


def test_closest_approach_by_hand() -> None:
    gap, begins = closest_approach(F(3), F(1), F(-1), F(0), F(0.5), F(10))
    assert gap == pytest.approx(0.5)
    assert begins > 100
    gap, begins = closest_approach(F(3), F(0), F(-2), F(0), F(1), F(10))
    assert begins == pytest.approx(1.0)
    gap, begins = closest_approach(F(3), F(0), F(-2), F(0), F(1), F(0.5))
    assert gap == pytest.approx(1.0)
    assert closest_approach(F(0.2), F(0), F(1), F(0), F(1), F(1))[1] == 0.0


def test_walls_cut_the_fan() -> None:
    field = np.tile(np.array([3.0, 2.0, 1.0, 0.0], F), (2, 1))  # a wall at x = 3, samples every metre
    assert lowest_clearance(0.0, 0.0, 1.0, 0.0, 1.0, Walls(field, 0.0, 0.0, 1.0)) == pytest.approx(2.0)
    assert lowest_clearance(2.0, 0.0, 0.5, 0.0, 1.0, Walls(field, 0.0, 0.0, 1.0)) == pytest.approx(0.5)
    assert lowest_clearance(2.8, 0.0, -1.0, 0.0, 1.0, Walls(field, 0.0, 0.0, 1.0)) > 100  # away from it is always free
    assert lowest_clearance(2.8, 0.0, 0.0, 1.0, 1.0, Walls(field, 0.0, 0.0, 1.0)) == pytest.approx(0.2)  # along it


def test_the_farthest_point_in_sight() -> None:
    """A wall fills x < 2, y < 2 of a square; the way leads round its corner."""
    x, y = np.meshgrid(np.arange(0, 6, 0.1), np.arange(0, 6, 0.1))
    field = np.where((x < 2) & (y < 2), -0.5, np.hypot(np.maximum(x - 2, 0), np.maximum(y - 2, 0))).astype(F)
    points = np.array([[3.0, 3.0], [1.0, 3.0]])
    assert farthest_visible(3.0, 1.0, points, 0.2, Walls(field, 0.0, 0.0, 0.1)) == 0
    assert farthest_visible(3.0, 3.5, points, 0.2, Walls(field, 0.0, 0.0, 0.1)) == 1
    assert farthest_visible(5.0, 0.2, np.array([[1.0, 2.5], [0.2, 2.5]]), 0.2, Walls(field, 0.0, 0.0, 0.1)) == -1


def test_alone_it_goes_straight_at_full_speed() -> None:
    command = decide(Cadrl(), people_at([], []))
    assert (command.vx, command.vy) == pytest.approx((1.2, 0.0), abs=1e-6)


@given(st.floats(-3.1, 3.1), st.integers(0, 20))
def test_a_turned_world_gives_a_turned_answer(angle: float, seed: int) -> None:
    rng, policy = np.random.default_rng(seed), Cadrl(headings=16, speeds=3)
    positions, velocities = rng.uniform(0.8, 4, (4, 2)), rng.normal(0, 1, (4, 2))
    turn = np.array([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]])
    plain = decide(policy, people_at(positions, velocities))
    turned = decide(policy, people_at(positions @ turn.T, velocities @ turn.T), goal=tuple(turn @ (8.0, 0.0)))
    values = np.sort(policy._values)
    if values[-1] - values[-2] > 1e-5:
        assert turn @ (plain.vx, plain.vy) == pytest.approx((turned.vx, turned.vy), abs=1e-4)


def test_walks_round_somebody_who_stands_in_the_way() -> None:
    scenario = make(crowd=[{"model": "static", "people": [{"start": [0.05, 0]}]}])
    assert run_episode(scenario, Cadrl()).outcome is Outcome.SUCCESS


def test_finds_its_way_round_a_wall() -> None:
    robots = [{"spec": "point", "start": [-2.4, 0, 0], "goal": [2.4, 0]}]
    assert run_episode(make(scene=room(), robots=robots), Cadrl()).outcome is Outcome.SUCCESS


def test_touches_fewer_people_than_straight_where_nobody_gives_way() -> None:
    def touched(name: str) -> int:
        records = [run_episode(make(crowd=[blind]), registry.make_policy(name), seed=seed) for seed in range(8)]
        return sum(record.outcome is Outcome.PEDESTRIAN_COLLISION for record in records)

    placement = {"kind": "circle", "count": 10, "radius": 4.5}
    blind = {"model": "orca", "sees_robot": False, "at_end": "loop", "placement": placement}
    assert touched("cadrl") < touched("straight")


def test_shipped_weights_are_small_and_say_how_they_came_about() -> None:
    assert SHIPPED.stat().st_size < 500_000
    about = load_weights(SHIPPED).about
    assert about["steps"] >= 100
    assert registry.make_policy("cadrl").settings["horizon"] == about["horizon"]


def test_a_bad_weights_file_is_named_with_the_remedy(tmp_path: Path) -> None:
    bad = tmp_path / "bad.npz"
    with pytest.raises(BadInput, match="bad"):
        load_weights(bad)
    bad.write_bytes(b"nothing of the kind")
    with pytest.raises(BadInput, match="sidestep train cadrl"):
        load_weights(bad)
    np.savez(bad, format=np.array([{"no": "pickle"}], dtype=object))
    with pytest.raises(BadInput, match="not a file of weights"):
        load_weights(bad)
    shipped = load_weights(SHIPPED)
    arrays = dict(zip(SHAPES, shipped.arrays, strict=True))
    save_weights(bad, arrays | {"loss_bias": np.zeros(3, F)}, shipped.about)
    with pytest.raises(BadInput, match="loss_bias"):
        load_weights(bad)
    save_weights(bad, arrays | {"loss_bias": np.array([np.nan], F)}, shipped.about)
    with pytest.raises(BadInput, match="not finite"):
        load_weights(bad)


def test_bad_settings_are_refused() -> None:
    with pytest.raises(BadInput, match="guide"):
        registry.make_policy("cadrl", {"guide": "rout"})
    with pytest.raises(BadInput, match="horizon"):
        registry.make_policy("cadrl", {"horizon": 0.0})
