"""A record as a Rerun recording (``.rrd``): open it with ``rerun FILE``.

Entities: ``world/robot``, ``world/vehicles/…`` and ``world/people`` move on the time line ``episode``; ``world/plan``
and ``world/forecasts`` are what the policy published; ``world/walls`` and ``world/goal`` stand; ``curves/…`` are the
series of the viewer; ``events`` is a text log. Needs the extra ``export``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sidestep._util.writing import whole_file
from sidestep.errors import MissingExtra
from sidestep.metrics.series import present
from sidestep.records.exports.episode_log import CURVES, episode_log, has_lidar, lidar_scans
from sidestep.render.top_view import palette
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.events import GESTURE_NAMES
from sidestep.types.record import EpisodeRecord, Plans, others

TIMELINE = "episode"
PERSON_HEIGHT_M = 1.7
WALL_HEIGHT_M = 2.0
PLAN_COLOUR = (139, 47, 214)


def export_rerun(record: EpisodeRecord, path: Path) -> None:
    """Write ``record`` to ``path``, every state of it."""
    try:
        import rerun
    except ImportError:
        raise MissingExtra("writing a Rerun recording", "export") from None
    with whole_file(path) as temporary:
        temporary.touch()
        stream = rerun.RecordingStream("sidestep", recording_id=record.digest)
        stream.save(str(temporary))
        for part in (_still, _robot, _others, _people, _plans, _scans, _curves, _events):
            part(rerun, stream, record)
        stream.flush()
        stream.disconnect()


def _time(rerun: Any, seconds: FloatArray) -> list[Any]:
    return [rerun.TimeColumn(TIMELINE, duration=np.asarray(seconds))]


def _still(rerun: Any, stream: Any, record: EpisodeRecord) -> None:
    stream.log("world", rerun.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    ends = record.walls.reshape(-1, 2, 2).astype(np.float64)
    low = np.concatenate([ends, np.zeros((*ends.shape[:2], 1))], axis=-1)
    high = low + np.array([0.0, 0.0, WALL_HEIGHT_M])
    outlines = np.stack([low[:, 0], low[:, 1], high[:, 1], high[:, 0], low[:, 0]], axis=1)
    if len(outlines):
        stream.log("world/walls", rerun.LineStrips3D(outlines, colors=palette.WALL_EDGE, radii=0.02), static=True)
    x, y = record.scenario.ego.goal
    radius = record.scenario.rules.goal_radius_m
    stream.log("world/goal", rerun.Points3D([(x, y, 0.0)], colors=palette.GOAL, radii=radius), static=True)
    robot = record.robot.footprint
    half = (robot.enclosing_radius, robot.enclosing_radius, record.robot.height / 2)
    if robot.polygon is not None:
        reach = np.abs(np.array(robot.polygon)).max(axis=0)
        half = (float(reach[0]), float(reach[1]), record.robot.height / 2)
    body = rerun.Boxes3D(half_sizes=[half], centers=[(0.0, 0.0, half[2])], colors=palette.ROBOT)
    stream.log("world/robot", body, static=True)


def _robot(rerun: Any, stream: Any, record: EpisodeRecord) -> None:
    stream.send_columns("world/robot", _time(rerun, record.time), _moved(rerun, record.robot_pose))
    path = np.column_stack([record.robot_pose[:, :2], np.full(len(record.time), 0.02)])
    stream.log("world/robot_path", rerun.LineStrips3D([path], colors=palette.ROBOT, radii=0.02), static=True)


def _moved(rerun: Any, pose: FloatArray) -> Any:
    x, y, heading = pose.T
    nought = np.zeros_like(x)
    return rerun.Transform3D.columns(
        translation=np.column_stack([x, y, nought]),
        quaternion=np.column_stack([nought, nought, np.sin(heading / 2), np.cos(heading / 2)]),
    )


def _others(rerun: Any, stream: Any, record: EpisodeRecord) -> None:
    """Other robots and vehicles as boxes."""
    for k, user in enumerate(others(record)):
        name, (centre, half) = f"world/vehicles/{user.subject.replace(':', '_')}", user.box
        body = rerun.Boxes3D(half_sizes=[half], centers=[(*centre, half[2])], colors=palette.OTHER_MACHINE)
        stream.log(name, body, static=True)
        here = np.isfinite(record.other_pose[:, k, 0])
        stream.send_columns(name, _time(rerun, record.time[here]), _moved(rerun, record.other_pose[here, k]))


def _people(rerun: Any, stream: Any, record: EpisodeRecord) -> None:
    """Everybody who is there as a capsule with its id, state by state."""
    there = present(record)
    steps, who = np.nonzero(there)
    if not len(steps):
        return
    position = record.person_position[steps, who].astype(np.float64)
    radius = record.person_radius[who].astype(np.float64)
    columns = rerun.Capsules3D.columns(
        translations=np.column_stack([position, radius]),
        lengths=np.maximum(PERSON_HEIGHT_M - 2 * radius, 0.1),
        radii=radius,
        colors=np.array([palette.person_colour(int(index)) for index in who], dtype=np.uint8),
        labels=_labels(record, steps, who),
    )
    stream.send_columns("world/people", _time(rerun, record.time), columns.partition(there.sum(axis=1)))


def _labels(record: EpisodeRecord, steps: IntArray, who: IntArray) -> list[str]:
    """Everybody's id, and what they do with their hands."""
    ids = [str(number) for number in record.person_id[who]]
    if not record.person_gesture.size:
        return ids
    codes = record.person_gesture[steps, who].tolist()
    return [f"{name} {GESTURE_NAMES[code]}" if code else name for name, code in zip(ids, codes, strict=True)]


def _plans(rerun: Any, stream: Any, record: EpisodeRecord) -> None:
    """Plans and forecasts as lines from where they begin, at the times at which they were published."""
    plans = record.plans
    if not len(plans):
        return
    times = _time(rerun, record.time[plans.step])
    lines = [
        np.vstack([record.robot_pose[step, :2], points]) if len(points) else points
        for step, points in ((step, plans.plan_at(step)) for step in plans.step.tolist())
    ]
    shown = [_raised(line, 0.04) for line in lines if len(line)]
    columns = rerun.LineStrips3D.columns(strips=shown, radii=[0.025] * len(shown), colors=[PLAN_COLOUR] * len(shown))
    stream.send_columns("world/plan", times, columns.partition([min(len(line), 1) for line in lines]))
    if not len(plans.forecast_step):
        return
    begin = record.person_position[plans.forecast_step, plans.forecast_person]
    expected = [_raised(Plans.known(np.vstack([a, b])), 0.03) for a, b in zip(begin, plans.people, strict=True)]
    colours = np.array([palette.person_colour(who) for who in plans.forecast_person.tolist()], dtype=np.uint8)
    columns = rerun.LineStrips3D.columns(strips=expected, radii=[0.015] * len(expected), colors=colours)
    counts = [int((plans.forecast_step == step).sum()) for step in plans.step.tolist()]
    stream.send_columns("world/forecasts", times, columns.partition(counts))


def _raised(points: FloatArray, height: float) -> FloatArray:
    return np.column_stack([points, np.full(len(points), height)]).astype(np.float32)


def _scans(rerun: Any, stream: Any, record: EpisodeRecord) -> None:
    """What the lidar hit, in the robot's frame; nothing where no policy had one."""
    if not has_lidar(record):
        return
    points, counts = [], []
    ahead, left = record.scenario.sensors.lidar.mount
    for scan in lidar_scans(record, np.arange(record.steps + 1)):
        angles = scan.angle_min + scan.angle_increment * np.arange(len(scan.ranges))
        hit = scan.ranges < scan.max_range
        reach, angles = scan.ranges[hit], angles[hit]
        x, y = ahead + reach * np.cos(angles), left + reach * np.sin(angles)
        points.append(np.column_stack([x, y, np.full(len(reach), 0.2)]))
        counts.append(len(reach))
    columns = rerun.Points3D.columns(positions=np.concatenate(points))
    stream.send_columns("world/robot/lidar", _time(rerun, record.time), columns.partition(counts))


def _curves(rerun: Any, stream: Any, record: EpisodeRecord) -> None:
    for title, (series, _, _) in CURVES.items():
        values = series(record)
        known = np.isfinite(values)
        if known.any():
            name = title.lower().replace(" ", "_")
            columns = rerun.Scalars.columns(scalars=values[known])
            stream.send_columns(f"curves/{name}", _time(rerun, record.time[known]), columns)


def _events(rerun: Any, stream: Any, record: EpisodeRecord) -> None:
    lines = episode_log(record)
    columns = rerun.TextLog.columns(text=[line.text for line in lines])
    stream.send_columns("events", _time(rerun, np.array([line.time for line in lines])), columns)
