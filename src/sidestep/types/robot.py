"""What a robot is: body, limits, dynamics. Specs are data files under ``sidestep/simulation/robots/specs``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from sidestep._util.exact import hypot
from sidestep.types.base import Finite, Model, NonNegative, Point, Positive
from sidestep.types.sensors import CameraSettings

DynamicsName = Literal["holonomic", "unicycle", "bicycle"]


class Footprint(Model):
    """The body seen from above: a circle, or a convex polygon in the body frame (x ahead, y left, m)."""

    radius: Positive | None = None  # radius of a circular body, m
    polygon: tuple[Point, ...] | None = None  # corners of a convex body, counter-clockwise, m

    @model_validator(mode="after")
    def _check(self) -> Footprint:
        if (self.radius is None) == (self.polygon is None):
            raise ValueError("give either a radius or a polygon")
        if self.polygon is not None:
            if not 3 <= len(self.polygon) <= 8:
                raise ValueError(f"a footprint polygon has 3 to 8 corners, got {len(self.polygon)}")
            corners = self.polygon
            turns = []
            for i, (x1, y1) in enumerate(corners):
                x0, y0 = corners[i - 1]
                x2, y2 = corners[(i + 1) % len(corners)]
                turns.append((x1 - x0) * (y2 - y1) - (y1 - y0) * (x2 - x1))
            if not all(turn > 0 for turn in turns):
                raise ValueError("a footprint polygon must be convex, corners counter-clockwise")
        return self

    @property
    def enclosing_radius(self) -> float:
        """Radius of the circle about the reference point that holds the whole body, m."""
        if self.radius is not None:
            return self.radius
        assert self.polygon is not None
        return max(float(hypot(x, y)) for x, y in self.polygon)


class RobotLimits(Model):
    """Limits on commands. None: no such limit."""

    max_speed: Positive  # largest speed, m/s
    min_speed: Finite = 0.0
    """Negative: the robot can drive backwards so fast. m/s."""
    max_turn_rate: Positive | None = None  # rad/s
    max_acceleration: Positive | None = None  # m/s²
    max_deceleration: Positive | None = None  # m/s²
    max_turn_acceleration: Positive | None = None  # rad/s²
    max_steer: Positive | None = None
    """Front wheel angle of a bicycle model, rad."""
    max_steer_rate: Positive | None = None  # rad/s

    @model_validator(mode="after")
    def _check(self) -> RobotLimits:
        if self.min_speed > 0:
            raise ValueError("min_speed is zero or negative: a robot must be able to stand")
        return self


class ControllerGains(Model):
    """Gains of the PD controller that follows waypoints and positions."""

    heading_p: Positive = 2.0  # turn rate per heading error, 1/s
    heading_d: NonNegative = 0.1  # damping of the turn rate
    speed_p: Positive = 1.0  # speed per distance, 1/s
    lookahead_m: Positive = 0.6  # distance along the waypoints to the point that is followed, m


class Actuators(Model):
    """How the controls of a car (``Drive``) reach its wheels: each follows with a first-order lag."""

    steer_lag_s: NonNegative = 0.0  # of the steering, s
    throttle_lag_s: NonNegative = 0.0  # of the throttle, s
    brake_lag_s: NonNegative = 0.0  # of the brake, s
    rolling_mps2: NonNegative = 0.0  # deceleration of a car that coasts, m/s²
    drag_per_m: NonNegative = 0.0  # deceleration by the air: this times the squared speed, 1/m


class RobotSpec(Model):
    """A robot, whole. ``source`` says where the numbers come from."""

    name: str  # name in tables and records
    summary: str = ""  # one line for ``sidestep list robots``
    dynamics: DynamicsName  # motion model
    footprint: Footprint  # body seen from above
    limits: RobotLimits  # limits of speeds and accelerations
    wheelbase: Positive | None = None  # distance between the axles, m; required for bicycle dynamics
    height: Positive = 1.0  # m
    mass: Positive = 50.0  # kg
    controller: ControllerGains = Field(default_factory=ControllerGains)  # gains of the low-level controller
    actuators: Actuators = Field(default_factory=Actuators)  # lags of a car's controls
    camera_height: Positive | None = None  # height of the camera above ground, m
    camera: CameraSettings | None = None
    """Its own camera, a preset or settings, where neither scenario nor policy says otherwise."""
    look: str = ""
    """How cameras draw it: ``car``, ``van``, ``bicycle`` or a plug-in's; empty: as a robot of its name."""
    source: str = ""  # where the numbers come from

    @model_validator(mode="after")
    def _check(self) -> RobotSpec:
        if self.dynamics == "bicycle" and (self.wheelbase is None or self.limits.max_steer is None):
            raise ValueError("bicycle dynamics need wheelbase and limits.max_steer")
        return self
