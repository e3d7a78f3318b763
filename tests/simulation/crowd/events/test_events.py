"""Events as part of scenarios: settings, errors, seeds, records, batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.kernels import layout
from sidestep.records import load_record, save_record
from sidestep.registry import as_policy
from sidestep.simulation import build_world, run_episode, run_episodes
from sidestep.simulation.loop import Episode, describe_policy
from sidestep.simulation.observe import future_of
from sidestep.types import Scenario
from tests.simulation.crowd.events.playing import Scripted, contacts, play, scenario, straight, trigger_time

EVENTS: dict[str, dict[str, Any]] = {
    "obstructing": {"at": [12, 0]},
    "conversing": {"at": [12, 0]},
    "queuing": {"at": [12, 1.5]},
    "frontal": {"at": [15, 0]},
    "lateral": {"at": [8, 0]},
    "overtaking": {"at": [-3, 0]},
    "crossing": {"zone": [[4, -1.75], [12, -1.75], [12, 1.75], [4, 1.75]]},
    "gesturing": {"at": [12, 0]},
    "joining": {"at": [9, 2], "start": [9, 5]},
    "leaving": {"at": [9, 2], "to": [9, 8]},
    "following": {"at": [3, 1.5]},
    "leading": {"at": [3, 0]},
    "accompanying": {"at": [2, 1.8]},
    "crowding": {"at": [8, 0]},
    "yielding": {"at": [8, 1.5]},
    "claiming": {"at": [8, 1.5]},
    "exiting": {"door": [12, 0], "direction": 3.1416},
    "entering": {"door": [12, 0], "direction": 3.1416, "at": [11, 1.5], "to": [14, 1]},
    "enacting": {"path": [[12, 0], [-2, 0]]},
}
KINDS = sorted(EVENTS)


def event(kind: str) -> dict[str, Any]:
    return {"kind": kind, **EVENTS[kind]}


def test_every_kind_is_tried_here() -> None:
    assert set(EVENTS) == set(registry.EVENTS)


@pytest.mark.parametrize("kind", KINDS)
def test_scenario_and_record_survive_the_disk(kind: str, tmp_path: Path) -> None:
    document = scenario(event(kind))
    assert Scenario.model_validate_json(document.model_dump_json()) == document
    record = play(event(kind), straight(1.0))
    assert trigger_time(record) is not None
    save_record(record, tmp_path / "record.parquet")
    loaded = load_record(tmp_path / "record.parquet")
    assert loaded.digest == record.digest
    assert (loaded.person_gesture == record.person_gesture).all()
    np.testing.assert_array_equal(loaded.person_head_yaw, record.person_head_yaw)
    assert [e for e in loaded.events if e.kind == "trigger"] == [e for e in record.events if e.kind == "trigger"]
    assert [e.text for e in loaded.events if e.kind == "trigger"] == [kind]


def test_a_record_does_not_depend_on_batch_or_threads() -> None:
    scenarios = [scenario(event(kind), name=kind) for kind in KINDS]
    alone = [run_episode(one, Scripted(straight(1.0)), seed=3).digest for one in scenarios]

    def together(threads: int) -> list[str]:
        policies = [Scripted(straight(1.0)) for _ in scenarios]
        worlds = [build_world(one, 3) for one in scenarios]
        episodes = [Episode(w, p, describe_policy(as_policy(p))) for w, p in zip(worlds, policies, strict=True)]
        return [r.digest for k in range(0, len(episodes), 4) for r in run_episodes(episodes[k : k + 4], threads)]

    assert together(1) == alone
    assert together(2) == alone
    assert run_episode(scenarios[1], Scripted(straight(1.0)), seed=4).digest != alone[1]


def test_event_people_come_after_the_crowd_and_have_groups_of_their_own() -> None:
    crowd = [
        {"people": [{"start": [0, 5], "waypoints": [[20, 5]], "group": 7}, {"start": [0, 6], "group": 7}]},
        {"model": "static", "people": [{"start": [0, 8]}]},
    ]
    both = [{"kind": "conversing", "at": [12, 0], "people": 2}, {"kind": "queuing", "at": [20, 0], "people": 3}]
    document = scenario([*both, event("frontal")], crowd=crowd)
    world = build_world(document, 0)
    assert world.person_model == ("orca", "orca", "static", *("script",) * 6)
    groups = world.flags[layout.GROUP, :9]
    assert np.where(groups < 0, -1, groups - groups[0] + 7).tolist() == [7, 7, -1, 8, 8, 9, 9, 9, -1]
    record = play([*both, event("frontal")], straight(1.0), crowd=crowd)
    assert [(e.subject, e.text) for e in record.events if e.kind == "trigger"] == [
        ("person:8", "frontal"),
        ("person:3", "conversing"),
        ("person:5", "queuing"),
    ]


def test_adding_an_event_changes_nobody_else() -> None:
    one, two = (build_world(scenario([event(k) for k in kinds]), 5) for kinds in (["frontal"], ["frontal", "queuing"]))
    assert (one.agents[:, :1] == two.agents[:, :1])[: layout.HEAD_YAW].all()


def test_others_give_way_to_the_people_of_events_and_walls_stop_them() -> None:
    walker = {"sees_robot": False, "people": [{"start": [20, 0.05], "waypoints": [[0, 0.05]], "radius": 0.3}]}
    record = play({"kind": "obstructing", "at": [12, 0]}, straight(0.0), crowd=[walker])
    apart = np.linalg.norm(record.person_position[:, 0] - record.person_position[:, 1], axis=1)
    assert apart.min() >= 0.6 - 1e-3
    assert record.person_position[-1, 0, 0] < 11
    wall = {"regions": [{"kind": "building", "polygon": [[-1, -4], [20, -4], [20, -3], [-1, -3]]}]}
    stopped = play({"kind": "lateral", "at": [3, 0], "side": "left", "walk_on_m": 50}, straight(0.0), scene=wall)
    assert np.nanmin(stopped.person_position[:, 0, 1]) == pytest.approx(-2.7, abs=1e-3)


def test_the_zone_can_be_a_region_or_found() -> None:
    polygon = EVENTS["crossing"]["zone"]
    far = [[x, y + 30] for x, y in polygon]
    regions = [
        {"kind": "crosswalk", "polygon": far},
        {"kind": "crosswalk", "name": "main", "polygon": polygon},
    ]
    scene = {"regions": regions}
    drawn = [
        build_world(scenario({"kind": "crossing", **zone}, scene=scene), 0).agents[:2]
        for zone in ({"zone": polygon}, {"zone": "main"}, {})
    ]
    assert (drawn[0] == drawn[1]).all()
    assert (drawn[0] == drawn[2]).all()
    with pytest.raises(BadInput, match="unknown region 'mian'; did you mean 'main'"):
        build_world(scenario({"kind": "crossing", "zone": "mian"}, scene=scene), 0)
    with pytest.raises(BadInput, match="no crosswalk; say which zone"):
        build_world(scenario({"kind": "crossing"}), 0)
    narrow = [[4, -0.5], [12, -0.5], [12, 0.5], [4, 0.5]]
    with pytest.raises(BadInput, match=r"1\.00 m wide.*need 2\.30 m"):
        build_world(scenario({"kind": "crossing", "zone": narrow}), 0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kind": "frontal", "at": [9, 0], "comit_m": 2}, "unknown key.*comit_m.*did you mean 'commit_m'"),
        ({"kind": "frontal", "at": [9, 0], "people": 3}, r"unknown key.*people.*known: .*walk_on_m"),
        ({"kind": "frontly", "at": [9, 0]}, "frontal"),
        ({"kind": "frontal"}, r"events\[0\]\.at: is missing"),
        ({"kind": "lateral", "at": [9, 0], "side": "up"}, "side"),
        ({"kind": "obstructing", "at": [9, 0], "trigger_m": 0}, "trigger_m"),
        ({"kind": "crossing", "front": 0, "behind": 0}, "at least one person"),
        ({"kind": "crossing", "zone": [[0, 0], [1, 1]]}, "at least 3 corners"),
    ],
)
def test_wrong_settings_are_told(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        scenario(wrong)


def test_wrong_places_are_told() -> None:
    scene = {"regions": [{"kind": "building", "polygon": [[10, -1], [14, -1], [14, 1], [10, 1]]}]}
    with pytest.raises(BadInput, match=r"event 0 \(frontal\): person 0 at \(12.00, 0.00\) is inside a wall"):
        build_world(scenario({"kind": "frontal", "at": [12, 0]}, scene=scene), 0)
    with pytest.raises(BadInput, match="touches a robot's start"):
        build_world(scenario({"kind": "frontal", "at": [0.5, 0]}), 0)


def test_events_of_a_recorded_crowd_make_it_mixed() -> None:
    assert scenario(event("frontal")).source == "generated"


def test_the_future_of_an_oracle_is_that_of_a_robot_that_stands() -> None:
    world = build_world(scenario(event("frontal")), 0)
    future = future_of(world)
    standing = play(event("frontal"), straight(0.0))
    np.testing.assert_array_equal(future.position, standing.person_position)


def test_the_second_event_may_hit_after_the_first() -> None:
    record = play([event("lateral") | {"side": "left"}, {"kind": "frontal", "at": [30, 0]}], straight(1.0))
    assert contacts(record) == ["person:0", "person:1"]
