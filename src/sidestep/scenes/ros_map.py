"""Scenes from and to maps of the ROS ``map_server``: a YAML file and a grey image of occupied and free cells. A
pixel's occupancy is ``p = 1 - brightness`` (``p = brightness`` with ``negate``); it is occupied when ``p >
occupied_thresh``, free when ``p < free_thresh`` and unknown between (mode ``trinary``,
http://wiki.ros.org/map_server). ``origin`` is the pose (x, y, yaw) of the lower left corner of the image. Occupied
cells are outlined by polygons, whose steps are straightened by at most three quarters of a cell.
"""

from __future__ import annotations

import io
import math
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from sidestep._util import exact
from sidestep._util.reading import file_beside, read_bytes
from sidestep.errors import BadInput
from sidestep.scenes.compile import FARTHEST
from sidestep.scenes.distance_field import solid_mask
from sidestep.scenes.plans import read_mapping
from sidestep.types.base import BoolArray, FloatArray, IntArray, Model, Pose, Positive
from sidestep.types.scene import CompiledScene, Region, SceneSpec

if TYPE_CHECKING:
    from shapely import Polygon


MOST_PIXELS = 64_000_000
MOST_PLAIN_PIXELS = 8_000_000  # of images written out in decimal numbers
MOST_BYTES = 140_000_000
_PILLOW_RAISES = (OSError, SyntaxError, ValueError, TypeError, LookupError, ArithmeticError, EOFError, struct.error)
"""What Pillow's decoders raise on damaged files."""
FORMATS = ("PPM", "PNG", "BMP", "TIFF", "JPEG")
_GAP = rb"(?:\s|#[^\r\n]*[\r\n])+"  # white space and comments
PGM_HEADER = re.compile(rb"P[25]" + (_GAP + rb"\d{1,9}") * 2 + _GAP + rb"(\d{1,5})(?!\d)")


def read_grey_image(path: Path) -> FloatArray:
    """Brightness in [0, 1], ``(rows, columns)`` float32 with the top row first."""
    from PIL import Image, UnidentifiedImageError

    data = read_bytes(path, "map image", MOST_BYTES)
    most = MOST_PLAIN_PIXELS if data.startswith(b"P2") else MOST_PIXELS
    data, greatest = _raw_values(data, path) if data[:2] in (b"P2", b"P5") else (data, 0)
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            if image.width * image.height > most:
                raise BadInput(
                    f"{path}: {image.width} x {image.height} pixels, at most {most:,} are read; cut a part out"
                )
            deep = image.mode.startswith("I")  # 16 bits per pixel
            pixels = np.asarray(image if deep else image.convert("L"), np.float32)
    except (Image.DecompressionBombError, *_PILLOW_RAISES) as error:
        reason = "of no known format" if isinstance(error, UnidentifiedImageError) else str(error)[:200]
        raise BadInput(f"{path}: not a readable image ({reason}); ROS maps are PGM or PNG, export it again") from None
    greatest = greatest or (65535 if deep else 255)
    if pixels.max() > greatest:
        raise BadInput(f"{path}: a pixel is {pixels.max():g}, above the {greatest} of its header; export it again")
    return np.asarray(pixels / np.float32(greatest))


def _raw_values(data: bytes, path: Path) -> tuple[bytes, int]:
    """A PGM file whose header says 255 or 65535, so that Pillow does not round its pixels, and what it said before."""
    header = PGM_HEADER.match(data)
    greatest = int(header[1]) if header else 0
    if header is None or not 0 < greatest < 65536:
        raise BadInput(f"{path}: the PGM header needs width, height and a greatest value up to 65535; export it again")
    return data[: header.start(1)] + (b"255" if greatest < 256 else b"65535") + data[header.end(1) :], greatest


def write_pgm(path: Path, grey: IntArray) -> None:
    """Write ``grey (rows, columns)`` uint8, top row first, as raw PGM."""
    rows, columns = grey.shape
    path.write_bytes(f"P5\n{columns} {rows}\n255\n".encode() + np.ascontiguousarray(grey, np.uint8).tobytes())


TOLERANCE = 0.75  # pixels
LOOK_AHEAD = 64  # nodes, doubled as long as a chord reaches farther


def outline_pixels(mask: BoolArray, to_metres: Callable[[FloatArray], FloatArray] = np.asarray) -> list[Polygon]:
    """Polygons over the set pixels of a ``mask``; pixel [r, c] spans (x, y) = (c, r) to (c + 1, r + 1).

    ``to_metres`` maps corners ``(n, 2)`` from pixels to where they are wanted; the polygons are valid there.
    """
    import shapely

    boxes = _merge_runs(mask)
    if not len(boxes):
        return []
    union = shapely.union_all(shapely.box(*boxes.T.astype(np.float64)))
    return [_straighten_polygon(polygon, to_metres) for polygon in shapely.get_parts(union)]


def _merge_runs(mask: BoolArray) -> IntArray:
    """Boxes ``(n, 4)`` x0, y0, x1, y1: runs of set pixels in a row, joined with equal runs of later rows."""
    edges = np.diff(np.pad(mask, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    row, start = np.nonzero(edges == 1)
    stop = np.nonzero(edges == -1)[1]
    order = np.lexsort((row, stop, start))
    row, start, stop = row[order], start[order], stop[order]
    same = (np.diff(start) == 0) & (np.diff(stop) == 0) & (np.diff(row) == 1)
    first = np.flatnonzero(np.concatenate([[True], ~same])) if len(row) else np.zeros(0, np.int64)
    last = np.concatenate([first[1:] - 1, [len(row) - 1]]) if len(row) else first
    return np.stack([start[first], row[first], stop[first], row[last] + 1], axis=1)


def _straighten_polygon(polygon: Polygon, to_metres: Callable[[FloatArray], FloatArray]) -> Polygon:
    """Fewer edges; where that would make thin parts cross, the outline stays as it is."""
    import shapely

    rings = [np.rint(np.asarray(ring.coords)[:-1]) for ring in (polygon.exterior, *polygon.interiors)]
    shell, *holes = (to_metres(fewer if len(fewer := straighten(ring)) >= 3 else ring) for ring in rings)
    straight = shapely.Polygon(shell, holes)
    if straight.is_valid:
        return straight
    shell, *holes = (to_metres(_drop_straight(ring)) for ring in rings)
    return shapely.Polygon(shell, holes)


def straighten(ring: FloatArray) -> FloatArray:
    """A ring ``(n, 2)`` of horizontal and vertical edges, with fewer edges within ``TOLERANCE`` of it."""
    corners = _drop_straight(ring)
    nodes, passed = _cut_steps(corners)
    if len(nodes) < 4:
        return nodes
    outermost = int(exact.norm(nodes - nodes.mean(axis=0)).argmax())
    nodes, passed = np.roll(nodes, -outermost, axis=0), np.roll(passed, -outermost, axis=0)
    nodes = np.concatenate([nodes, nodes[:1]])
    kept = [0]
    while kept[-1] < len(nodes) - 1:
        kept.append(_farthest_chord(nodes, passed, kept[-1]))
    return nodes[kept[:-1]]


def _drop_straight(ring: FloatArray) -> FloatArray:
    before, after = ring - np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0) - ring
    return np.asarray(ring[before[:, 0] * after[:, 1] != before[:, 1] * after[:, 0]])


def _cut_steps(corners: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Nodes of the outline with steps cut at their midpoints, and for each the corner passed on the way to
    the next.

    A corner is cut when the outline turns the other way at both of its neighbours and one of its edges is one
    pixel long: the cut then passes it at less than half a pixel. A node without a cut corner after it passes
    itself.
    """
    along = np.roll(corners, -1, axis=0) - corners
    before = np.roll(along, 1, axis=0)
    turn = np.sign(before[:, 0] * along[:, 1] - before[:, 1] * along[:, 0])
    length = np.abs(along).sum(axis=1)
    step = turn != np.roll(turn, -1)
    cut = step & np.roll(step, 1) & (np.minimum(length, np.roll(length, 1)) <= 1)
    middle = cut | np.roll(cut, -1)  # edges whose midpoint becomes a node
    nodes, passed = [], []
    for i in range(len(corners)):
        if not cut[i]:
            nodes.append(corners[i])
            passed.append(corners[i])
        if middle[i]:
            following = (i + 1) % len(corners)
            nodes.append(corners[i] + along[i] / 2)
            passed.append(corners[following] if cut[following] else nodes[-1])
    return np.array(nodes), np.array(passed)


def _farthest_chord(nodes: FloatArray, passed: FloatArray, first: int) -> int:
    """The last node to which a chord from ``first`` stays within ``TOLERANCE`` of every corner on the way.

    Seen from ``first``, each corner passed at distance d allows directions within ``asin(TOLERANCE / d)``
    of its own; a node is in question while its direction is allowed by all corners before it.
    """
    ahead = LOOK_AHEAD
    while True:
        last = min(first + ahead, len(nodes) - 1)
        to_node, to_corner = nodes[first + 1 : last + 1] - nodes[first], passed[first:last] - nodes[first]
        forward = exact.arctan2(to_node[0, 1], to_node[0, 0])
        width = exact.arcsin(np.minimum(TOLERANCE / np.maximum(exact.hypot(*to_corner.T), TOLERANCE), 1.0))
        width[exact.hypot(*to_corner.T) <= TOLERANCE] = np.pi
        low = np.maximum.accumulate(_turn(to_corner, forward) - width)
        high = np.minimum.accumulate(_turn(to_corner, forward) + width)
        node = _turn(to_node, forward)
        in_question = np.flatnonzero((low <= node) & (node <= high))
        if low[-1] > high[-1] or last == len(nodes) - 1:
            break
        ahead *= 2
    for k in in_question[::-1]:
        if _is_near(nodes, passed, first, first + 1 + int(k)):
            return first + 1 + int(k)
    return first + 1


def _turn(vector: FloatArray, forward: float) -> FloatArray:
    """Angle of each vector from the direction ``forward``, in [-π, π)."""
    angle = exact.arctan2(vector[:, 1], vector[:, 0]) - forward
    return np.asarray((angle + np.pi) % (2 * np.pi) - np.pi)


def _is_near(nodes: FloatArray, passed: FloatArray, first: int, last: int) -> bool:
    """Whether corners and nodes between ``first`` and ``last`` are within ``TOLERANCE`` of their chord."""
    chord = nodes[last] - nodes[first]
    offset = np.concatenate([passed[first:last], nodes[first + 1 : last]]) - nodes[first]
    t = np.clip((offset * chord).sum(axis=1) / max(float((chord * chord).sum()), 1e-12), 0.0, 1.0)
    return bool(exact.norm(offset - t[:, None] * chord).max() <= TOLERANCE + 1e-9)


FREE, OCCUPIED = 254, 0  # brightness that map_server writes
BORDER = 0.5  # m of solid around an enclosed scene in a written map
MOST_OUTLINES = 250_000  # edges between occupied and free pixels along the rows; noise has more

Share = Annotated[float, Field(ge=0, le=1)]


class RosMap(Model):
    """The YAML file of a map. ``unknown_is_solid`` is ours: whether nobody can enter unknown cells."""

    image: str
    resolution: Positive
    origin: Pose = (0.0, 0.0, 0.0)
    occupied_thresh: Share = 0.65
    free_thresh: Share = 0.196
    negate: bool = False
    mode: Literal["trinary"] = "trinary"
    unknown_is_solid: bool = False

    @model_validator(mode="after")
    def _check(self) -> RosMap:
        if self.free_thresh > self.occupied_thresh:
            raise ValueError(
                f"free_thresh {self.free_thresh} is above occupied_thresh {self.occupied_thresh}; swap them"
            )
        return self


def read_ros_map(path: Path, unknown_is_solid: bool | None = None) -> SceneSpec:
    """Read a map's YAML file: one walkable region with obstacles around its occupied cells.

    Outlines are straightened by at most three quarters of a cell.
    ``unknown_is_solid`` overrides the key of that name in the file.
    """
    settings = RosMap.parse(read_mapping(path), str(path))
    brightness = read_grey_image(file_beside(path, settings.image, "image"))
    occupancy = brightness if settings.negate else 1 - brightness
    blocked = settings.unknown_is_solid if unknown_is_solid is None else unknown_is_solid
    solid = occupancy >= settings.free_thresh if blocked else occupancy > settings.occupied_thresh
    rows, columns = solid.shape
    _check_size(solid, settings, path)
    extent = np.array([[0.0, 0.0], [columns, 0.0], [columns, rows], [0.0, rows]])
    regions = [Region(kind="walkable", name="map", polygon=_corners(_to_metres(extent, settings)))]
    for polygon in outline_pixels(solid[::-1], lambda pixels: _to_metres(pixels, settings)):
        shell, *holes = (_corners(np.asarray(ring.coords)[:-1]) for ring in (polygon.exterior, *polygon.interiors))
        regions.append(Region(kind="obstacle", polygon=shell, holes=tuple(holes)))
    return SceneSpec(name=path.stem, regions=tuple(regions), source=f"ROS map {path.name}")


def save_ros_map(scene: CompiledScene, folder: Path, resolution: float = 0.05, name: str | None = None) -> Path:
    """Write ``name.pgm`` and ``name.yaml`` (by default the scene's name) with cells of ``resolution`` m;
    returns the YAML's path.

    A cell is occupied when its centre is in a solid.
    """
    if not 0 < resolution < math.inf:
        raise BadInput(f"resolution: must be a positive number of metres, got {resolution}")
    x0, y0, x1, y1 = scene.bounds
    border = math.ceil(BORDER / resolution) * resolution if scene.spec.enclosed else 0.0
    x0, y0 = x0 - border, y0 - border
    columns, rows = (
        math.ceil((x1 + border - x0) / resolution - 1e-6),
        math.ceil((y1 + border - y0) / resolution - 1e-6),
    )
    if columns * rows > MOST_PIXELS:
        raise BadInput(f"resolution: {resolution} m makes {columns} x {rows} cells; choose a coarser one")
    centre = (x0 + resolution / 2, y0 + resolution / 2)
    solid = solid_mask(scene.segments, scene.spec.enclosed, centre, resolution, (rows, columns))
    folder.mkdir(parents=True, exist_ok=True)
    stem = name or scene.spec.name
    write_pgm(folder / f"{stem}.pgm", np.where(solid[::-1], OCCUPIED, FREE).astype(np.uint8))
    path = folder / f"{stem}.yaml"
    path.write_text(
        f"image: {stem}.pgm\nmode: trinary\nresolution: {resolution:.9g}\norigin: [{x0:.9g}, {y0:.9g}, 0]\n"
        f"negate: 0\noccupied_thresh: 0.65\nfree_thresh: 0.196\n",
        encoding="utf-8",
    )
    return path


def _check_size(solid: BoolArray, settings: RosMap, path: Path) -> None:
    rows, columns = solid.shape
    reach = max(abs(value) for value in settings.origin[:2]) + settings.resolution * (rows + columns)
    if reach > FARTHEST:
        raise BadInput(
            f"{path}: reaches {reach / 1000:.3g} km from the origin, at most {FARTHEST / 1000:g} km are read; check "
            "resolution and origin"
        )
    changes = int(np.count_nonzero(solid[:, 1:] != solid[:, :-1]))
    if changes > MOST_OUTLINES:
        raise BadInput(
            f"{path}: {changes:,} edges between occupied and free cells, at most {MOST_OUTLINES:,} are outlined; "
            "is the image noise, or are the thresholds wrong?"
        )


def _to_metres(pixels: FloatArray, settings: RosMap) -> FloatArray:
    """Pixel coordinates, y up from the lower left corner, to metres in the map's frame (to 1 µm)."""
    x, y, yaw = settings.origin
    u, v = (pixels * settings.resolution).T
    east = x + exact.cos(yaw) * u - exact.sin(yaw) * v
    north = y + exact.sin(yaw) * u + exact.cos(yaw) * v
    return np.stack([east, north], axis=1).round(6)


def _corners(ring: FloatArray) -> tuple[tuple[float, float], ...]:
    return tuple((float(x), float(y)) for x, y in ring)
