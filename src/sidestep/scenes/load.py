"""Loads the scene that a scenario names or describes."""

from __future__ import annotations

from pathlib import Path

from shapely.errors import ShapelyError

from sidestep._util.reading import file_beside, is_file
from sidestep.errors import BadInput, UnknownName, did_you_mean
from sidestep.scenes.geojson import read_geojson
from sidestep.scenes.intersections import intersection_scene, load_intersection, parse_intersection
from sidestep.scenes.plans import load_plan, parse_scene, plan_names, read_mapping
from sidestep.scenes.ros_map import read_ros_map
from sidestep.scenes.streets import STREET, named_street, parse_street, street_scene
from sidestep.types.scene import SceneSpec

TOWN = "town:"
YAML_SUFFIXES = (".yaml", ".yml")
GEOJSON_SUFFIXES = (".geojson", ".json")
OSM_SUFFIX = ".osm"
OPENDRIVE_SUFFIX = ".xodr"
SUFFIXES = (*YAML_SUFFIXES, *GEOJSON_SUFFIXES, OSM_SUFFIX, OPENDRIVE_SUFFIX)
PLACE = "place:"
INTERSECTION = "intersection:"
BUNDLED = "bundled:"


def resolve_scene(reference: str | SceneSpec, base: Path | None = None) -> SceneSpec:
    """The scene that ``reference`` names: a floor plan, a town or a window of one, a file, or the scene itself.

    ``town:NAME@x0,y0,x1,y1`` is a window (m) of a procedural town, ``town:NAME`` all of it; ``+roads`` at the end
    adds its lanes, for traffic. ``place:NAME`` is a place that comes with Sidestep, ``intersection:NAME`` an
    intersection, ``street:PLACE-WIDTH`` a straight street (:mod:`sidestep.scenes.streets`).

    A reference with a folder or a known suffix is a path: ``.yaml`` (a scene file, a ROS map if it has an
    ``image`` key, an intersection if it has ``arms``, a street if it has ``street``), ``.geojson`` or ``.json``,
    ``.osm`` (an OpenStreetMap extract), ``.xodr`` (OpenDRIVE). Relative paths start at ``base``, the folder of the
    scenario file, or at the working directory.
    """
    if isinstance(reference, SceneSpec):
        return reference
    if reference.startswith(TOWN):
        from sidestep.scenes.towns import resolve_town

        return resolve_town(reference)
    if reference.startswith(PLACE):
        from sidestep.scenes.places import resolve_place

        return resolve_place(reference)
    if reference.startswith(INTERSECTION):
        return intersection_scene(load_intersection(reference.removeprefix(INTERSECTION)))
    if reference.startswith(STREET):
        return street_scene(named_street(reference.removeprefix(STREET)))
    try:
        path = Path(reference).expanduser()
    except RuntimeError:
        raise BadInput(f"{reference!r:.200}: no such user's folder") from None
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        if "/" in reference or "\\" in reference or suffix:
            raise BadInput(
                f"{reference!r:.200}: a scene file ends in .yaml (scene or ROS map), .geojson, .osm or .xodr, not in "
                f"{suffix or 'nothing'!r:.24}; for a ROS map give the .yaml file beside the image"
            )
        if reference not in plan_names():
            raise UnknownName("floor plan", reference, plan_names(), "scene")
        return load_plan(reference)
    path = (base or Path()) / path
    if not is_file(path):
        raise BadInput(f"{_shown(path)}: no such scene file{_nearby(path)}")
    try:
        return _read_file(path, suffix)
    except ShapelyError as error:
        text = f"{error!s:.160}"
        raise BadInput(
            f"{path}: its areas cannot be cut out of each other ({text}); mend areas that cross themselves"
        ) from None


def _read_file(path: Path, suffix: str) -> SceneSpec:
    if suffix == OSM_SUFFIX:
        from sidestep.scenes.places import read_osm

        return read_osm(path)
    if suffix == OPENDRIVE_SUFFIX:
        from sidestep.scenes.intersections.opendrive import read_opendrive

        return read_opendrive(path)
    if suffix in GEOJSON_SUFFIXES:
        return _with_mesh(read_geojson(path), path)
    data = read_mapping(path)
    if "arms" in data:
        return intersection_scene(parse_intersection(data, str(path)))
    if "street" in data:
        return street_scene(parse_street(data, str(path)))
    return read_ros_map(path) if "image" in data else _with_mesh(parse_scene(data, str(path), path.stem), path)


def _with_mesh(scene: SceneSpec, path: Path) -> SceneSpec:
    """The scene with the place of its mesh: it must lie in the scene file's folder or below."""
    if scene.mesh is None or scene.mesh.startswith(BUNDLED):
        return scene
    return scene.model_copy(update={"mesh": str(file_beside(path, scene.mesh, "mesh"))})


def _shown(path: Path) -> str:
    """The end of a path that is too long to be shown: its beginning is the user's own folder."""
    text = str(path)
    return text if len(text) <= 250 else f"…{text[-249:]}"


def _nearby(path: Path) -> str:
    """The files in the same folder that may have been meant."""
    if not path.parent.is_dir():
        return f"; the folder {_shown(path.parent)} does not exist (paths are relative to the scenario file)"
    return did_you_mean(path.name, [item.name for item in path.parent.iterdir() if item.suffix.lower() in SUFFIXES])
