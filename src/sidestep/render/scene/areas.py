"""Polygon algebra on a grid of 1 mm, so that neighbours share corners. Results are polygons only: no stray lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import shapely

SNAP = 1e-3  # m


def meet(a: Any, b: Any) -> Any:
    """What both cover."""
    return _polygonal(shapely.intersection(a, b, grid_size=SNAP))


def minus(a: Any, b: Any) -> Any:
    """What only the first covers."""
    return _polygonal(shapely.difference(a, b, grid_size=SNAP))


def join(areas: Iterable[Any]) -> Any:
    """What any of them covers."""
    return _polygonal(shapely.union_all(list(areas), grid_size=SNAP))


def off_grid(area: Any) -> Any:
    """The same area with free corners: cutting it moves no edge, so the cut parts do not overlap by a hair."""
    return shapely.set_precision(area, 0.0)


def _polygonal(geometry: Any) -> Any:
    if geometry.geom_type in ("Polygon", "MultiPolygon"):
        return geometry
    return shapely.MultiPolygon([part for part in shapely.get_parts(geometry) if part.geom_type == "Polygon"])
