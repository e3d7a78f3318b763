"""Building worlds: placement, entering and leaving, replay, and scenarios that contradict themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.kernels import layout
from sidestep.policies.trivial import Stop
from sidestep.simulation import Worlds, build_world, run_episode
from sidestep.types import Outcome
from tests.simulation.scenarios import crossing, make, room


def test_start_inside_a_wall_is_named() -> None:
    scenario = make(scene=room(), robots=[{"spec": "point", "start": [0, 0, 0], "goal": [2, 2]}])
    with pytest.raises(BadInput, match=r"robot 0: the start \(0, 0\) is inside a wall of scene 'room'"):
        build_world(scenario, 0)


def test_goal_inside_a_wall_is_named() -> None:
    scenario = make(scene=room(), robots=[{"spec": "point", "start": [2, 2, 0], "goal": [0, 0]}])
    with pytest.raises(BadInput, match="the goal"):
        build_world(scenario, 0)


def test_person_inside_a_wall_is_named() -> None:
    crowd = [{"model": "orca", "people": [{"start": [0.1, 0.1]}]}]
    scenario = make(scene=room(), crowd=crowd, robots=[{"spec": "point", "start": [2, 2, 0], "goal": [2, -2]}])
    with pytest.raises(BadInput, match="person 0 of the orca part starts inside a wall"):
        build_world(scenario, 0)


def test_self_crossing_polygon_is_named_with_its_place() -> None:
    bow_tie = [[0, 0], [2, 2], [2, 0], [0, 2]]
    scene = {"name": "bad", "regions": [{"kind": "obstacle", "name": "bow tie", "polygon": bow_tie}]}
    with pytest.raises(BadInput, match="bow tie") as caught:
        build_world(make(scene=scene), 0)
    assert "1" in str(caught.value)


def test_too_many_people_for_the_place() -> None:
    crowd = [{"model": "orca", "placement": {"kind": "random", "count": 50, "area": [-1, -1, 1, 1]}}]
    with pytest.raises(BadInput, match="no room left for one more person"):
        build_world(make(crowd=crowd), 0)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"model": "orka", "people": [{"start": [0, 0]}]}, "did you mean 'orca'"),
        ({"model": "orca", "people": [{"start": [0, 0]}], "parameters": {"horizon": 1}}, "orca parameter 'horizon'"),
    ],
)
def test_wrong_model_or_parameter(part: dict[str, object], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        build_world(make(crowd=[part]), 0)


def test_nobody_starts_on_top_of_another() -> None:
    for seed in range(20):
        world = build_world(crossing(12), seed)
        points = world.agents[:2].T
        gaps = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
        gaps[np.diag_indices(len(gaps))] = 9.0
        radii = world.agents[layout.RADIUS]
        assert (gaps > radii[:, None] + radii[None]).all()


def test_people_enter_when_their_time_comes_and_leave_at_the_end() -> None:
    person = {"start": [-3, 0], "waypoints": [[-1, 0]], "speed": 1.0, "enter_s": 1.0}
    record = run_episode(make(crowd=[{"model": "orca", "at_end": "leave", "people": [person]}]), Stop())
    present = np.flatnonzero(record.person_present[:, 0])
    assert record.time[present[0]] == pytest.approx(1.1)
    assert 2.3 < record.time[present[-1]] < 3.5
    assert np.isnan(record.person_position[0, 0]).all()


def test_entering_waits_until_the_place_is_free() -> None:
    still = {"start": [-3, 0], "waypoints": [[-3, 4]], "speed": 0.5}
    late = {"start": [-3, 0.1], "waypoints": [[3, 0]], "enter_s": 0.2}
    record = run_episode(make(crowd=[{"model": "orca", "people": [still, late]}]), Stop())
    first = record.time[np.argmax(record.person_present[:, 1])]
    assert first > 0.5
    together = record.person_present.all(axis=1)
    gap = np.hypot(*(record.person_position[together, 0] - record.person_position[together, 1]).T)
    assert gap.min() > 0.45


def test_flow_is_steady_and_groups_walk_together() -> None:
    flow = {
        "kind": "flow",
        "origin": [-12, -1, -11, 1],
        "destination": [11, -1, 12, 1],
        "per_minute": 30,
        "group_share": 1.0,
    }
    world = build_world(make(crowd=[{"model": "social_force_moussaid", "at_end": "leave", "placement": flow}]), 3)
    active = world.flags[layout.ACTIVE, : world.people] == 1
    assert active.sum() > 5, "people are on their way at time 0"
    assert (~active).sum() > 5, "people still come"
    groups = world.flags[layout.GROUP, : world.people]
    numbers, sizes = np.unique(groups[groups >= 0], return_counts=True)
    assert len(numbers) > 5
    assert (sizes == 2).all()


def write_tracks(path: Path) -> Path:
    lines = ["# rate_hz: 2"]
    lines += [f"{frame} 7 {frame * 0.5 - 4} 1.0" for frame in range(20)]
    lines += [f"{frame} 9 0.0 {frame * 0.25}" for frame in range(4, 9)]
    path.write_text("\n".join(lines))
    return path


def test_replay_puts_people_where_they_were(tmp_path: Path) -> None:
    write_tracks(tmp_path / "walk.txt")
    crowd = [{"model": "replay", "placement": {"kind": "replay", "path": "walk.txt"}}]
    record = run_episode(make(crowd=crowd), Stop(), base=tmp_path)
    assert record.source == "recorded"
    assert record.person_id.tolist() == [7, 9]
    step = 13  # 1.3 s: between the annotations at 1.0 and 1.5 s
    np.testing.assert_allclose(record.person_position[step, 0], [2.6 * 0.5 - 4, 1.0], atol=1e-5)
    np.testing.assert_allclose(record.person_velocity[step, 0], [1.0, 0.0], atol=1e-5)
    here = record.time[record.person_present[:, 1]]
    assert here[0] == pytest.approx(2.0)
    assert here[-1] == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("table", "clock"),
    [
        ("frame,id,x,y\n0,7,-4,1\n50,7,-2,1\n100,7,0,1\n", {"rate_hz": 25}),
        ("time,id,x,y\n0,7,-4,1\n2,7,-2,1\n4,7,0,1\n", {}),
    ],
)
def test_a_table_with_a_header_is_replayed(tmp_path: Path, table: str, clock: dict[str, float]) -> None:
    """1 m/s along x, by frames with a rate in the scenario, or by times."""
    (tmp_path / "people.csv").write_text(table)
    crowd = [{"model": "replay", "placement": {"kind": "replay", "path": "people.csv", **clock}}]
    record = run_episode(make(crowd=crowd), Stop(), base=tmp_path)
    np.testing.assert_allclose(record.person_position[13, 0], [-2.7, 1.0], atol=1e-5)
    np.testing.assert_allclose(record.person_velocity[13, 0], [1.0, 0.0], atol=1e-5)


def test_a_rate_needs_a_path_and_frames_need_a_rate(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="rate_hz goes with a path"):
        make(crowd=[{"model": "replay", "placement": {"kind": "replay", "dataset": "eth-biwi", "rate_hz": 25}}])
    (tmp_path / "people.csv").write_text("frame,id,x,y\n0,7,-4,1\n")
    crowd = [{"model": "replay", "placement": {"kind": "replay", "path": "people.csv"}}]
    with pytest.raises(BadInput, match=r"people\.csv: frames per second unknown.*rate_hz in a scenario"):
        run_episode(make(crowd=crowd), Stop(), base=tmp_path)


def test_replay_and_simulated_people_mix(tmp_path: Path) -> None:
    write_tracks(tmp_path / "walk.txt")
    replayed = {"model": "replay", "placement": {"kind": "replay", "path": "walk.txt"}}
    walker = {"model": "orca", "people": [{"start": [4, 1.0], "waypoints": [[-4, 1.0]]}]}
    record = run_episode(make(crowd=[walker, replayed]), Stop(), base=tmp_path)
    assert record.source == "mixed"
    assert record.person_model == ("orca", "replay", "replay")
    both = record.person_present[:, :2].all(axis=1)
    gap = np.hypot(*(record.person_position[both, 0] - record.person_position[both, 1]).T)
    assert gap.min() > 0.4, "the simulated person walks round the recorded one"
    assert len(set(record.person_id.tolist())) == 3


def test_sees_robot_decides_who_gives_way() -> None:
    person = {"start": [0, 5], "waypoints": [[0, -8]], "speed": 1.2}
    outcomes = {}
    for sees in (True, False):
        part = {"model": "orca", "sees_robot": sees, "people": [person]}
        outcomes[sees] = run_episode(make(crowd=[part]), Stop()).outcome
    assert outcomes == {True: Outcome.TIMEOUT, False: Outcome.PEDESTRIAN_COLLISION}


def test_worlds_of_one_batch_need_as_many_robots() -> None:
    two = make(robots=[{"spec": "point", "start": [x, 0, 0], "goal": [x, 5]} for x in (0, 3)])
    with pytest.raises(BadInput, match="same number of robots"):
        Worlds([build_world(make(), 0), build_world(two, 0)])
