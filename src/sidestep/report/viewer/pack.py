"""Records as JSON for the player: poses and curves as short text (whole units, second differences, variable-length
bytes, base64), plans, forecasts, gestures, heads, lidar, events and the scene. A person who walks steadily costs
about one byte per number, one who is absent costs nothing. The decoder is ``decodeTracks`` in ``static/data.js``.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sidestep.metrics import series
from sidestep.records.exports.episode_log import CURVES, PLAIN, contacts_of, episode_log, has_lidar, is_invasion
from sidestep.render.films.top_view import view_of
from sidestep.render.top_view import palette
from sidestep.render.top_view.canvas import Bounds
from sidestep.render.top_view.ground import crossing_stripes, ground_of
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.events import GESTURE_NAMES
from sidestep.types.record import EpisodeRecord, others
from sidestep.types.scene import SceneSpec

LONGEST = 5
"""Bytes of the largest number: 35 bits, of which one is the sign."""


def encode_tracks(values: FloatArray, units: Sequence[float]) -> str:
    """(T, N, C) values, NaN where absent, each channel in whole multiples of its unit.

    Per track: the number of spans in which all channels are known; start and length of each; then span by span and
    channel by channel the second differences, v_k - 2 v_(k-1) + v_(k-2) with v = 0 before the span.
    """
    numbers: list[IntArray] = [np.zeros(0, dtype=np.int64)]
    known: BoolArray = np.asarray(np.isfinite(values).all(axis=-1))
    for track in range(values.shape[1]):
        spans = list(_spans(known[:, track]))
        numbers.append(np.array([len(spans), *(n for a, b in spans for n in (a, b - a))], dtype=np.int64))
        for start, end in spans:
            whole = np.rint(values[start:end, track] / np.asarray(units)).astype(np.int64)
            numbers += [np.diff(whole[:, channel], n=2, prepend=[0, 0]) for channel in range(whole.shape[1])]
    return base64.b64encode(_variable_length(np.concatenate(numbers))).decode()


def _spans(known: BoolArray) -> Iterator[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(known, prepend=False, append=False))
    yield from ((int(start), int(end)) for start, end in edges.reshape(-1, 2))


def _variable_length(numbers: IntArray) -> bytes:
    """Seven bits a byte, lowest first, the eighth says that more follow. Signs go into the lowest bit."""
    unsigned = ((numbers << 1) ^ (numbers >> 63)).astype(np.uint64)
    shifts = 7 * np.arange(LONGEST, dtype=np.uint64)
    groups = ((unsigned[:, None] >> shifts) & np.uint64(127)).astype(np.uint8)
    length = 1 + (unsigned[:, None] >> shifts[1:] > 0).sum(axis=1)
    place = np.arange(LONGEST)
    groups[place < length[:, None] - 1] |= 128
    return bytes(groups[place < length[:, None]])


POINT_UNIT = 1e-2  # m
HEAD_UNIT = 1e-2  # rad
FORECAST_POINTS, FEW_POINTS = 10, 5
"""Points of a forecast at most, in a page of its own and where many episodes share one: it is a fading line."""
SHOWN_RAYS, SHOWN_REACH_M = 240, 10.0
"""Settings of the lidar that is drawn if the policy had none."""
MOST_RAYS = 720


def pack_plans(record: EpisodeRecord, who: IntArray, thin: bool = False) -> dict[str, Any] | None:
    """Plans and the forecasts of the people ``who`` are shown; None where nothing was published.

    A plan or forecast is a track of points; ``counts`` says how many forecasts each plan has, ``person`` of whom they
    are. ``thin``: every second plan only, and forecasts of fewer points.
    """
    plans = record.plans
    if not len(plans):
        return None
    shown = np.full(len(record.person_id), -1)
    shown[who] = np.arange(len(who))
    kept = np.arange(0, len(plans), 2 if thin else 1)
    rows = np.flatnonzero((shown[plans.forecast_person] >= 0) & np.isin(plans.forecast_step, plans.step[kept]))
    every = max(1, -(-plans.people.shape[1] // (FEW_POINTS if thin else FORECAST_POINTS)))
    forecast = plans.people[rows][:, every - 1 :: every]
    units = (POINT_UNIT, POINT_UNIT)
    return {
        "step_s": plans.step_s,
        "times": [round(float(time), 3) for time in record.time[plans.step[kept]]],
        "points": plans.robot.shape[1],
        "plan": encode_tracks(np.swapaxes(plans.robot[kept].astype(np.float64), 0, 1), units),
        "every": every,
        "expected": forecast.shape[1],
        "counts": [int((plans.forecast_step[rows] == step).sum()) for step in plans.step[kept]],
        "person": shown[plans.forecast_person[rows]].tolist(),
        "forecast": encode_tracks(np.swapaxes(forecast.astype(np.float64), 0, 1), units),
        "unit": POINT_UNIT,
    }


def _begins(values: IntArray) -> IntArray:
    """Where each run of equal values begins."""
    return np.concatenate([[0], np.flatnonzero(np.diff(values)) + 1])


def pack_gestures(record: EpisodeRecord, who: IntArray) -> list[list[Any]]:
    """[person, gesture, from, until] of everything that the people ``who`` do with their hands, s."""
    if not record.person_gesture.size:
        return []
    spans = []
    for place, column in enumerate(who.tolist()):
        codes = record.person_gesture[:, column]
        begins = _begins(codes)
        ends = np.append(begins[1:], record.steps)
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            if codes[begin] and codes[begin] < len(GESTURE_NAMES):
                until = float(record.time[end]) + (record.step_s if end == record.steps else 0.0)
                name = GESTURE_NAMES[codes[begin]]
                spans.append([place, name, round(float(record.time[begin]), 3), round(until, 3)])
    return spans


def pack_groups(record: EpisodeRecord, who: IntArray) -> list[list[list[float]]]:
    """[from, group] of each of the people ``who``: the number of the group, -1 alone, that holds from a time on, s."""
    packed = []
    for column in who.tolist():
        numbers = record.person_group[:, column]
        packed.append([[round(float(record.time[k]), 3), int(numbers[k])] for k in _begins(numbers).tolist()])
    return packed


def pack_heads(record: EpisodeRecord, frames: IntArray, who: IntArray) -> str:
    """(K, N, 1) how far heads are turned from the body, absent where they look ahead; empty where nobody is
    directed."""
    if not record.person_head_yaw.size:
        return ""
    return encode_tracks(record.person_head_yaw[frames][:, who].astype(np.float64)[..., None], [HEAD_UNIT])


def pack_lidar(record: EpisodeRecord) -> dict[str, Any]:
    """The scanner that is drawn: the policy's own where it had one, else a plain one in the same place."""
    settings = record.scenario.sensors.lidar
    if not has_lidar(record):
        whole = {"angle_min": -np.pi, "increment": 2 * np.pi / SHOWN_RAYS, "rays": SHOWN_RAYS, "round": True}
        return whole | {"mount": list(settings.mount), "reach": SHOWN_REACH_M}
    every = -(-settings.rays // MOST_RAYS)
    return {
        "mount": list(settings.mount),
        "angle_min": settings.angle_min,
        "increment": settings.angle_increment * every,
        "rays": -(-settings.rays // every),
        "round": settings.field_of_view > 2 * np.pi - 1e-9,
        "reach": settings.max_range,
    }


RATE_HZ = 10
MOST_FRAMES = 4000
"""Largest number of states of one episode: longer ones are shown with fewer per second."""
POSITION_UNIT = 1e-3  # m
ANGLE_UNIT = 1e-3  # rad
CURVE_UNIT = 1e-2  # in the curve's own unit
POSE_UNITS = (POSITION_UNIT, POSITION_UNIT, ANGLE_UNIT)
NEAR_VIEW_M = 5.0  # people and walls farther from the picture than this are left out
HEIGHTS = {"building": 3.0, "obstacle": 1.0, "furniture": 0.75}
"""Height of solids that do not state one, m."""
SHOWN_EVENTS = frozenset(PLAIN) | {"collision_start", "lane_crossing"}


def pack_replays(
    episodes: list[tuple[str, EpisodeRecord]], budget: int = 4_500_000, rate_hz: float = RATE_HZ
) -> dict[str, Any]:
    """What the player needs of (policy label, record) pairs; those beyond ``budget`` bytes are left out."""
    scenes: list[dict[str, Any]] = []
    packed: list[dict[str, Any]] = []
    spent = 0
    for label, record in episodes:
        episode = _pack_episode(label, record, rate_hz)
        scene = _pack_scene(record, episode["view"])
        spent += len(str(episode)) + (0 if scene in scenes else len(str(scene)))
        if packed and spent > budget:
            break
        if scene not in scenes:
            scenes.append(scene)
        packed.append(episode | {"scene": scenes.index(scene)})
    return {
        "units": POSE_UNITS,
        "curve_unit": CURVE_UNIT,
        "head_unit": HEAD_UNIT,
        "people": [palette.hexadecimal(colour) for colour in palette.PEOPLE],
        "outcomes": {str(name): palette.hexadecimal(colour) for name, colour in palette.OUTCOMES.items()},
        "scenes": scenes,
        "episodes": packed,
    }


def frames_of(record: EpisodeRecord, rate_hz: float = RATE_HZ) -> IntArray:
    """(K,) steps that are shown: about ``rate_hz`` a second, the first and the last always."""
    every = max(1, round(1 / (rate_hz * record.step_s)), -(-record.steps // MOST_FRAMES))
    return np.unique(np.append(np.arange(0, record.steps + 1, every), record.steps))


def _pack_episode(label: str, record: EpisodeRecord, rate_hz: float) -> dict[str, Any]:
    frames = frames_of(record, rate_hz)
    view = view_of(record)
    who = np.flatnonzero(_comes_near(record.person_position[frames], view))
    footprint = record.robot.footprint
    return {
        "policy": label,
        "scenario": record.scenario.name,
        "seed": record.seed,
        "outcome": str(record.outcome),
        "source": record.source,
        "digest": record.digest[:12],
        "times": encode_tracks(record.time[frames].reshape(-1, 1, 1), [1e-3]),
        "frames": len(frames),
        "view": [round(float(edge), 3) for edge in view],
        "goal": record.scenario.ego.goal,
        "goal_radius": record.scenario.rules.goal_radius_m,
        "footprint": {"radius": footprint.radius, "polygon": footprint.polygon},
        "height": record.robot.height,
        "radius": [round(float(radius), 3) for radius in record.person_radius[who]],
        "group": pack_groups(record, who),
        "person": record.person_id[who].tolist(),
        "colour": who.tolist(),
        "other_radius": record.other_radius.tolist(),
        "other_body": [
            {**user.footprint.model_dump(), "height": user.spec.height if user.spec else None}
            for user in others(record)
        ],
        "robot": _poses(record.robot_pose[frames][:, None]),
        "people": _poses(_people(record, frames, who)),
        "others": _poses(record.other_pose[frames]),
        "curves": _curves(record, frames),
        "events": _events(record),
        "plans": pack_plans(record, who, thin=rate_hz <= RATE_HZ),
        "gestures": pack_gestures(record, who),
        "heads": pack_heads(record, frames, who),
        "lidar": pack_lidar(record),
    }


def _people(record: EpisodeRecord, frames: IntArray, who: IntArray) -> FloatArray:
    """(K, N, 3) x, y, heading; a heading that is not known is 0, absent people are NaN."""
    position = np.where(series.present(record)[..., None], record.person_position, np.nan)[frames][:, who]
    heading = np.nan_to_num(record.person_heading[frames][:, who])
    return np.concatenate([position, heading[..., None]], axis=-1).astype(np.float64)


def _comes_near(position: FloatArray, view: Bounds) -> BoolArray:
    """(N,) who is ever in or near the picture."""
    x0, y0, x1, y1 = view
    x, y = position[..., 0], position[..., 1]
    reach_x, reach_y = NEAR_VIEW_M + (y1 - y0) / 4, NEAR_VIEW_M + (x1 - x0) / 4
    near = ((x > x0 - reach_x) & (x < x1 + reach_x) & (y > y0 - reach_y) & (y < y1 + reach_y)).any(axis=0)
    return np.asarray(near)


def _poses(poses: FloatArray) -> str:
    """(K, N, 3) x, y, heading. Headings are unwound, so that they change little from frame to frame."""
    unwound = poses.copy()
    unwound[..., 2] = np.unwrap(np.nan_to_num(poses[..., 2]), axis=0)
    return encode_tracks(unwound, POSE_UNITS)


def _curves(record: EpisodeRecord, frames: IntArray) -> list[dict[str, Any]]:
    """The series that have any value, each with the top of its scale."""
    packed = []
    for title, (function, unit, most) in CURVES.items():
        values = function(record)[frames]
        if np.isfinite(values).any():
            values = np.minimum(values, most)
            data = encode_tracks(values.reshape(-1, 1, 1), [CURVE_UNIT])
            packed.append({"title": title, "unit": unit, "top": max(float(np.nanmax(values)), 0.1), "values": data})
    return packed


def _events(record: EpisodeRecord) -> list[dict[str, Any]]:
    places = {(contact.time, contact.subject): contact for contact in contacts_of(record)}
    in_order = sorted(record.events, key=lambda event: event.time)
    shown = [e for e in in_order if is_invasion(e) or (e.kind in SHOWN_EVENTS and e.kind != "lane_crossing")]
    texts = [line.text for line in episode_log(record) if line.kind in SHOWN_EVENTS]
    listed = []
    for event, text in zip(shown, texts, strict=True):
        entry: dict[str, Any] = {"time": round(event.time, 3), "kind": event.kind, "subject": event.subject}
        entry["text"] = text
        if event.kind == "collision_start":
            contact = places[event.time, event.subject]
            ends = (e.time for e in record.events if e.kind == "collision_end" and e.subject == event.subject)
            until = next((time for time in ends if time >= event.time), record.duration)
            entry |= {"x": round(contact.x, 3), "y": round(contact.y, 3), "until": round(until, 3)}
        listed.append(entry)
    return listed


def _pack_scene(record: EpisodeRecord, view: Bounds) -> dict[str, Any]:
    scene = record.scenario.scene
    spec = scene if isinstance(scene, SceneSpec) else None
    ground = ground_of(spec, record.walls)
    heights = {np.array(r.polygon).tobytes(): r.height for r in spec.regions if r.height} if spec else {}
    layers = []
    for layer in ground.layers:
        entry: dict[str, Any] = {"kind": layer.kind, "rings": [_flat(ring) for ring in (layer.ring, *layer.holes)]}
        if layer.kind == "crosswalk":
            entry["stripes"] = [_flat(bar) for bar in crossing_stripes(layer.ring)]
        if layer.solid:
            entry["height"] = heights.get(np.asarray(layer.ring).tobytes()) or HEIGHTS.get(layer.kind, 1.0)
        layers.append(entry)
    x0, y0, x1, y1 = view
    size = max(x1 - x0, y1 - y0)
    xs, ys = ground.walls[:, 0::2], ground.walls[:, 1::2]
    seen = (xs.max(axis=1, initial=-np.inf) > x0 - size) & (xs.min(axis=1, initial=np.inf) < x1 + size)
    seen &= (ys.max(axis=1, initial=-np.inf) > y0 - size) & (ys.min(axis=1, initial=np.inf) < y1 + size)
    strokes = [[stroke.kind, stroke.width_m, _flat(stroke.points)] for stroke in ground.strokes]
    return {
        "layers": layers,
        "strokes": strokes,
        "outside_solid": ground.outside_solid,
        "walls": _flat(ground.walls[seen]),
    }


def _flat(points: FloatArray) -> list[float]:
    return [round(float(value), 2) for value in np.asarray(points).ravel()]
