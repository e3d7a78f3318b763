"""Places that are mapped or scanned rather than made up: OpenStreetMap extracts, and meshes with an annotation.

``osm``         an extract to a ``Place``: ``osm_file`` reads XML and tags, ``osm_streets`` lays roads and crossings
``scan``        a mesh with a GeoJSON annotation to a ``Place``; solids found in the mesh
``grid``        shapes on a grid of 1 mm; overlapping areas to regions without overlaps
``place``       walking lines to a graph, and such lines found in annotated ground; ``Place``: routes, and long routes
                with all others closed

Here: three small places by name, and ``place:NAME`` and ``place:NAME/long/NUMBER`` in scenario files. The project drew
them (``tools/draw_places.py`` makes their files); they are no real places, and the files are no OpenStreetMap data.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np

from sidestep._util import exact
from sidestep._util.reading import read_json
from sidestep.errors import BadInput, UnknownName
from sidestep.scenes.geojson import read_geojson
from sidestep.scenes.places.osm import osm_place, read_osm
from sidestep.scenes.places.place import Place, close_other_routes
from sidestep.scenes.places.scan import place_from_annotation, read_scan
from sidestep.scenes.walkways import Route
from sidestep.types.scene import SceneSpec

__all__ = ["Place", "bundled_place", "osm_place", "place_names", "read_osm", "read_scan", "resolve_place"]


DATA = Path(__file__).parent / "data"
LONG_ROUTES = DATA / "long_ways.json"
PREFIX = "place:"
FILES = {"kettlegate": "kettlegate.osm", "piper-parade": "piper-parade.osm", "lantern-court": "lantern-court.geojson"}


def place_names() -> tuple[str, ...]:
    """Names of the bundled places."""
    return tuple(FILES)


@cache
def bundled_place(name: str) -> Place:
    """A bundled place by name."""
    if name not in FILES:
        raise UnknownName("place", name, FILES, "scene")
    file = DATA / FILES[name]
    place = osm_place(file) if file.suffix == ".osm" else _scanned(name, file)
    scene = place.scene.model_copy(update={"name": PREFIX + name, "source": f"drawn by the project: {file.name}"})
    return Place(name, scene, place.graph)


def _scanned(name: str, file: Path) -> Place:
    scene = read_geojson(file).model_copy(update={"mesh": f"bundled:{file.with_suffix('.glb').name}"})
    return place_from_annotation(scene, name)


@cache
def long_routes(name: str) -> tuple[Route, ...]:
    """The long routes of a bundled place. Their nodes are kept by position, in ``data/long_ways.json``."""
    place = bundled_place(name)
    nodes = sorted(place.graph)
    xy = np.array([place.graph.nodes[node]["xy"] for node in nodes])
    routes = []
    for chosen in read_json(LONG_ROUTES)[name]:
        nearest = [int(exact.hypot(*(xy - point).T).argmin()) for point in chosen]
        routes.append(place.route_over(tuple(nodes[k] for k in nearest)))
    return tuple(routes)


def resolve_place(reference: str) -> SceneSpec:
    """The scene that ``place:NAME`` or ``place:NAME/long/NUMBER`` names."""
    name, long, number = reference.removeprefix(PREFIX).partition("/long/")
    place = bundled_place(name)
    if not long:
        return place.scene
    routes = long_routes(name)
    if not re.fullmatch(r"[0-9]{1,9}", number) or int(number) >= len(routes):
        raise BadInput(
            f"scene {reference:.80}: a long route is place:NAME/long/NUMBER with a number from 0 to {len(routes) - 1}, "
            f"got {number!r:.40}"
        )
    return close_other_routes(place, routes[int(number)], reference)
