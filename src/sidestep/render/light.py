"""Light: the sun, the sky, fog, wet ground and rain of a weather and a time of day, and the lamps of streets and
vehicles. Light is linear RGB on one scale: 1 is a white wall in open shade at noon. ``exposure`` brings it onto the
picture's scale, a filmic curve bends it, and the sRGB curve makes it 8 bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from sidestep.errors import BadInput, UnknownName
from sidestep.render.camera_model import CameraPose
from sidestep.render.figure import Figure, Motion
from sidestep.render.mesh import Scene3D, Semantic
from sidestep.render.raster import layout as L
from sidestep.render.raster.light import TONE_RANGE, TONES
from sidestep.types.base import FloatArray, IntArray

Rgb = tuple[float, float, float]
WEATHERS = ("clear", "cloudy", "wet", "rain")
TIMES = ("noon", "sunset", "night")
NOISE_SIZE = 256


@dataclass(frozen=True)
class Light:
    """Everything about light that is the same for a whole frame."""

    sun_azimuth_rad: float = math.radians(140.0)
    """Direction toward the sun in the ground plane, from x toward y."""
    sun_elevation_rad: float = math.radians(50.0)
    sun_rgb: Rgb = (3.3, 3.05, 2.65)
    sky_rgb: Rgb = (0.62, 0.76, 1.0)
    """Light on a surface that faces up, from everywhere but the sun."""
    bounce_rgb: Rgb = (0.36, 0.33, 0.30)
    """Light on a surface that faces down."""
    zenith_rgb: Rgb = (0.22, 0.58, 1.5)
    horizon_rgb: Rgb = (0.86, 1.30, 1.95)
    fog_rgb: Rgb = (0.95, 1.2, 1.55)
    fog_per_m: float = 0.0022
    cloud_cover: float = 0.28
    """Share 0 … 1 of the sky."""
    cloud_rgb: Rgb = (2.1, 2.15, 2.25)
    shadow: float = 0.96
    """Share of the sun's light that a shadow takes away."""
    shadow_softness: int = 1
    """Texels of the shadow map over which a shadow's edge runs: 1, 2 (also for 3) or 5 (for more)."""
    disc: float = 1.0
    """Brightness of the sun's disc and glow; 0 when it is behind clouds or down."""
    contact: float = 0.9
    """How much darker walls and legs are at the ground, where they see less of the sky."""
    wetness: float = 0.0
    """0 dry … 1 puddles."""
    rain: float = 0.0
    """0 none … 1 heavy."""
    glow: float = 0.0
    """Factor of the light that glowing materials give: lamps and windows are lit at dusk."""
    lamps: float = 0.0
    """Light of street lamps and head lamps on their surroundings."""
    exposure: float = 0.38

    def __post_init__(self) -> None:
        for field in fields(self):
            value = np.asarray(getattr(self, field.name), float)
            if not np.isfinite(value).all() or (
                field.name.endswith("_rgb") and (value.shape != (3,) or value.min() < 0)
            ):
                raise BadInput(f"light: {field.name} cannot be {getattr(self, field.name)}")
        for name in ("cloud_cover", "shadow", "contact", "wetness", "rain"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise BadInput(f"light: {name} must be between 0 and 1, got {getattr(self, name)}")
        if not 1 <= self.shadow_softness <= 8:
            raise BadInput(f"light: shadow_softness must be 1 to 8 texels, got {self.shadow_softness}")
        if not self.exposure > 0.0 or self.fog_per_m < 0.0:
            raise BadInput("light: exposure must be positive and fog_per_m not negative")
        if not math.radians(3.0) <= self.sun_elevation_rad <= math.pi / 2:
            raise BadInput("light: the sun must be 3° to 90° above the horizon; for night set sun_rgb instead")

    @property
    def direction(self) -> FloatArray:
        """Unit vector (3,) toward the sun."""
        flat = math.cos(self.sun_elevation_rad)
        return np.array(
            [
                flat * math.cos(self.sun_azimuth_rad),
                flat * math.sin(self.sun_azimuth_rad),
                math.sin(self.sun_elevation_rad),
            ]
        )


_SUNSET: dict[str, Any] = {
    "sun_elevation_rad": math.radians(8.0),
    "sun_azimuth_rad": math.radians(12.0),
    "sun_rgb": (4.8, 2.2, 0.8),
    "sky_rgb": (0.56, 0.55, 0.80),
    "bounce_rgb": (0.32, 0.24, 0.22),
    "zenith_rgb": (0.16, 0.26, 0.66),
    "horizon_rgb": (2.1, 0.95, 0.50),
    "fog_rgb": (1.25, 0.70, 0.48),
    "fog_per_m": 0.0045,
    "cloud_cover": 0.52,
    "cloud_rgb": (1.9, 1.05, 0.85),
    "glow": 0.9,
    "lamps": 0.25,
    "exposure": 0.46,
}
_NIGHT: dict[str, Any] = {
    "sun_elevation_rad": math.radians(48.0),
    "sun_rgb": (0.075, 0.095, 0.15),
    "sky_rgb": (0.092, 0.108, 0.165),
    "bounce_rgb": (0.068, 0.060, 0.060),
    "zenith_rgb": (0.010, 0.017, 0.044),
    "horizon_rgb": (0.082, 0.074, 0.092),
    "fog_rgb": (0.060, 0.058, 0.076),
    "fog_per_m": 0.006,
    "cloud_cover": 0.4,
    "cloud_rgb": (0.030, 0.032, 0.046),
    "disc": 0.0,
    "glow": 2.4,
    "lamps": 1.0,
    "exposure": 1.0,
}
_INDOOR: dict[str, Any] = {
    "sun_elevation_rad": math.radians(78.0),
    "sun_rgb": (0.85, 0.80, 0.72),
    "sky_rgb": (0.95, 0.92, 0.88),
    "bounce_rgb": (0.62, 0.58, 0.53),
    "zenith_rgb": (0.80, 0.77, 0.72),
    "horizon_rgb": (0.85, 0.81, 0.75),
    "shadow": 0.6,
    "shadow_softness": 5,
    "disc": 0.0,
    "fog_per_m": 0.0,
    "cloud_cover": 0.0,
    "glow": 2.0,
    "contact": 0.75,
    "exposure": 0.62,
}
_BASES: dict[str, dict[str, Any]] = {"noon": {}, "sunset": _SUNSET, "night": _NIGHT}
_OVERCAST = (1.0, 1.06, 1.15)
"""Tint of light through clouds."""


def make_light(weather: str = "clear", time: str = "noon", indoor: bool = False, **overrides: Any) -> Light:
    """The light of a named weather and time; ``overrides`` are fields of :class:`Light`."""
    if weather not in WEATHERS:
        raise UnknownName("weather", weather, WEATHERS)
    if time not in TIMES:
        raise UnknownName("time of day", time, TIMES)
    known = {field.name for field in fields(Light)}
    for name in overrides:
        if name not in known:
            raise UnknownName("light setting", name, known)
    light = Light(**_BASES[time])
    if indoor:
        light = replace(light, **_INDOOR)
        if time == "night":
            light = replace(light, exposure=0.55)
    elif weather != "clear":
        light = _cloud_over(light, weather, time)
    return replace(light, **overrides)


def _cloud_over(light: Light, weather: str, time: str) -> Light:
    """The same time of day under clouds: less sun, more and greyer sky, soft shadows from above."""
    dusk = time == "sunset"
    sun = {"cloudy": 0.26, "wet": 0.42, "rain": 0.16}[weather]
    tint = np.array(_OVERCAST) if not dusk else np.array([1.12, 0.95, 0.95])
    sky = float(np.mean(light.sky_rgb)) * {"cloudy": 1.3, "wet": 1.05, "rain": 0.95}[weather]
    horizon = float(np.mean(light.horizon_rgb)) * {"cloudy": 1.15, "wet": 0.95, "rain": 0.85}[weather]
    blend = {"cloudy": 0.85, "wet": 0.45, "rain": 0.95}[weather]
    grey: dict[str, Any] = {
        name: _mix(getattr(light, name), _grey(horizon * factor, tint), blend) for name, factor in _GREYS.items()
    }
    return replace(
        light,
        sun_rgb=_mix(_scaled(light.sun_rgb, sun), _grey(sun * _mean(light.sun_rgb), tint), blend),
        sun_elevation_rad=light.sun_elevation_rad if weather == "wet" else math.radians(72.0),
        sky_rgb=_mix(light.sky_rgb, _grey(sky, tint), blend),
        bounce_rgb=_grey(_mean(light.bounce_rgb) * 1.15, tint),
        cloud_cover={"cloudy": 0.9, "wet": 0.62, "rain": 0.97}[weather],
        shadow=0.9 if weather == "wet" else 0.85,
        shadow_softness=2 if weather == "wet" else 5,
        disc=0.5 * light.disc if weather == "wet" else 0.0,
        fog_per_m={"cloudy": 0.0035, "wet": 0.0035, "rain": 0.011}[weather],
        wetness={"cloudy": 0.0, "wet": 0.85, "rain": 1.0}[weather],
        rain=1.0 if weather == "rain" else 0.0,
        glow=max(light.glow, 0.5 if weather == "rain" else 0.0),
        exposure=light.exposure * {"cloudy": 1.15, "wet": 1.08, "rain": 1.2}[weather],
        **grey,
    )


_GREYS = {"zenith_rgb": 0.62, "horizon_rgb": 1.0, "fog_rgb": 0.85, "cloud_rgb": 0.98}
"""Brightness under clouds, as a share of the horizon's."""


def _mean(rgb: Rgb) -> float:
    return sum(rgb) / 3.0


def _scaled(rgb: Rgb, factor: float) -> Rgb:
    return rgb[0] * factor, rgb[1] * factor, rgb[2] * factor


def _grey(value: float, tint: FloatArray) -> Rgb:
    r, g, b = (value * tint / tint.mean()).tolist()
    return r, g, b


def _mix(a: Rgb, b: Rgb, share: float) -> Rgb:
    r, g, b_ = (x + (y - x) * share for x, y in zip(a, b, strict=True))
    return r, g, b_


def pack_light(light: Light, lamp_count: int = 0, shadows: bool = True, mirror_z: float = 0.0) -> FloatArray:
    """The numbers that the rasteriser wants (see ``raster.layout``). ``mirror_z``: height of the mirror's plane, m."""
    packed = np.zeros(L.LIGHT_SIZE, np.float32)
    packed[L.SUN_X : L.SUN_X + 3] = light.direction
    for name in ("sun", "sky", "bounce", "zenith", "horizon", "fog", "cloud"):
        column = getattr(L, f"{name.upper()}_RGB")
        packed[column : column + 3] = getattr(light, f"{name}_rgb")
    packed[L.FOG] = light.fog_per_m
    packed[L.CLOUDS] = light.cloud_cover
    packed[L.SHADE] = light.shadow if shadows else 0.0
    packed[L.TAPS] = light.shadow_softness
    packed[L.WET] = light.wetness
    packed[L.GLOWING] = light.glow
    packed[L.CONTACT] = light.contact
    packed[L.DISC] = light.disc
    packed[L.LAMPS] = lamp_count
    packed[L.MIRROR_Z] = mirror_z
    return packed


def tone_table(light: Light) -> IntArray:
    """(TONES,) int32: sRGB of linear light 0 … ``TONE_RANGE`` after exposure, bent by K. Narkowicz's fit of the ACES
    film curve, ``x (2.51 x + 0.03) / (x (2.43 x + 0.59) + 0.14)``."""
    x = (np.arange(TONES) + 0.5) / TONES * TONE_RANGE * light.exposure
    film = np.clip(x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14), 0.0, 1.0)
    srgb = np.where(film <= 0.0031308, 12.92 * film, 1.055 * film ** (1 / 2.4) - 0.055)
    return (srgb * 255.0 + 0.5).astype(np.int32)


def tones_of(tones: IntArray, rgb: Rgb, factor: float) -> FloatArray:
    """(3,) float32, 0 … 255: what ``tones`` make of light."""
    places = np.array(rgb) * factor / TONE_RANGE * TONES
    picked: FloatArray = tones[np.minimum(places, TONES - 1).astype(int)].astype(np.float32)
    return picked


def root_table() -> IntArray:
    """(TONES,) int32: square roots, for pictures that are read again (reflections)."""
    return (np.sqrt((np.arange(TONES) + 0.5) / TONES) * 255.0 + 0.5).astype(np.int32)


def make_noise(seed: int = 7) -> FloatArray:
    """(256, 256) float32 in 0 … 1 that repeats: clouds and puddles. Five octaves of smooth value noise, flattened so
    that every value is equally frequent: a threshold then covers the share it says."""
    rng = np.random.default_rng(seed)
    total = np.zeros((NOISE_SIZE, NOISE_SIZE))
    for octave in range(2, 7):
        cells = 2**octave
        values = rng.random((cells, cells))
        place = np.arange(NOISE_SIZE) * cells / NOISE_SIZE
        low = place.astype(int)
        t = place - low
        t = t * t * (3 - 2 * t)
        high = (low + 1) % cells
        rows = values[low] * (1 - t[:, None]) + values[high] * t[:, None]
        total += (rows[:, low] * (1 - t) + rows[:, high] * t) * 0.55**octave
    ranks = np.empty(total.size)
    ranks[np.argsort(total, axis=None, kind="stable")] = np.linspace(0.0, 1.0, total.size)
    return ranks.reshape(total.shape).astype(np.float32)


MOST_LAMPS = 8  # of the scene in one frame: the nearest
CELL = 2.0  # m: glowing faces of one object that are closer together than about this are one lamp
STREET_RGB = (16.0, 11.5, 6.5)
STREET_REACH = 14.0
STREET_COS = math.cos(math.radians(78.0))
LOWEST_STREET_LAMP = 2.0  # m
LIGHT_NOTHING = (Semantic.WINDOW, Semantic.SIGN)  # what of these glows lights nothing but itself
HEAD_CONE = math.radians(38.0)
HEAD_DOWN = math.radians(7.0)


@dataclass(frozen=True)
class Lamp:
    """A lamp at a place, shining along a direction in a cone. ``rgb`` is the light at 1 m."""

    x: float
    y: float
    z: float
    yaw: float = 0.0
    pitch: float = 0.0
    cone_rad: float = math.radians(32.0)
    """Angle from the axis beyond which nothing is lit."""
    rgb: tuple[float, float, float] = (45.0, 42.0, 36.0)
    reach_m: float = 25.0

    def __post_init__(self) -> None:
        if not 0.0 < self.cone_rad <= math.pi or not self.reach_m > 0.0:
            raise BadInput(f"lamp: cone must be within (0, π] rad and reach positive, got {self}")

    def row(self) -> list[float]:
        """The row of the lamp in the rasteriser's table."""
        flat = math.cos(self.pitch)
        along = [flat * math.cos(self.yaw), flat * math.sin(self.yaw), -math.sin(self.pitch)]
        return [self.x, self.y, self.z, *along, min(math.cos(self.cone_rad), 0.9999), *self.rgb, self.reach_m]


def find_lamps(scene: Scene3D) -> FloatArray:
    """(K, LAMP_COLUMNS): one lamp for each object with faces that glow and are no windows or signals, shining down."""
    mesh = scene.mesh
    glows = np.array([material.glow > 0.0 for material in scene.materials] or [False])
    faces = np.flatnonzero(glows[mesh.material] & ~np.isin(mesh.semantic, LIGHT_NOTHING))
    if not len(faces) or scene.indoor:
        return np.zeros((0, L.LAMP_COLUMNS), np.float32)
    middles = mesh.vertices[mesh.triangles[faces]].mean(axis=1)
    high = middles[:, 2] > LOWEST_STREET_LAMP
    if not high.any():
        return np.zeros((0, L.LAMP_COLUMNS), np.float32)
    middles, owner = middles[high], np.asarray(scene.static_id)[faces][high]
    cluster = _clusters(middles, owner)
    count = np.bincount(cluster)
    centre = np.stack([np.bincount(cluster, middles[:, axis]) / count for axis in range(3)], axis=1)
    rows = np.zeros((len(centre), L.LAMP_COLUMNS), np.float32)
    rows[:, :3] = centre - [0.0, 0.0, 0.1]
    rows[:, 5] = -1.0
    rows[:, 6:] = STREET_COS, *STREET_RGB, STREET_REACH
    return rows


def _clusters(middles: FloatArray, owner: IntArray) -> IntArray:
    """(F,): number of the lamp that each face is part of, numbered as they come."""
    cluster = np.full(len(middles), -1)
    count = 0
    for k in range(len(middles)):
        if cluster[k] < 0:
            near = (cluster < 0) & (owner == owner[k]) & (np.abs(middles - middles[k]).max(axis=1) < CELL)
            cluster[near] = count
            count += 1
    return cluster


def figure_lamps(figure: Figure, motion: Motion, ground_z: float = 0.0) -> list[Lamp]:
    """The head lamps of a robot or vehicle that stands on ground of height ``ground_z``: for ``render(…, lamps=…)``."""
    c, s = math.cos(motion.heading), math.sin(motion.heading)
    r, g, b = (value * figure.lamp_power for value in Lamp.rgb)
    return [
        Lamp(
            motion.x + c * x - s * y, motion.y + s * x + c * y, ground_z + z, motion.heading, HEAD_DOWN, HEAD_CONE,
            (r, g, b), Lamp.reach_m * max(figure.lamp_power, 0.25) ** 0.5,
        )
        for x, y, z in figure.head_lamps
    ]  # fmt: skip


def pack_lamps(found: FloatArray, given: Sequence[Lamp], pose: CameraPose, light: Light) -> FloatArray:
    """The lamps that matter from ``pose``: all that are given, then the scene's nearest; none by day."""
    if light.lamps <= 0.0 or not (len(found) or len(given)):
        return np.zeros((0, L.LAMP_COLUMNS), np.float32)
    rows = np.array([lamp.row() for lamp in given], np.float32).reshape(-1, L.LAMP_COLUMNS)
    ahead = [pose.x + 8.0 * math.cos(pose.yaw), pose.y + 8.0 * math.sin(pose.yaw)]
    order = np.argsort(np.hypot(*(found[:, :2] - ahead).T), kind="stable") if len(found) else np.zeros(0, int)
    packed = np.concatenate([rows, found[order[:MOST_LAMPS]]])
    packed[:, 7:10] *= light.lamps
    return packed
