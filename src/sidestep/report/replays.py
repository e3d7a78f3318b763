"""Episodes packed for the player in the HTML report: 10 frames a second, 16-bit numbers in base64."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from sidestep.drawing import palette
from sidestep.drawing.ground import crossing_stripes, ground_of
from sidestep.drawing.viewport import Bounds
from sidestep.metrics.series import closest_pedestrian_distance
from sidestep.report.contacts import contacts_of
from sidestep.report.topview import view_of
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.record import EpisodeRecord
from sidestep.types.scene import SceneSpec

RATE_HZ = 10
ABSENT = -32768
LARGEST = 32767
ANGLE_UNIT = 1e-4  # rad; π fits into 16 bits
GAP_UNIT = 0.01  # m
FINEST = 0.005  # m, resolution of positions where the episode is not larger than 160 m
NEAR_VIEW_M = 5.0  # people and walls farther from the picture than this are left out
SHOWN_EVENTS = frozenset(
    {
        "collision_start",
        "goal_reached",
        "timeout",
        "frozen",
        "off_route",
        "lane_invasion",
        "policy_error",
        "trigger",
    }
)


def pack_replays(episodes: list[tuple[str, EpisodeRecord]], budget: int = 4_000_000) -> dict[str, Any]:
    """What the player needs of (policy label, record) pairs; those beyond ``budget`` bytes are left out."""
    scenes: list[dict[str, Any]] = []
    packed: list[dict[str, Any]] = []
    spent = 0
    for label, record in episodes:
        episode = _pack_episode(label, record)
        scene = _pack_scene(record, episode["view"])
        spent += sum(len(episode[key]) for key in ("robot", "people", "others", "gaps")) + len(str(scene))
        if packed and spent > budget:
            break
        if scene not in scenes:
            scenes.append(scene)
        packed.append(episode | {"scene": scenes.index(scene)})
    return {
        "angle_unit": ANGLE_UNIT,
        "gap_unit": GAP_UNIT,
        "people": [palette.hexadecimal(colour) for colour in palette.PEOPLE],
        "outcomes": {str(name): palette.hexadecimal(colour) for name, colour in palette.OUTCOMES.items()},
        "scenes": scenes,
        "episodes": packed,
    }


def frames_of(record: EpisodeRecord) -> IntArray:
    """(K,) steps that are shown: about ten a second, the first and the last always."""
    every = max(1, round(1 / (RATE_HZ * record.step_s)))
    return np.unique(np.append(np.arange(0, record.steps + 1, every), record.steps))


def _pack_episode(label: str, record: EpisodeRecord) -> dict[str, Any]:
    frames = frames_of(record)
    view = view_of(record)
    who = np.flatnonzero(_comes_near(record.person_position[frames], view))
    position, heading = record.person_position[frames][:, who], record.person_heading[frames][:, who]
    people = np.concatenate([position, heading[..., None]], axis=-1).astype(np.float64)
    robot, others = record.robot_pose[frames], record.other_pose[frames]
    origin = ((view[0] + view[2]) / 2, (view[1] + view[3]) / 2)
    unit = _unit(origin, robot, people, others)
    footprint = record.robot.footprint
    return {
        "policy": label,
        "scenario": record.scenario.name,
        "seed": record.seed,
        "outcome": str(record.outcome),
        "times": [round(float(time), 3) for time in record.time[frames]],
        "frames": len(frames),
        "origin": origin,
        "unit": unit,
        "view": view,
        "goal": record.scenario.ego.goal,
        "goal_radius": record.scenario.rules.goal_radius_m,
        "footprint": {"radius": footprint.radius, "polygon": footprint.polygon},
        "radius": [round(float(radius), 3) for radius in record.person_radius[who]],
        "group": record.person_group[who].tolist(),
        "colour": who.tolist(),
        "other_radius": record.other_radius.tolist(),
        "robot": _encode_poses(robot, origin, unit),
        "people": _encode_poses(people, origin, unit),
        "others": _encode_poses(others, origin, unit),
        "gaps": _encode(closest_pedestrian_distance(record)[frames] / GAP_UNIT),
        "events": _events(record),
    }


def _comes_near(position: FloatArray, view: Bounds) -> BoolArray:
    """(N,) who is ever in or near the picture."""
    x0, y0, x1, y1 = view
    x, y = position[..., 0], position[..., 1]
    reach_x, reach_y = NEAR_VIEW_M + (y1 - y0) / 4, NEAR_VIEW_M + (x1 - x0) / 4
    near = ((x > x0 - reach_x) & (x < x1 + reach_x) & (y > y0 - reach_y) & (y < y1 + reach_y)).any(axis=0)
    return np.asarray(near)


def _unit(origin: tuple[float, float], *poses: FloatArray) -> float:
    """Metres per count, so that the farthest position fits into 16 bits."""
    spans = [np.nanmax(np.abs(pose[..., :2] - origin)) for pose in poses if np.isfinite(pose[..., :2]).any()]
    return max(FINEST, float(max(spans, default=0.0)) / LARGEST)


def _encode_poses(poses: FloatArray, origin: tuple[float, float], unit: float) -> str:
    """(…, 3) x, y, heading; absent where any position is not a number. A heading that is not known is 0."""
    counts = np.empty(poses.shape)
    counts[..., :2] = (poses[..., :2] - origin) / unit
    heading = np.nan_to_num(poses[..., 2])
    counts[..., 2] = np.arctan2(np.sin(heading), np.cos(heading)) / ANGLE_UNIT
    counts[~np.isfinite(counts).all(axis=-1)] = np.nan
    return _encode(counts)


def _encode(counts: FloatArray) -> str:
    rounded = np.clip(np.round(counts), -LARGEST, LARGEST)
    whole = np.where(np.isnan(rounded), ABSENT, rounded).astype("<i2")
    return base64.b64encode(whole.tobytes()).decode()


def _events(record: EpisodeRecord) -> list[dict[str, Any]]:
    places = {(contact.time, contact.subject): contact for contact in contacts_of(record)}
    listed = []
    for event in record.events:
        if event.kind in SHOWN_EVENTS:
            entry: dict[str, Any] = {
                "time": round(event.time, 3),
                "kind": event.kind,
                "subject": event.subject,
            }
            if event.kind == "collision_start":
                contact = places[event.time, event.subject]
                entry |= {"x": round(contact.x, 3), "y": round(contact.y, 3)}
            listed.append(entry)
    return listed


def _pack_scene(record: EpisodeRecord, view: Bounds) -> dict[str, Any]:
    scene = record.scenario.scene
    ground = ground_of(scene if isinstance(scene, SceneSpec) else None, record.walls)
    layers = []
    for layer in ground.layers:
        entry: dict[str, Any] = {
            "kind": layer.kind,
            "rings": [_flat(ring) for ring in (layer.ring, *layer.holes)],
        }
        if layer.kind == "crosswalk":
            entry["stripes"] = [_flat(bar) for bar in crossing_stripes(layer.ring)]
        layers.append(entry)
    x0, y0, x1, y1 = view
    size = max(x1 - x0, y1 - y0)
    xs, ys = ground.walls[:, 0::2], ground.walls[:, 1::2]
    seen = (xs.max(axis=1, initial=-np.inf) > x0 - size) & (xs.min(axis=1, initial=np.inf) < x1 + size)
    seen &= (ys.max(axis=1, initial=-np.inf) > y0 - size) & (ys.min(axis=1, initial=np.inf) < y1 + size)
    return {"layers": layers, "outside_solid": ground.outside_solid, "walls": _flat(ground.walls[seen])}


def _flat(points: FloatArray) -> list[float]:
    return [round(float(value), 2) for value in np.asarray(points).ravel()]
