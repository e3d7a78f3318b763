"""A* and PID, the basic agent of IntersectNav: follow the route's points at 20 km/h, slow down for people ahead, stop
for people near.

Steering is a PID on the angle to a point ahead (K_P 1, K_I 0, K_D 0.02), throttle a PID on the speed in m/s (K_P 1,
K_I 1, K_D 0), both over the last ten steps of 0.05 s. The target point is the first at least 0.9 × the distance of one
second ahead. People within 35 m and 0.15 rad of the direction to it scale the target speed by distance / 70 m, people
within 8 m and 0.5 rad stop the car; vehicles within 20 m and 0.4 rad scale it by distance / 40 m. In the published
program the scaling is computed but never reaches the controller; ``slows: false`` is that.

With ``speed_law: published`` throttle and brake are those of the published program: the throttle is 1.3 × the PID on
the speed in km/h, at 0.05 s per step whatever the step is; nothing brakes but an emergency stop, which holds the
steering, for people as above and for vehicles within 10 m from 0.4 rad to the left to 0.8 rad to the right.

``pid_noise`` is the same driver with a hand that slips: at random moments the steering is pushed for a while, by a
triangle of up to ``noise_steer`` that rises and falls, as the recovery data of Codevilla et al., "End-to-end Driving
via Conditional Imitation Learning" (ICRA 2018) is made; the published program has the name but no noise.
"""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar, Literal

import numpy as np

from sidestep._util import exact
from sidestep.interfaces import Policy
from sidestep.policies.driving.route import CarBody, DrivingRoute
from sidestep.types import Command, Drive, Observation, Task
from sidestep.types.base import FloatArray, Model, NonNegative, Positive

CITATION = (
    "Zhu, Zhao, Multi-Task Conditional Imitation Learning for Autonomous Navigation at Crowded Intersections "
    "(arXiv 2202.10124, 2022)"
)


class PidSettings(Model):
    """Gains and distances, as published."""

    target_kmh: Positive = 20.0
    lateral_p: NonNegative = 1.0
    lateral_i: NonNegative = 0.0
    lateral_d: NonNegative = 0.02
    speed_p: NonNegative = 1.0
    speed_i: NonNegative = 1.0
    speed_d: NonNegative = 0.0
    slows: bool = True
    """Whether people and vehicles far ahead reduce the target speed."""
    speed_law: Literal["smooth", "published"] = "smooth"
    """``published``: throttle and brake as in the published program; it ignores ``slows``."""
    steer_per_rad: Positive = 1.0
    """Share of the full lock for one rad of the controller's answer."""


PUBLISHED_STEP_S, PUBLISHED_THROTTLE = 0.05, 1.3
PUBLISHED_STOP_M, PUBLISHED_LEFT_RAD, PUBLISHED_RIGHT_RAD = 10.0, 0.4, 0.8
"""Vehicles in this sector stop the car under the published law."""


class _Pid:
    """Over the last ten errors; their sum counts from the ``sums_from``th on."""

    def __init__(self, p: float, i: float, d: float, dt: float, sums_from: int = 1) -> None:
        self._p, self._i, self._d, self._dt, self._sums_from = p, i, d, dt, sums_from
        self._errors: deque[float] = deque(maxlen=10)

    def step(self, error: float) -> float:
        """The answer to one more error."""
        self._errors.append(error)
        slope = (self._errors[-1] - self._errors[-2]) / self._dt if len(self._errors) > 1 else 0.0
        total = float(exact.total(self._errors)) if len(self._errors) >= self._sums_from else 0.0
        return self._p * error + self._d * slope + self._i * total * self._dt


class PidDriver(Policy):
    """A* and PID: follow the route, slow down for people ahead and stop for people near."""

    name = "pid"
    summary = "A* route and PID control, slows down and stops for people ahead (IntersectNav's basic agent)"
    citation = CITATION
    needs: ClassVar[frozenset[str]] = frozenset({"route", "pedestrians", "vehicles"})

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`PidSettings`."""
        self._settings = PidSettings.parse(settings, f"policy {self.name}")
        self.settings = self._settings.model_dump()

    def reset(self, task: Task) -> None:
        """The route begins at the car."""
        s = self._settings
        self._route, self._body = DrivingRoute(task.start[:2], task.route), CarBody(task.robot)
        step_s, sums_from = (PUBLISHED_STEP_S, 2) if s.speed_law == "published" else (task.step_s, 1)
        self._lateral = _Pid(s.lateral_p, s.lateral_i, s.lateral_d, step_s, sums_from)
        self._speed = _Pid(s.speed_p, s.speed_i, s.speed_d, step_s, sums_from)
        self._last_steer = 0.0
        self._target = s.target_kmh / 3.6

    def act(self, observation: Observation) -> Command:
        """Steer to the point ahead; throttle to the target speed; brake for people who are near."""
        robot = observation.robot
        x, y = self._body.centre(robot)
        self._route.advance(x, y)
        ahead_x, ahead_y = self._route.point(self._route.along + 0.9 * self._target)
        dx, dy = ahead_x - x, ahead_y - y
        sine, cosine = exact.sincos(robot.heading)
        angle = float(exact.arctan2(cosine * dy - sine * dx, cosine * dx + sine * dy))
        steer = min(max(self._lateral.step(angle) * self._settings.steer_per_rad, -1.0), 1.0)
        if self._settings.speed_law == "published":
            return self._published(observation, (x, y), (dx, dy), steer)
        share = self._speed_share(observation, x, y, (dx, dy))
        if share == 0.0:
            self._speed.step(0.0)
            return Drive(steer, 0.0, 1.0)
        wanted = self._target * (share if self._settings.slows else 1.0)
        answer = self._speed.step(wanted - robot.speed)
        return Drive(steer, min(max(answer, 0.0), 1.0), min(max(-answer, 0.0), 1.0))

    def _published(
        self, observation: Observation, at: tuple[float, float], ahead: tuple[float, float], steer: float
    ) -> Drive:
        """Throttle by the speed in km/h, no brake; full brake and unchanged steering for people who are near."""
        answer = self._speed.step(self._settings.target_kmh - 3.6 * observation.robot.speed)
        if _stops_as_published(observation, at, ahead):
            return Drive(self._last_steer, 0.0, 1.0)
        self._last_steer = steer
        return Drive(steer, min(max(PUBLISHED_THROTTLE * answer, 0.0), 1.0), 0.0)

    def _speed_share(self, observation: Observation, x: float, y: float, ahead: tuple[float, float]) -> float:
        """1 on a free road, 0 to stop at once."""
        share = 1.0
        people = observation.pedestrians
        if people is not None and len(people.id):
            left, distance = _bearing(people.position, x, y, ahead)
            angle = np.abs(left)
            if ((angle < 0.5) & (distance < 8.0)).any():
                return 0.0
            far = (angle < 0.15) & (distance < 35.0)
            share = min([share, *(distance[far] / 70.0).tolist()])
        vehicles = observation.vehicles
        if vehicles is not None and len(vehicles.id):
            left, distance = _bearing(vehicles.position, x, y, ahead)
            angle = np.abs(left)
            if ((angle < 0.4) & (distance < 8.0)).any():
                return 0.0
            far = (angle < 0.4) & (distance < 20.0)
            share = min([share, *(distance[far] / 40.0).tolist()])
        return share


def _bearing(position: FloatArray, x: float, y: float, ahead: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
    """(K,) angles to the left of the direction ``ahead``, rad, and distances, m, of K points seen from (x, y)."""
    dx, dy = position[:, 0] - x, position[:, 1] - y
    cross, dot = ahead[0] * dy - ahead[1] * dx, ahead[0] * dx + ahead[1] * dy
    return exact.arctan2(cross, dot), exact.hypot(dx, dy)


def _stops_as_published(observation: Observation, at: tuple[float, float], ahead: tuple[float, float]) -> bool:
    """Whether anybody is where the published program stops at once."""
    people, vehicles = observation.pedestrians, observation.vehicles
    if people is not None and len(people.id):
        left, distance = _bearing(people.position, *at, ahead)
        if ((np.abs(left) < 0.5) & (distance < 8.0)).any():
            return True
    if vehicles is None or not len(vehicles.id):
        return False
    left, distance = _bearing(vehicles.position, *at, ahead)
    is_ahead = (left < PUBLISHED_LEFT_RAD) & (left > -PUBLISHED_RIGHT_RAD)
    return bool((is_ahead & (distance < PUBLISHED_STOP_M)).any())


class NoiseSettings(PidSettings):
    """The driver's, and how often and how far the hand slips."""

    noise_every_s: Positive = 4.0
    """Mean time between two pushes (exponential), s."""
    noise_for_s: Positive = 1.0
    """How long a push takes, rise and fall together, s."""
    noise_steer: NonNegative = 0.35
    """Largest push, share of the full lock; drawn uniformly up to this, to either side."""


class NoisyPidDriver(PidDriver):
    """The PID driver with a hand that slips now and then, for demonstrations of how to recover."""

    name = "pid_noise"
    summary = "the driver pid whose steering is pushed at random moments: data of how to recover"

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`NoiseSettings`."""
        self._settings: NoiseSettings = NoiseSettings.parse(settings, f"policy {self.name}")
        self.settings = self._settings.model_dump()
        self.clean = Drive(0.0, 0.0, 0.0)
        """What the driver meant to do in the last step, without the push."""

    def reset(self, task: Task) -> None:
        """The pushes follow from the task's seed."""
        super().reset(task)
        self._rng = np.random.Generator(np.random.PCG64(task.seed))
        self._next_push()

    def _next_push(self, after: float = 0.0) -> None:
        self._begin = after + float(exact.exponential(self._rng, self._settings.noise_every_s))
        self._size = self._settings.noise_steer * float(exact.uniform(self._rng, -1.0, 1.0))

    def act(self, observation: Observation) -> Command:
        """The driver's own answer, pushed."""
        command = super().act(observation)
        assert isinstance(command, Drive)
        self.clean = command
        since = observation.time - self._begin
        if since < 0.0:
            return command
        half = self._settings.noise_for_s / 2
        if since >= 2.0 * half:
            self._next_push(observation.time)
            return command
        push = self._size * (1.0 - abs(since - half) / half)
        return Drive(min(max(command.steer + push, -1.0), 1.0), command.throttle, command.brake)
