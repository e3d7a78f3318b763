"""Long routes: one way to the goal, and no other."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from scipy import ndimage

from sidestep.errors import BadInput
from sidestep.scenes.compile import compile_scene, region_polygon
from sidestep.scenes.free_space import free_mask
from sidestep.scenes.towns import barriers, long_route, make_town
from sidestep.types.scene import SOLID

WALKABLE = ("sidewalk", "crosswalk", "ramp")
CELL = 0.25  # m


class FreeGrid:
    """Walkable ground without solids on a grid."""

    def __init__(self, regions):
        ground = shapely.union_all([region_polygon(r, "scene") for r in regions if r.kind in WALKABLE])
        solid = shapely.union_all([region_polygon(r, "scene") for r in regions if r.kind in SOLID])
        self.x0, self.y0, x1, y1 = ground.bounds
        xs, ys = np.arange(self.x0, x1, CELL), np.arange(self.y0, y1, CELL)
        x, y = np.meshgrid(xs, ys)
        inside = shapely.difference(ground.buffer(0.01), solid)
        self.free = shapely.contains_xy(inside, x.ravel(), y.ravel()).reshape(x.shape)

    def connected(self, a, b, closed=None):
        """Whether one can get from a to b, with a disc ``closed = (point, radius)`` taken out."""
        free = self.free.copy()
        if closed is not None:
            (cx, cy), radius = closed
            y, x = np.mgrid[: free.shape[0], : free.shape[1]]
            free &= np.hypot(self.x0 + x * CELL - cx, self.y0 + y * CELL - cy) > radius
        label, _ = ndimage.label(free)
        i, j = (label[round((p[1] - self.y0) / CELL), round((p[0] - self.x0) / CELL)] for p in (a, b))
        return i == j and i > 0


@pytest.mark.parametrize("seed", [0, 41])
def test_barriers_leave_exactly_one_way(seed):
    town = make_town(seed)
    rng = np.random.default_rng(seed)
    route = long_route(town, rng, min_length=200, max_length=420)
    assert 200 <= route.length <= 420
    assert "crosswalk" in route.kinds
    closed = barriers(town, route)
    assert closed
    scene = town.window_along(route, margin=25.0)
    start, goal = route.points[0], route.points[-1]
    grid = FreeGrid((*scene.regions, *closed))
    assert grid.connected(start, goal)
    for k in rng.integers(8, len(route.points) - 8, 5):
        cut = (route.points[k], route.width[k] / 2 + 1.6)
        if not grid.connected(start, goal, cut):
            continue
        raise AssertionError(f"with the route closed at {route.points[k]} there is another way")
    compiled = compile_scene(scene.model_copy(update={"regions": (*scene.regions, *closed)}))
    assert free_mask(compiled, route.points, 0.45).all()


def test_without_barriers_there_are_other_ways():
    town = make_town(0)
    route = long_route(town, np.random.default_rng(0), min_length=200, max_length=420)
    scene = town.window_along(route, margin=140.0)
    grid = FreeGrid(scene.regions)
    middle = len(route.points) // 2
    assert grid.connected(route.points[0], route.points[-1], (route.points[middle], route.width[middle] / 2 + 1.6))


def test_a_length_that_no_route_has_is_an_error():
    with pytest.raises(BadInput, match="widen the range"):
        long_route(make_town(0), np.random.default_rng(0), min_length=300.0, max_length=300.001)
