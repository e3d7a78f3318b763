"""Forecasts as planners take them: every likely path of a person becomes a straight line plus its deviation from that
line at the planner's times. A predictor that returns straight lines costs a planner next to nothing.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from sidestep.errors import BadInput
from sidestep.interfaces import Predictor
from sidestep.types import RobotState, Task
from sidestep.types.base import FloatArray, IntArray, read_only
from sidestep.types.forecast import Ego, Forecast, StraightForecast, TrackHistory

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
        self._frames: deque[tuple[float, dict[int, list[float]]]] = deque()
        self._straight = np.zeros((0, len(times_s), 2))
        self.needs_plan = "ego" in predictor.needs

    def remember(self, time: float, ids: IntArray, people: FloatArray) -> None:
        """Keep ``people (N, 4 or more)`` (x, y, vx, vy) at ``time`` for predictors that look back."""
        if self._rows == 1:
            return
        while self._frames and self._frames[-1][0] >= time:
            self._frames.pop()
        self._frames.append((time, dict(zip(ids.tolist(), people[:, :4].tolist(), strict=True))))
        while self._frames[0][0] < time - self._rows * self._step_s:
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
        if self._rows == 1:
            return TrackHistory(ids, *present, self._step_s)
        past = np.full((self._rows, len(ids), 4), np.nan)
        for frame_time, known in self._frames:
            row = self._rows - 1 - round((time - frame_time) / self._step_s)
            if 0 <= row < self._rows - 1:
                past[row] = [known.get(number, (np.nan,) * 4) for number in ids.tolist()]
        past[-1] = people[:, :4]
        return TrackHistory(ids, past[:, :, :2], past[:, :, 2:], self._step_s)

    def _forecast(
        self, history: TrackHistory, horizons_s: FloatArray, robot: RobotState, plan: FloatArray | None
    ) -> Forecast:
        ego = Ego(robot, self._radius, plan) if "ego" in self._predictor.needs else None
        forecast = self._predictor.predict(history, horizons_s, self._scene, ego)
        if len(forecast) != len(history) or len(forecast.horizons_s) != len(horizons_s):
            raise BadInput(
                f"predictor {type(self._predictor).__name__}: forecast of {len(forecast)} people at "
                f"{len(forecast.horizons_s)} horizons; asked for {len(history)} people at {len(horizons_s)}"
            )
        return forecast


def bends_at(bends: FloatArray, times_s: FloatArray, at_s: FloatArray) -> FloatArray:
    """``bends (R, K, 2)``, known at ``times_s (K,)``, at other times (L,) between them, by linear interpolation."""
    k = np.clip(np.searchsorted(times_s, at_s, side="right") - 1, 0, len(times_s) - 2)
    share = ((at_s - times_s[k]) / (times_s[k + 1] - times_s[k]))[None, :, None]
    return np.ascontiguousarray(bends[:, k] * (1.0 - share) + bends[:, k + 1] * share)
