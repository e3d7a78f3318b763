"""Binary glTF 2.0 (``.glb``): triangles in, coloured triangles out. Nothing but the file itself is read.

glTF has y up; here z is up: (x, y, z) → (x, −z, y). All lengths are metres.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from sidestep import exact
from sidestep.errors import BadInput
from sidestep.reading import parse_gltf, read_bytes
from sidestep.types.base import FloatArray, IntArray

LARGEST_FILE = 300_000_000  # bytes
MOST_TRIANGLES = 5_000_000
FARTHEST = 16_000.0  # m from the origin, as of any scene
TYPES = {5120: np.int8, 5121: np.uint8, 5122: np.int16, 5123: np.uint16, 5125: np.uint32, 5126: np.float32}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
JSON_CHUNK, BINARY_CHUNK = 0x4E4F534A, 0x004E4942


def read_triangles(path: Path) -> FloatArray:
    """Corners of all triangles ``(T, 3, 3)``, m, z up."""
    document, binary = _chunks(path)
    return _triangles(document, binary, str(path))


def _chunks(path: Path) -> tuple[dict[str, Any], bytes]:
    data = read_bytes(path, ".glb mesh", LARGEST_FILE)
    if len(data) < 20 or data[:4] != b"glTF" or struct.unpack_from("<I", data, 4)[0] != 2:
        raise BadInput(f"{path}: not a binary glTF 2.0 file; export as .glb")
    chunks: dict[int, bytes] = {}
    place = 12
    while place + 8 <= len(data):
        length, kind = struct.unpack_from("<II", data, place)
        chunks.setdefault(kind, data[place + 8 : place + 8 + length])
        place += 8 + length
    return parse_gltf(chunks.get(JSON_CHUNK, b""), str(path)), chunks.get(BINARY_CHUNK, b"")


def _triangles(document: dict[str, Any], binary: bytes, where: str) -> FloatArray:
    found: list[FloatArray] = []
    triangles_found = 0
    try:
        scenes, nodes = document.get("scenes", []), document.get("nodes", [])
        roots = scenes[document.get("scene", 0)].get("nodes", []) if scenes else range(len(nodes))
        stack: list[tuple[int, FloatArray]] = [(int(root), np.eye(4)) for root in roots]
        while stack:
            number, outer = stack.pop()
            node = nodes[number]
            matrix = _product(outer, _matrix(node))
            stack += [(int(child), matrix) for child in node.get("children", [])]
            if "mesh" in node:
                for primitive in document["meshes"][node["mesh"]]["primitives"]:
                    if primitive.get("mode", 4) == 4:
                        found.append(_placed(primitive, document, binary, matrix))
                        triangles_found += len(found[-1])
                        if triangles_found > MOST_TRIANGLES:
                            raise ValueError(f"more than {MOST_TRIANGLES:,} triangles; thin the mesh out")
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise BadInput(
            f"{where}: not a plain triangle mesh ({type(error).__name__}: {error!s:.200}); export without compression"
        ) from None
    triangles = np.concatenate([*found, np.zeros((0, 3, 3))])
    if not len(triangles):
        raise BadInput(f"{where}: has no triangles; export the mesh itself, not only lights or points")
    if not (np.abs(triangles) <= FARTHEST).all():
        raise BadInput(
            f"{where}: has positions that are no numbers or more than {FARTHEST / 1000:g} km from the origin; repair it"
        )
    return np.asarray(triangles[..., [0, 2, 1]] * (1.0, -1.0, 1.0))


def _placed(primitive: dict[str, Any], document: dict[str, Any], binary: bytes, matrix: FloatArray) -> FloatArray:
    points = _accessor(primitive["attributes"]["POSITION"], document, binary).astype(np.float64)
    points = _product(points, matrix[:3, :3].T) + matrix[:3, 3]
    if "indices" not in primitive:
        return np.asarray(points.reshape(-1, 3, 3))
    order = _accessor(primitive["indices"], document, binary).astype(np.int64).ravel()
    return np.asarray(points[order].reshape(-1, 3, 3))


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    """The matrix product, summed in order: libraries sum in an order that depends on the processor."""
    total: Any = a[:, 0, None] * b[0]
    for k in range(1, len(b)):
        total = total + a[:, k, None] * b[k]
    return np.asarray(total)


def _accessor(number: int, document: dict[str, Any], binary: bytes) -> Any:
    accessor = document["accessors"][number]
    if "sparse" in accessor or "bufferView" not in accessor:
        raise ValueError("sparse or compressed accessors are not read")
    view = document["bufferViews"][accessor["bufferView"]]
    if view["buffer"] != 0 or "uri" in document["buffers"][0]:
        raise ValueError("only the file's own binary part is read")
    dtype, width, count = np.dtype(TYPES[accessor["componentType"]]), WIDTHS[accessor["type"]], int(accessor["count"])
    start = int(view.get("byteOffset", 0)) + int(accessor.get("byteOffset", 0))
    stride = int(view.get("byteStride", dtype.itemsize * width))
    if stride < dtype.itemsize * width or stride > 252 + dtype.itemsize * width:
        raise ValueError(f"a byteStride of {stride} for elements of {dtype.itemsize * width} bytes")
    if count < 1 or start < 0 or start + (count - 1) * stride + dtype.itemsize * width > len(binary):
        raise ValueError("an accessor lies beyond the end of the file")
    return np.ndarray((count, width), dtype, binary, start, (stride, dtype.itemsize))


def _matrix(node: dict[str, Any]) -> FloatArray:
    """Column-major matrix, or translation · rotation · scale."""
    if "matrix" in node:
        return np.array(node["matrix"], float).reshape(4, 4).T
    x, y, z, w = (float(value) for value in node.get("rotation", (0, 0, 0, 1)))
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    matrix = np.eye(4)
    matrix[:3, :3] = turn * np.array(node.get("scale", (1, 1, 1)), float)
    matrix[:3, 3] = node.get("translation", (0, 0, 0))
    return matrix


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
    chunks = struct.pack("<II", len(text), JSON_CHUNK) + text + struct.pack("<II", len(binary), BINARY_CHUNK) + binary
    path.write_bytes(head + chunks)
