"""ORCA against a plain reference, against RVO2, and for what it promises: nobody is run into."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from sidestep.kernels import layout, orca
from sidestep.kernels.layout import (  # fmt: skip
    ACTIVE,
    MAX_SPEED,
    MODEL,
    MODEL_ORCA,
    NEW_VX,
    NEW_VY,
    PX,
    PY,
    RADIUS,
    SEES_ROBOT,
    SHARE,
    VX,
    VY,
    WISH_X,
    WISH_Y,
    Walls,
    no_walls,
)
from sidestep.kernels.orca import OrcaParameters, make_orca_scratch, orca_world
from tests.needs import reason_missing
from tests.reference.orca_reference import (
    Body,
    Polygon,
    least_violation,
    nearest_velocity,
    problem_of,
    violations,
)

Array = NDArray[np.float32]

BLOCK = [(4.0, 4.0), (6.0, 4.0), (6.0, 6.0), (4.0, 6.0)]
CORNERED = [
    (1.0, 1.0),
    (4.0, 1.0),
    (4.0, 2.0),
    (2.0, 2.0),
    (2.0, 4.0),
    (1.0, 4.0),
]  # with a non-convex corner


class Crowd:
    """A world of ORCA people whose last ``robots`` columns mirror robots."""

    def __init__(self, positions: object, robots: int = 0, walls: Walls | None = None, **settings: float) -> None:
        at = np.asarray(positions, np.float64)
        self.agents = np.zeros((layout.AGENT_ROWS, len(at)), np.float32)
        self.flags = np.zeros((layout.FLAG_ROWS, len(at)), np.int32)
        self.people = len(at) - robots
        self.agents[PX], self.agents[PY] = at.T
        self.agents[RADIUS], self.agents[MAX_SPEED], self.agents[SHARE] = 0.3, 1.7, 1.0
        self.flags[MODEL], self.flags[ACTIVE], self.flags[SEES_ROBOT] = MODEL_ORCA, 1, 1
        self.walls = no_walls() if walls is None else walls
        self.settings = OrcaParameters(**settings)  # type: ignore[arg-type]
        self.scratch = make_orca_scratch(len(at))

    @property
    def positions(self) -> Array:
        return self.agents[PX : PY + 1].T

    @property
    def velocities(self) -> Array:
        return self.agents[VX : VY + 1].T

    @property
    def wishes(self) -> Array:
        return self.agents[WISH_X : WISH_Y + 1].T

    @property
    def decided(self) -> Array:
        return self.agents[NEW_VX : NEW_VY + 1].T

    def walk_to(self, goals: NDArray[np.float64], speed: float = 1.3, bias: float = 0.0) -> None:
        """Wish to walk to the goals, a bit to the right, slowing down when nearly there."""
        to_goal = goals - self.positions
        distance = np.hypot(*to_goal.T)[:, None]
        ahead = to_goal / np.maximum(distance, 1e-9) * np.minimum(speed, distance)
        self.wishes[:] = ahead + bias * ahead[:, ::-1] * (1, -1)

    def decide(self) -> Array:
        orca_world(self.agents, self.flags, self.people, self.walls, self.settings.as_array(), self.scratch)
        return self.decided

    def step(self) -> None:
        self.decide()
        self.velocities[:] = self.decided
        self.positions[:] += self.velocities * np.float32(self.settings.time_step)


def make_walls(polygons: list[list[tuple[float, float]]], cell: float | None = None) -> Walls:
    """Wall arrays of counter-clockwise polygons, with one cell for all or a grid of cells of that size."""
    points = np.array([corner for polygon in polygons for corner in polygon])
    following, previous = np.zeros(len(points), np.int32), np.zeros(len(points), np.int32)
    first = 0
    for polygon in polygons:
        numbers = first + np.arange(len(polygon))
        following[numbers], previous[numbers] = np.roll(numbers, -1), np.roll(numbers, 1)
        first += len(polygon)
    along = points[following] - points
    back, ahead = points - points[previous], points[following] - points[previous]
    convex = back[:, 0] * ahead[:, 1] - back[:, 1] * ahead[:, 0] >= 0
    low, high = points.min(axis=0) - 5.0, points.max(axis=0) + 5.0
    size = float(max(high - low)) if cell is None else cell
    shape = np.ceil((high - low) / size).astype(np.int32)
    starts, items = [0], []
    for row in range(shape[1]):
        for column in range(shape[0]):
            corner = low + size * np.array([column, row])
            items += [i for i in range(len(points)) if _is_near(corner, size, points[i], along[i])]
            starts.append(len(items))
    return Walls(
        points.astype(np.float32),
        (along / np.hypot(*along.T)[:, None]).astype(np.float32),
        following,
        previous,
        convex.astype(np.uint8),
        np.array(starts, np.int32),
        np.array(items, np.int32),
        np.array([*low, size, 0], np.float32),
        shape,
    )


def _is_near(corner: NDArray[np.float64], size: float, point: NDArray[np.float64], along: NDArray[np.float64]) -> bool:
    samples = point + np.linspace(0, 1, 50)[:, None] * along
    gaps = np.maximum(np.maximum(corner - samples, samples - corner - size), 0.0)
    spacing = np.hypot(*along) / 49
    return bool(np.hypot(*gaps.T).min() <= layout.WALL_REACH + spacing)


def random_crowd(seed: int, n: int, side: float, **options: object) -> Crowd:
    rng = np.random.default_rng(seed)
    crowd = Crowd(rng.uniform(0, side, (n, 2)), **options)  # type: ignore[arg-type]
    crowd.velocities[:] = rng.normal(0, 0.8, (n, 2))
    crowd.wishes[:] = rng.normal(0, 1.0, (n, 2))
    crowd.agents[RADIUS] = rng.uniform(0.15, 0.4, n)
    crowd.agents[SHARE] = rng.uniform(0.0, 2.0, n)
    crowd.agents[MAX_SPEED] = rng.uniform(0.8, 2.0, n)
    return crowd


def bodies_of(crowd: Crowd) -> list[Body]:
    rows = crowd.agents[[PX, PY, VX, VY, RADIUS, SHARE]].astype(np.float64).T
    return [Body(complex(x, y), complex(vx, vy), r, share) for x, y, vx, vy, r, share in rows]


def compare_with_reference(crowd: Crowd, polygons: list[list[tuple[float, float]]]) -> tuple[int, int]:
    """Assert that every velocity is as good as the optimum; returns how many, and how many equal it."""
    crowd.decide()
    settings, bodies = crowd.settings, bodies_of(crowd)
    solids = [Polygon([complex(*corner) for corner in polygon]) for polygon in polygons]
    times = (settings.horizon_people, settings.horizon_walls, settings.time_step)
    compared = equal = 0
    for i, me in enumerate(bodies):
        others = sorted(bodies[:i] + bodies[i + 1 :], key=lambda other: abs(other.position - me.position))
        near = [o for o in others if abs(o.position - me.position) < settings.neighbour_distance]
        problem = problem_of(me, near[: settings.max_neighbours], solids, float(crowd.agents[MAX_SPEED, i]), times)
        wish, found = complex(*crowd.wishes[i]), complex(*crowd.decided[i])
        best = nearest_velocity(problem, wish)
        if best is not None:
            assert violations(problem.walls + problem.people, found).max(initial=0) < 1e-4
            assert abs(found - wish) < abs(best - wish) + 1e-4
        else:
            best = least_violation(problem)
            if best is None:  # the walls alone leave nothing
                continue
            assert violations(problem.walls, found).max(initial=0) < 1e-4
            # nearly parallel lines cost float32 a few digits
            assert violations(problem.people, found).max() < violations(problem.people, best).max() + 2e-3
        assert abs(found) < problem.max_speed + 1e-4
        compared += 1
        equal += abs(found - best) < 1e-4
    return compared, equal


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("n", "side"), [(6, 6.0), (20, 12.0), (80, 16.0)])
def test_a_velocity_is_the_optimum_of_the_reference(seed: int, n: int, side: float) -> None:
    compared, equal = compare_with_reference(random_crowd(seed, n, side), [])
    assert compared == n
    assert equal >= 0.95 * n


@pytest.mark.parametrize("seed", range(15))
def test_a_velocity_among_walls_is_the_optimum_of_the_reference(seed: int) -> None:
    polygons = [BLOCK, CORNERED]
    compared, equal = compare_with_reference(random_crowd(seed, 30, 8.0, walls=make_walls(polygons)), polygons)
    assert compared >= 20
    assert equal >= 0.9 * compared


def test_cells_of_walls_hold_all_that_matters() -> None:
    polygons = [BLOCK, CORNERED]
    for seed in range(5):
        one = random_crowd(seed, 60, 14.0, walls=make_walls(polygons))
        grid = random_crowd(seed, 60, 14.0, walls=make_walls(polygons, cell=1.0))
        for crowd in (one, grid):
            crowd.positions[:] -= 4.0  # some are beyond the grid
        np.testing.assert_array_equal(one.decide(), grid.decide())


def rvo2_of(crowd: Crowd, polygons: list[list[tuple[float, float]]]) -> object:
    pyrvo = pytest.importorskip("pyrvo", reason=reason_missing("pyrvo"))
    s = crowd.settings
    sim = pyrvo.RVOSimulator(
        s.time_step, s.neighbour_distance, s.max_neighbours, s.horizon_people, s.horizon_walls, 0.3, 1.7
    )
    for i, (x, y) in enumerate(crowd.positions.astype(float)):
        sim.add_agent((x, y))
        sim.set_agent_radius(i, float(crowd.agents[RADIUS, i]))
        sim.set_agent_max_speed(i, float(crowd.agents[MAX_SPEED, i]))
    for polygon in polygons:
        sim.add_obstacle(polygon)
    if polygons:
        sim.process_obstacles()
    return sim


def steps_equal_to_rvo2(
    crowd: Crowd, polygons: list[list[tuple[float, float]]], goals: NDArray[np.float64], steps: int
) -> int:
    """Walk with the kernel and with RVO2 from equal states; returns how many velocities differ in a bit."""
    sim = rvo2_of(crowd, polygons)
    different = 0
    for _ in range(steps):
        crowd.walk_to(goals)
        for i, (x, y) in enumerate(crowd.wishes.astype(float)):
            sim.set_agent_pref_velocity(i, (x, y))  # type: ignore[attr-defined]
        sim.do_step()  # type: ignore[attr-defined]
        theirs = [sim.get_agent_velocity(i).to_tuple() for i in range(crowd.people)]  # type: ignore[attr-defined]
        crowd.decide()
        np.testing.assert_allclose(crowd.decided, theirs, atol=2e-3)
        different += int((crowd.decided != np.array(theirs, np.float32)).any(axis=1).sum())
        crowd.step()
        for i in range(crowd.people):
            sim.set_agent_position(i, crowd.positions[i].astype(float).tolist())  # type: ignore[attr-defined]
            sim.set_agent_velocity(i, crowd.velocities[i].astype(float).tolist())  # type: ignore[attr-defined]
    return different


@pytest.mark.parametrize(("n", "side"), [(5, 5.0), (40, 13.0), (150, 25.0)])
def test_steps_equal_rvo2_bit_by_bit(n: int, side: float) -> None:
    rng = np.random.default_rng(n)
    crowd = Crowd(rng.uniform(0, side, (n, 2)), time_step=0.25)
    crowd.agents[RADIUS] = rng.uniform(0.2, 0.35, n)
    assert steps_equal_to_rvo2(crowd, [], rng.uniform(0, side, (n, 2)), steps=80) == 0


@pytest.mark.parametrize("seed", range(4))
def test_steps_around_a_block_equal_rvo2_bit_by_bit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    around = np.exp(2j * np.pi * rng.uniform(0, 1, 24)) * rng.uniform(2.5, 6, 24)
    positions = np.stack([around.real, around.imag], axis=1) + 5.0
    crowd = Crowd(positions, walls=make_walls([BLOCK]), time_step=0.1)
    assert steps_equal_to_rvo2(crowd, [BLOCK], 10.0 - positions, steps=120) == 0


def test_steps_in_a_corner_equal_rvo2_but_for_its_cuts() -> None:
    """RVO2 cuts the edges of a non-convex polygon, which moves a few results, but by rounding only."""
    rng = np.random.default_rng(8)
    positions = rng.uniform((2.4, 2.4), (7, 7), (12, 2))
    crowd = Crowd(positions, walls=make_walls([CORNERED]), time_step=0.1)
    assert steps_equal_to_rvo2(crowd, [CORNERED], positions - 3.0, steps=60) < 0.1 * 12 * 60


def shortest_gap(crowd: Crowd) -> float:
    """Least distance (m) between two surfaces; negative: overlap."""
    z = crowd.positions.astype(np.float64) @ [1, 1j]
    radii = crowd.agents[RADIUS].astype(np.float64)
    gaps = np.abs(z[:, None] - z) - radii[:, None] - radii
    np.fill_diagonal(gaps, np.inf)
    return float(gaps.min())


def circle_crossing(seed: int, n: int = 8) -> tuple[Crowd, NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    angles = 2 * np.pi * (np.arange(n) + rng.uniform(-0.2, 0.2, n)) / n
    positions = rng.uniform(5.0, 8.0, (n, 1)) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return Crowd(positions, time_step=0.1), -positions


def four_way_crossing(seed: int) -> tuple[Crowd, NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    lanes = [(-rng.uniform(4.0, 8.0, 2) + [0.75j, -0.75j]) * 1j**quarter for quarter in range(4)]
    start = np.concatenate(lanes)
    positions = np.stack([start.real, start.imag], axis=1)
    return Crowd(positions, time_step=0.1), -positions


def walk_without_overlap(crowd: Crowd, goals: NDArray[np.float64], seed: int, steps: int) -> None:
    rng = np.random.default_rng(seed)
    crowd.agents[RADIUS] = 0.25
    start = np.hypot(*(goals - crowd.positions).T).mean()
    for _ in range(steps):
        crowd.walk_to(goals, bias=0.05)
        crowd.wishes[:] += rng.uniform(-0.02, 0.02, crowd.wishes.shape)
        crowd.step()
        assert shortest_gap(crowd) > -1e-3
    assert np.hypot(*(goals - crowd.positions).T).mean() < 0.25 * start


@pytest.mark.parametrize("scene", [circle_crossing, four_way_crossing])
def test_nobody_overlaps_where_ways_cross(scene) -> None:  # type: ignore[no-untyped-def]
    """With staggered starts; where all meet at once people do overlap, see tests/simulation/crowd/test_overlap.py."""
    for seed in range(100):
        walk_without_overlap(*scene(seed), seed, steps=200)


@pytest.mark.full
@pytest.mark.parametrize("scene", [circle_crossing, four_way_crossing])
def test_nobody_overlaps_where_ways_cross_in_a_thousand_runs(scene) -> None:  # type: ignore[no-untyped-def]
    for seed in range(1000):
        walk_without_overlap(*scene(seed), seed, steps=200)


def test_a_wall_is_never_crossed() -> None:
    wall = [(0.0, -10.0), (1.0, -10.0), (1.0, 10.0), (0.0, 10.0)]
    crowd = Crowd([(-1.0, y) for y in np.arange(-4.0, 5.0)], walls=make_walls([wall]))
    for _ in range(200):
        crowd.walk_to(crowd.positions + np.array([5.0, 0.0]))
        crowd.step()
        assert crowd.positions[:, 0].max() + 0.3 < 1e-5
    assert crowd.positions[:, 0].min() + 0.3 > -0.01  # but approached


def test_two_streams_pass_each_other_in_a_corridor() -> None:
    north = [(-20.0, 2.0), (20.0, 2.0), (20.0, 3.0), (-20.0, 3.0)]
    south = [(-20.0, -3.0), (20.0, -3.0), (20.0, -2.0), (-20.0, -2.0)]
    rng = np.random.default_rng(0)
    lane = np.stack([np.repeat(np.arange(4.0, 10.0, 1.5), 2), np.tile([-0.8, 0.8], 4)], axis=1)
    crowd = Crowd(np.concatenate([lane, -lane]), walls=make_walls([north, south], cell=1.0), time_step=0.1)
    goals = np.concatenate([lane - [14.0, 0.0], -lane + [14.0, 0.0]])
    for _ in range(200):
        crowd.walk_to(goals, bias=0.05)
        crowd.wishes[:] += rng.uniform(-0.02, 0.02, crowd.wishes.shape)
        crowd.step()
        assert np.abs(crowd.positions[:, 1]).max() + 0.3 < 2.0 + 1e-4
        assert shortest_gap(crowd) > -1e-2  # mutual avoidance may fail by little where walls leave no room
    assert np.hypot(*(goals - crowd.positions).T).max() < 1.0


@pytest.mark.parametrize(("first", "second"), [(0.0, 1.0), (1.0, 0.0)])
def test_only_the_one_with_a_share_swerves(first: float, second: float) -> None:
    crowd = Crowd([(-3.0, 0.0), (3.0, 0.1)])
    crowd.agents[SHARE] = first, second
    crowd.velocities[:] = crowd.wishes[:] = [(1.3, 0.0), (-1.3, 0.0)]
    swerve = np.hypot(*(crowd.decide() - crowd.wishes).T)
    assert (swerve > 0.05).tolist() == [first > 0, second > 0]


def test_shares_scale_the_avoidance() -> None:
    """With shares 1 and 3 the first takes a quarter of what it takes alone; with 0 and 0 nobody gives way."""
    swerves = []
    for shares in [(1.0, 0.0), (1.0, 3.0), (1.0, 1.0), (0.0, 0.0)]:
        crowd = Crowd([(-3.0, 0.0), (3.0, 0.1)])
        crowd.agents[SHARE] = shares
        crowd.velocities[:] = crowd.wishes[:] = [(1.3, 0.0), (-1.3, 0.0)]
        swerves.append(float(np.hypot(*(crowd.decide() - crowd.wishes).T)[0]))
    assert swerves[1:] == pytest.approx([swerves[0] / 4, swerves[0] / 2, 0.0], abs=1e-5)


def test_who_does_not_see_robots_walks_on() -> None:
    crowd = Crowd([(0.0, 0.0), (0.0, 20.0), (2.0, 0.1)], robots=1)
    crowd.wishes[0] = crowd.velocities[0] = (1.3, 0.0)
    crowd.flags[SEES_ROBOT, 0] = 0
    np.testing.assert_array_equal(crowd.decide()[0], crowd.wishes[0])
    crowd.flags[SEES_ROBOT, 0] = 1
    assert np.hypot(*(crowd.decide()[0] - crowd.wishes[0])) > 0.05


def test_only_active_orca_people_are_moved_and_all_active_agents_are_avoided() -> None:
    crowd = random_crowd(3, 30, 8.0, robots=2)
    crowd.flags[MODEL, ::3] = layout.MODEL_HELBING
    crowd.flags[ACTIVE, ::4] = 0
    crowd.decided[:] = 77.0
    before = crowd.agents.copy()
    crowd.decide()
    moved = (crowd.flags[MODEL] == MODEL_ORCA) & (crowd.flags[ACTIVE] == 1) & (np.arange(30) < 28)
    assert ((crowd.decided != 77.0).all(axis=1) == moved).all()
    np.testing.assert_array_equal(crowd.agents[:NEW_VX], before[:NEW_VX])
    np.testing.assert_array_equal(crowd.agents[NEW_VY + 1 :], before[NEW_VY + 1 :])

    everyone = random_crowd(3, 30, 8.0, robots=2)
    everyone.flags[ACTIVE, ::4] = 0
    np.testing.assert_array_equal(crowd.decided[moved], everyone.decide()[moved])

    crowd.flags[MODEL] = layout.MODEL_REPLAY
    crowd.decided[:] = 77.0
    assert (crowd.decide() == 77.0).all()


def test_a_used_scratch_and_a_split_world_change_nothing() -> None:
    used = make_orca_scratch(300)
    for seed, n in [(0, 200), (1, 12), (2, 70), (3, 300)]:
        fresh = random_crowd(seed, n, math.sqrt(4 * n))
        expected = fresh.decide().copy()
        fresh.scratch = used
        np.testing.assert_array_equal(fresh.decide(), expected)

        fresh.decided[:] = 0.0
        args = (fresh.agents, fresh.flags, n, fresh.walls, fresh.settings.as_array(), used)
        places = orca.orca_build(fresh.agents, fresh.flags, fresh.settings.as_array(), used)
        orca.orca_range(*args, used, 0, places // 3)
        orca.orca_range(*args, make_orca_scratch(n), places // 3, places)
        np.testing.assert_array_equal(fresh.decided, expected)


def test_too_small_a_scratch_is_refused() -> None:
    crowd = random_crowd(0, 20, 10.0)
    crowd.scratch = make_orca_scratch(19)
    with pytest.raises(ValueError, match="fewer agents"):
        crowd.decide()


def test_coinciding_agents_part() -> None:
    crowd = Crowd([(1.0, 1.0)] * 3 + [(1.0, 1.2)])
    for _ in range(100):
        crowd.step()
        assert np.isfinite(crowd.agents).all()
    assert shortest_gap(crowd) > -1e-2


def test_overlapping_agents_with_the_parting_velocity_are_finite() -> None:
    crowd = Crowd([(0.0, 0.0), (0.5, 0.0)], time_step=0.25)
    crowd.velocities[:] = (
        (2.0, 0.0),
        (0.0, 0.0),
    )  # relative velocity = relative position / step: no direction out
    assert np.isfinite(crowd.decide()).all()
    assert crowd.decided[0, 0] < crowd.decided[1, 0]


@pytest.mark.parametrize(("setting", "value"), [("max_neighbours", 0), ("neighbour_distance", 0.0)])
def test_who_sees_nobody_walks_as_wished(setting: str, value: float) -> None:
    crowd = random_crowd(0, 100, 12.0, **{setting: value})
    speed = np.hypot(*crowd.wishes.T)
    expected = crowd.wishes * np.minimum(1.0, crowd.agents[MAX_SPEED] / speed)[:, None]
    np.testing.assert_allclose(crowd.decide(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [{"time_step": 0.0}, {"max_neighbours": 65}, {"horizon_walls": math.inf}, {"neighbour_distance": -1.0}],
)
def test_wrong_parameters_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        OrcaParameters(**wrong)  # type: ignore[arg-type]
