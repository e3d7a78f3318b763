"""What a policy publishes beside its commands: the path that it means to take, and where it expects people."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite, nan
from typing import Any

import numpy as np

from sidestep._util import exact
from sidestep.interfaces import Policy
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.record import MOST_PLAN_POINTS, Plans

LOOK_EVERY_S = 0.2
"""Simulated time between two readings of what is published: it is for looking at, and records stay small."""
MOST_PEOPLE = 20
"""The nearest people whose forecasts are kept."""
ROUND_TO = 1024.0
"""Points are rounded to 1/1024 m, which lets files be half as large."""


@dataclass(frozen=True, slots=True)
class Intent:
    """A plan (H, 2) and forecasts (M, G, 2) of the people with these ids, ``step_s`` between points; empty: none."""

    step_s: float = nan
    plan: FloatArray = field(default_factory=lambda: np.zeros((0, 2), np.float32))
    people: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    forecast: FloatArray = field(default_factory=lambda: np.zeros((0, 0, 2), np.float32))


def published(policy: Policy) -> Intent:
    """The attributes ``plan``, ``forecast`` and ``plan_step_s`` of a policy. Whatever is wrong with them is left out:
    what is only shown must not end an episode."""
    try:
        plan, forecast = policy.plan, policy.forecast
        if plan is None and forecast is None:
            return Intent()
        step_s = float(policy.plan_step_s)  # type: ignore[arg-type]
    except Exception:
        return Intent()
    if not (isfinite(step_s) and step_s > 0.0):
        return Intent()
    return Intent(step_s, _plan(plan), *_forecast(forecast))


def _plan(value: Any) -> FloatArray:
    points = _points(value, 2)
    return points if points is not None and np.isfinite(points).all() else np.zeros((0, 2), np.float32)


def _forecast(value: Any) -> tuple[IntArray, FloatArray]:
    none = np.zeros(0, np.int64), np.zeros((0, 0, 2), np.float32)
    try:
        ids, positions = value
        people = np.asarray(ids, np.int64)
    except Exception:
        return none
    points = _points(positions, 3)
    if points is None or people.shape != points.shape[:1]:
        return none
    whole = np.isfinite(points).all(axis=(1, 2))
    return people[whole], points[whole]


def _points(value: Any, dimensions: int) -> FloatArray | None:
    """(…, H, 2) float32, cut off and rounded; None where it is nothing of the kind."""
    try:
        points = np.asarray(value, np.float64)
    except Exception:
        return None
    if points.ndim != dimensions or points.shape[-1] != 2 or not points.shape[-2]:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        return (np.rint(points[..., :MOST_PLAN_POINTS, :] * ROUND_TO) / ROUND_TO).astype(np.float32)


class IntentLog:
    """Collects what was published in one episode."""

    def __init__(self, person_id: IntArray) -> None:
        self._column = {int(number): column for column, number in enumerate(person_id)}
        self._step_s = nan
        self._plans: list[tuple[int, FloatArray]] = []
        self._forecasts: list[tuple[int, int, FloatArray]] = []

    def note(self, step: int, intent: Intent, robot: FloatArray) -> None:
        """What was published at ``step`` with the robot at (x, y)."""
        if isfinite(intent.step_s) and not isfinite(self._step_s):
            self._step_s = intent.step_s
        if intent.step_s != self._step_s:  # nothing, or in another time step than before
            intent = Intent()
        known = [row for row, number in enumerate(intent.people.tolist()) if number in self._column]
        if not len(intent.plan) and not known and not self._shows():
            return
        if self._plans and self._plans[-1][0] >= step:
            return
        self._plans.append((step, intent.plan))
        away = exact.hypot(*(intent.forecast[known, 0] - robot).T) if known else np.zeros(0)
        for row in sorted(np.argsort(away, kind="stable")[:MOST_PEOPLE].tolist()):
            column = self._column[int(intent.people[known[row]])]
            self._forecasts.append((step, column, intent.forecast[known[row]]))

    def _shows(self) -> bool:
        """Whether the last note says anything, so that it takes another to end it."""
        if not self._plans:
            return False
        step, plan = self._plans[-1]
        return len(plan) > 0 or bool(self._forecasts and self._forecasts[-1][0] == step)

    def plans(self) -> Plans:
        """All of it."""
        if not self._plans:
            return Plans()
        return Plans(
            step_s=self._step_s,
            step=np.array([step for step, _ in self._plans]),
            robot=_padded([plan for _, plan in self._plans]),
            forecast_step=np.array([step for step, _, _ in self._forecasts]),
            forecast_person=np.array([column for _, column, _ in self._forecasts]),
            people=_padded([points for _, _, points in self._forecasts]),
        )


def _padded(rows: list[FloatArray]) -> FloatArray:
    longest = max((len(row) for row in rows), default=0)
    out = np.full((len(rows), longest, 2), np.nan, np.float32)
    for k, row in enumerate(rows):
        out[k, : len(row)] = row
    return out
