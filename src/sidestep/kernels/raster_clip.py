"""Cut triangles at the near plane and far off the picture, in the camera's frame.

Two triangles that share an edge cut it at the same point, bit for bit: the point is reckoned from the end that stays,
and the planes come in one order. So no gap opens between them.
"""

from __future__ import annotations

import math

from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.raster_layout import CX, CY, FX, FY, GUARD, NEAR, ONE, POLYGON_CORNERS

PLANES = 5


@inlined
def _inside(camera, plane, x, y, z):
    """Signed distance, of any scale, from the near plane or from one of the four guards."""
    if plane == 0:
        return x - camera[NEAR]
    if plane == 1:
        return GUARD * x + (camera[CX] * x - camera[FX] * y)
    if plane == 2:
        return GUARD * x - (camera[CX] * x - camera[FX] * y)
    if plane == 3:
        return GUARD * x + (camera[CY] * x - camera[FY] * z)
    return GUARD * x - (camera[CY] * x - camera[FY] * z)


@kernel
def clip_triangle(camera, points, a, b, c, corners, polygon):
    """Cut the triangle of ``points`` a, b, c; ``corners`` (2, 9, 3) float64 is scratch.

    Fills ``polygon`` with the number of corners and their fixed-point x and y; returns that number (0: nothing is
    left) and the least and greatest inverse depth.
    """
    for axis in range(3):
        corners[0, 0, axis] = points[a, axis]
        corners[0, 1, axis] = points[b, axis]
        corners[0, 2, axis] = points[c, axis]
    count, now = 3, 0
    for plane in range(PLANES):
        kept = 0
        for k in range(count):
            following = k + 1 if k + 1 < count else 0
            x0, y0, z0 = corners[now, k, 0], corners[now, k, 1], corners[now, k, 2]
            x1, y1, z1 = corners[now, following, 0], corners[now, following, 1], corners[now, following, 2]
            d0, d1 = _inside(camera, plane, x0, y0, z0), _inside(camera, plane, x1, y1, z1)
            if d0 >= 0.0:
                corners[1 - now, kept, 0], corners[1 - now, kept, 1], corners[1 - now, kept, 2] = x0, y0, z0
                kept += 1
            if (d0 >= 0.0) != (d1 >= 0.0):
                if d0 < 0.0:  # from the end that stays
                    x0, y0, z0, x1, y1, z1, d0, d1 = x1, y1, z1, x0, y0, z0, d1, d0
                t = d0 / (d0 - d1)
                corners[1 - now, kept, 0] = x0 + t * (x1 - x0) if plane != 0 else camera[NEAR]
                corners[1 - now, kept, 1] = y0 + t * (y1 - y0)
                corners[1 - now, kept, 2] = z0 + t * (z1 - z0)
                kept += 1
        count, now = kept, 1 - now
        if count < 3:
            return 0, 0.0, 0.0
    least, most = math.inf, 0.0
    polygon[0] = count
    for k in range(min(count, POLYGON_CORNERS)):
        inverse = 1.0 / corners[now, k, 0]
        least, most = min(least, inverse), max(most, inverse)
        u = camera[CX] - camera[FX] * corners[now, k, 1] * inverse
        v = camera[CY] - camera[FY] * corners[now, k, 2] * inverse
        polygon[1 + 2 * k] = math.floor(u * ONE + 0.5)
        polygon[2 + 2 * k] = math.floor(v * ONE + 0.5)
    return count, least, most
