"""Indoor scenes: walls with skirting and doors, lintels over doorways, and a ceiling with lamps."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

from sidestep.render.mesh import Semantic
from sidestep.render.scene.building import Band, Opening, Wall, add_wall
from sidestep.render.scene.layout import SNAP, Layout, minus, words
from sidestep.render.scene.solids import HEAD_ROOM, MeshBuilder, OrientedRectangle, flat, polygon_parts

CEILING = 2.8  # m
DOOR_WIDTH, DOOR_HEIGHT = 0.95, 2.1  # m
DOOR_EVERY = 5.0  # m along a wall
SKIRTING = 0.1  # m
LAMP_PITCH = 2.4  # m
MOST_LAMPS = 300  # in one room: larger ones have them farther apart


@dataclass(frozen=True)
class Room:
    wall: str
    door: str
    height: float


def room_height(layout: Layout) -> float:
    """2.8 m, or as high as the tallest column or wall that a scene draws up to 6 m."""
    tall = [f.region.height or 0.0 for f in layout.solids]
    return max([CEILING, *(height for height in tall if height <= 6.0)])


def add_rooms(builder: MeshBuilder, layout: Layout, rng: np.random.Generator) -> None:
    """Walls along the border of the open ground, and the ceiling above it."""
    room = Room(
        str(rng.choice(["room_white", "room_warm", "room_green"])),
        str(rng.choice(["door_office", "door_oak", "door_blue"])),
        room_height(layout),
    )
    lintels = _doorways(layout)
    covered = shapely.union_all([f.polygon for f in layout.solids]).buffer(0.05) if layout.solids else shapely.Polygon()
    with builder.object():
        for part in polygon_parts(layout.open_area):
            for ring in (part.exterior, *part.interiors):
                corners = np.asarray(shapely.simplify(ring, 1e-3).coords)[::-1]
                for start, end in itertools.pairwise(corners):
                    _add_room_wall(builder, layout, Wall((start[0], start[1]), (end[0], end[1])), room, covered, rng)
        for lintel in lintels:
            _add_lintel(builder, lintel, layout, room)
    _add_ceiling(builder, minus(layout.open_area, shapely.union_all(lintels)), room.height)


def _add_room_wall(
    builder: MeshBuilder, layout: Layout, wall: Wall, room: Room, covered: Any, rng: np.random.Generator
) -> None:
    bands = [Band(SKIRTING, "skirting"), Band(room.height, room.wall)]
    doors = [door for door in _doors(layout, wall, room, rng) if not _hidden(wall, door, covered)]
    add_wall(builder, wall, -0.02, bands, doors, Semantic.WALL)


def _doors(layout: Layout, wall: Wall, room: Room, rng: np.random.Generator) -> list[Opening]:
    """Glass doors at the ends of entrances, lift doors in lift halls; office doors elsewhere, about every 5 m, and
    one in the end wall of a corridor."""
    kind, width = room.door, DOOR_WIDTH
    names = _names_at(layout, wall)
    if names & {"doorway", "door"}:
        return []
    if "entrance" in names:
        kind, width = "door_glass", min(2.2, wall.length - 0.5)
    elif "lift" in names or "elevator" in names:
        kind, width = "door_lift", 1.3
    if wall.length < width + 0.5:
        return []
    count = max(int(wall.length / DOOR_EVERY), 1)
    if kind == "door_glass":
        count = max(int(wall.length / 2.4), 1)
        width = min(width, wall.length / count - 0.2)
    pitch = wall.length / count
    head = DOOR_HEIGHT if room.height < 3.5 or kind == room.door else 2.5
    doors = []
    for k in range(count):
        slack = max(pitch / 2 - width / 2 - 0.3, 0.0)
        shift = rng.uniform(-0.6, 0.6) * slack if count > 1 and kind == room.door else 0.0
        middle = (k + 0.5) * pitch + shift
        frame = "frame_grey" if kind != "door_glass" else "metal_dark"
        doors.append(Opening(middle - width / 2, middle + width / 2, 0.004, head, kind, Semantic.DOOR, 0.05, frame))
    return doors


def _names_at(layout: Layout, wall: Wall) -> frozenset[str]:
    """Words of the open region that lies before the middle of a wall."""
    middle = wall.points(np.array([wall.length / 2]), np.zeros(1))[0, :2] + 0.05 * wall.normal[:2]
    found = [words(r.name) for r, p in layout.ground if shapely.contains_xy(p, middle[0], middle[1])]
    return min(found, key=len) if found else frozenset()


def _hidden(wall: Wall, door: Opening, covered: Any) -> bool:
    """A door behind furniture is left out."""
    ends = wall.points(np.array([door.left, door.right]), np.zeros(2))[:, :2] + 0.1 * wall.normal[:2]
    return bool(shapely.LineString(ends).intersects(covered))


def _doorways(layout: Layout) -> list[Any]:
    """Ground that belongs to a doorway only: a lintel hangs over it."""
    lintels = []
    for region, polygon in layout.ground:
        if words(region.name) & {"doorway", "door"}:
            others = shapely.union_all([p for r, p in layout.ground if r is not region])
            lintels += polygon_parts(minus(polygon, others))
    return lintels


def _add_lintel(builder: MeshBuilder, lintel: Any, layout: Layout, room: Room) -> None:
    """Underside, and faces towards the rooms; its other faces lie in the walls."""
    flat(builder, lintel, HEAD_ROOM, "frame_grey", Semantic.WALL, down=True)
    corners = np.asarray(lintel.exterior.coords)
    for start, end in itertools.pairwise(corners):
        wall = Wall((start[0], start[1]), (end[0], end[1]))
        before = wall.points(np.array([wall.length / 2]), np.zeros(1))[0, :2] + 0.05 * wall.normal[:2]
        if shapely.contains_xy(layout.open_area, before[0], before[1]):
            add_wall(builder, wall, HEAD_ROOM, [Band(room.height, room.wall)], [], Semantic.WALL)


def _add_ceiling(builder: MeshBuilder, area: Any, height: float) -> None:
    """Ceiling tiles with lamp panels let in; panels line up with the longer side of each room."""
    lamps = []
    for part in polygon_parts(area):
        frame = OrientedRectangle.about(part)
        inner = part.buffer(-0.35)
        pitch = LAMP_PITCH if height < 3.5 else 1.6 * LAMP_PITCH
        pitch = max(pitch, (frame.length * frame.width / MOST_LAMPS) ** 0.5)
        nx, ny = (max(round(size / pitch), 1) for size in (frame.length, frame.width))
        for i in range(nx):
            for j in range(ny):
                x = ((i + 0.5) / nx - 0.5) * frame.length
                y = ((j + 0.5) / ny - 0.5) * frame.width
                panel = shapely.set_precision(frame.rectangle(x - 0.6, x + 0.6, y - 0.15, y + 0.15), SNAP)
                if inner.contains(panel):
                    lamps.append(panel)
    panels = shapely.MultiPolygon(lamps)
    for part in polygon_parts(minus(area, panels)):
        flat(builder, part, height, "ceiling", Semantic.CEILING, down=True)
    for panel in polygon_parts(panels):
        flat(builder, panel, height, "lamp", Semantic.CEILING, down=True)
