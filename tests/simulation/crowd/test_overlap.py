"""Nobody overlaps, and everybody gets there: the published circle and crossing, where all meet in the middle at once.

ORCA alone promises nothing once its linear program has no solution (RVO2 overlaps in the same scenes); bodies are
kept apart by ``kernels.bodies``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.kernels import layout
from sidestep.simulation import Worlds
from sidestep.simulation.build import World, build_world
from tests.simulation.scenarios import make

ROUNDING_M = 2e-6
FAR_AWAY = [{"spec": "point", "start": [600, 600, 0], "goal": [900, 900]}]
PUBLISHED = {"horizon_people": 10.0, "max_neighbours": 10, "neighbour_distance": 15.0}
ONE_METRE_PER_SECOND = {"mean": 1.0, "sd": 0.0, "low": 1.0, "high": 1.0}


@numba.njit(cache=False)  # type: ignore[untyped-decorator]
def least_gap(agents: Any, flags: Any, people: int) -> float:
    """Least surface distance between two people who are present, in any of the worlds, m."""
    least = np.inf
    for b in range(agents.shape[0]):
        for i in range(people):
            for j in range(i):
                if flags[b, 1, i] == 1 and flags[b, 1, j] == 1:
                    dx, dy = (
                        np.float64(agents[b, 0, i]) - agents[b, 0, j],
                        np.float64(agents[b, 1, i]) - agents[b, 1, j],
                    )
                    reach = np.float64(agents[b, 4, i]) + agents[b, 4, j]
                    if dx * dx + dy * dy < (least + reach) * (least + reach) or least == np.inf:
                        least = min(least, np.sqrt(dx * dx + dy * dy) - reach)
    return float(least)


def build(seed: int, part: dict[str, Any], step_s: float, seconds: float, scene: Any = None) -> World:
    rules = {"step_s": step_s, "time_limit_s": seconds}
    part = {"sees_robot": False, "model": "orca", **part}
    scenario = make(crowd=[part], robots=FAR_AWAY, rules=rules, **({"scene": scene} if scene else {}))
    return build_world(scenario, seed)


def circle(people: int, radius: float, step_s: float, seconds: float, **part: Any) -> Callable[[int], World]:
    placement = {"kind": "circle", "count": people, "radius": radius, "jitter": 0.5}
    return lambda seed: build(seed, {"placement": placement, **part}, step_s, seconds)


def published_circle(seed: int) -> World:
    """RVO2's own circle: 250 bodies of 1.5 m on 200 m."""
    placement = {"kind": "circle", "count": 250, "radius": 200.0, "jitter": 1.0}
    part = {"placement": placement, "radius": 1.5, "speed": ONE_METRE_PER_SECOND, "parameters": PUBLISHED}
    return build(seed, part, 0.25, 700.0)


def published_blocks(seed: int) -> World:
    """RVO2's own crossing at the size of people: four times 25 between four blocks, to the opposite corner."""
    rng = np.random.default_rng(seed)
    corners = ((1, 1), (-1, 1), (1, -1), (-1, -1))
    people = []
    for sx, sy in corners:
        for i in range(5):
            for j in range(5):
                x, y = np.array([6.9 + 1.25 * i, 6.9 + 1.25 * j]) + rng.uniform(-0.1, 0.1, 2)
                people.append({"start": [sx * x, sy * y], "waypoints": [[-sx * 9.4, -sy * 9.4]]})
    square = np.array([[1.25, 1.25], [5.0, 1.25], [5.0, 5.0], [1.25, 5.0]])
    blocks = [{"kind": "obstacle", "polygon": (square * sign).tolist()} for sign in corners]
    part = {"people": people, "at_end": "leave", "radius": 0.25}
    return build(seed, part, 0.1, 120.0, {"name": "blocks", "regions": blocks})


def four_way(seed: int) -> World:
    """Two people abreast from each side, all in the middle at about the same time."""
    rng = np.random.default_rng(seed)
    starts = np.concatenate([(-rng.uniform(5.0, 6.0, 2) + [0.4j, -0.4j]) * 1j**quarter for quarter in range(4)])
    people = [{"start": [z.real, z.imag], "waypoints": [[-z.real, -z.imag]]} for z in starts]
    return build(seed, {"people": people}, 0.1, 30.0)


def walk(scene: Callable[[int], World], seeds: range, check_every: int = 1) -> tuple[float, float]:
    """Least surface distance between two people ever, m, and the share of people who got to their goal or left."""
    worlds = Worlds([scene(seed) for seed in seeds], threads=2)
    people, least = worlds.people, np.inf
    for step in range(worlds.worlds[0].scenario.rules.max_steps):
        worlds.step()
        if step % check_every == 0:
            least = min(least, least_gap(worlds.agents, worlds.flags, people))
    agents = worlds.agents[:, :, :people]
    left = np.isinf(agents[:, layout.ENTER_TIME])
    miss = np.hypot(agents[:, layout.PX] - agents[:, layout.GOAL_X], agents[:, layout.PY] - agents[:, layout.GOAL_Y])
    return least, float(np.mean(left | (miss < 2 * agents[:, layout.RADIUS])))


SMALL = {
    "circle of 8, 0.05 s": circle(8, 5.0, 0.05, 30.0),
    "circle of 8, 0.1 s": circle(8, 5.0, 0.1, 30.0),
    "circle of 8, 0.25 s": circle(8, 5.0, 0.25, 30.0),
    "circle of 20, 0.1 s": circle(20, 7.0, 0.1, 40.0),
    "circle of 20, Helbing": circle(20, 7.0, 0.1, 40.0, model="social_force_helbing"),
    "four ways, 0.1 s": four_way,
}


@pytest.mark.parametrize("name", SMALL)
def test_nobody_overlaps_and_all_arrive(name: str) -> None:
    least, arrived = walk(SMALL[name], range(60))
    assert least > -ROUNDING_M
    assert arrived > 0.98


@pytest.mark.full
@pytest.mark.parametrize("name", SMALL)
def test_nobody_overlaps_in_a_thousand_runs(name: str) -> None:
    least, arrived = walk(SMALL[name], range(1000))
    assert least > -ROUNDING_M
    assert arrived > 0.98


@pytest.mark.full
@pytest.mark.parametrize(("scene", "share"), [(published_circle, 0.95), (published_blocks, 0.6)])
def test_nobody_overlaps_in_a_thousand_runs_of_the_published_scenes(
    scene: Callable[[int], World], share: float
) -> None:
    """Between the blocks a hundred people meet on 2.5 m × 2.5 m: not all are through after two minutes."""
    rounding = 100 * ROUNDING_M  # 200 m from the origin a float32 is good to 15 µm
    for first in range(0, 1000, 250):
        least, arrived = walk(scene, range(first, first + 250), check_every=4)
        assert least > -rounding
        assert arrived > share


@given(st.integers(65, 120), st.floats(2.0, 6.0), st.integers(0, 100))
def test_a_dense_crowd_of_many_never_overlaps(people: int, spread: float, seed: int) -> None:
    """More than 64 people take the sorted way through the pairs."""
    side = spread * np.sqrt(people) / 2.5
    placement = {"kind": "random", "count": people, "area": [-side, -side, side, side], "goals": 3}
    world = build(seed, {"placement": placement, "radius": 0.2}, 0.1, 4.0)
    least, _ = walk(lambda _: world, range(1))
    assert least > -ROUNDING_M


def test_who_stands_is_not_pushed() -> None:
    standing = {"model": "static", "people": [{"start": [0, 0]}, {"start": [0.3, 0.45]}], "sees_robot": False}
    walking = {"people": [{"start": [-3, 0], "waypoints": [[3, 0]]}, {"start": [3, 0.2], "waypoints": [[-3, 0.2]]}]}
    parts = [standing, {"model": "orca", "sees_robot": False, **walking}]
    worlds = Worlds([build_world(make(crowd=parts, robots=FAR_AWAY), 0)], threads=1)
    for _ in range(150):
        worlds.step()
        assert least_gap(worlds.agents, worlds.flags, worlds.people) > -ROUNDING_M
    assert np.array_equal(worlds.agents[0, :2, :2].T, np.array([[0, 0], [0.3, 0.45]], np.float32))
