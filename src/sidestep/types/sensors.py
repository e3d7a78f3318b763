"""Settings of a robot's sensors: pedestrian detector, planar and 3D lidar, camera. They are part of a scenario, so that
a record says what the policy got.

Three may set the camera: the robot's spec (its own mounting), over it the scenario, over it the policy
(:func:`merge_camera_settings`). The scenario in a record holds the result, every field of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor, pi, radians
from typing import Annotated, Any, Literal

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from sidestep._util.exact import arctan
from sidestep.errors import BadInput, did_you_mean
from sidestep.types.base import Angle, Finite, Model, NonNegative, Point, Positive

WIDEST = radians(140.0)
CAMERA_PRESETS: dict[str, dict[str, Any]] = {
    "pioneer_rgbd": {"width": 640, "height": 480, "field_of_view": pi / 2, "mount": (0.0, 0.0, 0.4)},
    "delivery_front": {"width": 640, "height": 360, "field_of_view": radians(100.0), "mount": (0.45, 0.0, 0.8)},
    "car_front": {
        "width": 1500,
        "height": 650,
        "field_of_view": WIDEST,
        "mount": (1.0, 0.0, 1.6),
        "crop": {"rows": (115, 510)},
        "output_size": (200, 88),
    },
    "car_front_fast": {
        "width": 400,
        "height": 176,
        "fx": 72.795,
        "fy": 121.63,
        "cx": 200.0,
        "cy": 93.570,
        "mount": (1.0, 0.0, 1.6),
        "output_size": (200, 88),
    },
}
"""Cameras by name. ``car_front`` is IntersectNav's. ``car_front_fast`` sees the same 200 × 88 pixels, drawn at twice
instead of seven times their width. The others are typical, chosen."""

SIZE_FIELDS = ("width", "height")
INTRINSICS = ("fx", "fy", "cx", "cy")
SCENARIO_CAMERA_FIELDS = ("weather", "time_of_day")
"""Fields that a policy may not set."""
EPS = 1e-6

Side = Annotated[int, Field(ge=1, le=8192)]
Part = tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=1)]]


class Crop(Model):
    """The part of a drawn picture that is kept: from the first row or column up to, not including, the last."""

    rows: Part | None = None
    columns: Part | None = None

    def within(self, width: int, height: int) -> tuple[slice, slice]:
        """Rows and columns as slices; ``ValueError`` where they lie outside."""
        parts = []
        for name, part, side in (("rows", self.rows, height), ("columns", self.columns, width)):
            first, last = part or (0, side)
            if not first < last <= side:
                raise ValueError(f"crop.{name} {first}:{last} is no part of a picture with {side} {name}")
            parts.append(slice(first, last))
        return parts[0], parts[1]


class CameraSettings(Model):
    """A pinhole camera on the robot, for policies that need ``rgb``, ``depth`` or ``semantic``.

    In files also the name of a preset (``camera: car_front``), or a preset with changes (``{preset: car_front, …}``).
    """

    width: Side = 640
    height: Side = 480
    """Height of the picture as drawn, before it is cropped and scaled."""
    field_of_view: Annotated[float, Field(gt=0, le=WIDEST)] = pi / 2
    """Horizontal opening angle, rad; has no meaning where ``fx`` is given."""
    fx: Positive | None = None
    fy: Positive | None = None
    """Focal lengths of the drawn picture, pixels; ``fy`` None: as ``fx``."""
    cx: NonNegative | None = None
    cy: NonNegative | None = None
    """Where the axis meets the drawn picture, pixels from its upper left corner; None: the middle."""
    mount: tuple[Finite, Finite, Positive] | None = None
    """Ahead of the robot's centre, to its left, above ground, m; None: at the centre, at the spec's camera height."""
    yaw: Angle = 0.0
    pitch: Finite = 0.0
    """Up is positive, rad."""
    crop: Crop | None = None
    """What is kept of the drawn picture."""
    output_size: tuple[Side, Side] | None = None
    """Width and height that what is left is scaled to: colours by means over areas, the rest by the nearest pixel."""
    rate_hz: Positive | None = None
    """Pictures per second; None: one whenever the policy is asked. In between it gets the last one again."""
    latency_s: NonNegative = 0.0
    """A picture reaches the policy so much later; until the first does, it gets that of time 0."""
    own_body: bool = False
    """Whether the robot that carries the camera is in the picture."""
    weather: Literal["clear", "cloudy", "wet", "rain"] = "clear"
    time_of_day: Literal["noon", "sunset", "night"] = "noon"
    shadows: bool = True
    rgb_noise: NonNegative = 0.0
    """Standard deviation of the error of each colour of each pixel, in grey levels of 256."""
    depth_noise: NonNegative = 0.0
    """Standard deviation of the depth's error ÷ depth², 1/m; stereo cameras have about 0.002."""
    min_depth: NonNegative = 0.0
    """What is nearer is not measured: depth 0, m."""
    max_depth: Positive | None = None
    """What is farther is not measured: depth infinite, m."""
    depth_step: NonNegative = 0.0
    """Depths are whole multiples of this, m; 0: as they are."""
    noise_seed: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any) -> Any:
        return expand_preset(data, CAMERA_PRESETS, "camera")

    @model_validator(mode="after")
    def _check(self) -> CameraSettings:
        if self.crop is not None:
            self.crop.within(self.width, self.height)
        if self.fx is None and (self.fy is not None or self.cx is not None or self.cy is not None):
            raise ValueError("fy, cx and cy go with fx; without it the field of view counts")
        if self.fx is not None:
            middle = self.width / 2 if self.cx is None else self.cx
            if arctan(middle / self.fx) + arctan((self.width - middle) / self.fx) > WIDEST + EPS:
                raise ValueError(f"fx {self.fx:g} opens a picture of {self.width} columns to more than 140°")
        if self.max_depth is not None and self.max_depth <= self.min_depth:
            raise ValueError("max_depth must be greater than min_depth")
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Files may hold a preset's name as well."""
        return schema_with_presets(handler.resolve_ref_schema(handler(core_schema)), CAMERA_PRESETS)

    @property
    def picture_size(self) -> tuple[int, int]:
        """Width and height of the pictures that a policy gets."""
        if self.output_size is not None:
            return self.output_size
        rows, columns = (self.crop or Crop()).within(self.width, self.height)
        return columns.stop - columns.start, rows.stop - rows.start

    def seen_from_outside(self, field_of_view: float) -> CameraSettings:
        """Settings of a camera that no robot carries: the same picture size, weather and light, without this lens."""
        width, height = self.picture_size
        return CameraSettings(
            width=width,
            height=height,
            field_of_view=field_of_view,
            weather=self.weather,
            time_of_day=self.time_of_day,
            shadows=self.shadows,
        )

    def newest_frame(self, step: int, step_s: float, control_every: int) -> int:
        """The step of the last picture that was due at or before ``step``; pictures are due at k / ``rate_hz`` and are
        taken at the first step then or after."""
        if self.rate_hz is None:
            return step - step % control_every
        per_step = self.rate_hz * step_s
        if per_step >= 1.0:
            return step
        return ceil(floor(step * per_step + EPS) / per_step - EPS)

    def delay_steps(self, step_s: float) -> int:
        """Whole steps from taking a picture to its arrival."""
        return ceil(self.latency_s / step_s - EPS)

    def seen_at(self, step: int, step_s: float, control_every: int) -> int:
        """The step whose picture a policy has before it at ``step``."""
        if self.rate_hz is None and self.latency_s == 0.0:
            return step
        arrived = step - self.delay_steps(step_s)
        return self.newest_frame(arrived, step_s, control_every) if arrived > 0 else 0


def expand_preset(data: Any, presets: Mapping[str, Mapping[str, Any]], kind: str) -> Any:
    """The settings behind a name, or behind ``{preset: name, …}``."""
    if isinstance(data, str):
        data = {"preset": data}
    if not isinstance(data, Mapping) or "preset" not in data:
        return data
    name = data["preset"]
    if name not in presets:
        raise ValueError(f"no {kind} is called {name!r}{did_you_mean(str(name), presets)}")
    changes = {key: value for key, value in data.items() if key != "preset"}
    return merge_camera_fields(dict(presets[name]), changes)


def schema_with_presets(schema: dict[str, Any], presets: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON schema of an object, widened to a preset's name."""
    names = list(presets)
    settings = dict(schema)
    settings["properties"] = {"preset": {"enum": names, "title": "Preset"}, **schema["properties"]}
    schema.clear()
    schema["anyOf"] = [settings, {"enum": names}]
    return schema


def merge_camera_fields(base: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """``changes`` over ``base``: a new drawn size makes an end of the old crop, scale and intrinsics, a new field of
    view of the old intrinsics."""
    replaced: tuple[str, ...] = ()
    if any(name in changes for name in SIZE_FIELDS):
        replaced = ("crop", "output_size", *INTRINSICS)
    elif "field_of_view" in changes:
        replaced = INTRINSICS
    return {**{name: value for name, value in base.items() if name not in replaced}, **changes}


def merge_camera_settings(
    base: CameraSettings, changes: CameraSettings | Mapping[str, Any] | str, where: str
) -> CameraSettings:
    """What ``changes`` say over what ``base`` says; only fields that were set count. ``where`` opens error messages."""
    if isinstance(changes, CameraSettings):
        given: Any = changes.model_dump(exclude_unset=True)
    else:
        try:
            given = expand_preset(changes, CAMERA_PRESETS, "camera")
        except ValueError as error:
            raise BadInput(f"{where}: {error}") from None
    if not isinstance(given, Mapping):
        raise BadInput(f"{where}: camera settings are a preset's name or a mapping, got {given!r:.80}")
    return CameraSettings.parse(merge_camera_fields(base.model_dump(exclude_unset=True), given), where)


__all__ = [
    "CAMERA_PRESETS",
    "CameraSettings",
    "Crop",
    "Lidar3DSettings",
    "LidarSettings",
    "PedestrianSensing",
    "Sensors",
    "merge_camera_settings",
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
    """Elevation of the highest channel, rad, above ``elevation_min`` of the lowest; the others lie evenly between."""
    elevations: Annotated[tuple[Elevation, ...], Field(min_length=1, max_length=256)] | None = None
    """The channels one by one, in place of the three above, rad."""
    rays: Annotated[int, Field(ge=1, le=10_000)] = 900
    """Rays of each channel in one turn."""
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
    vehicles: PedestrianSensing = Field(default_factory=PedestrianSensing)
    """Range, view and occlusion of the detector of vehicles."""
    lidar: LidarSettings = Field(default_factory=LidarSettings)
    lidar3d: Lidar3DSettings = Field(default_factory=Lidar3DSettings)
    camera: CameraSettings = Field(default_factory=CameraSettings)
    history_s: NonNegative = 2.0
    """How far back ``Observation.history`` reaches, s."""
    extra: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Settings of plug-in sensors: the sensor's name → its keyword arguments."""

    @model_validator(mode="after")
    def _check(self) -> Sensors:
        if self.history_s > 60:
            raise ValueError("history_s is limited to 60 s")
        return self
