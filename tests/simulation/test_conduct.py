"""Sidewalk rules: ground that must not be left, groups, raised hands, and being put back on the route."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.kernels import layout
from sidestep.policies.stop import Stop
from sidestep.policies.straight import Straight
from sidestep.simulation import run_episode
from sidestep.simulation.conduct import Ground, groups_crossed, told_to_stop
from sidestep.simulation.resetting import Resets
from sidestep.types import HolonomicVelocity, Outcome, SceneSpec
from sidestep.types.gestures import GESTURES
from sidestep.types.scenario import RobotPlacement
from tests.simulation.scenarios import make
from tests.simulation.test_loop import Scripted, kinds

STRIP = {
    "name": "strip",
    "regions": [
        {"kind": "sidewalk", "polygon": [[-1, -6], [1, -6], [1, 0], [-1, 0]]},
        {"kind": "sidewalk", "polygon": [[-1, 0.01], [1, 0.01], [1, 6], [-1, 6]]},
        {"kind": "road", "polygon": [[1, -6], [9, -6], [9, 6], [1, 6]]},
    ],
}
LANE = {"step_s": 0.1, "time_limit_s": 20, "stay_on": ["sidewalk"]}


def test_a_seam_between_regions_is_no_hole_and_the_road_is_off_route() -> None:
    straight = run_episode(make(scene=STRIP, rules=LANE), Straight())
    assert straight.outcome is Outcome.SUCCESS
    assert straight.shortest_path_m == pytest.approx(10.0)
    routed = {"spec": "point", "start": [0, -5, 1.5708], "goal": [0, 5], "route": [[0, 0]]}
    record = run_episode(make(scene=STRIP, rules=LANE, robots=[routed]), Straight())
    assert record.shortest_path_m == pytest.approx(10.0)  # along the route, to the goal itself
    aside = Scripted(lambda _: HolonomicVelocity(1.0, 0.0))
    record = run_episode(make(scene=STRIP, rules={**LANE, "ends_on": ["off_route"]}), aside)
    assert record.outcome is Outcome.OFF_ROUTE
    assert kinds(record) == ["off_route"]
    assert record.duration == pytest.approx(1.1)  # the edge is 1 m away; on it is still on it


def test_leaving_is_counted_once_each_time() -> None:
    def weave(observation: Any) -> HolonomicVelocity:
        return HolonomicVelocity(1.0 if observation.time % 4 < 2 else -1.0, 0.4)

    record = run_episode(make(scene=STRIP, rules={**LANE, "time_limit_s": 8}), Scripted(weave))
    assert kinds(record).count("off_route") == 2


def test_ground_that_the_scene_does_not_have_is_an_error() -> None:
    with pytest.raises(BadInput, match="stay_on names crosswalk"):
        Ground(SceneSpec.parse(STRIP, "strip"), ("crosswalk",), "here")
    with pytest.raises(BadInput, match="stay_on names crosswalk"):
        run_episode(make(scene=STRIP, rules={**LANE, "stay_on": ["crosswalk"]}), Straight())


def pair(gap: float, group: int = 3) -> list[dict[str, Any]]:
    people = [{"start": [side * gap / 2, 0.0], "radius": 0.25, "group": group} for side in (-1, 1)]
    return [{"model": "static", "people": people}]


def test_between_two_of_a_group_is_an_intrusion_round_them_is_none() -> None:
    rules = {"step_s": 0.1, "time_limit_s": 20, "avoid_groups": True}
    assert run_episode(make(crowd=pair(2.0), rules=rules), Straight()).outcome is Outcome.GROUP_INTRUSION
    assert run_episode(make(crowd=pair(4.0), rules=rules), Straight()).outcome is Outcome.SUCCESS  # too far apart
    ignored = {**rules, "avoid_groups": False}
    assert run_episode(make(crowd=pair(2.0), rules=ignored), Straight()).outcome is Outcome.SUCCESS


def test_crossing_by_hand() -> None:
    position, group = np.array([[0.0, 1.0], [2.0, 1.0], [5.0, 1.0]]), np.array([7, 7, -1])
    here = np.arange(3)
    assert groups_crossed((1, 0), (1, 2), position, group, here) == [7]
    assert groups_crossed((1, 1), (1, 2), position, group, here) == []  # counted when it came to the line
    assert groups_crossed((1, 0), (1, 1), position, group, here) == [7]
    assert groups_crossed((3, 0), (3, 2), position, group, here) == []
    assert groups_crossed((1, 0), (1, 2), position, group, np.array([0, 2])) == []  # one of the two is not there


def test_told_to_stop_in_front_and_near() -> None:
    agents, flags = np.zeros((layout.AGENT_ROWS, 2)), np.zeros((layout.FLAG_ROWS, 2), np.int32)
    agents[layout.HEADING, 1] = pi  # looks to -x
    flags[layout.ACTIVE] = 1
    flags[layout.GESTURE, 1] = GESTURES["stop"]
    assert told_to_stop(agents, flags, 2, -2.9, 0.0, 3.0) == 1
    assert told_to_stop(agents, flags, 2, -3.1, 0.0, 3.0) is None
    assert told_to_stop(agents, flags, 2, 1.0, 0.0, 3.0) is None  # behind
    flags[layout.GESTURE, 1] = GESTURES["wave"]
    assert told_to_stop(agents, flags, 2, -2.9, 0.0, 3.0) is None


def test_reaching_the_goal_instead_of_stopping_is_disobedience() -> None:
    rules = {"step_s": 0.1, "time_limit_s": 20, "success": "stop"}
    assert run_episode(make(rules=rules), Straight()).outcome is Outcome.DISOBEYED
    assert run_episode(make(rules=rules), Stop()).outcome is Outcome.TIMEOUT  # nobody to stop for


def test_resets_take_the_nearest_waypoint_and_then_the_next() -> None:
    placement = RobotPlacement(start=(0, 0, 0), route=((2, 0), (4, 0)), goal=(4, 2))
    resets = Resets(placement, 0.3)
    nobody = np.zeros((0, 3))
    assert resets.place(2.4, 0.9, nobody) == (2.0, 0.0, 0.0)
    assert resets.place(2.4, 0.9, nobody) == (4.0, 0.0, pytest.approx(pi / 2))
    assert resets.place(0.0, 0.0, nobody)[:2] == (4.0, 0.0)  # never on the goal itself
    crowded = Resets(placement, 0.3)
    assert crowded.place(0.1, 0.0, np.array([[0.5, 0.0, 0.3]]))[:2] == (2.0, 0.0)


def test_a_failed_robot_is_put_back_and_drives_on() -> None:
    wall = {"kind": "obstacle", "polygon": [[-0.5, -2.0], [0.5, -2.0], [0.5, -1.0], [-0.5, -1.0]]}
    robot = {"spec": "point", "start": [0, -5, pi / 2], "goal": [0, 5], "route": [[0, -3], [0, 0]]}
    rules = {"step_s": 0.1, "time_limit_s": 40, "on_failure": "reset"}
    scene = {"name": "block", "regions": [wall]}
    record = run_episode(make(scene=scene, robots=[robot], rules=rules), Straight())
    # it touches the wall, is put on (0, -3), touches it again, is put on the next, (0, 0), and arrives
    starts = [event for event in record.events if event.kind in ("collision_start", "reset", "goal_reached")]
    assert [event.kind for event in starts] == ["collision_start", "reset", "collision_start", "reset", "goal_reached"]
    assert record.outcome is Outcome.ENVIRONMENT_COLLISION  # arrived, but not without failure
    again = int(np.searchsorted(record.time, starts[3].time)) + 1
    assert record.robot_pose[again, 1] == pytest.approx(0.1, abs=0.02)
