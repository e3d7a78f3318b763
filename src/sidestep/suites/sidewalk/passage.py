"""Whether people who stand on a sidewalk leave a way past them: by geometry alone, whoever drives."""

from __future__ import annotations

import numpy as np
import shapely

from sidestep import exact
from sidestep.suites.sidewalk.setting import GROUND
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.scene import SOLID, SceneSpec

HALF_WIDTH_M = 0.55
"""Half of a robot 0.6 m wide, and a quarter of a metre of room on either side."""
EDGE_M = 0.2
"""The centre stays so far from the edge of the ground."""
REACH_M = 9.0
"""How far before and after the people the way is looked at."""


def leaves_passage(points: FloatArray, scene: SceneSpec, people: FloatArray, radius: float, group: IntArray) -> bool:
    """Whether a disc of ``HALF_WIDTH_M`` can go along the way ``points`` (K, 2) past ``people`` (N, 2), round groups,
    with its centre on the ground of sidewalk robots."""
    middle = people.mean(axis=0)
    area = shapely.Point(middle).buffer(REACH_M + 2.0)
    ground = _union(scene, frozenset(GROUND), area).buffer(0.02).buffer(-EDGE_M)
    solid = _union(scene, SOLID, area).buffer(HALF_WIDTH_M)
    standing = [shapely.Point(place).buffer(radius + HALF_WIDTH_M) for place in people]
    for number in np.unique(group[group >= 0]).tolist():
        standing.append(shapely.MultiPoint(people[group == number]).convex_hull.buffer(radius + HALF_WIDTH_M))
    free = ground.intersection(area) - solid - shapely.union_all(standing)
    along = np.concatenate([[0.0], np.cumsum(exact.hypot(*np.diff(points, axis=0).T))])
    here = float(along[exact.hypot(*(points - middle).T).argmin()])
    ends = [_on_way(points, along, np.clip(here + step, 0.0, along[-1])) for step in (-REACH_M, REACH_M)]
    parts = [part for part in shapely.get_parts(free) if part.distance(ends[0]) < 0.5]
    return any(part.distance(ends[1]) < 0.5 for part in parts)


def _on_way(points: FloatArray, along: FloatArray, s: float) -> shapely.Point:
    return shapely.Point(*(float(exact.interp(s, along, points[:, k])) for k in (0, 1)))


def _union(scene: SceneSpec, kinds: frozenset[str], area: shapely.Geometry) -> shapely.Geometry:
    shapes = [shapely.Polygon(region.polygon, region.holes) for region in scene.regions if region.kind in kinds]
    return shapely.union_all([shape for shape in shapes if shape.intersects(area)])
