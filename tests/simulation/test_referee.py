"""The referee: ground that must not be left, groups, raised hands, being put back on the route, counted failures.

Where a rule could be met without doing the task, the cheapest policy that would do so is run, and loses.
"""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np
import pytest
import shapely

from sidestep.errors import BadInput
from sidestep.kernels import layout, referee
from sidestep.metrics.gestures import wait_obedience
from sidestep.policies.trivial import Stop, Straight
from sidestep.scenes.compile import compile_scene
from sidestep.simulation import run_episode
from sidestep.simulation.referee import OUTCOME_CODES, compile_ground, ground_bank, pack_waypoints
from sidestep.types import Event, HolonomicVelocity, Outcome, SceneSpec, decide
from sidestep.types.decide import counted_failures, decide_outcome, in_front_of_hand, separate_collisions
from sidestep.types.events import GESTURES
from sidestep.types.outcome import Rules
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
        compile_ground(compile_scene(SceneSpec.parse(STRIP, "strip"), "here"), ("crosswalk",), "here")
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


def crossed(was: tuple[float, float], now: tuple[float, float], active: tuple[int, ...] = (1, 1, 1)) -> list[int]:
    """Groups that the way from ``was`` to ``now`` crosses among two people of group 7 and one alone."""
    agents, flags = np.zeros((layout.AGENT_ROWS, 3), np.float32), np.zeros((layout.FLAG_ROWS, 3), np.int32)
    agents[layout.PX], agents[layout.PY] = [0.0, 2.0, 5.0], 1.0
    flags[layout.GROUP], flags[layout.ACTIVE] = [7, 7, -1], active
    mark = np.zeros(referee.MARKS + 4 + 1 + 3, np.int32)
    for _ in range(2):  # a second crossing of the same group is not counted
        referee.cross_groups(agents, flags, 3, *map(float, was), *map(float, now), mark)
    return mark[-3:][: mark[referee.CROSSED]].tolist()  # type: ignore[no-any-return]


def test_crossing_by_hand() -> None:
    assert crossed((1, 0), (1, 2)) == [7]
    assert crossed((1, 1), (1, 2)) == []  # counted when it came to the line
    assert crossed((1, 0), (1, 1)) == [7]
    assert crossed((3, 0), (3, 2)) == []
    assert crossed((1, 0), (1, 2), (1, 0, 1)) == []  # one of the two is not there


def test_the_kernels_numbers_are_those_of_the_types() -> None:
    assert {outcome: getattr(referee, outcome.name) for outcome in Outcome} == OUTCOME_CODES
    assert len(OUTCOME_CODES) == referee.OUTCOMES
    assert GESTURES["stop"] == referee.STOP_GESTURE
    assert decide.LONGER_THAN_BEFORE == referee.LONGER_THAN_BEFORE


def test_the_ground_is_what_geometry_says() -> None:
    rng = np.random.default_rng(3)
    rings = [
        [[0, 0], [7, 0.5], [6.5, 4], [3, 2.5], [1, 5]],
        [[6, 3], [9, 3], [9, 7], [5, 6]],
        [[20, -3], [24, -3], [24, 9.1234], [20, 9]],
    ]
    hole = [[21, 0], [23, 0], [23, 4], [21, 4]]
    regions = [{"kind": "sidewalk", "polygon": ring} for ring in rings]
    regions[2]["holes"] = [hole]
    scene = compile_scene(SceneSpec.parse({"name": "patches", "regions": regions}, "patches"), "here")
    bank, numbers = ground_bank([None, compile_ground(scene, ("sidewalk",), "here")])
    assert numbers == [0, 1]
    shape = shapely.union_all([shapely.Polygon(rings[0]), shapely.Polygon(rings[1]), shapely.Polygon(rings[2], [hole])])
    points = rng.uniform([-2, -5], [26, 12], (3000, 2))
    clear = shapely.distance(shape.boundary, shapely.points(points)) > 0.03
    assert clear.sum() > 2500
    for x, y in points[clear]:
        assert referee.on_ground(bank, 1, x, y) == shapely.contains_xy(shape, x, y), (x, y)
        assert not referee.on_ground(bank, 0, x, y)
    for x, y in [(0, 0), (20, 0.5), (22, 0), (24, -3)]:
        assert referee.on_ground(bank, 1, float(x), float(y))  # the border is still on it
    assert not referee.on_ground(bank, 1, float("nan"), 0.0)


# raised hands

SIGN = {"kind": "gesturing", "at": [0.95, 0.0], "trigger_m": 4.0}
STOP_RULES = {"step_s": 0.1, "time_limit_s": 20, "success": "stop", "ends_on": ["disobeyed", "pedestrian_collision"]}


def drive_to(y: float, then: float | None = None) -> Any:
    """Drives straight up to ``y``, stands for 2 s, and then drives to ``then``, if given."""
    state = {"stood": 0}

    def act(observation: Any) -> HolonomicVelocity:
        here = observation.robot.y
        if state["stood"] < 20 or then is None:
            target = y
            state["stood"] += abs(here - target) < 1e-6
        else:
            target = then
        return HolonomicVelocity(0.0, float(np.clip((target - here) / 0.1, -1.0, 1.0)))

    return Scripted(act)


def test_stopping_before_a_raised_hand_is_success_and_not_completion() -> None:
    record = run_episode(make(events=[SIGN], rules=STOP_RULES), drive_to(-2.4))
    assert record.outcome is Outcome.SUCCESS
    assert [event.kind for event in record.events if event.kind != "trigger"] == ["stopped"]
    assert record.events[-1].subject == "person:0"
    assert "goal_reached" not in kinds(record)
    assert record.duration == pytest.approx(2.6 + 1.0, abs=0.11)
    assert wait_obedience(record).value == 1.0


def test_driving_past_a_raised_hand_and_stopping_behind_it_is_no_success() -> None:
    """The person turns with the robot, so it is always in front of their body: the direction of approach counts."""
    record = run_episode(make(events=[SIGN], rules=STOP_RULES), drive_to(2.4))
    gap = np.sqrt(((record.person_position[:, 0] - record.robot_pose[:, :2]) ** 2).sum(axis=1)).min() - 0.55
    assert gap == pytest.approx(0.4, abs=0.01)
    assert "stopped" not in kinds(record)
    assert record.outcome is Outcome.TIMEOUT
    assert wait_obedience(record).value == 0.0


def test_returning_after_having_passed_does_not_count() -> None:
    record = run_episode(make(events=[SIGN], rules=STOP_RULES), drive_to(1.0, then=-2.0))
    assert record.robot_pose[-1, 1] == pytest.approx(-2.0)
    assert record.outcome is Outcome.TIMEOUT
    assert wait_obedience(record).value == 0.0


def test_stopping_behind_the_hand_and_then_reaching_the_goal_is_disobedience() -> None:
    record = run_episode(make(events=[SIGN], rules=STOP_RULES), drive_to(2.4, then=6.0))
    assert record.outcome is Outcome.DISOBEYED
    assert kinds(record)[-2:] == ["goal_reached", "disobeyed"]


def test_standing_before_the_hand_rises_is_not_stopping_for_it() -> None:
    """Somebody comes near a robot that stands anyway: it has to stand for ``stop_for_s`` after the hand rose."""
    walker = {"start": [0.0, 4.0], "waypoints": [[0.0, -3.0]], "speed": 1.0}
    record = run_episode(
        make(events=[{**SIGN, "at": [1.0, -3.5], "trigger_m": 5.0}], crowd=[{"model": "static", "people": [walker]}],
             rules={**STOP_RULES, "stop_for_s": 2.0}),
        Stop(),
    )  # fmt: skip
    rose = record.time[np.flatnonzero((record.person_gesture == GESTURES["stop"]).any(axis=1))[0]]
    assert record.outcome is Outcome.SUCCESS
    assert record.duration == pytest.approx(rose + 2.0)


def stop_and_go(drive_s: float, stand_s: float) -> Any:
    """Sees nobody: drives and stands in turn."""

    def act(observation: Any) -> HolonomicVelocity:
        return HolonomicVelocity(0.0, 1.0 if observation.time % (drive_s + stand_s) < drive_s - 1e-9 else 0.0)

    return Scripted(act)


@pytest.mark.parametrize(("drive_s", "stand_s"), [(1.2, 1.8), (0.5, 1.0), (1.0, 3.0)])
def test_stopping_now_and_then_anyway_is_not_stopping_for_a_hand(drive_s: float, stand_s: float) -> None:
    rules = {**STOP_RULES, "time_limit_s": 60}
    record = run_episode(make(events=[{**SIGN, "trigger_m": 2.5}], rules=rules), stop_and_go(drive_s, stand_s))
    assert "stopped" not in kinds(record)
    assert record.outcome is Outcome.DISOBEYED
    assert wait_obedience(record).value == 0.0


def test_a_stop_is_twice_as_long_as_any_before() -> None:
    """Stands for 0.6 s on the way, then before the hand until 1.2 s have passed; with 0.4 s the rule's 1 s decides."""
    for pause, needed in ((0.6, 1.2), (0.4, 1.0)):

        def act(observation: Any, pause: float = pause) -> HolonomicVelocity:
            stands = 0.5 - 1e-9 <= observation.time < 0.5 + pause - 1e-9 or observation.robot.y >= -2.4 - 1e-6
            return HolonomicVelocity(0.0, 0.0 if stands else 1.0)

        record = run_episode(make(events=[SIGN], rules=STOP_RULES), Scripted(act))
        assert record.outcome is Outcome.SUCCESS
        moving = np.flatnonzero(record.robot_velocity[:, 1] > 0.5)
        assert record.duration - record.time[moving[-1]] == pytest.approx(needed, abs=1e-6)
        assert wait_obedience(record).value == 1.0


def test_in_front_of_a_hand_by_hand() -> None:
    robot = np.array([[0.0, -3.0], [0.0, -2.0], [0.0, -1.0], [0.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 1.0]])
    person = np.tile(np.array([0.5, 0.0], np.float32), (7, 1))
    up = np.array([False, True, True, True, True, True, True])
    # exactly beside the person along the approach (0.5, 2) is where (x - 0.5) * -0.5 + y * -2 = 0
    assert in_front_of_hand(up, robot, person).tolist() == [False, True, True, True, False, False, False]
    up[5] = False  # the hand goes down and rises again: a new approach
    assert in_front_of_hand(up, robot, person).tolist() == [False, True, True, True, False, False, True]
    moving = person + np.arange(7, dtype=np.float32)[:, None] * np.array([0.0, -1.0], np.float32)
    assert in_front_of_hand(up, robot, moving)[2]  # a person who walks past the robot does not put it behind


def test_reaching_the_goal_where_the_task_is_to_stop_is_no_success_in_any_order() -> None:
    order = sorted(Outcome, key=lambda outcome: outcome is not Outcome.SUCCESS)
    rules = Rules(success="stop", precedence=tuple(order))
    events = [Event(1.0, "goal_reached"), Event(1.0, "disobeyed")]
    assert decide_outcome(events, rules) is Outcome.DISOBEYED
    assert decide_outcome([Event(1.0, "stopped", "person:0")], rules) is Outcome.SUCCESS


def test_reaching_the_goal_instead_of_stopping_is_disobedience() -> None:
    rules = {"step_s": 0.1, "time_limit_s": 20, "success": "stop"}
    assert run_episode(make(rules=rules), Straight()).outcome is Outcome.DISOBEYED
    assert run_episode(make(rules=rules), Stop()).outcome is Outcome.TIMEOUT  # nobody to stop for


# resets


class Resets:
    """One robot at rest that is put down again and again."""

    def __init__(self, placement: RobotPlacement, **rules: Any) -> None:
        self.waypoints = pack_waypoints([placement], Rules(on_failure="reset", **rules))[0]
        self.mark, self.note = np.zeros(referee.MARKS, np.int32), np.zeros(referee.NOTES)
        self.mark[referee.WAYPOINT] = -1

    def place(self, x: float, y: float, *people: tuple[float, float, float]) -> tuple[float, ...]:
        """Where a robot that failed at (x, y) is put: x, y, heading, metres of route that it is carried on."""
        n = len(people)
        agents, flags = np.zeros((layout.AGENT_ROWS, n + 1), np.float32), np.ones((layout.FLAG_ROWS, n + 1), np.int32)
        agents[[layout.PX, layout.PY, layout.RADIUS], :n] = np.array(people).reshape(n, 3).T
        robot = np.full(7, 9.0)
        robot[:2] = x, y
        referee.put_down(agents, flags, n, n, robot, 0.3, self.waypoints, self.mark, self.note)
        assert not robot[3:].any()
        assert agents[[layout.PX, layout.PY], n].tolist() == robot[:2].tolist()
        return (*robot[:3].tolist(), float(self.note[referee.CARRIED]))


PLACEMENT = RobotPlacement(start=(0, 0, 0), route=((2, 0), (4, 0)), goal=(4, 2))


def test_resets_take_the_nearest_waypoint_and_then_the_next() -> None:
    resets = Resets(PLACEMENT)
    assert resets.place(2.4, 0.9) == (2.0, 0.0, 0.0, 0.0)  # put back
    assert resets.place(2.4, 0.9) == (4.0, 0.0, pytest.approx(pi / 2), pytest.approx(1.6))
    assert resets.place(0.0, 0.0)[:2] == (4.0, 0.0)  # never on the goal itself
    crowded = Resets(PLACEMENT)
    assert crowded.place(0.1, 0.0, (0.5, 0.0, 0.3)) == (2.0, 0.0, 0.0, pytest.approx(1.9))


def test_nobody_is_put_into_the_goals_circle() -> None:
    near = Resets(PLACEMENT, goal_radius_m=2.5)  # the last waypoint is 2 m from the goal
    assert near.place(4.0, 0.5)[:2] == (2.0, 0.0)
    assert near.place(4.0, 0.5)[:2] == (2.0, 0.0)


def long_way(**rules: Any) -> Any:
    robot = {"spec": "point", "start": [0, 0, 0], "goal": [20, 0], "route": [[2.0 * k, 0] for k in range(1, 10)]}
    rules = {"step_s": 0.1, "on_failure": "reset", "ends_on": ["frozen", "pedestrian_collision"], **rules}
    return {"robots": [robot], "rules": rules}


def test_a_robot_that_stands_is_carried_on_and_every_metre_of_it_is_noted() -> None:
    """Carried metres cancel what ``stop`` is given: none of its way is its own, and it never arrives."""
    record = run_episode(make(**long_way(frozen_after_s=1, time_limit_s=20, goal_radius_m=1.0)), Stop())
    carried = [event.value for event in record.events if event.kind == "reset"]
    assert len(carried) == 19  # every second but the last, which the time limit ends
    assert record.robot_pose[-1, 0] == pytest.approx(18.0)  # the last waypoint before the goal
    assert sum(carried) == pytest.approx(18.0)
    assert carried[0] == 0.0  # first it is put on its start
    assert "goal_reached" not in kinds(record)
    assert record.outcome is Outcome.FROZEN


def test_a_robot_that_drives_is_carried_only_where_it_failed() -> None:
    person = {"start": [5.0, 0.0], "radius": 0.25}
    scenario = make(
        **long_way(time_limit_s=40, collision_cooldown_s=0.0), crowd=[{"model": "static", "people": [person]}]
    )
    record = run_episode(scenario, Scripted(lambda _: HolonomicVelocity(1.0, 0.0)))
    carried = [event.value for event in record.events if event.kind == "reset"]
    # 4.5 m on its own, put back to 4 m, again to 4.5 m; then to 6 m and from there alone
    assert carried == pytest.approx([0.0, 1.5], abs=0.1)
    assert kinds(record)[-1] == "goal_reached"


# the cool-down


def test_a_contact_that_returns_within_the_cooldown_is_one_failure() -> None:
    touches = [(1.0, 1.2), (1.9, 2.0), (2.9, 3.0), (4.1, 4.2)]
    events = [event for begin, end in touches for event in
              (Event(begin, "collision_start", "person:3"), Event(end, "collision_end", "person:3"))]  # fmt: skip
    events += [Event(2.0, "collision_start", "wall"), Event(2.5, "off_route"), Event(9.0, "timeout")]
    assert [event.time for event in separate_collisions(events, 1.0)] == [1.0, 2.0, 4.1]
    assert [event.time for event in separate_collisions(events, 1.0, ("wall",))] == [2.0]
    assert len(separate_collisions(events, 0.0)) == 5
    counted = counted_failures(events, Rules(collision_cooldown_s=1.0))
    assert [(event.time, outcome.value) for event, outcome in counted] == [
        (1.0, "pedestrian_collision"),
        (2.0, "environment_collision"),
        (2.5, "off_route"),
        (4.1, "pedestrian_collision"),
    ]


def test_touching_again_within_the_cooldown_puts_nobody_back_again() -> None:
    """The robot is put back 0.3 m from the person and touches them again at once: one failure, one reset."""
    robot = {"spec": "point", "start": [0, 0, 0], "goal": [9, 0], "route": [[2.0, 0.0], [4.0, 0.0]]}
    person = {"start": [2.9, 0.0], "radius": 0.25}
    rules = {"step_s": 0.1, "time_limit_s": 4.0, "on_failure": "reset", "ends_on": ["pedestrian_collision"]}
    for cooldown, resets in ((3.0, 1), (0.0, 2)):
        scenario = make(
            robots=[robot],
            crowd=[{"model": "static", "people": [person]}],
            rules={**rules, "collision_cooldown_s": cooldown},
        )
        record = run_episode(scenario, Scripted(lambda _: HolonomicVelocity(1.0, 0.0)))
        assert kinds(record).count("collision_start") == 2
        assert kinds(record).count("reset") == resets
        assert len(counted_failures(record.events, record.scenario.rules)) == resets


def test_a_failed_robot_is_put_back_and_drives_on() -> None:
    wall = {"kind": "obstacle", "polygon": [[-0.5, -2.0], [0.5, -2.0], [0.5, -1.0], [-0.5, -1.0]]}
    robot = {"spec": "point", "start": [0, -5, pi / 2], "goal": [0, 5], "route": [[0, -3.5], [0, 0]]}
    rules = {"step_s": 0.1, "time_limit_s": 40, "on_failure": "reset"}
    scene = {"name": "block", "regions": [wall]}
    record = run_episode(make(scene=scene, robots=[robot], rules=rules), Straight())
    # it touches the wall, is put on (0, -3.5), touches it again, is put on the next, (0, 0), and arrives
    starts = [event for event in record.events if event.kind in ("collision_start", "reset", "goal_reached")]
    assert [event.kind for event in starts] == ["collision_start", "reset", "collision_start", "reset", "goal_reached"]
    assert record.outcome is Outcome.ENVIRONMENT_COLLISION  # arrived, but not without failure
    again = int(np.searchsorted(record.time, starts[3].time)) + 1
    assert record.robot_pose[again, 1] == pytest.approx(0.1, abs=0.02)
