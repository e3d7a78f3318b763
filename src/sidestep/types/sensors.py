"""What a robot's sensors can see. Part of a scenario, so that a record says what the policy got."""

from __future__ import annotations

from math import pi
from typing import Annotated, Literal

from pydantic import Field, model_validator

from sidestep.types.base import Finite, Model, NonNegative, Positive


class PedestrianSensing(Model):
    """A detector that reports people's states. The defaults see everybody."""

    range_m: Positive | None = None
    """Nobody farther is seen (centre to centre); None: no limit."""
    field_of_view: Annotated[float, Field(gt=0, le=2 * pi)] | None = None
    """Opening angle about the robot's heading, rad; None: all round."""
    occlusion: bool = False
    """People behind walls or wholly behind other people are not seen."""


class LidarSettings(Model):
    """A planar laser scanner at the robot's centre."""

    rays: Annotated[int, Field(ge=1, le=100_000)] = 720
    angle_min: Finite = -pi
    """Direction of the first ray in the robot's frame, rad."""
    field_of_view: Annotated[float, Field(gt=0, le=2 * pi)] = 2 * pi
    max_range: Positive = 20.0

    @property
    def angle_increment(self) -> float:
        """Angle between neighbouring rays; a full turn does not repeat the first ray."""
        if self.rays == 1:
            return self.field_of_view
        return self.field_of_view / (self.rays if self.field_of_view >= 2 * pi - 1e-9 else self.rays - 1)


class CameraSettings(Model):
    """A pinhole camera on the robot, for policies that need ``rgb``, ``depth`` or ``semantic``."""

    width: Annotated[int, Field(ge=1, le=8192)] = 640
    height: Annotated[int, Field(ge=1, le=8192)] = 480
    field_of_view: Annotated[float, Field(gt=0, le=140 * pi / 180)] = pi / 2
    """Horizontal opening angle, rad."""
    mount: tuple[Finite, Finite, Positive] | None = None
    """Ahead of the robot's centre, to its left, above ground, m; None: at the centre, at the spec's camera height."""
    yaw: Finite = 0.0
    pitch: Finite = 0.0
    """Up is positive, rad."""
    weather: Literal["clear", "cloudy", "wet", "rain"] = "clear"
    time_of_day: Literal["noon", "sunset", "night"] = "noon"
    shadows: bool = True
    depth_noise: NonNegative = 0.0
    """Standard deviation of the depth's error ÷ depth², 1/m; stereo cameras have about 0.002."""
    noise_seed: int = 0


class Sensors(Model):
    """All sensor settings of a scenario."""

    pedestrians: PedestrianSensing = Field(default_factory=PedestrianSensing)
    lidar: LidarSettings = Field(default_factory=LidarSettings)
    camera: CameraSettings = Field(default_factory=CameraSettings)
    history_s: NonNegative = 2.0
    """How far back ``Observation.history`` reaches, s."""

    @model_validator(mode="after")
    def _check(self) -> Sensors:
        if self.history_s > 60:
            raise ValueError("history_s is limited to 60 s")
        return self
