"""Replayed people who react: exact when undisturbed, on their recording when they pause, round the robot and back when
they give way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidestep.errors import BadInput
from sidestep.policies.trivial import Stop, Straight
from sidestep.records import load_record, save_record
from sidestep.simulation import run_episode, run_episodes
from sidestep.simulation.build import build_world
from sidestep.simulation.loop import Episode, describe_policy
from sidestep.simulation.observe import future_of
from sidestep.types import EpisodeRecord, HolonomicVelocity, Observation, Scenario, Task
from tests.simulation.scenarios import make, room

RATE_HZ = 10
ROUNDING_M = 1e-5


class LeavesAt:
    """Stands, and drives up from ``time`` on."""

    name = "leaves"
    needs: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, time: float) -> None:
        self.time = time

    def reset(self, task: Task) -> None:
        """Nothing to remember."""

    def act(self, observation: Observation) -> HolonomicVelocity:
        return HolonomicVelocity(0.0, 1.0 if observation.time >= self.time else 0.0)


def write_tracks(path: Path, tracks: Sequence[tuple[float, Any]]) -> str:
    """A file of people, each a first time (s) and the positions from then on, one every 0.1 s."""
    lines = [f"# rate_hz: {RATE_HZ}"]
    for person, (begin, places) in enumerate(tracks):
        for k, (x, y) in enumerate(np.asarray(places)):
            lines.append(f"{round(begin * RATE_HZ) + k} {person} {x:.5f} {y:.5f}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def line(start: tuple[float, float], end: tuple[float, float], speed: float = 1.3) -> Any:
    steps = round(np.hypot(end[0] - start[0], end[1] - start[1]) / speed * RATE_HZ)
    return np.linspace(start, end, steps + 1)


def scenario(path: str, reactivity: str, robot: Any = None, seconds: float = 20.0, **changes: Any) -> Scenario:
    part = {"model": "replay", "radius": 0.2, "reactivity": reactivity, "placement": {"kind": "replay", "path": path}}
    place = {"spec": "point", "start": [0, 0, 0], "goal": [0, 9], **(robot or {})}
    rules = {"step_s": 0.05, "time_limit_s": seconds, "ends_on": ["timeout"]}
    return make(crowd=[part], robots=[place], rules=rules, **changes)


def gaps(record: EpisodeRecord) -> Any:
    """(T+1, N) surface distance of people to the robot; NaN when absent."""
    between = record.person_position - record.robot_pose[:, None, :2]
    return np.hypot(between[..., 0], between[..., 1]) - record.person_radius - 0.3


def collisions(record: EpisodeRecord) -> int:
    return sum(event.kind == "collision_start" for event in record.events)


def distance_to_line(points: Any, way: Any) -> float:
    """Largest distance of points (K, 2) to the polyline (L, 2)."""
    a, b = way[:-1], way[1:]
    along = b - a
    square = np.maximum((along**2).sum(axis=1), 1e-12)
    part = np.clip(((points[:, None] - a) * along).sum(axis=2) / square, 0, 1)
    return float(np.linalg.norm(a + part[..., None] * along - points[:, None], axis=2).min(axis=1).max(initial=0.0))


@pytest.fixture
def walk(tmp_path: Path) -> str:
    """One person along y = 0 from x = -5 to 5, through the robot's place."""
    return write_tracks(tmp_path / "walk.txt", [(0.0, line((-5, 0), (5, 0)))])


def test_without_reactions_the_person_walks_into_the_robot(walk: str) -> None:
    record = run_episode(scenario(walk, "none"), Stop())
    assert collisions(record) == 1
    assert record.person_delay.shape == (0, 0)


def test_a_person_who_pauses_waits_as_long_as_the_robot_stands_there(walk: str) -> None:
    record = run_episode(scenario(walk, "pause"), Stop())
    assert collisions(record) == 0
    assert np.nanmin(gaps(record)) > 0.1
    stands = record.person_position[-1, 0]
    assert -2.2 < stands[0] < -0.6
    assert record.person_present[:, 0].all()
    delay = record.person_delay[:, 0]
    assert (np.diff(delay) >= 0).all()
    np.testing.assert_allclose(np.diff(delay)[-100:], 0.05, atol=1e-5)
    # the recording is at -5 + 1.3 (20 s - delay)
    assert -5 + 1.3 * (20 - delay[-1]) == pytest.approx(stands[0], abs=0.02)
    assert not record.person_velocity[-1, 0].any()


def test_who_paused_goes_on_with_the_delay_when_the_robot_leaves(walk: str) -> None:
    record = run_episode(scenario(walk, "pause", robot={"goal": [0, 30]}), LeavesAt(8.0))
    assert collisions(record) == 0
    delay = record.person_delay[:, 0]
    moving = np.flatnonzero(np.diff(delay) > 0)
    assert record.time[moving[-1]] < 10.0
    there = np.flatnonzero(record.person_present[:, 0])
    assert record.time[there[-1]] == pytest.approx(10 / 1.3 + delay[-1], abs=0.15)  # gone at the end of the own clock
    assert delay[-1] == delay[there[-1]]
    assert 4.0 < delay[-1] < 8.0
    late = record.person_position[there[-1], 0]
    assert late[0] == pytest.approx(5.0, abs=0.1)


def test_braking_is_smooth(walk: str) -> None:
    record = run_episode(scenario(walk, "pause"), Stop())
    change = np.diff(record.person_velocity[:, 0, 0])
    assert np.abs(change).max() < 1.3 * 0.05 / 0.4 + 1e-4


def test_who_gives_way_walks_round_the_robot_and_returns(walk: str) -> None:
    record = run_episode(scenario(walk, "reroute"), Stop())
    free = future_of(build_world(scenario(walk, "reroute"), 0)).position
    assert collisions(record) == 0
    assert np.nanmin(gaps(record)) > 0.05
    off = np.abs(record.person_position[:, 0] - free[:, 0]).max(axis=1)
    beside = np.flatnonzero(off > 1e-3)
    assert 0.5 < record.time[beside[-1]] - record.time[beside[0]] < 8.0
    assert np.nanmax(np.abs(record.person_position[:, 0, 1])) < 1.2
    assert record.person_delay[:, 0].max() > 0.1
    assert record.person_delay[-1, 0] < 0.1
    assert 0.05 < record.person_detour[-1, 0] < 1.0
    steps = np.linalg.norm(np.diff(record.person_position[:, 0], axis=0), axis=1)
    assert np.nanmax(steps) <= 1.3 * 1.3 * 0.05 + 1e-4


def test_detour_is_the_way_walked_less_the_recorded_way(walk: str) -> None:
    record = run_episode(scenario(walk, "reroute"), Stop())
    there = record.person_present[:, 0]
    way = record.person_position[there, 0].astype(float)
    walked = np.linalg.norm(np.diff(way, axis=0), axis=1).sum()
    recorded = np.linalg.norm(way[-1] - way[0])
    assert record.person_detour[-1, 0] == pytest.approx(walked - recorded, abs=1e-3)


def test_followers_wait_behind_who_waits(tmp_path: Path) -> None:
    """The second walks a second behind the first: it would run into the first, not into the robot."""
    ways = [(0.0, line((-5, 0), (5, 0))), (1.0, line((-5, 0), (5, 0)))]
    record = run_episode(scenario(write_tracks(tmp_path / "two.txt", ways), "pause"), Stop())
    apart = np.linalg.norm(record.person_position[:, 0] - record.person_position[:, 1], axis=1)
    assert np.nanmin(apart) > 0.4
    assert (record.person_delay[-1] > 5.0).all()


def test_nobody_minds_a_robot_that_comes_from_behind_or_is_not_seen(walk: str) -> None:
    behind = {"start": [-6, 0, 0], "goal": [9, 0]}
    assert not run_episode(scenario(walk, "pause", robot=behind), Straight()).person_delay.any()
    blind = scenario(walk, "pause")
    blind = blind.model_copy(update={"crowd": (blind.crowd[0].model_copy(update={"sees_robot": False}),)})
    record = run_episode(blind, Stop())
    assert collisions(record) == 1
    assert not record.person_delay.any()


def test_who_has_stepped_aside_at_the_end_of_the_recording_still_leaves(tmp_path: Path) -> None:
    """The recording ends just behind the robot: the person arrives late and goes."""
    path = write_tracks(tmp_path / "end.txt", [(0.0, line((-5, 0), (0.9, 0)))])
    record = run_episode(scenario(path, "reroute"), Stop())
    assert collisions(record) == 0
    assert not record.person_present[-1, 0]
    assert record.person_delay[-1, 0] < 3.0


def test_only_replayed_people_can_be_told_to_react() -> None:
    part = {"model": "orca", "reactivity": "pause", "placement": {"kind": "circle", "count": 2}}
    with pytest.raises(BadInput, match="reactivity is for replayed people"):
        make(crowd=[part])


def test_a_reactive_record_comes_back_from_its_file(walk: str, tmp_path: Path) -> None:
    record = run_episode(scenario(walk, "reroute"), Stop())
    save_record(record, tmp_path / "a.parquet")
    loaded = load_record(tmp_path / "a.parquet")
    assert loaded.digest == record.digest
    np.testing.assert_array_equal(loaded.person_delay, record.person_delay)
    np.testing.assert_array_equal(loaded.person_detour, record.person_detour)
    save_record(run_episode(scenario(walk, "none"), Stop()), tmp_path / "b.parquet")
    added = set(pq.read_schema(tmp_path / "a.parquet").names) - set(pq.read_schema(tmp_path / "b.parquet").names)
    assert added == {"people_delay", "people_detour"}  # files of everybody else are as they were
    assert load_record(tmp_path / "b.parquet").person_delay.shape == (0, 0)


def crowd(seed: int, people: int = 12, size: float = 5.0) -> list[tuple[float, Any]]:
    """Bent ways across a square, begun one after the other; recorded people may touch."""
    rng = np.random.default_rng(seed)
    ways = []
    for _ in range(people):
        way = line(tuple(rng.uniform(-size, size, 2)), tuple(rng.uniform(-size, size, 2)), rng.uniform(0.7, 1.6))
        bow = np.sin(np.linspace(0, np.pi, len(way))) * rng.uniform(-1, 1)
        ways.append((round(rng.uniform(0, 4), 1), way + bow[:, None] * rng.normal(size=2)))
    return ways


@pytest.mark.parametrize("reactivity", ["pause", "reroute"])
def test_undisturbed_people_are_where_the_recording_has_them_to_the_bit(tmp_path: Path, reactivity: str) -> None:
    path = write_tracks(tmp_path / "crowd.txt", crowd(0))
    far = {"start": [90, 90, 0], "goal": [95, 90]}
    plain, reactive = (run_episode(scenario(path, kind, robot=far), Stop()) for kind in ("none", reactivity))
    for name in ("person_position", "person_velocity", "person_heading", "person_present"):
        assert getattr(plain, name).tobytes() == getattr(reactive, name).tobytes()
    assert not reactive.person_delay.any()
    assert not reactive.person_detour.any()
    nothing = np.zeros((0, 0))
    same = replace(reactive, person_delay=nothing, person_detour=nothing, scenario=plain.scenario)
    assert same.digest == plain.digest


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000))
def test_who_pauses_stays_on_the_recorded_way_and_is_behind_by_the_delay(tmp_path: Path, seed: int) -> None:
    ways = crowd(seed)
    path = write_tracks(tmp_path / "crowd.txt", ways)
    robot = {"start": [-5, 0, 0], "goal": [5, 0]}
    record = run_episode(scenario(path, "pause", robot=robot, seconds=15), Straight())
    future = future_of(build_world(scenario(path, "pause", robot=robot, seconds=15), 0)).position
    for column, person in enumerate(record.person_id):
        there = record.person_present[:, column]
        points = record.person_position[there, column].astype(float)
        assert distance_to_line(points, ways[int(person)][1]) < 1e-4
        clock = record.time[there] / 0.05 - record.person_delay[there, column] / 0.05
        low = np.clip(np.floor(clock + 1e-4).astype(int), 0, len(future) - 1)
        high = np.minimum(low + 1, len(future) - 1)
        expected = np.where(
            np.isfinite(future[high, column]),
            future[low, column] + (clock - low)[:, None] * (future[high, column] - future[low, column]),
            future[low, column],
        )
        np.testing.assert_allclose(points, expected, atol=2e-3)
    assert (np.diff(record.person_delay, axis=0) >= 0).all()


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000))
def test_who_walks_beside_the_recording_enters_no_wall_and_overlaps_nobody(tmp_path: Path, seed: int) -> None:
    """Pairs who overlap in the recording, at the same moment and undisturbed, are the recording's."""
    ways = [(begin, np.clip(way, -3.2, 3.2)) for begin, way in crowd(seed, people=8, size=3.0)]
    path = write_tracks(tmp_path / "crowd.txt", ways)
    robot = {"start": [-3.0, 0.0, 0], "goal": [3, 0]}
    walled = scenario(path, "reroute", robot=robot, seconds=12, scene=room(8.0))
    record = run_episode(walled, Straight())
    free = future_of(build_world(walled, 0)).position[: record.steps + 1]
    off = np.abs(record.person_position - free).max(axis=2) > 1e-4
    assert np.isfinite(record.person_position[off & record.person_present]).all()
    inside = np.abs(record.person_position[off & record.person_present]) <= 4.0 - 0.2 + 1e-3
    assert inside.all()
    overlap, here = overlaps(record), record.person_present
    both_here = here[:-1, :, None] & here[:-1, None]  # who comes in may appear on somebody
    came_near = overlap[1:] & ~overlap[:-1] & both_here
    for k, i, j in np.argwhere(came_near):
        assert not off[k + 1, [i, j]].any(), (k, i, j)


def overlaps(record: EpisodeRecord) -> Any:
    """(T+1, N, N) who overlaps whom."""
    between = record.person_position[:, :, None].astype(float) - record.person_position[:, None]
    distance = np.linalg.norm(between, axis=3)
    reach = record.person_radius[:, None] + record.person_radius
    return (distance < reach - ROUNDING_M) & ~np.eye(len(reach), dtype=bool)


@pytest.mark.parametrize("reactivity", ["pause", "reroute"])
def test_the_neighbours_in_a_batch_leave_no_trace(tmp_path: Path, reactivity: str) -> None:
    paths = [write_tracks(tmp_path / f"{seed}.txt", crowd(seed, people=6 + seed)) for seed in range(4)]
    robot = {"start": [-5, 0, 0], "goal": [5, 0]}
    scenarios = [scenario(path, reactivity, robot=robot, seconds=10) for path in paths]
    scenarios.insert(2, scenario(paths[0], "none", robot=robot, seconds=10))
    episodes = [Episode(build_world(s, 0), Straight(), describe_policy(Straight())) for s in scenarios]
    together = run_episodes(episodes, threads=2)
    alone = [run_episode(s, Straight()) for s in scenarios]
    assert [record.digest for record in together] == [record.digest for record in alone]
    assert any(record.person_delay.any() for record in together)
