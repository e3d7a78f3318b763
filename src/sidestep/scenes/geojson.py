"""Scenes from and to GeoJSON (RFC 7946).

Polygons and MultiPolygons become regions, LineStrings with a ``width`` become walls of that width. What GeoJSON has no
member for stands in a foreign member ``scene`` of the collection: ``{"crs": "local" | "wgs84", "origin": [x, y],
"enclosed": bool, "source": text, "mesh": file, "roads": {…}}``, roads as in a scene file with points in the coordinates
of the collection. Coordinates are metres in the scene's frame (``local``), less the origin, or longitude and latitude
in degrees (``wgs84``), projected to the plane that touches the WGS 84 ellipsoid at the origin (x east, y north), by
default the file's first point. Within 5 km the plane distorts lengths by less than 1 in a million.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from sidestep._util import exact
from sidestep._util.reading import read_json
from sidestep.errors import BadInput, UnknownName
from sidestep.types.base import FarPoint, FloatArray, Model
from sidestep.types.road import Roads
from sidestep.types.scene import Region, RegionKind, SceneSpec

SEMI_MAJOR = 6378137.0  # m, WGS 84
ECCENTRICITY2 = 6.69437999014e-3  # first eccentricity squared, WGS 84
PROPERTIES = ("kind", "name", "height", "width")
FARTHEST = 1e6  # m from the origin: nothing is compiled out there
DEGREES_EXTENT = 0.3  # a whole file within so few units was drawn in degrees, not in metres


class SceneMember(Model):
    """The foreign member ``scene``: what the collection says about itself."""

    crs: Literal["local", "wgs84"] | None = None
    origin: FarPoint | None = None
    enclosed: bool = False
    source: str = ""
    mesh: str | None = None
    roads: Roads | None = None


def read_geojson(path: Path, crs: Literal["local", "wgs84"] | None = None) -> SceneSpec:
    """Read a GeoJSON file; ``crs`` overrides what the file declares."""
    data = read_json(path, "GeoJSON file")
    scene = from_geojson(data, str(path), crs)
    update = {"name": scene.name or path.stem, "source": scene.source or f"GeoJSON {path.name}"}
    return scene.model_copy(update=update)


def from_geojson(data: Any, where: str, crs: Literal["local", "wgs84"] | None = None) -> SceneSpec:
    """A FeatureCollection (or one Feature) as a scene; ``where`` opens the error message."""
    if not isinstance(data, dict) or data.get("type") not in ("FeatureCollection", "Feature"):
        raise BadInput(f"{where}: expected a GeoJSON FeatureCollection; wrap the geometries in Features")
    features = data.get("features", []) if data["type"] == "FeatureCollection" else [data]
    if not isinstance(features, list):
        raise BadInput(f"{where}: features: expected a list, got {type(features).__name__}")
    member = _read_member(data, where)
    parts = [part for index, feature in enumerate(features) for part in _read_feature(feature, where, index)]
    project = _projection(member, crs or member.crs, parts, where)
    regions = [region for part in parts for region in _regions(part, project)]
    settings = {
        "name": data.get("name") or "",
        "regions": regions,
        "enclosed": member.enclosed,
        "source": member.source,
        "mesh": member.mesh,
        "roads": _project_roads(member.roads, project) if member.roads is not None else None,
    }
    return SceneSpec.parse(settings, where)


def to_geojson(spec: SceneSpec) -> dict[str, Any]:
    """The scene as a FeatureCollection in local metres, which :func:`from_geojson` reads back unchanged."""
    features = []
    for region in spec.regions:
        rings = [[list(corner) for corner in (*ring, ring[0])] for ring in (region.polygon, *region.holes)]
        properties = {"kind": region.kind, "name": region.name, "height": region.height}
        geometry = {"type": "Polygon", "coordinates": rings}
        features.append({"type": "Feature", "properties": properties, "geometry": geometry})
    member: dict[str, Any] = {"crs": "local", "enclosed": spec.enclosed, "source": spec.source}
    if spec.mesh is not None:
        member["mesh"] = spec.mesh
    if spec.roads is not None:
        member["roads"] = spec.roads.model_dump(mode="json", exclude_defaults=True)
    return {"type": "FeatureCollection", "name": spec.name, "scene": member, "features": features}


class _Part:
    """One polygon or line of a feature, still in the file's coordinates."""

    def __init__(self, rings: list[FloatArray], width: float | None, settings: dict[str, Any], where: str) -> None:
        self.rings, self.width, self.settings, self.where = rings, width, settings, where


def _read_member(data: dict[str, Any], where: str) -> SceneMember:
    found = data.get("scene") or (data.get("properties") if data["type"] == "FeatureCollection" else None) or {}
    if not isinstance(found, dict):
        raise BadInput(f"{where}: scene: expected keys and values (crs, origin, enclosed), got {found!r:.60}")
    declared = dict(found)
    if "crs" not in declared and "crs" in data:  # the member of the 2008 specification, which GIS programs still write
        named = data["crs"] if isinstance(data["crs"], str) else json.dumps(data["crs"])
        if not any(code in named.upper() for code in ("CRS84", "4326", "WGS84")):
            raise BadInput(
                f"{where}: crs: {named:.120} is not read; export as WGS 84 (EPSG:4326), or set scene.crs to local"
            )
        declared["crs"] = "wgs84"
    return SceneMember.parse(declared, f"{where}: scene")


def _read_feature(feature: Any, where: str, index: int) -> Iterator[_Part]:
    if not isinstance(feature, dict) or not isinstance(feature.get("geometry"), dict):
        raise BadInput(f"{where}: features[{index}]: expected a Feature with a geometry; remove it or draw one")
    properties, geometry = feature.get("properties") or {}, feature["geometry"]
    if not isinstance(properties, dict):
        raise BadInput(f"{where}: features[{index}]: properties: expected keys and values, got {properties!r:.60}")
    here = f"{where}: features[{index}]" + (f" ({properties['name']!r:.60})" if properties.get("name") else "")
    kind = geometry.get("type")
    coordinates = geometry.get("coordinates")
    settings = _read_properties(properties, here, line=str(kind).endswith("LineString"))
    width = settings.pop("width")
    if kind in ("LineString", "MultiLineString"):
        if not isinstance(width, int | float) or not 0 < width < math.inf:
            raise BadInput(f"{here}: a {kind} needs a property width > 0 (m), its thickness; got {width!r:.60}")
        for line in [coordinates] if kind == "LineString" else _parts(coordinates, here):
            yield _Part([_positions(line, here)], float(width), settings, here)
    elif kind in ("Polygon", "MultiPolygon"):
        for rings in [coordinates] if kind == "Polygon" else _parts(coordinates, here):
            yield _Part([_open_ring(_positions(ring, here)) for ring in _parts(rings, here)], None, settings, here)
    else:
        raise BadInput(
            f"{here}: a {kind!s:.60} cannot be part of a scene; use Polygon, MultiPolygon or LineString with a width"
        )


def _read_properties(properties: dict[str, Any], where: str, line: bool) -> dict[str, Any]:
    """kind, name, height and width; other properties are the file's own business unless misspelt."""
    for key in set(properties) - set(PROPERTIES):
        close = difflib.get_close_matches(key.lower(), PROPERTIES, n=1, cutoff=0.8)
        if close:
            raise BadInput(f"{where}: property {key!r:.60} is not read; did you mean {close[0]!r}?")
    kind = properties.get("kind", "obstacle" if line else None)
    if kind not in get_args(RegionKind):
        if kind is None:
            raise BadInput(f"{where}: property kind is missing; one of: {', '.join(get_args(RegionKind))}")
        raise UnknownName("kind", str(kind), get_args(RegionKind), where)
    name, height = properties.get("name") or "", properties.get("height")
    return {"kind": kind, "name": name, "height": height, "width": properties.get("width")}


def _parts(values: Any, where: str) -> list[Any]:
    """The lines, polygons or rings in ``coordinates``."""
    if not isinstance(values or [], list):
        raise BadInput(f"{where}: coordinates must be lists of lists of [x, y] numbers, got {values!r:.60}")
    return values or []


def _positions(values: Any, where: str) -> FloatArray:
    """Coordinates ``(n, 2)``; a third number (altitude) is dropped."""
    try:
        return np.array([(float(x), float(y)) for x, y, *_ in values]).reshape(-1, 2)
    except (TypeError, ValueError):
        raise BadInput(f"{where}: coordinates must be lists of [x, y] numbers") from None


def _open_ring(ring: FloatArray) -> FloatArray:
    """Without the last position, which repeats the first."""
    return ring[:-1] if len(ring) > 1 and (ring[0] == ring[-1]).all() else ring


def _projection(member: SceneMember, crs: str | None, parts: list[_Part], where: str) -> Any:
    """The function from the file's coordinates to local metres."""
    points = np.concatenate([ring for part in parts for ring in part.rings] or [np.zeros((0, 2))])
    in_degrees = len(points) > 0 and bool((np.abs(points) <= (180, 90)).all())
    if crs is None and in_degrees and (np.ptp(points, axis=0) < DEGREES_EXTENT).all():
        raise BadInput(
            f"{where}: everything lies within {DEGREES_EXTENT:g} units, which looks like degrees; "
            f'add "scene": {{"crs": "wgs84"}} to the file, or "local" if they really are metres'
        )
    if crs != "wgs84":
        shift = np.asarray(member.origin or (0.0, 0.0))
        return lambda ring: ring - shift
    if len(points) and not in_degrees:
        x, y = points[(np.abs(points) > (180, 90)).any(axis=1)][0]
        raise BadInput(f"{where}: ({x:g}, {y:g}) is not a longitude and latitude; declare crs local for metres")
    origin = np.asarray(member.origin) if member.origin else points[0] if len(points) else np.zeros(2)
    return lambda ring: tangent_plane(ring, origin)


def tangent_plane(lonlat: FloatArray, origin: FloatArray) -> FloatArray:
    """East and north (m) of ``lonlat (n, 2)`` degrees in the plane that touches the WGS 84 ellipsoid at
    ``origin``.

    Geodetic to earth-centred to local east-north-up coordinates at height 0; the up component is dropped.
    """
    longitude0, latitude0 = np.radians(origin)
    east = np.array([-exact.sin(longitude0), exact.cos(longitude0), 0.0])
    north = np.array(
        [
            -exact.sin(latitude0) * exact.cos(longitude0),
            -exact.sin(latitude0) * exact.sin(longitude0),
            exact.cos(latitude0),
        ]
    )
    offset = _earth_centred(lonlat) - _earth_centred(origin[None, :])
    return np.stack([(offset * east).sum(axis=1), (offset * north).sum(axis=1)], axis=1)


def _earth_centred(lonlat: FloatArray) -> FloatArray:
    longitude, latitude = np.radians(lonlat).T
    sine = exact.sin(latitude)
    normal = SEMI_MAJOR / np.sqrt(1.0 - ECCENTRICITY2 * sine * sine)
    x = normal * exact.cos(latitude) * exact.cos(longitude)
    y = normal * exact.cos(latitude) * exact.sin(longitude)
    return np.stack([x, y, normal * (1.0 - ECCENTRICITY2) * sine], axis=1)


def _regions(part: _Part, project: Any) -> Iterator[Region]:
    rings = [project(ring) for ring in part.rings]
    if part.width is None:
        yield _region(rings, part)
        return
    import shapely

    line = rings[0]
    if len(line) < 2 or not np.ptp(line, axis=0).any():
        raise BadInput(f"{part.where}: a wall needs 2 different positions, got {len(line)}; add one or remove the wall")
    if not ((np.abs(line) < FARTHEST).all() and part.width < FARTHEST):
        raise BadInput(f"{part.where}: a wall of {part.width:g} m farther than {FARTHEST:g} m from the origin; move it")
    closed = len(line) > 3 and (line[0] == line[-1]).all()
    path = shapely.LinearRing(line) if closed else shapely.LineString(line)
    wall = path.buffer(part.width / 2, cap_style="flat", join_style="mitre")
    for polygon in shapely.get_parts(wall):
        rings = [np.round(np.asarray(ring.coords)[:-1], 6) for ring in (polygon.exterior, *polygon.interiors)]
        yield _region(rings, part)


def _project_roads(roads: Roads, project: Any) -> Roads:
    """The same roads in local metres; headings of parking bays are counted from east in either."""

    def moved(points: Sequence[FarPoint]) -> tuple[FarPoint, ...]:
        return tuple((float(x), float(y)) for x, y in project(np.array(points, dtype=np.float64)))

    return roads.model_copy(
        update={
            "lanes": tuple(lane.model_copy(update={"points": moved(lane.points)}) for lane in roads.lanes),
            "markings": tuple(line.model_copy(update={"points": moved(line.points)}) for line in roads.markings),
            "crossings": tuple(each.model_copy(update={"ends": moved(each.ends)}) for each in roads.crossings),
            "parking": tuple(bay.model_copy(update={"middle": moved([bay.middle])[0]}) for bay in roads.parking),
        }
    )


def _region(rings: list[FloatArray], part: _Part) -> Region:
    shell, *holes = rings or [np.zeros((0, 2))]
    shapes = {"polygon": shell.tolist(), "holes": [hole.tolist() for hole in holes]}
    return Region.parse({**part.settings, **shapes}, part.where)
