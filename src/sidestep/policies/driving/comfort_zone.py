"""A driver who keeps a comfort zone ahead of the car free of predicted people.

The zone reaches from the car's front along its route as far as it drives in ``time_gap_s`` at the speed it will have
(Pool, Kooij, Gavrila and others measure how human drivers keep such gaps; a corridor 3 m wide). For a set of constant
accelerations the driver looks how the zone moves over the next seconds and where the predicted people are then, and
takes the highest acceleration with which nobody is in the zone; where that is not possible, the one with which people
are in it least. A smaller zone, the body and a metre ahead of it, must stay free at any price up to full braking.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sidestep import registry
from sidestep._util import exact
from sidestep.interfaces import Policy
from sidestep.policies.crowd_forecast import CrowdPredictor
from sidestep.policies.driving.route import CarBody, DrivingRoute, pursue
from sidestep.types import Command, Drive, Observation, Pedestrians, Task
from sidestep.types.base import FloatArray, Model, NonNegative, Positive

LOOKS = 17
LOOK_S = 0.25
"""The driver looks four seconds ahead."""
VEHICLE_MARGIN_M = 0.3
"""More room for vehicles than for people: corners swing out in turns."""
SIDEWAYS = 2.0
"""m/s²: comfortable in a curve."""


class ComfortZoneSettings(Model):
    """Settings of the driver."""

    target_kmh: Positive = 20.0
    time_gap_s: NonNegative = 2.0
    """Length of the comfort zone, s of driving."""
    corridor_m: Positive = 3.0
    """Width of the zone."""
    reaction_s: NonNegative = 1.0
    """People who will be in the zone sooner than this are the small zone's business."""
    clear_m: NonNegative = 1.0
    """Length of the small zone ahead of the body."""
    margin_m: NonNegative = 0.4
    """Width that the small zone keeps free at either side of the body."""
    growth_mps: NonNegative = 0.15
    """Speed at which people's bodies grow in the forecast, because it may be wrong."""
    comfortable: Positive = 3.0
    """Deceleration, m/s², up to which the comfort zone counts."""
    strongest: Positive = 6.0
    """Deceleration, m/s², that the driver plans with at most."""
    acceleration: Positive = 1.5
    predictor: str = "constant_velocity"
    """Name of a predictor."""


class ComfortZoneDriver(Policy):
    """Follows the route and brakes for people who are predicted to be in its comfort zone."""

    name = "comfort_zone"
    summary = "follows the route and brakes, as gently as possible, for people predicted in its comfort zone"
    needs: ClassVar[frozenset[str]] = frozenset({"route", "pedestrians", "vehicles", "map"})

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`ComfortZoneSettings`."""
        self._settings = ComfortZoneSettings.parse(settings, f"policy {self.name}")
        self.settings = self._settings.model_dump()
        self._predictor = registry.make_predictor(self._settings.predictor)
        s = self._settings
        steps = int((s.acceleration + s.strongest) / 0.5)
        self._candidates = np.concatenate([s.acceleration - 0.5 * np.arange(steps), [-s.strongest]])
        self._times = LOOK_S * np.arange(LOOKS)

    def reset(self, task: Task) -> None:
        """The route begins at the car."""
        self._route, self._body = DrivingRoute(task.start[:2], task.route), CarBody(task.robot)
        self._forecast = CrowdPredictor(self._predictor, self._times, task)
        limits = task.robot.limits
        self._up, self._down = limits.max_acceleration or 3.0, limits.max_deceleration or 8.0

    def act(self, observation: Observation) -> Command:
        """Steer along the route; speed by the comfort zone."""
        robot = observation.robot
        self._route.advance(robot.x, robot.y)
        v = max(robot.speed, 0.0)
        bend = self._route.curvature(self._route.along)
        target = min(self._settings.target_kmh / 3.6, float(np.sqrt(SIDEWAYS / max(bend, 1e-3))))
        acceleration = self._choose(observation, v, target)
        steer = pursue(self._route, self._body, robot, max(4.0, 0.8 * v))
        if acceleration >= 0.0 and target > 0.0:
            return Drive(steer, min(acceleration / self._up + 0.05, 1.0), 0.0)
        return Drive(steer, 0.0, min(-acceleration / self._down, 1.0))

    def _choose(self, observation: Observation, v: float, target: float) -> float:
        s = self._settings
        wanted = min(max((target - v) / 0.5, -s.comfortable), s.acceleration)
        bodies = self._bodies(observation)
        if not len(bodies):
            return wanted
        reach, speed = self._motions(v, target)
        small, large = self._zones(bodies, reach, speed)
        free = ~small.any(axis=1)
        comfort = large.sum(axis=1)
        allowed = self._candidates <= wanted + 1e-9
        allowed[-1] = True
        gentle = free & allowed & (self._candidates >= -s.comfortable)
        if gentle.any():
            least = comfort[gentle].min()
            return float(self._candidates[np.flatnonzero(gentle & (comfort == least))[0]])
        possible = np.flatnonzero(free & allowed)
        return float(self._candidates[possible[0]]) if len(possible) else -self._down

    def _motions(self, v: float, target: float) -> tuple[FloatArray, FloatArray]:
        """(A, K) metres driven and speed, for each candidate at each time."""
        a, t = self._candidates[:, None], self._times[None]
        limit = np.where(a > 0.0, max(target, v), v)
        speed = np.clip(v + a * t, 0.0, limit)
        steps = LOOK_S * (speed[:, :-1] + speed[:, 1:]) / 2
        reach = np.concatenate([np.zeros((len(a), 1)), np.cumsum(steps, axis=1)], axis=1)
        return self._route.along + reach, speed

    def _zones(self, bodies: FloatArray, reach: FloatArray, speed: FloatArray) -> tuple[Any, Any]:
        """(A, K) whether anybody is in the small and the comfort zone. ``bodies`` (R, K, 3): along, aside, radius."""
        s, body = self._settings, self._body
        ahead = bodies[None, :, :, 0] - reach[:, None]  # (A, R, K)
        aside, radius = np.abs(bodies[None, :, :, 1]), bodies[None, :, :, 2]
        near = (ahead > -body.rear - radius) & (ahead < body.front + s.clear_m + radius + 0.3 * speed[:, None])
        small = (near & (aside < body.half + s.margin_m + radius) & (speed[:, None] > 0.05)).any(axis=1)
        far = (ahead > 0.0) & (ahead < body.front + s.clear_m + radius + s.time_gap_s * speed[:, None])
        large = (far & (aside < s.corridor_m / 2 + radius) & (speed[:, None] > 0.05)).any(axis=1)
        return small, large & (self._times >= s.reaction_s)

    def _bodies(self, observation: Observation) -> FloatArray:
        """(R, K, 3) where people and vehicles are along and aside of the route at each time, and their radius."""
        return np.concatenate([self._person_bodies(observation), self._vehicle_bodies(observation)])

    def _person_bodies(self, observation: Observation) -> FloatArray:
        found: list[FloatArray] = [np.zeros((0, LOOKS, 3))]
        people, times = observation.pedestrians, self._times
        if people is not None and len(people.id):
            rows = rows_of(people)
            self._forecast.remember(observation.time, people.id, rows)
            paths, _ = self._forecast.paths(observation.time, people.id, rows.copy(), observation.robot, None)
            lines = paths.lines
            x = lines[:, None, 0] + times * lines[:, None, 2]
            y = lines[:, None, 1] + times * lines[:, None, 3]
            if len(paths.bends):
                x, y = x + paths.bends[:, :, 0], y + paths.bends[:, :, 1]
            radius = lines[:, 4, None] + self._settings.growth_mps * times
            found.append(self._placed(x, y, radius))
        return np.concatenate(found)

    def _vehicle_bodies(self, observation: Observation) -> FloatArray:
        found: list[FloatArray] = [np.zeros((0, LOOKS, 3))]
        vehicles, times = observation.vehicles, self._times
        if vehicles is not None and len(vehicles.id):
            sine, cosine = exact.sincos(vehicles.heading)
            for share in (-0.35, 0.0, 0.35):
                x = (vehicles.position[:, 0] + share * vehicles.length * cosine)[:, None] + times * vehicles.velocity[
                    :, :1
                ]
                y = (vehicles.position[:, 1] + share * vehicles.length * sine)[:, None] + times * vehicles.velocity[
                    :, 1:
                ]
                radius = np.repeat((vehicles.width / 2 + VEHICLE_MARGIN_M)[:, None], LOOKS, axis=1)
                found.append(self._placed(x, y, radius))
        return np.concatenate(found)

    def _placed(self, x: FloatArray, y: FloatArray, radius: FloatArray) -> FloatArray:
        along, aside = self._route.project(x.ravel(), y.ravel())
        return np.stack([along.reshape(x.shape), aside.reshape(x.shape), radius], axis=2)


def rows_of(people: Pedestrians) -> FloatArray:
    """(N, 5) x, y, vx, vy, radius."""
    return np.concatenate([people.position, people.velocity, people.radius[:, None]], axis=1)
