"""A robot from a URDF file: its links at joint position zero, projected to the ground. Collision geometry is taken
where a link has it, else its visual geometry; meshes are STL (binary and text) and OBJ, and only their
vertices count. Joints are at zero; the root link's frame is the body frame (x ahead, y left, z up). The footprint is a
disc where the body is round, else a convex polygon of few corners around its hull. Limits of the drive are not part
of URDF and are given by the caller.
"""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from math import isfinite, pi
from pathlib import Path

import numpy as np

from sidestep._util import exact
from sidestep._util.exact import cos, sin
from sidestep._util.reading import is_file, parse_xml, read_bytes, read_text
from sidestep.errors import BadInput
from sidestep.types.base import FloatArray
from sidestep.types.robot import DynamicsName, Footprint, RobotLimits, RobotSpec

LARGEST_MESH = 100_000_000  # bytes
MESH_TYPES = (".stl", ".obj")


def read_vertices(path: Path) -> FloatArray:
    """Vertices (N, 3) float64 of a mesh, in the file's own unit."""
    data, kind = read_bytes(path, "mesh", LARGEST_MESH), path.suffix.lower()
    if kind not in MESH_TYPES:
        raise BadInput(f"{path}: meshes of type {kind or 'unknown'} are not read; convert it to STL or OBJ")
    import trimesh

    try:
        scene = trimesh.load_scene(io.BytesIO(data), file_type=kind[1:], process=False, skip_materials=True)
        parts = [np.asarray(part.vertices, np.float64).reshape(-1, 3) for part in scene.geometry.values()]
    except Exception as error:  # readers of foreign formats raise exceptions of any type
        raise BadInput(f"{path}: not a readable {kind[1:].upper()} file ({error!s:.200})") from None
    vertices = np.concatenate([*parts, np.zeros((0, 3))])
    if not len(vertices):
        raise BadInput(f"{path}: no vertices found")
    if not np.isfinite(vertices).all():
        raise BadInput(f"{path}: has vertices that are not finite")
    return vertices


_SMALLEST_TURN = 1e-12  # m², cross product below which a corner counts as straight


def convex_hull(points: FloatArray, where: str = "points") -> FloatArray:
    """Corners (K, 2) of the convex hull of ``points (N, 2)``, counter-clockwise, without corners that are
    straight."""
    corners: FloatArray = np.array(_chain(points))
    while len(corners) >= 3:
        before, after = corners - np.roll(corners, 1, axis=0), np.roll(corners, -1, axis=0) - corners
        turning = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0] > _SMALLEST_TURN
        if turning.all():
            return corners
        corners = corners[turning]
    raise BadInput(f"{where}: the body has no area when seen from above")


def _chain(points: FloatArray) -> list[tuple[float, float]]:
    """Corners of the hull, counter-clockwise from the leftmost (A. M. Andrew, Inf. Process. Lett. 9(5), 1979)."""
    ordered = [(x, y) for x, y in np.unique(np.asarray(points, np.float64), axis=0).tolist() if isfinite(x + y)]
    corners: list[tuple[float, float]] = []
    for side in (ordered, ordered[::-1]):
        first = len(corners)
        for x, y in side:
            while len(corners) - first >= 2:
                (ax, ay), (bx, by) = corners[-2:]
                if (bx - ax) * (y - by) - (by - ay) * (x - bx) > 0.0:
                    break
                corners.pop()
            corners.append((x, y))
        corners.pop()
    return corners


def _meeting_point(a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray) -> tuple[FloatArray, float] | None:
    """Where edge a→b prolonged meets edge c→d prolonged backwards, and the area of the triangle with edge
    b→c; None: never."""
    first, second, gap = b - a, d - c, c - b
    sine = first[0] * second[1] - first[1] * second[0]
    if sine <= 1e-9 * float(np.sqrt((first * first).sum() * (second * second).sum())):
        return None
    share = (gap[0] * second[1] - gap[1] * second[0]) / sine
    corner = b + share * first
    reach = corner - b
    return corner, 0.5 * abs(float(reach[0] * gap[1] - reach[1] * gap[0]))


def enclose(corners: FloatArray, most: int = 8) -> FloatArray:
    """A convex polygon of at most ``most`` (>= 4) corners that contains the convex polygon ``corners``,
    counter-clockwise.

    Edges are taken away one by one, each time the one whose removal adds least area: its neighbours are
    prolonged until they meet. With five or more edges there is always one, because the outer angles at two
    neighbouring corners average less than π.
    """
    polygon: list[FloatArray] = [np.asarray(corner, dtype=np.float64) for corner in corners]
    while len(polygon) > most:
        n = len(polygon)
        choices = []
        for i in range(n):
            found = _meeting_point(polygon[i - 1], polygon[i], polygon[(i + 1) % n], polygon[(i + 2) % n])
            if found is not None:
                choices.append((found[1], i, found[0]))
        _, i, corner = min(choices, key=lambda choice: (choice[0], choice[1]))
        polygon[i] = corner
        del polygon[(i + 1) % n]
    return np.array(polygon)


CIRCLE_CORNERS = 32  # corners of the polygon drawn around a circle
ROUND = 0.98  # a body is a disc when its hull nowhere comes nearer to the middle than this share of its reach
DEFAULT_LIMITS = RobotLimits(max_speed=1.0, max_turn_rate=1.0)


@dataclass(frozen=True)
class _Body:
    """Everything that a spec takes from the file."""

    points: FloatArray  # (N, 3) in the root frame, m; their hull contains the body
    reach: float  # farthest the body is from the root's vertical axis, m
    mass: float | None


def robot_from_urdf(
    path: str | Path,
    dynamics: DynamicsName = "unicycle",
    limits: RobotLimits = DEFAULT_LIMITS,
    wheelbase: float | None = None,
) -> RobotSpec:
    """A robot with the footprint, height and mass of a URDF file; the rest is the caller's."""
    path = Path(path)
    body = _read_body(path)
    data = {
        "name": path.stem,
        "summary": f"from {path.name}",
        "dynamics": dynamics,
        "footprint": _footprint(body, path),
        "limits": limits,
        "wheelbase": wheelbase,
        "height": max(float(np.ptp(body.points[:, 2])), 0.01),
        "source": f"URDF file {path.name}; drive limits given by the user",
    }
    return RobotSpec.parse(data | ({"mass": body.mass} if body.mass else {}), where=str(path))


def _footprint(body: _Body, path: Path) -> Footprint:
    """A disc where the body is round about its origin, else a polygon of at most 8 corners around it."""
    corners = convex_hull(body.points[:, :2], where=str(path))
    following = np.roll(corners, -1, axis=0)
    edges = following - corners
    inner = (corners[:, 0] * following[:, 1] - corners[:, 1] * following[:, 0]) / exact.norm(edges)
    if inner.min() >= ROUND * body.reach:
        return Footprint.parse({"radius": body.reach}, str(path))
    return Footprint.parse({"polygon": enclose(corners, most=8).tolist()}, str(path))


def _read_body(path: Path) -> _Body:
    root = _parse(path)
    links = {_attribute(link, "name", path): link for link in root.findall("link")}
    if not links:
        raise BadInput(f"{path}: has no links; is it a URDF file?")
    poses = _link_poses(root, links, path)
    clouds, reach, mass = [], 0.0, 0.0
    for name, link in links.items():
        mass += _mass(link, path)
        for shape in link.findall("collision") or link.findall("visual"):
            points, far = _shape_points(shape, poses[name], path)
            clouds.append(points)
            reach = max(reach, far)
    if not clouds:
        raise BadInput(f"{path}: no link has collision or visual geometry")
    return _Body(np.concatenate(clouds), reach, mass or None)


def _parse(path: Path) -> ET.Element:
    text = read_text(path, "URDF file")
    if "<xacro:" in text:
        raise BadInput(f"{path}: is a xacro file; expand it first (xacro robot.xacro > robot.urdf)")
    root = parse_xml(text, str(path))
    if root.tag != "robot":
        raise BadInput(f"{path}: the root element of a URDF file is <robot>, got <{root.tag!s:.60}>")
    return root


def _attribute(element: ET.Element, name: str, path: Path) -> str:
    value = element.get(name)
    if value is None:
        raise BadInput(f"{path}: <{element.tag}> has no attribute {name!r}")
    return value


def _numbers(text: str, count: int, what: str, path: Path) -> list[float]:
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        values = []
    if len(values) != count or not all(isfinite(value) for value in values):
        raise BadInput(f"{path}: {what} must be {count} finite number{'s' if count > 1 else ''}, got {text!r:.60}")
    return values


def _size(element: ET.Element, name: str, path: Path) -> float:
    (value,) = _numbers(_attribute(element, name, path), 1, f"{element.tag} {name}", path)
    if value <= 0:
        raise BadInput(f"{path}: {element.tag} {name} must be positive, got {value}")
    return value


def _mass(link: ET.Element, path: Path) -> float:
    element = link.find("inertial/mass")
    if element is None:
        return 0.0
    return max(_numbers(_attribute(element, "value", path), 1, "mass", path)[0], 0.0)


def _origin(element: ET.Element, path: Path) -> FloatArray:
    """The (4, 4) transform of an element's <origin>: rotation Rz(yaw) Ry(pitch) Rx(roll), then
    translation."""
    pose = np.eye(4)
    origin = element.find("origin")
    if origin is None:
        return pose
    roll, pitch, yaw = _numbers(origin.get("rpy", "0 0 0"), 3, "origin rpy", path)
    about_x = np.array([[1, 0, 0], [0, cos(roll), -sin(roll)], [0, sin(roll), cos(roll)]])
    about_y = np.array([[cos(pitch), 0, sin(pitch)], [0, 1, 0], [-sin(pitch), 0, cos(pitch)]])
    about_z = np.array([[cos(yaw), -sin(yaw), 0], [sin(yaw), cos(yaw), 0], [0, 0, 1]])
    pose[:3, :3] = exact.matmul(exact.matmul(about_z, about_y), about_x)
    pose[:3, 3] = _numbers(origin.get("xyz", "0 0 0"), 3, "origin xyz", path)
    return pose


def _link_poses(root: ET.Element, links: dict[str, ET.Element], path: Path) -> dict[str, FloatArray]:
    """Pose of every link in the frame of the root link."""
    children: dict[str, list[tuple[str, ET.Element]]] = {name: [] for name in links}
    has_parent = set()
    for joint in root.findall("joint"):
        ends = []
        for role in ("parent", "child"):
            element = joint.find(role)
            name = None if element is None else element.get("link")
            if name not in links:
                raise BadInput(f"{path}: joint {joint.get('name')!r:.60} has the {role} {name!r:.60}, no link")
            ends.append(name)
        children[ends[0]].append((ends[1], joint))
        if ends[1] in has_parent:
            raise BadInput(f"{path}: link {ends[1]!r:.60} is the child of two joints")
        has_parent.add(ends[1])
    roots = [name for name in links if name not in has_parent]
    if len(roots) != 1:
        raise BadInput(f"{path}: the links must form one tree; without a parent: {', '.join(roots)[:200] or 'none'}")
    poses: dict[str, FloatArray] = {roots[0]: np.eye(4)}
    waiting = [roots[0]]
    while waiting:
        name = waiting.pop()
        for child, joint in children[name]:
            poses[child] = exact.matmul(poses[name], _origin(joint, path))
            waiting.append(child)
    if len(poses) != len(links):
        raise BadInput(f"{path}: joints form a loop among {', '.join(sorted(links.keys() - poses.keys()))[:200]}")
    return poses


def _shape_points(shape: ET.Element, link_pose: FloatArray, path: Path) -> tuple[FloatArray, float]:
    """(points whose hull contains the shape, in the root frame; its reach from the vertical axis)."""
    geometry = shape.find("geometry")
    solid = None if geometry is None or not len(geometry) else geometry[0]
    if solid is None:
        raise BadInput(f"{path}: <{shape.tag}> has no geometry")
    pose = exact.matmul(link_pose, _origin(shape, path))
    rotation, centre = pose[:3, :3], pose[:3, 3]
    angles = (np.arange(CIRCLE_CORNERS) + 0.5) * (2 * pi / CIRCLE_CORNERS)
    circle = np.stack([exact.cos(angles), exact.sin(angles), np.zeros_like(angles)], axis=1) / cos(pi / CIRCLE_CORNERS)
    match solid.tag:
        case "box":
            half = np.array(_numbers(_attribute(solid, "size", path), 3, "box size", path)) / 2
            signs = np.array([[i & 1, i >> 1 & 1, i >> 2] for i in range(8)]) * 2.0 - 1.0
            points = centre + exact.matmul(signs * half, rotation.T)
        case "cylinder":
            radius, length = _size(solid, "radius", path), _size(solid, "length", path)
            lift = np.array([0.0, 0.0, length / 2])
            points = centre + exact.matmul(np.concatenate([radius * circle + lift, radius * circle - lift]), rotation.T)
            if abs(rotation[2, 2]) > 1 - 1e-12:
                return points, float(exact.hypot(centre[0], centre[1])) + radius
        case "sphere":
            radius = _size(solid, "radius", path)
            top = np.array([0.0, 0.0, radius])
            points = centre + np.concatenate([radius * circle, [top, -top]])
            return points, float(exact.hypot(centre[0], centre[1])) + radius
        case "mesh":
            scale = np.array(_numbers(solid.get("scale", "1 1 1"), 3, "mesh scale", path))
            vertices = read_vertices(_find_mesh(_attribute(solid, "filename", path), path))
            points = centre + exact.matmul(vertices * scale, rotation.T)
        case other:
            raise BadInput(f"{path}: geometry <{other!s:.60}> is not known; known: box, cylinder, sphere, mesh")
    return points, float(exact.hypot(points[:, 0], points[:, 1]).max())


def _find_mesh(reference: str, path: Path) -> Path:
    """The file of ``package://name/rest``, ``file://…`` or a relative path; a package is sought in the
    folders above the URDF."""
    if reference.startswith("package://"):
        whole = reference.removeprefix("package://")
        candidates = [whole, whole.partition("/")[2]]
    elif "://" in reference and not reference.startswith("file://"):
        raise BadInput(f"{path}: mesh {reference!r:.120}: only package://, file:// and relative paths are read")
    else:
        candidates = [reference.removeprefix("file://")]
    folders = list(path.resolve().parents) if reference.startswith("package://") else [path.resolve().parent]
    for folder in folders:
        for candidate in candidates:
            if candidate and is_file(folder / candidate):
                return folder / candidate
    raise BadInput(f"{path}: mesh {reference!r:.120} was not found next to the file or in the folders above it")
