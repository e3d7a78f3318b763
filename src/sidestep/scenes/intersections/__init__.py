"""Road intersections: a description by arms and lanes (``description``) and its scene (``intersection``), the six of
IntersectNav as data files, and OpenDRIVE files (``opendrive``).

``scene: intersection:NAME`` is one that comes with Sidestep; a file with the key ``arms`` is one of your own.
"""

from sidestep.scenes.intersections.description import (
    Intersection,
    IntersectionRoute,
    intersection_names,
    load_intersection,
    parse_intersection,
)
from sidestep.scenes.intersections.intersection import intersection_scene

__all__ = [
    "Intersection",
    "IntersectionRoute",
    "intersection_names",
    "intersection_scene",
    "load_intersection",
    "parse_intersection",
]
