"""What a camera sees: a pinhole with its size and field of view, and where it stands."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sidestep.errors import BadInput
from sidestep.render.raster import layout as L
from sidestep.types.base import FloatArray

MOST_PIXELS = 16_000_000
MOST_SIDE = 16_384
WIDEST = math.radians(140.0)
NARROWEST = math.radians(1.0)


@dataclass(frozen=True)
class CameraModel:
    """A pinhole camera. The centre of the pixel in column i and row j is at (i + ½, j + ½); square pixels and a centred
    axis unless ``fx``, ``fy``, ``cx``, ``cy`` (pixels) say otherwise."""

    width: int
    height: int
    fov_h_rad: float = math.pi / 2
    near_m: float = 0.05
    far_m: float = 200.0
    fx: float = 0.0
    fy: float = 0.0
    cx: float = -1.0
    cy: float = -1.0

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1:
            raise BadInput(f"camera: {self.width} × {self.height} pixels; both must be at least 1")
        if self.width * self.height > MOST_PIXELS or max(self.width, self.height) > MOST_SIDE:
            raise BadInput(
                f"camera: {self.width} × {self.height} pixels is more than {MOST_PIXELS // 1_000_000} million"
                f" or has a side of more than {MOST_SIDE}; ask for a smaller picture"
            )
        if not NARROWEST <= self.fov_h_rad <= WIDEST:
            raise BadInput(f"camera: field of view of {self.fov_h_rad:g} rad; it must be 1° to 140°, given in radians")
        if not (math.isfinite(self.far_m) and 0.001 <= self.near_m < self.far_m):
            raise BadInput(f"camera: near {self.near_m:g} m and far {self.far_m:g} m; needs 0.001 ≤ near < far")
        length = self.width / 2 / math.tan(self.fov_h_rad / 2)
        if self.fx == 0.0:
            object.__setattr__(self, "fx", length)
        if self.fy == 0.0:
            object.__setattr__(self, "fy", self.fx)
        if self.cx < 0.0:
            object.__setattr__(self, "cx", self.width / 2)
        if self.cy < 0.0:
            object.__setattr__(self, "cy", self.height / 2)
        values = (self.fx, self.fy, self.cx, self.cy)
        if not all(map(math.isfinite, values)) or min(self.fx, self.fy) <= 0.0:
            raise BadInput(f"camera: focal lengths and centre must be finite and positive, got {values}")


@dataclass(frozen=True)
class CameraPose:
    """Where a camera is (m) and how it is turned (rad). With all angles 0 it looks along +x, y is left, z up; positive
    yaw turns left, positive pitch looks *down*, as rotations about z and y do; positive roll tips to the right."""

    x: float
    y: float
    z: float
    yaw: float = 0.0
    pitch: float = 0.0
    roll: float = 0.0

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.x, self.y, self.z, self.yaw, self.pitch, self.roll))):
            raise BadInput(f"camera pose must be finite, got {self}")

    @property
    def rotation(self) -> FloatArray:
        """(3, 3) float64, camera → world: Rz(yaw) Ry(pitch) Rx(roll)."""
        cy, sy = math.cos(self.yaw), math.sin(self.yaw)
        cp, sp = math.cos(self.pitch), math.sin(self.pitch)
        cr, sr = math.cos(self.roll), math.sin(self.roll)
        return np.array(
            [
                [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                [-sp, cp * sr, cp * cr],
            ]
        )


def pack_camera(
    camera: CameraModel, pose: CameraPose, supersample: int = 1, mirrored: bool = False, mirror_z: float = 0.0
) -> FloatArray:
    """The numbers that the rasteriser wants (see ``raster.layout``).

    With ``supersample`` 2 the picture has twice the samples in both directions, and sample (2 i, 2 j) lies on the
    centre of pixel (i, j). ``mirrored`` looks at the world as mirrored in the plane z = ``mirror_z``, at half the
    size.
    """
    packed = np.empty(L.CAMERA_SIZE)
    turn, eye = pose.rotation.T, np.array([pose.x, pose.y, pose.z])
    if mirrored:
        turn, eye = turn * np.array([1.0, 1.0, -1.0]), np.array([pose.x, pose.y, 2.0 * mirror_z - pose.z])
    packed[L.TURN : L.TURN + 9] = turn.ravel()
    packed[L.EYE : L.EYE + 3] = eye
    scale, shift = float(supersample), 0.5 if supersample == 2 else 0.0
    half = 0.5 if mirrored else 1.0
    packed[[L.FX, L.FY]] = camera.fx * scale * half, camera.fy * scale * half
    packed[[L.CX, L.CY]] = (camera.cx * scale - shift) * half, (camera.cy * scale - shift) * half
    packed[[L.NEAR, L.FAR]] = camera.near_m, camera.far_m
    packed[L.MIRROR] = mirrored
    return packed
