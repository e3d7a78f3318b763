"""Kinds of road users by name, and their bodies as the discs that people walk round."""

from __future__ import annotations

from functools import cache
from importlib import resources
from math import ceil, inf
from typing import NamedTuple

from sidestep import registry
from sidestep._util import exact
from sidestep._util.reading import parse_mapping
from sidestep.errors import BadInput
from sidestep.types.robot import Footprint, RobotSpec

DISCS_PER_WIDTH = 1.5
"""Discs that cover a body for each width of its length: those of a car bulge 0.13 m beyond its sides."""


@cache
def load_vehicle(kind: str) -> RobotSpec:
    """The spec of a kind of road user: a file of ``specs/``, or what a plug-in has registered."""
    reference = registry.table("road_users").get(kind, "")
    if reference.endswith(".yaml"):
        text = (resources.files("sidestep.simulation.traffic") / "specs" / reference).read_text(encoding="utf-8")
        return RobotSpec.parse(parse_mapping(text, f"road user {kind}"), where=f"road user {kind}")
    spec = registry.load("road_users", kind)
    if not isinstance(spec, RobotSpec):
        raise BadInput(
            f"the kind of road user {kind!r} ({reference}) is a {type(spec).__name__}; it must be a RobotSpec"
        )
    return spec


class Cover(NamedTuple):
    """Equal discs in a row along the x axis of a body's frame that cover its bounding box."""

    discs: int
    x: float  # of the first, m
    spacing: float  # m
    radius: float  # m


def cover_body(footprint: Footprint) -> Cover:
    """The discs that cover a polygon; none for a disc, which people see as it is."""
    if footprint.polygon is None:
        return Cover(0, 0.0, 0.0, 0.0)
    along, half = [x for x, _ in footprint.polygon], max(abs(y) for _, y in footprint.polygon)
    length = max(along) - min(along)
    count = ceil(DISCS_PER_WIDTH * length / (2.0 * half))
    spacing = length / count
    return Cover(count, min(along) + spacing / 2, spacing, float(exact.hypot(half, spacing / 2)))


def inner_radius(footprint: Footprint) -> float:
    """Radius of the largest circle about the reference point that lies in the body, m; 0 where the point does not."""
    if footprint.polygon is None:
        return footprint.enclosing_radius
    least = inf
    for (x0, y0), (x1, y1) in zip(footprint.polygon, (*footprint.polygon[1:], footprint.polygon[0]), strict=True):
        least = min(least, (x0 * y1 - y0 * x1) / float(exact.hypot(x1 - x0, y1 - y0)))
    return max(least, 0.0)
