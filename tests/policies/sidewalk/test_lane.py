"""The lane follower and the expert on a straight sidewalk, and what they plan with."""

from __future__ import annotations

from math import inf, pi, sqrt
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from sidestep.interfaces import Policy
from sidestep.policies.sidewalk.follow_lane import (
    CELL_M,
    SPACING_M,
    Expert,
    FollowLane,
    GroundTiles,
    allowed_speed,
    group_bars,
    lane_robot,
    resample,
)
from sidestep.policies.sidewalk.lane_kernels import fill_polygon
from sidestep.simulation import run_episode
from sidestep.simulation.robots import load_robot
from sidestep.types import EpisodeRecord, Outcome, Pedestrians, RobotState, Scenario, SceneSpec
from sidestep.types.events import GESTURES

LENGTH = 16


def box(x0: float, y0: float, x1: float, y1: float) -> list[list[float]]:
    return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]


def street(objects: tuple[tuple[float, float, float], ...] = ()) -> dict[str, Any]:
    """A sidewalk 3 m wide along x between a road and a house; ``objects`` are squares (x, y, side) on it."""
    ground = [("sidewalk", -1.5, 1.5), ("road", -9.0, -1.5), ("frontage", 1.5, 2.0), ("building", 2.0, 6.0)]
    regions = [{"kind": kind, "polygon": box(-5, low, LENGTH + 5, high)} for kind, low, high in ground]
    things = [(x - s / 2, y - s / 2, x + s / 2, y + s / 2) for x, y, s in objects]
    return {"name": "street", "regions": regions + [{"kind": "furniture", "polygon": box(*t)} for t in things]}


def drive(policy: Policy, people: list[dict[str, Any]], model: str = "static", **scene: Any) -> EpisodeRecord:
    document = {
        "name": "lane",
        "scene": street(**scene),
        "robots": [
            {
                "spec": "delivery_robot", "start": [0, 0, 0], "goal": [LENGTH, 0],
                "route": [[x, 0] for x in range(2, LENGTH, 2)],
            }
        ],
        "crowd": [{"model": model, "sees_robot": False, "people": people}] if people else [],
        "rules": {
            "time_limit_s": 40, "goal_radius_m": 0.5, "avoid_groups": True, "stay_on": ["sidewalk"],
            "ends_on": ["off_route", "pedestrian_collision", "environment_collision", "group_intrusion"],
        },
    }  # fmt: skip
    return run_episode(Scenario.parse(document, "lane"), policy)


def standing(x: float, y: float, group: int | None = None) -> dict[str, Any]:
    return {"start": [x, y], "radius": 0.3, "group": group}


def walking(start: tuple[float, float], end: tuple[float, float], speed: float) -> dict[str, Any]:
    return {"start": list(start), "waypoints": [list(end)], "speed": speed, "radius": 0.3}


PEOPLE = {
    "obstructing": ("static", [standing(8, 0)]),
    "conversing": ("static", [standing(8, 0.5, 1), standing(8.8, 0.2, 1)]),
    "queuing": ("static", [standing(8, 1.2, 1), standing(8, 0.4, 1)]),
    "frontal": ("orca", [walking((LENGTH, 0), (-4, 0), 1.4)]),
    "lateral": ("orca", [walking((8, -7), (8, -0.2), 1.25)]),
}


def test_empty_lane_in_about_the_time_of_its_length() -> None:
    record = drive(FollowLane(), [])
    assert record.outcome is Outcome.SUCCESS
    assert record.duration < LENGTH / 1.5 + 2.0
    assert np.abs(record.robot_pose[:, 1]).max() < 0.05


def test_things_on_the_sidewalk_are_driven_round() -> None:
    record = drive(FollowLane(), [], objects=((5, 0.9, 0.6), (10, -0.7, 0.7)))
    assert record.outcome is Outcome.SUCCESS


@pytest.mark.parametrize("name", PEOPLE)
def test_the_expert_gets_past_people_whom_the_lane_follower_hits(name: str) -> None:
    model, people = PEOPLE[name]
    assert drive(FollowLane(), people, model).outcome is Outcome.PEDESTRIAN_COLLISION
    assert drive(Expert(), people, model).outcome is Outcome.SUCCESS


def test_the_same_again_bit_for_bit() -> None:
    model, people = PEOPLE["frontal"]
    assert drive(Expert(), people, model).digest == drive(Expert(), people, model).digest


def test_a_robot_that_cannot_turn_is_refused_with_the_remedy() -> None:
    document = {"name": "x", "robots": [{"spec": "point", "start": [0, 0, 0], "goal": [5, 0]}]}
    record = run_episode(Scenario.parse(document, "x"), FollowLane())
    assert record.outcome is Outcome.POLICY_ERROR
    assert "choose delivery_robot" in record.error


def asked(x: float, heading: float, gesture: str = "stop") -> Pedestrians:
    zero = np.zeros((1, 2))
    return Pedestrians(
        np.array([1]), np.array([[x, 0.0]]), zero, np.array([heading]), np.array([0.3]), np.array([-1]),
        np.array([GESTURES[gesture]]), np.array([heading]),
    )  # fmt: skip


def test_how_fast_a_raised_hand_lets_it_go() -> None:
    robot = RobotState(0, 0, 0, 1, 0, 0)
    assert allowed_speed(robot, asked(7.2, pi)) == pytest.approx(sqrt(2 * 0.8 * 5.0))
    assert allowed_speed(robot, asked(2.0, pi)) == 0.0
    assert allowed_speed(robot, asked(7.2, 0.0)) == inf  # it looks away
    assert allowed_speed(robot, asked(-7.2, 0.0)) == inf  # behind the robot
    assert allowed_speed(robot, asked(7.2, pi, "wave")) == inf


def test_bars_between_those_who_stand_together() -> None:
    position = np.array([[0.0, 0], [1, 0], [9, 0], [0, 1]])
    velocity = np.array([[0.0, 0], [0, 0], [0, 0], [1, 0]])
    people = Pedestrians(np.arange(4), position, velocity, np.zeros(4), np.full(4, 0.3), np.array([5, 5, 5, 5]))
    assert group_bars(people, np.arange(4)).tolist() == [[0, 0, 1, 0, 0.3]]


def test_a_route_as_it_is_planned_on() -> None:
    line = resample(np.array([[0.0, 0], [0, 0], [3, 0], [3, 4]]))
    steps = np.hypot(*np.diff(line[:, :2], axis=0).T)
    assert len(line) == round(7 / SPACING_M) + 1
    assert steps.max() < SPACING_M + 1e-9
    np.testing.assert_allclose(np.hypot(line[:, 2], line[:, 3]), 1.0)
    np.testing.assert_allclose(line[[0, -1], :2], [[0, 0], [3, 4]])


def test_three_discs_cover_the_body() -> None:
    robot = load_robot("delivery_robot")
    parameters = lane_robot(robot)
    discs = shapely.union_all([shapely.Point(x, 0).buffer(parameters.disc_radius, 64) for x in parameters.discs])
    body = shapely.Polygon(robot.footprint.polygon)
    assert discs.buffer(1e-3).covers(body)


@given(st.floats(-2, 18), st.floats(-4, 3))
def test_fields_are_the_true_distances_to_a_cell(x: float, y: float) -> None:
    tile = GroundTiles(SceneSpec.parse(street(((5, 0.9, 0.6),)), "street")).at(5.0, 0.0)
    column, row = round((x - tile.x0) / CELL_M), round((y - tile.y0) / CELL_M)
    at = shapely.Point(tile.x0 + column * CELL_M, tile.y0 + row * CELL_M)
    thing, house = shapely.box(4.7, 0.6, 5.3, 1.2), shapely.box(-5, 2, 21, 6)
    lane = shapely.box(-5, -1.5, 21, 1.5) - thing
    expected = at.distance(lane.boundary) * (1 if lane.contains(at) else -1)
    assert tile.ground[row, column] == pytest.approx(min(expected, 5.0), abs=1.6 * CELL_M)
    assert tile.free[row, column] == pytest.approx(at.distance(thing | house), abs=1.6 * CELL_M)


def test_polygons_are_filled_with_their_edge() -> None:
    mask = np.zeros((6, 8), bool)
    fill_polygon(mask, np.array([[1, 1], [5, 1], [1, 5]]), np.empty(6))
    assert ["".join(" #"[cell] for cell in row) for row in mask.astype(int)] == [
        "        ", " #####  ", " ####   ", " ###    ", " ##     ", " #      ",
    ]  # fmt: skip


@given(st.lists(st.tuples(st.integers(-20, 60), st.integers(-20, 60)), min_size=3, max_size=8))
def test_filled_cells_are_those_of_the_polygon(corners: list[tuple[int, int]]) -> None:
    """Whatever lies beyond the tile; cells on the edge may go either way."""
    shape = shapely.Polygon(corners)
    mask = np.zeros((40, 40), bool)
    fill_polygon(mask, np.array(corners), np.empty(2 * len(corners)))
    if not shape.is_valid:
        return
    y, x = np.mgrid[:40, :40]
    assert mask[shapely.contains_xy(shape.buffer(-1.0), x, y)].all()
    assert not mask[~shapely.contains_xy(shape.buffer(1.0), x, y)].any()
