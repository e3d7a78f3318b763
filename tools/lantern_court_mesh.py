"""The mesh of Lantern Court: what a scanner would have brought home, modelled after its annotation."""

from __future__ import annotations

import json
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from shapely.geometry.polygon import orient

from sidestep._util import exact
from sidestep.scenes.walkways import stations_between
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.scene import OPEN, Region, SceneSpec

LOW = -0.12  # m, of roads below sidewalks
LOWERED = frozenset({"road", "crosswalk"})
REACH = 150.0  # m: so far the earth reaches each way
STOREY, WINDOW = 3.0, (1.1, 1.5)  # m
PROUD = 0.02  # m that windows and doors stand before the wall: as far as solids may reach beyond their regions
HEAD_ROOM = 2.2  # m: leaves may reach beyond their regions above it
Colour = tuple[float, float, float]
COLOURS: dict[str, Colour] = {
    "road": (0.30, 0.30, 0.32), "crosswalk": (0.30, 0.30, 0.32), "sidewalk": (0.68, 0.65, 0.60),
    "plaza": (0.74, 0.62, 0.50),
    "ramp": (0.80, 0.74, 0.45), "kerb": (0.80, 0.80, 0.78), "earth": (0.42, 0.50, 0.28), "paint": (0.93, 0.93, 0.90),
    "wall 0": (0.80, 0.58, 0.45), "wall 1": (0.86, 0.80, 0.66), "wall 2": (0.62, 0.66, 0.70),
    "wall 3": (0.70, 0.42, 0.36),
    "roof": (0.45, 0.24, 0.20), "glass": (0.20, 0.27, 0.34), "door": (0.32, 0.22, 0.16), "wood": (0.45, 0.33, 0.22),
    "metal": (0.22, 0.24, 0.25), "leaves": (0.24, 0.42, 0.20), "stone": (0.66, 0.65, 0.62), "lamp": (0.95, 0.90, 0.70),
}  # fmt: skip


class Model:
    """Triangles by colour."""

    def __init__(self) -> None:
        self._found: dict[str, list[FloatArray]] = {}

    def add(self, colour: str, triangles: Any) -> None:
        self._found.setdefault(colour, []).append(np.asarray(triangles, float).reshape(-1, 3, 3))

    def quad(self, colour: str, a: Any, b: Any, c: Any, d: Any) -> None:
        """Counter-clockwise as seen from outside."""
        self.add(colour, [[a, b, c], [a, c, d]])

    def flat(self, colour: str, polygon: Any, z: float) -> None:
        plan = _plan(polygon)
        self.add(colour, np.concatenate([plan, np.full((*plan.shape[:2], 1), z)], axis=2))

    def prism(
        self, colour: str, ring: FloatArray, z0: float, z1: float, top: float = 1.0, head: str | None = None
    ) -> None:
        """A ring raised; ``top`` shrinks its upper end about its middle."""
        middle = ring.mean(axis=0)
        upper = middle + (ring - middle) * top
        for k in range(len(ring)):
            a, b = ring[k - 1], ring[k]
            c, d = upper[k], upper[k - 1]
            self.quad(colour, (*a, z0), (*b, z0), (*c, z1), (*d, z1))
        if top > 0:
            self.flat(head or colour, shapely.Polygon(upper), z1)

    def parts(self) -> dict[str, tuple[Colour, FloatArray]]:
        """For :func:`write_glb`."""
        return {name: (COLOURS[name], np.concatenate(found)) for name, found in self._found.items()}


def _plan(polygon: Any) -> FloatArray:
    """Triangles ``(T, 3, 2)`` of a polygon, counter-clockwise."""
    pieces = shapely.get_parts(shapely.constrained_delaunay_triangles(polygon))
    corners = shapely.get_coordinates(pieces).reshape(-1, 4, 2)[:, :3]
    a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    turned = np.where((area < 0)[:, None, None], corners[:, ::-1], corners)
    return np.asarray(turned[np.abs(area) > 1e-6])


def model_place(scene: SceneSpec) -> Model:
    """The whole mesh."""
    model = Model()
    polygons = [(region, shapely.Polygon(region.polygon, region.holes)) for region in scene.regions]
    crosswalks = shapely.union_all([polygon for region, polygon in polygons if region.kind == "crosswalk"])
    _add_ground(model, polygons, crosswalks)
    rng = np.random.default_rng(5)
    for region, polygon in polygons:
        if region.kind == "building":
            _add_house(model, polygon, region.height or 6.0, f"wall {int(rng.integers(4))}")
        elif region.kind not in OPEN:
            _add_thing(model, region, polygon)
    return model


def _add_ground(model: Model, polygons: list[tuple[Region, Any]], crosswalks: Any) -> None:
    for region, polygon in polygons:
        if region.kind == "ramp":
            _add_ramp(model, polygon, crosswalks)
        elif region.kind in OPEN:
            colour = "plaza" if region.name == "plaza" else "earth" if region.kind == "grass" else region.kind
            model.flat(colour, polygon, LOW if region.kind in LOWERED else 0.0)
        if region.kind == "crosswalk":
            _add_bars(model, polygon)
    drawn = shapely.union_all([polygon for region, polygon in polygons if region.kind in OPEN])
    for rest in shapely.get_parts(shapely.difference(shapely.box(-REACH, -REACH, REACH, REACH), drawn)):
        if rest.area > 0.01:
            model.flat("earth", rest, 0.0)
    lowered = shapely.union_all([polygon for region, polygon in polygons if region.kind in LOWERED])
    ramps = shapely.union_all([polygon for region, polygon in polygons if region.kind == "ramp"])
    for polygon in shapely.get_parts(orient(lowered) if isinstance(lowered, shapely.Polygon) else lowered):
        for ring in (polygon.exterior, *polygon.interiors):
            points = shapely.get_coordinates(ring if ring.is_ccw == (ring is polygon.exterior) else ring.reverse())
            for a, b in pairwise(points):
                middle = shapely.Point((a + b) / 2)
                if ramps.distance(middle) > 0.01:
                    model.quad("kerb", (*b, LOW), (*a, LOW), (*a, 0.0), (*b, 0.0))


def _add_ramp(model: Model, polygon: Any, crosswalks: Any) -> None:
    """Slopes down to the crosswalk, with cheeks where the sidewalk beside it stays up."""

    def heights(places: FloatArray) -> FloatArray:
        return np.where(shapely.distance(crosswalks, shapely.points(places)) < 0.01, LOW, 0.0)

    plan = _plan(polygon)
    model.add("ramp", np.concatenate([plan, heights(plan)[..., None]], axis=2))
    ring = shapely.get_coordinates(orient(polygon).exterior)
    for (a, b), (za, zb) in zip(pairwise(ring), pairwise(heights(ring)), strict=True):
        if za != zb:
            foot, head = (a, b) if za < zb else (b, a)
            model.add("kerb", [[(*foot, LOW), (*head, 0.0), (*foot, 0.0)]])


def _add_bars(model: Model, crosswalk: Any) -> None:
    """White bars along the way of vehicles."""
    ring = shapely.get_coordinates(crosswalk.minimum_rotated_rectangle.exterior)
    long, short = (ring[1] - ring[0]), (ring[2] - ring[1])
    if exact.hypot(*short) > exact.hypot(*long):
        ring, long, short = ring[1:], short, -long
    length = float(exact.hypot(*long))
    for start in stations_between(0.35, length - 0.6, 1.0).tolist():
        a, b = ring[0] + long * start / length, ring[0] + long * (start + 0.5) / length
        bar = shapely.Polygon([a + short * 0.08, b + short * 0.08, b + short * 0.92, a + short * 0.92])
        for part in shapely.get_parts(shapely.intersection(bar, crosswalk.buffer(-0.05))):
            model.flat("paint", part, LOW + 0.012)


def _add_house(model: Model, polygon: Any, height: float, wall: str) -> None:
    ring = shapely.get_coordinates(orient(polygon).exterior)[:-1]
    model.prism(wall, ring, 0.0, height, head="roof")
    middle = ring.mean(axis=0)
    model.prism("roof", middle + (ring - middle) * 1.04, height, height + 2.2, 0.35)
    for k in range(len(ring)):
        a, b = ring[k - 1], ring[k]
        length = float(exact.hypot(*(b - a)))
        along = (b - a) / max(length, 1e-9)
        out = np.array([along[1], -along[0]]) * PROUD
        count = int((length - 0.8) / 2.6)
        for storey in range(int(height // STOREY)):
            for n in range(count):
                centre = a + along * length * (n + 0.5) / count + out
                left, right = centre - along * WINDOW[0] / 2, centre + along * WINDOW[0] / 2
                door = storey == 0 and n == count // 2
                low = 0.02 if door else storey * STOREY + 0.95
                high = 2.2 if door else low + WINDOW[1]
                model.quad("door" if door else "glass", (*left, low), (*right, low), (*right, high), (*left, high))


def _add_thing(model: Model, region: Region, polygon: Any) -> None:
    ring = shapely.get_coordinates(orient(polygon).exterior)[:-1]
    middle, height = ring.mean(axis=0), region.height or 1.0
    if region.name == "tree":
        model.prism("wood", ring, 0.0, height * 0.45, 0.6)
        turn = np.arange(7) * 2 * np.pi / 7
        crown = middle + 1.7 * np.stack([exact.cos(turn), exact.sin(turn)], axis=1)
        low = max(height * 0.35, HEAD_ROOM)
        model.prism("leaves", middle + (crown - middle) * 0.55, low, height * 0.5, 1.8)
        model.prism("leaves", crown, height * 0.5, height * 0.8, 0.85)
        model.prism("leaves", middle + (crown - middle) * 0.85, height * 0.8, height, 0.3)
    elif region.name == "lamp post":
        model.prism("metal", ring, 0.0, height - 0.5, 0.6)
        model.prism("lamp", middle + (ring - middle) * 1.6, height - 0.5, height, 0.7)
    elif region.name == "basin":
        model.prism("stone", ring, 0.0, height, 0.98)
        model.prism("stone", middle + (ring - middle) * 0.15, height, height + 0.9, 0.8)
    else:
        model.prism("wood" if region.name == "bench" else "metal", ring, 0.0, height)


def write_glb(path: Path, parts: dict[str, tuple[tuple[float, float, float], FloatArray]]) -> None:
    """One mesh per part: name → (colour in sRGB 0 … 1, corners ``(T, 3, 3)``, m, z up).

    Corners are shared by triangles of one plane only, so that edges stay sharp."""
    accessors: list[dict[str, Any]] = []
    views: list[dict[str, Any]] = []
    meshes, materials, binary = [], [], b""
    for number, (name, (colour, triangles)) in enumerate(parts.items()):
        turned = np.round(triangles[..., [0, 2, 1]] * (1.0, 1.0, -1.0), 3)
        normal = np.cross(turned[:, 1] - turned[:, 0], turned[:, 2] - turned[:, 0])
        normal = np.round(normal / np.maximum(exact.norm(normal)[:, None], 1e-12), 2)
        keys = np.concatenate([turned.reshape(-1, 3), normal.repeat(3, axis=0)], axis=1)
        unique, order = np.unique(keys, axis=0, return_inverse=True)
        points = unique[:, :3].astype(np.float32)
        indices: IntArray = order.reshape(-1).astype(np.uint16 if len(points) < 65_536 else np.uint32)
        for values, shape in ((points, "VEC3"), (indices, "SCALAR")):
            raw = values.tobytes()
            views.append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(raw)})
            kind = {"f": 5126, "u": 5123 if values.dtype == np.uint16 else 5125}[values.dtype.kind]
            accessors.append({"bufferView": len(views) - 1, "componentType": kind, "count": len(values), "type": shape})
            binary += raw + b"\0" * (-len(raw) % 4)
        accessors[-2].update(min=points.min(axis=0).tolist(), max=points.max(axis=0).tolist())
        linear = [round(exact.exp(2.2 * exact.log(value)), 4) for value in colour]
        materials.append(
            {"name": name, "pbrMetallicRoughness": {"baseColorFactor": [*linear, 1.0], "metallicFactor": 0.0}}
        )
        primitive = {"attributes": {"POSITION": len(accessors) - 2}, "indices": len(accessors) - 1, "material": number}
        meshes.append({"name": name, "primitives": [primitive]})
    document = {
        "asset": {"version": "2.0", "generator": "sidestep"},
        "scene": 0,
        "scenes": [{"nodes": list(range(len(meshes)))}],
        "nodes": [{"name": mesh["name"], "mesh": k} for k, mesh in enumerate(meshes)],
        "meshes": meshes, "materials": materials, "accessors": accessors, "bufferViews": views,
        "buffers": [{"byteLength": len(binary)}],
    }  # fmt: skip
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    head = struct.pack("<4sII", b"glTF", 2, 12 + 8 + len(text) + 8 + len(binary))
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(binary), b"BIN\0") + binary
    path.write_bytes(head + chunks)
