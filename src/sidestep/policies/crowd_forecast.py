"""Forecasts as planners take them: every likely path of a person becomes a straight line plus its deviation from that
line at the planner's times. A predictor that returns straight lines costs a planner next to nothing.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from sidestep.errors import BadInput
from sidestep.interfaces import Predictor
from sidestep.types import Observation, RobotState, Task
from sidestep.types.base import FloatArray, IntArray, read_only
from sidestep.types.forecast import Ego, Forecast, StraightForecast, TrackHistory, as_forecast
from sidestep.types.observation import Pedestrians
from sidestep.types.robot import Footprint

MOST_PATHS = 8
"""Alternatives of one person that a planner avoids, the likeliest ones."""
LEAST_SHARE = 0.1
"""Alternatives less likely than this share of the likeliest one are left out."""


class CrowdPaths(NamedTuple):
    """Where people are expected, for kernels: path r is at ``lines[r, :2] + t lines[r, 2:4] + bends[r, k]`` at the k-th
    of the planner's times t. A person with several likely paths has several rows. ``bends`` has no rows where all paths
    are straight."""

    lines: FloatArray  # (R, 5 or more): x, y, vx, vy, radius, … in m and m/s
    bends: FloatArray  # (R or 0, K, 2) m


class _Frame(NamedTuple):
    """What was seen at one time."""

    time: float
    known: dict[int, list[float]]  # id → x, y, vx, vy
    angles: dict[int, tuple[float, float]]  # id → body, head
    robot: tuple[float, float, float] | None  # x, y, heading


class CrowdPredictor:
    """Asks a predictor for everybody's paths during one episode, and remembers the history that it wants."""

    def __init__(self, predictor: Predictor, times_s: FloatArray, task: Task) -> None:
        """``times_s (K,)``: the planner's times, s; a first time of 0 is the present."""
        self._predictor = predictor
        self._times_s = times_s
        self._ahead = times_s > 0.0
        self._horizons_s = read_only(times_s[self._ahead])
        self._scene = task.map if "map" in predictor.needs else None
        self._radius = task.robot.footprint.enclosing_radius
        self._step_s = task.step_s
        self._rows = 1 + round(predictor.history_s / task.step_s)
        self._frames: deque[_Frame] = deque()
        self._body = _body_of(task.robot.footprint)
        self._straight = np.zeros((0, len(times_s), 2))
        self._angles = {"body", "head"} & set(predictor.needs)
        self.needs_plan = "ego" in predictor.needs

    def remember(self, time: float, ids: IntArray, people: FloatArray, seen: Observation | None = None) -> None:
        """Keep ``people (N, 4 or more)`` (x, y, vx, vy) at ``time`` for predictors that look back; of the observation
        ``seen`` where bodies and heads point and where the robot is, for predictors that need those."""
        if self._rows == 1 and not self._angles:
            return
        while self._frames and self._frames[-1].time >= time:
            self._frames.pop()
        known = dict(zip(ids.tolist(), people[:, :4].tolist(), strict=True))
        frame = _Frame(time, known, {}, None)
        if seen is not None:
            angles = _angles_of(seen.pedestrians) if self._angles else {}
            frame = _Frame(time, known, angles, (seen.robot.x, seen.robot.y, seen.robot.heading))
        self._frames.append(frame)
        while self._frames[0].time < time - self._rows * self._step_s:
            self._frames.popleft()

    def paths(
        self, time: float, ids: IntArray, people: FloatArray, robot: RobotState, plan: FloatArray | None
    ) -> tuple[CrowdPaths, IntArray | None]:
        """The paths of ``people (N, 5 or more)`` from ``time`` on, and whose they are (R,); None: one for each.

        ``plan (H, 2)``: where the robot means to be at the times ahead, if it knows."""
        if not len(ids):
            return CrowdPaths(people, self._straight), None
        forecast = self.forecast(time, ids, people, robot, plan)
        if isinstance(forecast, StraightForecast):
            people[:, :2], people[:, 2:4] = forecast.position, forecast.velocity
            return CrowdPaths(people, self._straight), None
        weights = forecast.weights
        rank = np.argsort(np.argsort(-weights, axis=1, kind="stable"), axis=1, kind="stable")
        likely = (weights >= LEAST_SHARE * weights.max(axis=1, keepdims=True)) & (rank < MOST_PATHS)
        person, alternative = np.nonzero(likely)
        lines = people[person]
        bends = np.zeros((len(person), len(self._times_s), 2))
        straight = lines[:, None, :2] + self._horizons_s[None, :, None] * lines[:, None, 2:4]
        bends[:, self._ahead] = forecast.paths[person, alternative] - straight
        return CrowdPaths(lines, bends), person

    def forecast(
        self, time: float, ids: IntArray, people: FloatArray, robot: RobotState, plan: FloatArray | None = None
    ) -> Forecast:
        """The whole forecast of ``people (N, 5 or more)`` at the times ahead."""
        return self._forecast(self._history(time, ids, people), self._horizons_s, robot, plan)

    def positions(
        self, time: float, ids: IntArray, people: FloatArray, robot: RobotState, after_s: float
    ) -> FloatArray:
        """(N, 2) expected positions ``after_s`` seconds later, m."""
        if not len(ids):
            return people[:, :2]
        history = self._history(time, ids, people)
        forecast = self._forecast(history, np.array([after_s]), robot, None)
        if isinstance(forecast, StraightForecast):
            return forecast.position + after_s * forecast.velocity
        return forecast.mean()[:, 0]

    def _history(self, time: float, ids: IntArray, people: FloatArray) -> TrackHistory:
        present = people[None, :, :2], people[None, :, 2:4]
        if self._rows == 1 and not self._angles:
            return TrackHistory(ids, *present, self._step_s)
        past = np.full((self._rows, len(ids), 4), np.nan)
        angles = np.full((self._rows, len(ids), 2), np.nan)
        for frame in self._frames:
            row = self._rows - 1 - round((time - frame.time) / self._step_s)
            if 0 <= row < self._rows:
                past[row] = [frame.known.get(number, (np.nan,) * 4) for number in ids.tolist()]
                angles[row] = [frame.angles.get(number, (np.nan,) * 2) for number in ids.tolist()]
        past[-1] = people[:, :4]
        body, head = (angles[:, :, k] if name in self._angles else None for k, name in enumerate(("body", "head")))
        return TrackHistory(ids, past[:, :, :2], past[:, :, 2:], self._step_s, body, head)

    def _ego(self, robot: RobotState, plan: FloatArray | None) -> Ego:
        past = None
        if len(self._frames) == self._rows and all(frame.robot is not None for frame in self._frames):
            past = np.array([frame.robot for frame in self._frames])
        return Ego(robot, self._radius, plan, past, self._body)

    def _forecast(
        self, history: TrackHistory, horizons_s: FloatArray, robot: RobotState, plan: FloatArray | None
    ) -> Forecast:
        ego = self._ego(robot, plan) if "ego" in self._predictor.needs else None
        found = self._predictor.predict(history, horizons_s, self._scene, ego)
        forecast = as_forecast(found, type(self._predictor).__name__)
        if len(forecast) != len(history) or len(forecast.horizons_s) != len(horizons_s):
            raise BadInput(
                f"predictor {type(self._predictor).__name__}: forecast of {len(forecast)} people at "
                f"{len(forecast.horizons_s)} horizons; asked for {len(history)} people at {len(horizons_s)}"
            )
        return forecast


def _angles_of(people: Pedestrians | None) -> dict[int, tuple[float, float]]:
    """Where everybody's body and head point; NaN: the sensor cannot tell."""
    if people is None:
        return {}
    gaze = np.full(len(people), np.nan) if people.gaze is None else people.gaze
    both = zip(people.heading.tolist(), gaze.tolist(), strict=True)
    return dict(zip(people.id.tolist(), both, strict=True))


def _body_of(footprint: Footprint) -> tuple[float, float, float] | None:
    """Length, width and the middle's distance ahead of the reference point; None for a disc."""
    if footprint.polygon is None:
        return None
    low, high = np.min(footprint.polygon, axis=0).tolist(), np.max(footprint.polygon, axis=0).tolist()
    return high[0] - low[0], high[1] - low[1], (high[0] + low[0]) / 2.0


def bends_at(bends: FloatArray, times_s: FloatArray, at_s: FloatArray) -> FloatArray:
    """``bends (R, K, 2)``, known at ``times_s (K,)``, at other times (L,) between them, by linear interpolation."""
    k = np.clip(np.searchsorted(times_s, at_s, side="right") - 1, 0, len(times_s) - 2)
    share = ((at_s - times_s[k]) / (times_s[k + 1] - times_s[k]))[None, :, None]
    return np.ascontiguousarray(bends[:, k] * (1.0 - share) + bends[:, k + 1] * share)
