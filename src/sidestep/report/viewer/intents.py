"""What nobody sees in poses: plans, forecasts, gestures and where heads turn, packed for the player."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep.report.scans import has_lidar
from sidestep.report.viewer.tracks import encode_tracks
from sidestep.types.base import IntArray
from sidestep.types.gestures import GESTURE_NAMES
from sidestep.types.record import EpisodeRecord

POINT_UNIT = 1e-2  # m
HEAD_UNIT = 1e-2  # rad
FORECAST_POINTS, FEW_POINTS = 10, 5
"""Points of a forecast at most, in a page of its own and where many episodes share one: it is a fading line."""
SHOWN_RAYS, SHOWN_REACH_M = 240, 10.0
"""Of the lidar that is drawn where the policy had none of its own."""
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


def pack_gestures(record: EpisodeRecord, who: IntArray) -> list[list[Any]]:
    """[person, gesture, from, until] of everything that the people ``who`` do with their hands, s."""
    if not record.person_gesture.size:
        return []
    spans = []
    for place, column in enumerate(who.tolist()):
        codes = record.person_gesture[:, column]
        begins = np.concatenate([[0], np.flatnonzero(np.diff(codes)) + 1])
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
        begins = np.concatenate([[0], np.flatnonzero(np.diff(numbers)) + 1])
        packed.append([[round(float(record.time[k]), 3), int(numbers[k])] for k in begins.tolist()])
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
