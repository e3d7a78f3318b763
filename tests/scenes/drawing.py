"""Shapes for the tests of scenes, and what shapely says about them."""

from __future__ import annotations

import math

import numpy as np
import shapely
from hypothesis import strategies as st

from sidestep.types.scene import OPEN, SOLID, Region, SceneSpec

PLANE = shapely.box(-1000, -1000, 1000, 1000)


def box(x0, y0, x1, y1, kind="obstacle", **more):
    return Region(kind=kind, polygon=((x0, y0), (x1, y0), (x1, y1), (x0, y1)), **more)


def turned_box(x, y, width, height, angle, kind="obstacle"):
    c, s = math.cos(angle), math.sin(angle)
    corners = [
        (-width / 2, -height / 2),
        (width / 2, -height / 2),
        (width / 2, height / 2),
        (-width / 2, height / 2),
    ]
    return Region(kind=kind, polygon=tuple((x + c * u - s * v, y + s * u + c * v) for u, v in corners))


def free_ground(spec: SceneSpec) -> shapely.Geometry:
    """Where one can stand, straight from the regions; a large square stands for the plane."""
    shape = {region: shapely.Polygon(region.polygon, region.holes) for region in spec.regions}
    solid = shapely.union_all([shape[region] for region in spec.regions if region.kind in SOLID])
    plane = PLANE
    if spec.enclosed:
        plane = shapely.union_all([shape[region] for region in spec.regions if region.kind in OPEN])
    return shapely.difference(plane, solid)


def signed_distance(spec: SceneSpec, points: np.ndarray) -> np.ndarray:
    """Distance (m) to the nearest solid, negative inside, by shapely."""
    free = free_ground(spec)
    distance = shapely.distance(free.boundary, shapely.points(points))
    return np.where(shapely.intersects_xy(free, points[:, 0], points[:, 1]), distance, -distance)


_middle = st.floats(-9, 9)
_turned_boxes = st.builds(turned_box, _middle, _middle, st.floats(0.2, 6), st.floats(0.2, 6), st.floats(0, math.pi))
_grid_boxes = st.builds(
    lambda x, y, w, h: box(x / 10, y / 10, (x + w) / 10, (y + h) / 10),
    *[st.integers(-90, 90), st.integers(-90, 90), st.integers(2, 60), st.integers(2, 60)],
)


@st.composite
def scenes(draw):
    """Up to 12 boxes, turned or on a 0.1 m raster (so that many touch), in the open or in a room."""
    boxes = draw(st.lists(_turned_boxes | _grid_boxes, min_size=1, max_size=12))
    enclosed = draw(st.booleans())
    room = [box(-12, -12, 12, 12, kind="walkable")] if enclosed else []
    return SceneSpec(regions=(*room, *boxes), enclosed=enclosed)
