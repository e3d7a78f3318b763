"""What stands still: floor, walls, streets with their markings, and lawns, painted once per picture size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFilter
from shapely import LineString
from shapely.ops import substring

from sidestep.render.top_view import palette
from sidestep.render.top_view.canvas import Picture, Viewport
from sidestep.types.base import FloatArray
from sidestep.types.road import Lane, Marking, Roads
from sidestep.types.scene import SOLID, SceneSpec

FINER = 3  # supersampling of edges
STRIPE_M = 0.5  # width of a zebra crossing's bars and gaps
SHADOW_M = 0.35  # how far walls darken the floor beside them
SHADOW_STRENGTH = 0.16
LINE_M, STOP_LINE_M, KERB_M = 0.15, 0.4, 0.25  # widths of painted lines, of stop lines and of kerbs
DASH_M, GAP_M = 3.0, 4.5  # of broken lines


@dataclass(frozen=True, eq=False)
class Layer:
    """A filled area. ``kind`` is a key of ``palette.GROUND``; later layers cover earlier ones."""

    kind: str
    ring: FloatArray  # (K, 2) m
    holes: tuple[FloatArray, ...] = ()

    @property
    def solid(self) -> bool:
        """Whether nobody can enter."""
        return self.kind in SOLID or self.kind == "solid"


@dataclass(frozen=True, eq=False)
class Stroke:
    """A line on a road: paint (``white``, ``yellow``) or the ``kerb``."""

    kind: str
    points: FloatArray  # (K, 2) m
    width_m: float


@dataclass(frozen=True, eq=False)
class GroundPlan:
    """Everything static. ``outside_solid``: what no layer covers cannot be entered, as in a floor plan."""

    layers: tuple[Layer, ...]
    walls: FloatArray  # (W, 4) m: x0, y0, x1, y1
    outside_solid: bool = False
    strokes: tuple[Stroke, ...] = ()
    """Lie on the floor, under crossings and solids."""


def ground_of(scene: SceneSpec | None, walls: FloatArray) -> GroundPlan:
    """The areas to paint: the scene's regions where they are known, else what the walls enclose.

    GroundPlan is covered in the order in which it is written, then come crossings, then solids.
    """
    walls = np.asarray(walls, dtype=np.float64).reshape(-1, 4)
    if scene is None:
        layers = tuple(_layers_from_walls(walls))
        return GroundPlan(layers, walls, outside_solid=bool(layers) and layers[0].kind == "walkable")
    regions = sorted(scene.regions, key=lambda region: (region.kind in SOLID, region.kind == "crosswalk"))
    layers = tuple(Layer(r.kind, np.array(r.polygon), tuple(np.array(hole) for hole in r.holes)) for r in regions)
    return GroundPlan(layers, walls, scene.enclosed, tuple(road_strokes(scene.roads or Roads())))


def road_strokes(roads: Roads) -> Iterator[Stroke]:
    """The lines that a scene's roads describe, and a stop line at the end of every lane that enters a junction. Nothing
    where no markings are known."""
    for marking in roads.markings:
        yield from _marking_strokes(marking)
    inside = {lane.name for lane in roads.lanes if lane.turn is not None}
    for lane in roads.lanes if roads.markings else ():
        if lane.turn is None and inside.intersection(lane.next):
            yield Stroke("white", _stop_line(lane), STOP_LINE_M)


def _marking_strokes(marking: Marking) -> Iterator[Stroke]:
    points = np.array(marking.points, dtype=np.float64)
    if marking.kind == "kerb":
        yield Stroke("kerb", points, KERB_M)
    elif marking.kind == "solid":
        yield Stroke(marking.colour, points, LINE_M)
    elif marking.kind == "double_solid":
        step = np.gradient(points, axis=0)
        across = np.stack([-step[:, 1], step[:, 0]], axis=1) / np.hypot(step[:, 0], step[:, 1])[:, None]
        for side in (-1, 1):
            yield Stroke(marking.colour, points + side * LINE_M * across, LINE_M)
    else:
        line = LineString(points)
        for start in np.arange(0.0, line.length, DASH_M + GAP_M).tolist():
            dash = substring(line, start, min(start + DASH_M, line.length))
            if dash.length > LINE_M:
                yield Stroke(marking.colour, np.array(dash.coords), LINE_M)


def _stop_line(lane: Lane) -> FloatArray:
    """(2, 2) across the end of a lane."""
    before, end = np.array(lane.points[-2:], dtype=np.float64)
    along = (end - before) / np.hypot(*(end - before))
    across = np.array([-along[1], along[0]]) * lane.width / 2
    middle = end - along * STOP_LINE_M / 2
    return np.array([middle - across, middle + across])


def _layers_from_walls(walls: FloatArray) -> Iterator[Layer]:
    """Solid is on the left of an edge: a counter-clockwise ring is a solid body, a clockwise one a room."""
    rings = sorted(((_signed_area(ring), ring) for ring in _closed_rings(walls)), key=lambda item: -abs(item[0]))
    for area, ring in rings:
        yield Layer("obstacle" if area > 0 else "walkable", ring)


def _closed_rings(walls: FloatArray) -> Iterator[FloatArray]:
    """Chains of edges that come back to their first point, each (K, 2)."""
    edges_from: dict[tuple[float, float], list[int]] = {}
    for index, (x, y, _, _) in enumerate(walls):
        edges_from.setdefault((float(x), float(y)), []).append(index)
    used = np.zeros(len(walls), dtype=bool)
    for first in range(len(walls)):
        chain: list[int] = []
        edge: int | None = first
        while edge is not None and not used[edge]:
            used[edge] = True
            chain.append(edge)
            end = (float(walls[edge, 2]), float(walls[edge, 3]))
            edge = next((follower for follower in edges_from.get(end, []) if not used[follower]), None)
        if len(chain) >= 3 and np.array_equal(walls[chain[-1], 2:], walls[chain[0], :2]):
            yield walls[chain, :2]


def _signed_area(ring: FloatArray) -> float:
    x, y = ring[:, 0], ring[:, 1]
    return float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) / 2)


def crossing_stripes(ring: FloatArray) -> list[FloatArray]:
    """Bars (4, 2) of a zebra crossing: across its longer side, along the traffic.

    They reach beyond the polygon.
    """
    edges = np.roll(ring, -1, axis=0) - ring
    along = edges[np.argmax(np.hypot(*edges.T))]
    along = along / np.hypot(*along)
    across = np.array([-along[1], along[0]])
    u, v = ring @ along, ring @ across
    starts = np.arange(u.min() + STRIPE_M / 2, u.max(), 2 * STRIPE_M)
    near, far = v.min() * across, v.max() * across
    ends = [(start * along, (start + STRIPE_M) * along) for start in starts]
    return [np.array([a + near, b + near, b + far, a + far]) for a, b in ends]


def paint_ground(ground: GroundPlan, view: Viewport) -> Picture:
    """The background (H, W, 3): areas, shadows along walls, walls, and a faint grid of one or five metres."""
    width, height = view.size
    fine = Viewport(view.bounds, (width * FINER, height * FINER))
    outside = palette.GROUND["solid"] if ground.outside_solid else palette.FLOOR
    picture = Image.new("RGB", fine.size, outside)
    solid = Image.new("L", fine.size, 255 if ground.outside_solid else 0)
    unpainted = list(ground.strokes)
    for layer in ground.layers:
        if unpainted and (layer.solid or layer.kind == "crosswalk"):
            _paint_strokes(picture, unpainted, fine)
            unpainted = []
        area = _mask(layer, fine)
        picture.paste(palette.GROUND[layer.kind], (0, 0), area)
        solid.paste(255 if layer.solid else 0, (0, 0), area)
        if layer.kind == "crosswalk":
            _paint_stripes(picture, layer, area, fine)
    _paint_strokes(picture, unpainted, fine)
    _paint_grid(picture, solid, fine)
    _paint_shadow(picture, solid, fine)
    _paint_walls(picture, ground, fine)
    return np.array(picture.reduce(FINER))


def _corners(points: FloatArray, view: Viewport) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in view.pixels(points)]


def _mask(layer: Layer, view: Viewport) -> Image.Image:
    mask = Image.new("L", view.size)
    draw = ImageDraw.Draw(mask)
    draw.polygon(_corners(layer.ring, view), fill=255)
    for hole in layer.holes:
        draw.polygon(_corners(hole, view), fill=0)
    return mask


def _paint_stripes(picture: Image.Image, layer: Layer, area: Image.Image, view: Viewport) -> None:
    bars = Image.new("L", view.size)
    draw = ImageDraw.Draw(bars)
    for stripe in crossing_stripes(layer.ring):
        draw.polygon(_corners(stripe, view), fill=255)
    clipped = Image.composite(bars, Image.new("L", view.size), area)
    picture.paste(palette.WHITE, (0, 0), clipped)


def _paint_strokes(picture: Image.Image, strokes: Sequence[Stroke], view: Viewport) -> None:
    """Lines to scale, but never thinner than a pixel."""
    draw = ImageDraw.Draw(picture)
    for stroke in strokes:
        width = max(FINER, round(stroke.width_m * view.scale))
        draw.line(_corners(stroke.points, view), fill=palette.STROKES[stroke.kind], width=width, joint="curve")


def _paint_grid(picture: Image.Image, solid: Image.Image, view: Viewport) -> None:
    step = 1.0 if view.scale / FINER >= 24 else 5.0
    x0, y0, x1, y1 = view.shown
    lines = Image.new("L", view.size)
    draw = ImageDraw.Draw(lines)
    for x in np.arange(np.ceil(x0 / step) * step, x1, step):
        draw.line(_corners(np.array([[x, y0], [x, y1]]), view), fill=90, width=FINER)
    for y in np.arange(np.ceil(y0 / step) * step, y1, step):
        draw.line(_corners(np.array([[x0, y], [x1, y]]), view), fill=90, width=FINER)
    floor = solid.point([255 - level for level in range(256)])
    darker = palette.mix(palette.GRID, palette.QUIET_INK, 0.12)
    picture.paste(darker, (0, 0), Image.composite(lines, Image.new("L", view.size), floor))


def _paint_shadow(picture: Image.Image, solid: Image.Image, view: Viewport) -> None:
    """Darken the floor near walls. Blurred at the final resolution, where it costs a ninth."""
    small = solid.reduce(FINER)
    soft = small.filter(ImageFilter.GaussianBlur(max(1.0, SHADOW_M * view.scale / FINER)))
    strength = (
        np.asarray(soft, dtype=np.float32) * (1 - np.asarray(small, dtype=np.float32) / 255) * 2 * SHADOW_STRENGTH
    )
    mask = Image.fromarray(np.clip(strength, 0, 255).astype(np.uint8)).resize(view.size, Image.Resampling.BILINEAR)
    picture.paste(palette.INK, (0, 0), mask)


def _paint_walls(picture: Image.Image, ground: GroundPlan, view: Viewport) -> None:
    draw = ImageDraw.Draw(picture)
    width = max(FINER, round(min(0.06 * view.scale, 2.5 * FINER)))
    if len(ground.walls) == 0:
        for layer in ground.layers:
            for ring in (layer.ring, *layer.holes) if layer.solid else ():
                corners = _corners(ring, view)
                draw.line([*corners, corners[0]], fill=palette.WALL_EDGE, width=width, joint="curve")
    for wall in ground.walls:
        draw.line(_corners(wall.reshape(2, 2), view), fill=palette.WALL_EDGE, width=width)
