"""The social-force kernels against hand-computed cases, a reference, and what the models are known for."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from sidestep.kernels import layout as at
from sidestep.kernels.social_force import GroupParameters, make_social_force_scratch
from sidestep.kernels.social_force_helbing import HelbingParameters, helbing_world
from sidestep.kernels.social_force_moussaid import MoussaidParameters, moussaid_world, push_apart
from tests.reference.social_force_reference import Walls, build_walls, new_velocities

DT = 0.05
OPEN = build_walls([])
ROOM = build_walls(
    [
        [(3.0, 3.0), (5.0, 3.5), (4.5, 5.0), (2.5, 4.5)],  # a block
        [(7.0, 2.0), (9.0, 2.0), (9.0, 4.0), (8.8, 4.0), (8.8, 2.2), (7.0, 2.2)],  # a thin, bent wall
        [(2.0, 8.0), (6.0, 8.0)],  # a line
        [(0.0, 0.0), (0.0, 12.0), (12.0, 12.0), (12.0, 0.0)],  # the inside of a room
    ]
)
MODELS = [
    pytest.param(at.MODEL_HELBING, HelbingParameters(behind=0.4), id="helbing"),
    pytest.param(at.MODEL_MOUSSAID, MoussaidParameters(), id="moussaid"),
]
Parameters = HelbingParameters | MoussaidParameters


def step(
    agents: Any,
    flags: Any,
    people: int,
    p: Parameters,
    walls: Walls = OPEN,
    dt: float = DT,
    scratch: Any = None,
) -> Any:
    """Run the kernel of ``p``'s model; returns the new velocities (2, people)."""
    world = helbing_world if isinstance(p, HelbingParameters) else moussaid_world
    scratch = make_social_force_scratch(agents.shape[1]) if scratch is None else scratch
    world(agents, flags, people, walls, p.as_array(), dt, scratch, 0, people)
    return agents[[at.NEW_VX, at.NEW_VY], :people].copy()


def crowd(people: int, model: int, *, seed: int, side: float, robots: int = 0) -> tuple[Any, Any]:
    """Random people (and robots) on a square, all active, alone, of one model, seeing robots."""
    rng = np.random.default_rng(seed)
    columns = people + robots
    agents = np.zeros((at.AGENT_ROWS, columns), np.float32)
    flags = np.zeros((at.FLAG_ROWS, columns), np.int32)
    agents[[at.PX, at.PY]] = rng.uniform(0.0, side, (2, columns))
    agents[[at.VX, at.VY]] = rng.normal(0.0, 0.9, (2, columns))
    agents[[at.WISH_X, at.WISH_Y]] = rng.normal(0.0, 0.9, (2, columns))
    agents[at.RADIUS] = rng.uniform(0.2, 0.35, columns)
    agents[at.MAX_SPEED] = rng.uniform(1.5, 2.5, columns)
    agents[[at.NEW_VX, at.NEW_VY]] = np.nan
    flags[at.MODEL], flags[at.ACTIVE], flags[at.GROUP], flags[at.SEES_ROBOT] = model, 1, -1, 1
    flags[at.MODEL, people:] = at.MODEL_NONE
    return agents, flags


def pair(model: int, x: tuple[float, float], vx: tuple[float, float]) -> tuple[Any, Any]:
    """Two people of radius 0.25 m on the x axis who walk as they wish."""
    agents, flags = crowd(2, model, seed=0, side=1.0)
    agents[[at.PY, at.VY, at.WISH_Y]] = 0.0
    agents[at.PX], agents[at.VX], agents[at.WISH_X] = x, vx, vx
    agents[at.RADIUS], agents[at.MAX_SPEED] = 0.25, 100.0
    return agents, flags


def walk(agents: Any, flags: Any, p: Parameters, steps: int, walls: Walls = OPEN) -> Any:
    """Positions (steps + 1, 2, people) of people who keep their preferred velocity."""
    positions = [agents[[at.PX, at.PY]].copy()]
    for _ in range(steps):
        velocity = step(agents, flags, agents.shape[1], p, walls)
        agents[[at.VX, at.VY]] = velocity
        agents[[at.PX, at.PY]] += velocity * np.float32(DT)
        positions.append(agents[[at.PX, at.PY]].copy())
    return np.array(positions)


def test_helbing_two_people_by_hand() -> None:
    p = HelbingParameters()
    agents, flags = pair(at.MODEL_HELBING, (0.0, 1.0), (0.0, 0.0))
    # 2000/80 exp((0.5 - 1.0)/0.08) = 25 exp(-6.25) = 0.0482614 m/s²
    np.testing.assert_allclose(step(agents, flags, 2, p), [[-0.00241307, 0.00241307], [0, 0]], rtol=2e-5)
    agents, flags = pair(at.MODEL_HELBING, (0.0, 0.4), (0.0, 0.0))
    # 25 exp(1.25) = 87.2586, body 0.1 m · min(1500, 1/(2 dt²)): 20 at 0.05 s and 150 at 0.01 s
    np.testing.assert_allclose(step(agents, flags, 2, p)[0], [-5.36293, 5.36293], rtol=2e-5)
    np.testing.assert_allclose(step(agents, flags, 2, p, dt=0.01)[0], [-2.372586, 2.372586], rtol=2e-5)
    # friction at 0.01 s: min(3000 · 0.1, 1/(2 dt) = 50) · 1 m/s sideways = 50 m/s², and both end at 0.5 m/s
    agents[at.VY, 1] = agents[at.WISH_Y, 1] = 1.0
    np.testing.assert_allclose(step(agents, flags, 2, p, dt=0.01)[1], [0.5, 0.5], rtol=2e-5)


def test_helbing_weighs_what_is_behind_by_lambda() -> None:
    p = HelbingParameters(behind=0.25)
    agents, flags = pair(at.MODEL_HELBING, (0.0, 0.7), (1.0, 1.0))
    change = step(agents, flags, 2, p)[0] - 1.0
    assert change[0] == pytest.approx(-0.05 * 25 * math.exp(-2.5), rel=1e-4)
    assert change[1] == pytest.approx(0.25 * 0.05 * 25 * math.exp(-2.5), rel=1e-3)


def test_moussaid_two_people_by_hand() -> None:
    agents, flags = pair(at.MODEL_MOUSSAID, (0.0, 2.0), (1.0, -1.0))
    # |D| = 5, B = 1.75, θ = 1.75 · 0.005, exp(-2/1.75) = 0.3189066; braking 4.5 · 0.3189066 · exp(-(3 B θ)²)
    # = 1.432056, turning right 4.5 · 0.3189066 · exp(-(2 B θ)²) = 1.433734 m/s²
    velocity = step(agents, flags, 2, MoussaidParameters())
    expected = [[1 - 0.0716028, -1 + 0.0716028], [-0.0716867, 0.0716867]]
    np.testing.assert_allclose(velocity, expected, atol=2e-6)


def test_relaxation_alone_and_the_speed_limit() -> None:
    for model, p in ((at.MODEL_HELBING, HelbingParameters()), (at.MODEL_MOUSSAID, MoussaidParameters())):
        agents, flags = crowd(1, model, seed=0, side=1.0)
        agents[[at.VX, at.VY, at.WISH_X, at.WISH_Y], 0] = 0.0, 0.0, 0.6, 0.8
        velocity = step(agents, flags, 1, p)[:, 0]
        np.testing.assert_allclose(velocity, np.array([0.6, 0.8]) * DT / p.relaxation_time, rtol=1e-6)
        agents[[at.VX, at.VY, at.MAX_SPEED], 0] = 3.0, 4.0, 2.0
        velocity = step(agents, flags, 1, p)[:, 0]
        assert np.hypot(*velocity) == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize(("model", "p"), MODELS)
@pytest.mark.parametrize("walls", [OPEN, ROOM], ids=["open", "walls"])
def test_kernel_equals_the_reference(model: int, p: Parameters, walls: Walls) -> None:
    """Mixed models, groups, inactive columns, robots seen and unseen, crowded enough for contacts."""
    people = 45
    agents, flags = crowd(people, model, seed=11, side=12.0, robots=3)
    rng = np.random.default_rng(5)
    flags[at.MODEL, 30:40] = [
        at.MODEL_NONE,
        at.MODEL_ORCA,
        at.MODEL_HELBING,
        at.MODEL_MOUSSAID,
        at.MODEL_REPLAY,
    ] * 2
    flags[at.GROUP, :people] = rng.choice([-1, 0, 1, 2, 46, 91, 10**9], people)  # 1, 46 and 91 share a chain
    flags[at.ACTIVE, [4, 17, 33, 46]] = 0
    flags[at.SEES_ROBOT, ::3] = 0
    agents[at.MAX_SPEED, ::2] = 1000.0
    agents[[at.PX, at.PY], 8] = agents[[at.PX, at.PY], 7]  # two at the same place
    expected = new_velocities(agents, flags, people, walls, p, DT)
    velocity = step(agents, flags, people, p, walls)
    np.testing.assert_array_equal(np.isnan(velocity), np.isnan(expected))
    moved = ~np.isnan(expected[0])
    assert 25 < moved.sum() < 45
    change = np.abs(expected - agents[[at.VX, at.VY], :people])[:, moved]
    assert np.max(np.abs(velocity - expected)[:, moved] / (1.0 + change)) < 2e-5


def test_more_candidates_than_a_tile_holds() -> None:
    agents, flags = crowd(600, at.MODEL_MOUSSAID, seed=2, side=9.0, robots=1)
    flags[at.SEES_ROBOT, ::2] = 0
    agents[at.MAX_SPEED] = 1000.0
    flags[at.MODEL, 12:] = at.MODEL_NONE
    expected = new_velocities(agents, flags, 600, OPEN, MoussaidParameters(), DT)[:, :12]
    velocity = step(agents, flags, 600, MoussaidParameters())[:, :12]
    np.testing.assert_allclose(velocity, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(("model", "p"), MODELS)
def test_cell_grid_does_not_change_a_bit(model: int, p: Parameters) -> None:
    """Each person again with the people within reach only, who are few enough for a single cell."""
    side = 70.0 if model == at.MODEL_MOUSSAID else 25.0
    agents, flags = crowd(200, model, seed=8, side=side)
    velocity = step(agents, flags, 200, p)
    distance = np.hypot(*(agents[[at.PX, at.PY], :, None] - agents[[at.PX, at.PY], None, :]))
    near = distance <= (p.cutoff if model == at.MODEL_MOUSSAID else p.cutoff + 0.7) + 1e-3
    assert near.sum(axis=1).mean() > 3
    assert near.sum(axis=1).max() < 24
    for i in range(0, 200, 7):
        flags[at.ACTIVE] = near[i]
        assert np.array_equal(step(agents, flags, 200, p)[:, i], velocity[:, i])


@pytest.mark.parametrize(("model", "p"), MODELS)
def test_ranges_threads_columns_and_order_do_not_change_a_bit(model: int, p: Parameters) -> None:
    people = 120
    agents, flags = crowd(people, model, seed=4, side=20.0, robots=1)
    whole = step(agents, flags, people, p, ROOM)
    assert np.isfinite(whole).all()
    in_parts = helbing_world if model == at.MODEL_HELBING else moussaid_world
    for ranges in ([(70, 120), (0, 33), (33, 70)], [(0, 60), (60, 120)]):
        agents[[at.NEW_VX, at.NEW_VY]] = np.nan
        with ThreadPoolExecutor(2) as pool:
            for first, last in ranges:
                scratch = make_social_force_scratch(people + 1)
                scratch[:] = np.nan
                arguments = (agents, flags, people, ROOM, p.as_array(), DT, scratch, first, last)
                pool.submit(in_parts, *arguments)
        np.testing.assert_array_equal(agents[[at.NEW_VX, at.NEW_VY], :people], whole)
    shuffled = np.random.default_rng(0).permutation(people)
    columns = np.append(shuffled, people)
    permuted = step(np.ascontiguousarray(agents[:, columns]), np.ascontiguousarray(flags[:, columns]), people, p, ROOM)
    np.testing.assert_array_equal(permuted, whole[:, shuffled])
    place = np.sort(np.random.default_rng(1).choice(170, people, replace=False))
    wide, wide_flags = crowd(170, model, seed=99, side=20.0, robots=1)
    wide_flags[at.ACTIVE, :170] = 0
    wide[:, np.append(place, 170)], wide_flags[:, np.append(place, 170)] = agents, flags
    np.testing.assert_array_equal(step(wide, wide_flags, 170, p, ROOM)[:, place], whole)


@pytest.mark.parametrize(("model", "p"), MODELS)
def test_robots_are_seen_only_by_those_who_look(model: int, p: Parameters) -> None:
    agents, flags = crowd(30, model, seed=6, side=10.0, robots=2)
    agents[[at.PX, at.PY], 30:] = agents[[at.PX, at.PY], :2] + np.float32(0.4)
    flags[at.SEES_ROBOT, 1] = 0
    with_robots = step(agents, flags, 30, p)
    flags[at.ACTIVE, 30:] = 0
    without = step(agents, flags, 30, p)
    assert np.array_equal(with_robots[:, 1], without[:, 1])
    assert not np.array_equal(with_robots[:, 0], without[:, 0])


@pytest.mark.parametrize(("bias", "side"), [(0.005, -1.0), (-0.005, 1.0)])
def test_moussaid_head_on_people_evade_to_the_same_hand(bias: float, side: float) -> None:
    agents, flags = pair(at.MODEL_MOUSSAID, (-5.0, 5.0), (1.3, -1.3))
    path = walk(agents, flags, MoussaidParameters(side_bias=bias), 160)
    np.testing.assert_array_equal(path[:, :, 0], -path[:, :, 1])
    assert path[-1, 0, 0] > 3.0
    distance = np.hypot(*(path[:, :, 0] - path[:, :, 1]).T)
    assert distance.min() > 0.5
    assert side * path[np.argmin(distance), 1, 0] > 0.25


@pytest.mark.parametrize(("model", "p"), MODELS)
@pytest.mark.parametrize("speed", [0.7, 1.3, 1.8])
def test_person_stops_before_a_wall(model: int, p: Parameters, speed: float) -> None:
    block = build_walls([[(4.0, -3.0), (6.0, -3.0), (6.0, 3.0), (4.0, 3.0)]])
    agents, flags = crowd(1, model, seed=0, side=1.0)
    agents[:8, 0] = [0.0, 0.2, speed, 0.0, 0.3, speed, 2.5, 1.0]
    agents[[at.WISH_X, at.WISH_Y], 0] = speed, 0.0
    path = walk(agents, flags, p, 300, block)[:, :, 0]
    assert path[:, 0].max() < 4.0 - 0.3
    assert path[-1, 0] > 3.0
    assert np.abs(path[-1] - path[-20]).max() < 0.01
    np.testing.assert_allclose(path[:, 1], 0.2, atol=1e-6)


@pytest.mark.parametrize(("model", "p"), MODELS)
def test_a_wall_counts_once_however_it_is_drawn(model: int, p: Parameters) -> None:
    whole = build_walls([[(4.0, -3.0), (4.4, -3.0), (4.4, 3.0), (4.0, 3.0)]])
    pieces = build_walls([[(4.0, -3.0), (4.4, -3.0), (4.4, 3.0), (4.0, 3.0), (4.0, 0.5), (4.0, 0.1), (4.0, 0.0)]])
    agents, flags = crowd(3, model, seed=0, side=1.0)
    flags[at.ACTIVE, 1:] = 0
    agents[at.RADIUS] = 0.25
    for place in ((3.6, 0.3), (3.7, 3.2), (4.2, 3.3), (3.8, -2.0)):
        agents[[at.PX, at.PY], 0] = place
        once = step(agents, flags, 3, p, whole)[:, 0]
        np.testing.assert_allclose(step(agents, flags, 3, p, pieces)[:, 0], once, atol=1e-6)
        assert np.abs(once - step(agents, flags, 3, p, OPEN)[:, 0]).max() > 1e-3


@pytest.mark.parametrize(("model", "p"), MODELS)
def test_a_group_stays_together(model: int, p: Parameters) -> None:
    spread = []
    for group in (3, -1):
        agents, flags = crowd(3, model, seed=0, side=1.0)
        agents[[at.VY, at.WISH_Y, at.PX]] = 0.0
        agents[at.PY], agents[at.RADIUS], agents[at.MAX_SPEED] = [0.0, 1.0, 2.0], 0.25, 2.0
        agents[at.VX] = agents[at.WISH_X] = [1.0, 1.3, 1.6]
        flags[at.GROUP] = group
        path = walk(agents, flags, p, 400)
        spread.append(np.ptp(path[-1, 0]))
    together, alone = spread
    assert alone > 8.0
    assert together < 3.5


def test_a_member_ahead_of_its_group_slows_down_and_is_pulled_back() -> None:
    agents, flags = pair(at.MODEL_HELBING, (0.0, 4.0), (1.0, 1.0))
    flags[at.GROUP] = 7
    behind, ahead = step(agents, flags, 2, HelbingParameters())[0]
    # distance to the centre 2 m > 0.5 m: 3 m/s² to the centre; the one ahead turns its head by π - π/2
    assert behind == pytest.approx(1 + 0.05 * 3, rel=1e-5)
    assert ahead == pytest.approx(1 - 0.05 * 3 - 0.05 * 4 * math.pi / 2, rel=1e-5)
    quiet = HelbingParameters(group=GroupParameters(gaze=0.0, coherence=0.0, repulsion=0.0))
    np.testing.assert_array_equal(step(agents, flags, 2, quiet)[0], [1.0, 1.0])


def test_no_people_and_odd_positions_are_harmless() -> None:
    for model, p in ((at.MODEL_HELBING, HelbingParameters()), (at.MODEL_MOUSSAID, MoussaidParameters())):
        agents, flags = crowd(0, model, seed=0, side=1.0, robots=1)
        assert step(agents, flags, 0, p, ROOM).shape == (2, 0)
        agents, flags = crowd(40, model, seed=0, side=50.0)
        agents[at.PX, :3] = [np.nan, np.inf, -1e30]
        agents[at.PX, 3] = 4e5
        assert np.isfinite(step(agents, flags, 40, p, ROOM)[:, 4:]).all()


@pytest.mark.parametrize("change", [{"cutoff": 0.0}, {"relaxation_time": -1.0}, {"strength": math.nan}])
def test_wrong_parameters_are_refused(change: dict[str, float]) -> None:
    for kind in (HelbingParameters, MoussaidParameters):
        with pytest.raises(ValueError, match=next(iter(change))):
            kind(**change)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="behind"):
        HelbingParameters(behind=1.5)
    with pytest.raises(ValueError, match="gaze"):
        GroupParameters(gaze=-1.0)


def test_the_near_force_is_that_of_its_formula() -> None:
    rng = np.random.default_rng(4)
    agents = np.zeros((at.AGENT_ROWS, 12), np.float32)
    agents[[at.PX, at.PY]] = rng.uniform(-1.0, 1.0, (2, 12))
    agents[at.RADIUS] = rng.uniform(0.2, 0.4, 12)
    agents[[at.WISH_X, at.WISH_Y], 0] = 0.7, -0.2
    apart = agents[[at.PX, at.PY], :1].astype(float) - agents[[at.PX, at.PY], 1:]
    distance = np.hypot(*apart)
    gap = np.maximum(distance - agents[at.RADIUS, 0] - agents[at.RADIUS, 1:], -0.2)
    expected = np.array([0.7, -0.2]) + 0.8 * (apart * 10.0 * np.exp(-gap / 0.3) / distance).sum(axis=1)
    push_apart(agents, *np.array([10.0, 0.3, 0.2, 0.8], np.float32))
    assert agents[[at.WISH_X, at.WISH_Y], 0] == pytest.approx(expected, rel=1e-5)
