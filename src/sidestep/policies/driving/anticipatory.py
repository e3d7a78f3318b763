"""A driver who reacts to the probability that somebody will be in the comfort zone.

The reaction pattern that Herman et al. derive from human driving (Pedestrian Behavior Prediction for Automated Driving,
IEEE T-ITS 2021): the comfort zone reaches from the front of the car along its path as far as it drives in
``time_gap_s``. A predictor says how people's positions are distributed in 1, 2, 3 and 4 s. Where the probability that
somebody is in the zone of that time exceeds the threshold of the horizon, the driver brakes as gently as removes the
violation, and comfortably where nothing comfortable removes it. The rest is left to an emergency brake that is the
same for all predictors: it looks a short time ahead at constant velocity and keeps the body free.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sidestep import registry
from sidestep._util import exact
from sidestep.policies.crowd_forecast import CrowdPredictor
from sidestep.policies.driving.comfort_zone import LOOK_S, ComfortZoneDriver, ComfortZoneSettings, rows_of
from sidestep.prediction.comfort_zone import ComfortZone, Motion
from sidestep.types import Observation, Task
from sidestep.types.base import FloatArray, NonNegative, Positive
from sidestep.types.road import Crossing

HORIZONS_S = np.array([1.0, 2.0, 3.0, 4.0])
HORIZONS_S.flags.writeable = False
STEPS_OF_HORIZONS = np.rint(HORIZONS_S / LOOK_S).astype(int)
NEARER_M = 0.5
"""People who come nearer to the route by this are about to cross it."""


class AnticipatorySettings(ComfortZoneSettings):
    """Settings of the driver. ``predictor`` forecasts people; it reacts to probabilities above the thresholds."""

    target_kmh: Positive = 30.0
    time_gap_s: Positive = 3.0
    predictor_file: str | None = None
    """Setting ``file`` of the predictor: the network of a learned one."""
    thresholds: tuple[NonNegative, NonNegative, NonNegative, NonNegative] = (0.5, 0.5, 0.5, 0.5)
    """Probabilities in 1, 2, 3 and 4 s above which the driver reacts. ``sidestep predict loop`` takes those at which a
    predictor has a share of the false alarms that the In-ROI Sensitivity allows (2.5, 5, 10 and 15 %)."""
    samples: Annotated[int, Field(ge=1, le=10_000)] = 64
    """Paths drawn of each person."""
    every_s: Positive = 0.2
    """Time between two forecasts."""
    emergency_s: NonNegative = 1.5
    """Time that the emergency brake looks ahead; 0: there is no emergency brake."""
    zebras: bool = True
    """Whether the zone takes in the whole of a pedestrian crossing that it reaches."""


class AnticipatoryDriver(ComfortZoneDriver):
    """Follows the route and brakes where somebody is too likely to be in the comfort zone."""

    name = "anticipatory"
    summary = "brakes, as gently as possible, where the predicted probability of people in its comfort zone is too high"
    citation = "Herman et al., Pedestrian Behavior Prediction for Automated Driving, IEEE T-ITS (2021)"
    needs: ClassVar[frozenset[str]] = frozenset({"route", "pedestrians", "vehicles", "map"})

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`AnticipatorySettings`."""
        given = AnticipatorySettings.parse(settings, f"policy {self.name}")
        base = {name: getattr(given, name) for name in ComfortZoneSettings.model_fields if name != "predictor"}
        super().__init__(**base)
        self.settings = given.model_dump()
        self._given = given
        own = {} if given.predictor_file is None else {"file": given.predictor_file}
        self._likely_paths = registry.make_predictor(given.predictor, own)
        self._thresholds = np.array(given.thresholds)
        self._zone = ComfortZone(given.time_gap_s, given.corridor_m)

    def reset(self, task: Task) -> None:
        """Forget the last episode."""
        super().reset(task)
        self._seen = CrowdPredictor(self._likely_paths, HORIZONS_S, task)
        self._rng = np.random.default_rng(0)
        self._every = max(round(self._given.every_s / task.step_s), 1)
        self._asked = 0
        self._drawn: FloatArray = np.zeros((0, 4, 3))
        self._crossings = self._ahead(task)

    def _ahead(self, task: Task) -> FloatArray:
        """(C, 3) where crossings lie on the route, half their width along it, and half their length across."""
        roads = None if task.map is None or not self._given.zebras else task.map.spec.roads
        found = [self._crossing(each) for each in (roads.crossings if roads is not None else ())]
        return np.array([each for each in found if each is not None]).reshape(-1, 3)

    def _crossing(self, crossing: Crossing) -> list[float] | None:
        ends = np.array(crossing.ends)
        middle = (ends[0] + ends[1]) / 2
        half = float(exact.norm(ends[1] - ends[0])) / 2
        along, left = self._route.project(middle[:1], middle[1:])
        if abs(float(left[0])) > half:
            return None
        return [float(along[0]), crossing.width / 2, half + abs(float(left[0]))]

    def _choose(self, observation: Observation, v: float, target: float) -> float:
        s = self._settings
        wanted = min(max((target - v) / 0.5, -s.comfortable), s.acceleration)
        reach, speed = self._motions(v, target)
        bodies = self._bodies(observation)
        free = np.ones(len(self._candidates), bool)
        cost = np.zeros(len(self._candidates))
        if len(bodies):
            small, _ = self._zones(bodies, reach, speed)
            free = ~(small & (self._times <= self._given.emergency_s)).any(axis=1)
        cars = self._vehicle_bodies(observation)
        if len(cars):
            small, large = self._zones(cars, reach, speed)
            free &= ~small.any(axis=1)
            cost += large.sum(axis=1)
        if observation.pedestrians is not None and len(observation.pedestrians.id):
            cost += self._excess(observation, reach[:, STEPS_OF_HORIZONS], speed[:, STEPS_OF_HORIZONS])
        allowed = self._candidates <= wanted + 1e-9
        allowed[-1] = True
        gentle = free & allowed & (self._candidates >= -s.comfortable)
        if gentle.any():
            least = cost[gentle].min()
            best = np.flatnonzero(gentle & (cost <= least + 1e-9))
            return float(self._candidates[best[0] if least == 0.0 else best[-1]])
        possible = np.flatnonzero(free & allowed)
        return float(self._candidates[possible[0]]) if len(possible) else -self._down

    def _excess(self, observation: Observation, reach: FloatArray, speed: FloatArray) -> FloatArray:
        """(A,) by how much the likeliest person exceeds the thresholds, summed over the horizons; ``reach`` and
        ``speed (A, H)``: where the car will be and how fast."""
        people = observation.pedestrians
        assert people is not None
        rows = rows_of(people)
        self._seen.remember(observation.time, people.id, rows, observation)
        if self._asked % self._every == 0:
            forecast = self._seen.forecast(observation.time, people.id, rows, observation.robot)
            self._drawn = self._placed_samples(rows, forecast.sample(self._given.samples, self._rng))
        self._asked += 1
        along, aside, crossing = (self._drawn[..., k] for k in range(3))  # (N · M, H)
        shape = (len(reach), -1, self._given.samples, len(HORIZONS_S))
        begin, end = self._zone.extent(Motion(reach[:, None] + self._body.front, speed[:, None]), 0.0)
        across = (np.abs(aside) <= self._zone.half_width) | (crossing > 0.0)
        inside = across & (along >= begin) & (along <= end)
        share = (inside & (speed[:, None] > 0.05)).reshape(shape).mean(axis=2)  # (A, N, H)
        excess = np.maximum(share - self._thresholds, 0.0).max(axis=1)
        total: FloatArray = excess.sum(axis=1)
        return total

    def _placed_samples(self, people: FloatArray, paths: FloatArray) -> FloatArray:
        """(N · M, H, 3) of paths (N, M, H, 2): metres along and aside of the route, and 1 where somebody comes nearer
        to the route on a crossing, else 0."""
        along, aside = self._route.project(*paths.reshape(-1, 2).T)
        _, now = self._route.project(people[:, 0], people[:, 1])
        nearer = np.repeat(np.abs(now), paths.shape[1] * paths.shape[2]) - np.abs(aside) > NEARER_M
        on = np.zeros(len(along))
        for middle, width, half in self._crossings:
            on[nearer & (np.abs(along - middle) <= width) & (np.abs(aside) <= half)] = 1.0
        return np.stack([along, aside, on], axis=1).reshape(-1, len(HORIZONS_S), 3)
