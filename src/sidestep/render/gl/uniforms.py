"""The numbers that are the same for a whole frame, as the block ``Frame`` of ``shaders/frame.glsl`` wants them."""

from __future__ import annotations

import numpy as np

from sidestep.kernels import raster_layout as layout
from sidestep.render.light import Light
from sidestep.types.base import FloatArray

MOST_LAMPS = 64
LAMP_ROWS = 18
ROWS = LAMP_ROWS + 3 * MOST_LAMPS
LOWER = 0.03  # m: what faces the sun is drawn lower on the shadow map


def pack_frame(
    camera: FloatArray, size: tuple[int, int], shadow_map: FloatArray, shadow: tuple[int, float], light: Light,
    lamps: FloatArray, mirror_z: float, shelter: tuple[float, float],
) -> FloatArray:  # fmt: skip
    """(ROWS, 4) float32. ``camera`` is of ``pack_camera``; ``shadow_map`` (3, 4) takes the world to 0 … 1 on the shadow
    map and along the sun; ``shadow`` holds its texels and 1 / m of the latter; ``mirror_z`` is the plane that
    wet ground mirrors in, m; ``shelter`` is where the map of shelter begins."""
    rows = np.zeros((ROWS, 4))
    eye = camera[layout.EYE : layout.EYE + 3]
    rows[:3, :3] = camera[layout.TURN : layout.TURN + 9].reshape(3, 3)
    rows[:3, 3] = camera[layout.NEAR], camera[layout.FAR], mirror_z
    rows[3] = *eye, min(len(lamps), MOST_LAMPS)
    rows[4] = camera[[layout.FX, layout.FY, layout.CX, layout.CY]]
    rows[5] = *size, *(np.array(shelter) - eye[:2])
    rows[6:9, :3], rows[6:9, 3] = shadow_map[:, :3], shadow_map[:, :3] @ eye + shadow_map[:, 3]
    texel = 1 / (shadow[0] * float(np.linalg.norm(shadow_map[0, :3])))
    rows[9] = shadow[0], light.shadow, LOWER * shadow[1], 0.5 * texel * shadow[1]
    rows[10] = *light.direction, light.disc
    rows[11] = *light.sun_rgb, light.glow
    rows[12] = *light.sky_rgb, light.contact
    rows[13] = *light.bounce_rgb, light.wetness
    rows[14] = *light.zenith_rgb, light.cloud_cover
    rows[15, :3] = light.horizon_rgb
    rows[16] = *light.fog_rgb, light.fog_per_m
    rows[17] = *light.cloud_rgb, light.exposure
    shining = lamps[:MOST_LAMPS].astype(np.float64)
    place = slice(LAMP_ROWS, LAMP_ROWS + 3 * len(shining))
    rows[place][0::3, :3], rows[place][0::3, 3] = shining[:, :3] - eye, shining[:, layout.LAMP_REACH]
    rows[place][1::3] = shining[:, layout.LAMP_DX : layout.LAMP_COS + 1]
    rows[place][2::3, :3] = shining[:, layout.LAMP_R : layout.LAMP_B + 1]
    return rows.astype(np.float32)
