"""The places that come with Sidestep, by name, and ``place:NAME`` and ``place:NAME/long/NUMBER`` in scenario files.

The project drew them; they are no real places, and their files are no OpenStreetMap data.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sidestep.errors import BadInput, UnknownName
from sidestep.scenes.places.closed import long_scene
from sidestep.scenes.places.osm import osm_place
from sidestep.scenes.places.place import Place
from sidestep.types.scene import SceneSpec

DATA = Path(__file__).parent / "data"
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
    scene = place.scene.model_copy(
        update={"name": PREFIX + name, "source": f"drawn by the project: {file.name}"}
    )
    return Place(name, scene, place.graph)


def _scanned(name: str, file: Path) -> Place:
    from sidestep.scenes.geojson import read_geojson
    from sidestep.scenes.places.scan import place_from_annotation

    scene = read_geojson(file).model_copy(update={"mesh": f"bundled:{file.with_suffix('.glb').name}"})
    return place_from_annotation(scene, name)


def resolve_place(reference: str) -> SceneSpec:
    """The scene that ``place:NAME`` or ``place:NAME/long/NUMBER`` names."""
    name, long, number = reference.removeprefix(PREFIX).partition("/long/")
    place = bundled_place(name)
    if not long:
        return place.scene
    if not number.isdigit():
        raise BadInput(f"scene {reference}: a long route is place:NAME/long/NUMBER, got {number!r}")
    return long_scene(place, int(number))
