"""What a robot's sensors can see. Part of a scenario, so that a record says what the policy got."""

from __future__ import annotations

from math import pi, radians
from typing import Annotated, Any

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from sidestep.types.base import Angle, Finite, Model, NonNegative, Point, Positive
from sidestep.types.camera import CAMERA_PRESETS, CameraSettings, Crop, expand_preset, laid_over, schema_with_presets

__all__ = [
    "CAMERA_PRESETS",
    "CameraSettings",
    "Crop",
    "Lidar3DSettings",
    "LidarSettings",
    "PedestrianSensing",
    "Sensors",
    "laid_over",
]

Elevation = Annotated[float, Field(ge=radians(-60.0), le=radians(60.0))]
LIDAR_PRESETS: dict[str, dict[str, Any]] = {
    "car_front": {
        "rays": 720,
        "angle_min": radians(-89.875),
        "field_of_view": radians(179.75),
        "max_range": 40.0,
        "mount": (1.7, 0.0),
    },
}
"""Planar scanners by name. ``car_front`` is IntersectNav's: 720 bins of 0.25° over the front half, a ray in the middle
of each; its mounting is counted from the middle of the car's body."""


class PedestrianSensing(Model):
    """A detector that reports people's states. The defaults see everybody."""

    range_m: Positive | None = None
    """Nobody farther is seen (centre to centre); None: no limit."""
    field_of_view: Annotated[float, Field(gt=0, le=2 * pi)] | None = None
    """Opening angle about the robot's heading, rad; None: all round."""
    occlusion: bool = False
    """People behind walls or wholly behind other people are not seen."""


class LidarSettings(Model):
    """A planar laser scanner, at the robot's centre unless mounted elsewhere. In files also a preset's name."""

    rays: Annotated[int, Field(ge=1, le=100_000)] = 720
    angle_min: Angle = -pi
    """Direction of the first ray in the robot's frame, rad."""
    field_of_view: Annotated[float, Field(gt=0, le=2 * pi)] = 2 * pi
    max_range: Positive = 20.0
    mount: Point = (0.0, 0.0)
    """Ahead of the robot's centre and to its left, m."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any) -> Any:
        return expand_preset(data, LIDAR_PRESETS, "lidar")

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Files may hold a preset's name as well."""
        return schema_with_presets(handler.resolve_ref_schema(handler(core_schema)), LIDAR_PRESETS)

    @property
    def angle_increment(self) -> float:
        """Angle between neighbouring rays; a full turn does not repeat the first ray."""
        if self.rays == 1:
            return self.field_of_view
        return self.field_of_view / (self.rays if self.field_of_view >= 2 * pi - 1e-9 else self.rays - 1)


class Lidar3DSettings(Model):
    """A turning laser scanner with several channels, for policies that need ``points``."""

    channels: Annotated[int, Field(ge=1, le=256)] = 16
    elevation_min: Elevation = radians(-15.0)
    elevation_max: Elevation = radians(15.0)
    """Of the lowest and the highest channel, rad; the others lie evenly between."""
    elevations: Annotated[tuple[Elevation, ...], Field(min_length=1, max_length=256)] | None = None
    """The channels one by one, in place of the three above, rad."""
    rays: Annotated[int, Field(ge=1, le=10_000)] = 900
    """Of each channel."""
    angle_min: Angle = -pi
    field_of_view: Annotated[float, Field(gt=0, le=2 * pi)] = 2 * pi
    """Azimuth of the first ray and the angle that the rays are spread over, as of the planar scanner, rad."""
    max_range: Annotated[float, Field(ge=0.5, le=200.0)] = 30.0
    mount: tuple[Finite, Finite, Positive] | None = None
    """Ahead of the robot's centre, to its left, above ground, m; None: at the centre, at the spec's camera height."""
    yaw: Angle = 0.0
    pitch: Finite = 0.0
    """How the scanner is turned on the robot, rad; up is positive."""
    semantic: bool = False
    """Whether a scan says what each ray has hit."""
    range_noise: NonNegative = 0.0
    """Standard deviation of the ranges' error, m."""
    noise_seed: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _check(self) -> Lidar3DSettings:
        if self.elevation_max < self.elevation_min:
            raise ValueError("elevation_max is below elevation_min")
        return self

    @property
    def channel_elevations(self) -> tuple[float, ...]:
        """The elevation of every channel, lowest first unless they were given, rad."""
        if self.elevations is not None:
            return self.elevations
        if self.channels == 1:
            return ((self.elevation_min + self.elevation_max) / 2,)
        between = (self.elevation_max - self.elevation_min) / (self.channels - 1)
        return tuple(self.elevation_min + k * between for k in range(self.channels))

    @property
    def azimuths(self) -> tuple[float, ...]:
        """The azimuth of every ray of a channel, rad."""
        planar = LidarSettings(rays=self.rays, angle_min=self.angle_min, field_of_view=self.field_of_view)
        return tuple(self.angle_min + k * planar.angle_increment for k in range(self.rays))


class Sensors(Model):
    """All sensor settings of a scenario."""

    pedestrians: PedestrianSensing = Field(default_factory=PedestrianSensing)
    lidar: LidarSettings = Field(default_factory=LidarSettings)
    lidar3d: Lidar3DSettings = Field(default_factory=Lidar3DSettings)
    camera: CameraSettings = Field(default_factory=CameraSettings)
    history_s: NonNegative = 2.0
    """How far back ``Observation.history`` reaches, s."""

    @model_validator(mode="after")
    def _check(self) -> Sensors:
        if self.history_s > 60:
            raise ValueError("history_s is limited to 60 s")
        return self
