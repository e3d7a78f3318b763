"""Intersections: smoothness, lane keeping, how the area was left, and collisions that braking would have prevented."""

from __future__ import annotations

import numpy as np
import shapely

from sidestep._util import exact
from sidestep.metrics import intersectnav_code as code
from sidestep.metrics import series
from sidestep.metrics.definition import NO_STEPS, NOBODY, Value, average, metric
from sidestep.metrics.sources import INTERSECTNAV, SIDESTEP
from sidestep.types.base import FloatArray
from sidestep.types.record import EpisodeRecord
from sidestep.types.scene import SceneSpec

NEAR_M = 5.0
"""Largest distance at which the car may disturb people, m."""
NO_ROUTE = "the scenario has no route"
NO_EXIT = "the task is not to leave an area"
NOT_LEFT = "the area was not left on the right side"
DEGREES = 57.29577951308232
BRAKING_MPS2, REACTION_S = 6.0, 0.5
"""Deceleration of an attentive driver, and the driver's reaction time after a person steps onto the road."""
STANDING_MPS = 0.1


@metric(
    "m/s³", "lower", source=f"{INTERSECTNAV}, ego jerk", validity="Episodes of at least three steps.",
    dialects={code.NAME: code.ego_jerk},
)  # fmt: skip
def ego_jerk(record: EpisodeRecord) -> Value:
    """Mean over all states of the magnitude of the third derivative of the car's position, from backward
    differences of its velocity. intersectnav-code: number of steps with a steer beyond ±0.4 plus number of steps with a
    throttle above 0.9."""
    return average(series.jerk(record), NO_STEPS)


@metric(
    "m/s³", "lower", source=f"{INTERSECTNAV}, other jerk", validity="Episodes in which somebody came within 5 m.",
    dialects={code.NAME: code.other_jerk},
)  # fmt: skip
def other_jerk(record: EpisodeRecord) -> Value:
    """Mean magnitude of the second difference quotient of the velocities of people, over all states in which they are
    within {NEAR_M:g} m of the car's outline. intersectnav-code: Σ over steps of the people within 5 m whom the
    program counts as disturbed, including those who stand."""
    if record.steps < 2:
        return NO_STEPS
    velocity = np.asarray(record.person_velocity, np.float64)
    jerk = np.full(record.person_present.shape, np.nan)
    second = np.diff(velocity, n=2, axis=0) / (record.step_s * record.step_s)
    jerk[2:] = np.sqrt((second * second).sum(axis=2))
    near = series.pedestrian_distance(record) < NEAR_M
    return average(np.where(near, jerk, np.nan), NOBODY)


def _sum_of_offsets(record: EpisodeRecord) -> Value:
    """Σ over all states of the distance to the line through the nearest waypoint and the next one."""
    offsets = code.waypoint_offsets(record)
    return NO_ROUTE if offsets is None else float(offsets.sum())


@metric(
    "m", "lower", source=f"{INTERSECTNAV}, deviation from waypoint", validity="Scenarios with a route.",
    dialects={code.NAME: _sum_of_offsets},
)  # fmt: skip
def waypoint_deviation(record: EpisodeRecord) -> Value:
    """Mean over all states of the distance from the middle of the car to the route. intersectnav-code: the sum over
    all states, measured from the straight line through the nearest waypoint and the next one."""
    offsets = _route_offsets(record)
    return NO_ROUTE if offsets is None else float(offsets.mean())


def _route_offsets(record: EpisodeRecord) -> FloatArray | None:
    """(T+1,) distance from the middle of the body to the route, m."""
    place = record.scenario.ego
    if not place.route:
        return None
    line = np.array([place.start[:2], *place.route, place.goal])
    step = np.diff(line, axis=0)
    square = (step * step).sum(axis=1)
    offset = code.body_middle(record)[:, None] - line[:-1]
    share = np.clip((offset * step).sum(axis=2) / square, 0.0, 1.0)
    miss = offset - share[:, :, None] * step
    nearest: FloatArray = np.sqrt((miss * miss).sum(axis=2)).min(axis=1)
    return nearest


def _end_deviation(record: EpisodeRecord) -> tuple[float, float] | str:
    """Distance, m, and signed angle, rad, of the last pose from the expert's."""
    rule = record.scenario.rules.exit
    if rule is None:
        return NO_EXIT
    x, y = code.body_middle(record)[-1]
    angle = float(exact.wrap_angle(float(record.robot_pose[-1, 2]) - rule.pose[2]))
    return float(np.hypot(x - rule.pose[0], y - rule.pose[1])), angle


def _left(record: EpisodeRecord) -> bool:
    rule = record.scenario.rules.exit
    side = None if rule is None else rule.side
    return any(event.kind in ("exited", "wrong_exit") and event.subject == side for event in record.events)


def _any_distance(record: EpisodeRecord) -> Value:
    """Distance of the last pose from the expert's, wherever the episode ended."""
    found = _end_deviation(record)
    return found if isinstance(found, str) else found[0]


def _signed_angle(record: EpisodeRecord) -> Value:
    """Signed angle between the last heading and the expert's, wherever the episode ended, degrees; positive to the
    right, as in the published frame."""
    found = _end_deviation(record)
    return found if isinstance(found, str) else -found[1] * DEGREES


_VALIDITY = "Episodes in which the area was left on the right side."


@metric(
    "m", "lower", source=f"{INTERSECTNAV}, deviation from destination", validity=_VALIDITY,
    dialects={code.NAME: _any_distance},
)  # fmt: skip
def destination_deviation(record: EpisodeRecord) -> Value:
    """Distance from the middle of the car, when it leaves the area, to the place where an expert left it.
    intersectnav-code: for every episode, wherever it ended."""
    found = _end_deviation(record)
    return found if isinstance(found, str) else found[0] if _left(record) else NOT_LEFT


@metric(
    "°", "lower", source=f"{INTERSECTNAV}, heading angle deviation", validity=_VALIDITY,
    dialects={code.NAME: _signed_angle},
)  # fmt: skip
def heading_deviation(record: EpisodeRecord) -> Value:
    """Absolute angle between the car's heading, when it leaves the area, and an expert's. intersectnav-code: signed,
    positive to the right, for every episode."""
    found = _end_deviation(record)
    return found if isinstance(found, str) else abs(found[1]) * DEGREES if _left(record) else NOT_LEFT


@metric("steps", "lower", source=f"{INTERSECTNAV}, total steps")
def total_steps(record: EpisodeRecord) -> Value:
    """Number of simulation steps of the episode."""
    return float(record.steps)


LASTING = ("off_lane", "beyond_kerb")
"""Subjects of lane crossings that count time instead of crossings."""


@metric("invasions", "lower", source=f"{INTERSECTNAV}, lane invasion", validity="Scenarios with rules.lanes.")
def lane_invasions(record: EpisodeRecord) -> Value:
    """Number of steps in which a wheel crossed a solid line or a kerb, plus whole seconds outside every lane that
    leads in the car's direction, plus whole quarters of a second with a wheel beyond the kerb. If rules.lanes.counts is
    any, crossing a broken line counts too."""
    rule = record.scenario.rules.lanes
    if rule is None:
        return "lanes may be left"
    allowed = "broken" if rule.counts == "illegal" else ""
    crossings = [event for event in record.events if event.kind == "lane_crossing" and event.subject != allowed]
    times = {event.time for event in crossings if event.subject not in LASTING}
    return float(len(times) + sum(event.subject in LASTING for event in crossings))


@metric(series.INDICATOR_UNIT, "lower", source=SIDESTEP, validity="Scenes with roads.", distance="surface")
def preventable_collision(record: EpisodeRecord) -> Value:
    """1 if the car drove into a person although braking by {BRAKING_MPS2:g} m/s² would have prevented it, else 0. To
    decide this, the car is moved along its recorded path, and straight on from its end, as if it had braked from
    {REACTION_S:g} s after the person last stepped onto the road (or after the beginning of the episode) until it
    stands. The person moves as recorded, and from the contact on at the last velocity. Contacts with a car slower than
    {STANDING_MPS:g} m/s do not count."""
    scene = record.scenario.scene
    if isinstance(scene, str) or scene.roads is None:
        return "the scene has no roads"
    number = {int(person): k for k, person in enumerate(record.person_id)}
    for event in record.events:
        kind, _, name = event.subject.partition(":")
        if event.kind != "collision_start" or kind != "person":
            continue
        if _could_brake(record, scene, number[int(name)], event.time):
            return 1.0
    return 0.0


def _could_brake(record: EpisodeRecord, scene: SceneSpec, number: int, time: float) -> bool:
    """Whether braking would have prevented the contact with person ``number`` at ``time``."""
    contact = min(int(np.ceil(time / record.step_s - 1e-9)), record.steps)
    speed = series.speed(record)
    if speed[max(contact - 1, 0)] < STANDING_MPS:
        return False
    road = shapely.union_all([shapely.Polygon(r.polygon) for r in scene.regions if r.kind in ("road", "crosswalk")])
    walked = np.asarray(record.person_position[: contact + 1, number], np.float64)
    on_road = shapely.contains_xy(road, walked[:, 0], walked[:, 1])
    off = np.flatnonzero(~on_road)
    first = (int(off[-1]) + 1 if len(off) else 0) + round(REACTION_S / record.step_s)
    if first >= contact:
        return False
    v = float(speed[first])
    t = record.step_s * np.arange(int(np.ceil(v / BRAKING_MPS2 / record.step_s)))
    t = t[v - BRAKING_MPS2 * t >= STANDING_MPS]
    poses = _poses_along(record, contact, first, v * t - BRAKING_MPS2 * t * t / 2)
    later = np.maximum(first + np.arange(len(t)) - contact, 0)[:, None]
    person = walked[np.minimum(first + np.arange(len(t)), contact)] + later * (walked[-1] - walked[-2])
    polygon, reach = record.robot.footprint.polygon, float(record.person_radius[number])
    if polygon is None:
        gap = poses[:, :2] - person
        return bool((exact.norm(gap) > reach + record.robot.footprint.enclosing_radius).all())
    bodies = [shapely.Polygon(exact.rotate(np.array(polygon), float(pose[2])) + pose[:2]) for pose in poses]
    return bool((shapely.distance(bodies, shapely.points(person)) > reach).all())


def _poses_along(record: EpisodeRecord, last: int, first: int, metres: FloatArray) -> FloatArray:
    """(K, 3) poses ``metres`` after state ``first`` along the path up to state ``last``, and straight on from there."""
    driven = np.concatenate([[0.0], np.cumsum(series.step_lengths(record))])[: last + 1]
    path = np.column_stack([record.robot_pose[: last + 1, :2], np.unwrap(record.robot_pose[: last + 1, 2])])
    wanted = driven[first] + metres
    poses = np.stack([np.interp(wanted, driven, path[:, k]) for k in range(3)], axis=1)
    beyond = np.maximum(wanted - driven[-1], 0.0)
    poses[:, 0] += beyond * np.cos(path[-1, 2])
    poses[:, 1] += beyond * np.sin(path[-1, 2])
    return poses
