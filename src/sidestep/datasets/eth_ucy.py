"""The formats of ETH's and UCY's recordings.

BIWI ``obsmat.txt``: one annotation per line, ``frame person x z y vx vz vy`` in m and m/s; z is not used. Beside it
``groups.txt`` states who walked together, one group per line; UCY's recordings have the same file. Format of the
ETH/BIWI Walking Pedestrians (Pellegrini et al. 2009), also used for conversions of UCY.

UCY ``.vsp``: people as splines in pixels, brought to the ground by a homography. Format (Lerner et al. 2007): the
number of splines; per spline the number of control points, then one control point per line ``x y frame gaze``; comments
begin with ``-``. Pixels: origin at the centre of the 720 × 576 image, x right, y up. Frames count 25 per second.
Between control points people move straight in the image, as in the conversions by the recording's own community, and
are sampled at every video frame. Person k is the k-th spline, from 1.

Homographies that go with these files take one of two kinds of pixels, and no file says which:

- ``matrix``: (row, column) from the top left corner, row = 288 − y, column = x + 360 (Zara),
- ``centred``: (x, y) as in the file (Students).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sidestep._util import exact
from sidestep.datasets.annotations import (
    data_lines,
    head_lines,
    is_whole,
    number_table,
    numbers,
    read_text,
    tracks_from_frames,
    whole_numbers,
)
from sidestep.datasets.sources import known_file, read_bytes
from sidestep.errors import BadInput, UnknownName
from sidestep.interfaces import Loader
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.tracks import Tracks


def read_groups(path: Path) -> dict[int, int]:
    """Person → group, groups counted from 0. Lines that share a person are one group; a line with one number (some
    files begin with a count) is not a group."""
    group: dict[int, int] = {}
    people: dict[int, list[int]] = {}
    for number, line in zip(*reversed(data_lines(read_text(path))), strict=True):
        members = numbers(line)
        if not members or not all(map(is_whole, members)):
            raise BadInput(f"{path}:{number}: expected the numbers of people who walk together, got {line!r:.60}")
        if len(members) > 1:
            _join_group(group, people, [int(member) for member in members], number)
    order = {old: new for new, old in enumerate(dict.fromkeys(group.values()))}
    return {person: order[old] for person, old in group.items()}


def _join_group(group: dict[int, int], people: dict[int, list[int]], members: list[int], new: int) -> None:
    """The largest of the groups that are joined keeps its number; ``people`` has the members of each."""
    touched = {group[member] for member in members if member in group}
    target = max(touched, key=lambda each: len(people[each]), default=new)
    joined = [person for each in touched - {target} for person in people.pop(each)]
    joined += [member for member in dict.fromkeys(members) if member not in group]
    group.update(dict.fromkeys(joined, target))
    people.setdefault(target, []).extend(joined)


def groups_beside(path: Path) -> dict[int, int]:
    """What a ``groups.txt`` in the same folder states; nothing if there is none."""
    beside = path.with_name("groups.txt")
    return read_groups(beside) if beside.is_file() and beside.stat().st_size else {}


CLOCK_TOLERANCE = 0.03
"""How far, in parts, the clock found in the velocity columns may be from a whole number of frames per second."""


@dataclass(frozen=True)
class BiwiLoader(Loader):
    """Reads ``obsmat.txt``, with the groups in ``groups.txt`` beside it."""

    name: str = "biwi"
    summary: str = "ETH/BIWI obsmat.txt: frame person x z y vx vz vy"
    companions: tuple[str, ...] = ("groups.txt",)

    def matches(self, path: Path) -> bool:
        """Whether the first lines are eight numbers apart by white space."""
        lines = head_lines(path)
        fitting = [
            len(line.split()) == 8 and "," not in line and line.lstrip()[:1] in "+-.0123456789" for line in lines
        ]
        return bool(fitting) and fitting[0] and 2 * sum(fitting) > len(fitting)

    def load(self, path: Path, rate_hz: float | None = None) -> Tracks:
        """The people in the file. Frames per second: ``rate_hz``, else those of the known recording, else those that
        its velocity columns state (:func:`clock_of_velocities`)."""
        lines, line_numbers = data_lines(read_text(path))
        table = number_table(path, lines, line_numbers, 8, "frame person x z y vx vz vy")
        source = ""
        if rate_hz is None and known_file(path) is None:
            rate_hz = clock_of_velocities(table)
            source = f"{path.name} (clock of {rate_hz:g} frames/s from its velocity columns)" if rate_hz else ""
        xy, group = table[:, [2, 4]], groups_beside(path)
        return tracks_from_frames(
            path, table[:, 0], table[:, 1], xy, rate_hz, numbers=line_numbers, source=source, group=group
        )


def clock_of_velocities(table: FloatArray) -> float | None:
    """Frames per second at which the velocity columns agree with the positions: the median over all pieces of
    |v| ÷ (|Δposition| ÷ Δframe), rounded, with v at the piece's beginning or end, whichever agrees with more pieces
    (files differ). None unless it is within 3 % of a whole number and most pieces are within 25 % of it."""
    table = table[np.isfinite(table).all(axis=1)]
    table = table[np.lexsort((table[:, 0], table[:, 1]))]
    frames = np.diff(table[:, 0])
    lengths = exact.hypot(*np.diff(table[:, [2, 4]], axis=0).T)
    usable = (np.diff(table[:, 1]) == 0) & (frames > 0) & (lengths > 0)
    if usable.sum() < 3:
        return None
    speeds = exact.hypot(table[:, 5], table[:, 7])
    found = []
    for speed in (speeds[:-1], speeds[1:]):
        ratios = speed[usable] * frames[usable] / lengths[usable]
        middle = float(np.median(ratios))
        found.append((float(np.mean(np.abs(ratios - middle) < 0.25 * middle)), middle))
    agreeing, middle = max(found)
    nearest = round(middle)
    if nearest < 1 or abs(middle - nearest) > CLOCK_TOLERANCE * nearest or agreeing < 0.5:
        return None
    return float(nearest)


BIWI = BiwiLoader()


UCY_FPS = 25.0
IMAGE_WIDTH, IMAGE_HEIGHT = 720, 576
MOST_ANNOTATIONS = 5 * 10**6
"""More than this cannot come from a video that somebody annotated."""
PIXELS = ("matrix", "centred")
KNOWN_HOMOGRAPHIES = {
    "2172a470ff902891063c6fb914cc86257d61fbe44711359bf33361263581b8be": "matrix",  # Zara
    "4efaab962b9acd3d318d9370e8e34eb7703e544edd1d720686f45bd85676012e": "centred",  # Students 03
}
"""SHA-256 of an ``H.txt`` → the pixels it takes."""

_COUNT = re.compile(r"^\s*\d+\s*(-.*)?$")


@dataclass(frozen=True)
class UcyVspLoader(Loader):
    """Reads UCY splines with ``H.txt`` and ``groups.txt`` beside them."""

    name: str = "ucy_vsp"
    summary: str = "UCY .vsp: pixel splines, with the homography H.txt beside it"
    companions: tuple[str, ...] = ("H.txt", "groups.txt")

    def matches(self, path: Path) -> bool:
        """Whether it begins with two counts and a control point."""
        lines = head_lines(path, 3)
        if len(lines) < 2 or not (_COUNT.match(lines[0]) and _COUNT.match(lines[1])):
            return path.suffix == ".vsp" and bool(lines)
        return "spline" in lines[0] or (len(lines) == 3 and len(numbers(_uncommented(lines[2]))) == 4)

    def load(
        self, path: Path, rate_hz: float | None = None, homography: Path | str | None = None, pixels: str | None = None
    ) -> Tracks:
        """The people in the file, in metres at every video frame.

        ``homography``: a file with a 3 × 3 matrix; ``H.txt`` beside the file if left out. ``pixels``: what it takes,
        ``matrix`` or ``centred``; known for the homographies of Zara and Students 03.
        """
        points, person, line_numbers = _control_points(path)
        matrix, pixels = _homography(path, homography, pixels)
        frame, who, xy, line_numbers = _every_frame(path, points, person, line_numbers)
        fps, group = UCY_FPS if rate_hz is None else rate_hz, groups_beside(path)
        return tracks_from_frames(
            path, frame, who, to_ground(xy, matrix, pixels), fps, numbers=line_numbers, group=group
        )


def to_ground(xy: FloatArray, homography: FloatArray, pixels: str) -> FloatArray:
    """(K, 2) metres of (K, 2) pixels from the image's centre, y up: H · (a, b, 1), divided by its third component,
    with (a, b) = (288 − y, x + 360) for ``matrix`` and (x, y) for ``centred`` pixels."""
    if pixels == "matrix":
        xy = np.stack([IMAGE_HEIGHT / 2 - xy[:, 1], xy[:, 0] + IMAGE_WIDTH / 2], axis=1)
    ground = exact.matmul(np.column_stack([xy, np.ones(len(xy))]), homography.T)
    return np.asarray(ground[:, :2] / ground[:, 2:])


def _uncommented(line: str) -> str:
    """The line without its comment: from a dash that is followed by a blank or the end."""
    return re.split(r"\s-(?:\s|$)|\(", line, maxsplit=1)[0]


def _control_points(path: Path) -> tuple[FloatArray, IntArray, IntArray]:
    """Control points (K, 4) x y frame gaze, whose they are, and their lines. What follows the splines (obstacles) is
    not read."""
    lines = read_text(path).splitlines()
    line_numbers = [number for number, line in enumerate(lines, 1) if line.strip()]
    at = 0

    def count(what: str) -> int:
        nonlocal at
        if at >= len(line_numbers):
            raise BadInput(f"{path}: the file ends where the number of {what} should be; is it cut off?")
        line, at = lines[line_numbers[at] - 1], at + 1
        value = numbers(_uncommented(line))
        if len(value) != 1 or not is_whole(value[0]) or value[0] < 0:
            raise BadInput(f"{path}:{line_numbers[at - 1]}: expected the number of {what}, got {line.strip()[:60]!r}")
        return int(value[0])

    used: list[int] = []
    whose: list[int] = []
    for person in range(1, count("splines") + 1):
        size = count(f"control points of person {person}")
        if at + size > len(line_numbers):
            raise BadInput(f"{path}: person {person} should have {size} control points, but the file ends")
        if size == 0:
            raise BadInput(f"{path}:{line_numbers[at - 1]}: person {person} has no control points")
        used += line_numbers[at : at + size]
        whose += [person] * size
        at += size
    rows = np.array(used, dtype=np.int64)
    points = number_table(path, [_uncommented(lines[number - 1]) for number in used], rows, 4, "x y frame gaze")
    return points, np.array(whose, dtype=np.int64), rows


def _homography(path: Path, given: Path | str | None, pixels: str | None) -> tuple[FloatArray, str]:
    """The matrix, and the kind of pixels it takes."""
    file = Path(given) if given is not None else path.with_name("H.txt")
    if given is None and not file.is_file():
        raise BadInput(
            f"{path}: pixels need a homography; put H.txt beside the file or give --homography (a 3 × 3 file)"
        )
    rows = [numbers(line) for line in read_text(file).splitlines() if line.strip()]
    if [len(row) for row in rows] != [3, 3, 3]:
        raise BadInput(f"{file}: expected a homography of 3 × 3 numbers")
    matrix = np.array(rows, dtype=np.float64)
    if not np.isfinite(matrix).all() or abs(_determinant(matrix)) < 1e-15:
        raise BadInput(f"{file}: this homography cannot be inverted")
    if pixels is None:
        pixels = KNOWN_HOMOGRAPHIES.get(hashlib.sha256(read_bytes(file)).hexdigest())
    if pixels is None:
        raise BadInput(
            f"{file}: not one of the known homographies, so say what it maps from: --pixels matrix (row and "
            "column from the top left corner) or --pixels centred (x right, y up from the image's centre)"
        )
    if pixels not in PIXELS:
        raise UnknownName("kind of pixels", pixels, PIXELS)
    return matrix, pixels


def _determinant(matrix: FloatArray) -> float:
    """Determinant of a 3 × 3 matrix."""
    a, b, c = matrix.tolist()
    minors = (b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0])
    return float(a[0] * minors[0] + a[1] * minors[1] + a[2] * minors[2])


def _every_frame(
    path: Path, points: FloatArray, person: IntArray, line_numbers: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Frame, person, pixels and line at every video frame of each spline, linear between control points."""
    bad = ~np.isfinite(points[:, :3]).all(axis=1)
    if bad.any():
        raise BadInput(
            f"{path}: line {line_numbers[int(np.argmax(bad))]}: NaN or infinite where x, y or frame should be"
        )
    frame = whole_numbers(path, points[:, 2], line_numbers, "frame")
    same = np.diff(person) == 0
    back = same & (np.diff(frame) <= 0)
    if back.any():
        row = int(np.argmax(back)) + 1
        how = "twice in" if frame[row] == frame[row - 1] else "out of order at"
        raise BadInput(f"{path}: line {line_numbers[row]}: person {person[row]} is annotated {how} frame {frame[row]}")
    ends = np.append(~same, True)
    length = np.where(ends, 1, np.append(np.diff(frame), 0))
    if length.sum() > MOST_ANNOTATIONS:
        row = int(np.argmax(length))
        raise BadInput(
            f"{path}: line {line_numbers[row]}: {length[row]} frames to the next control point; is a frame wrong?"
        )
    piece = np.repeat(np.arange(len(points)), length)
    offset = np.arange(len(piece)) - np.repeat(np.cumsum(length) - length, length)
    following = np.where(ends[piece], piece, piece + 1)
    share = (offset / length[piece])[:, None]
    xy = points[piece, :2] + share * (points[following, :2] - points[piece, :2])
    return (frame[piece] + offset).astype(np.float64), person[piece].astype(np.float64), xy, line_numbers[piece]


UCY_VSP = UcyVspLoader()
