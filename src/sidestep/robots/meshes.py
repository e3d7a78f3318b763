"""Vertices of mesh files: STL (binary and text) and OBJ. Only what a footprint needs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sidestep.errors import BadInput
from sidestep.reading import read_bytes
from sidestep.types.base import FloatArray

LARGEST_FILE = 100_000_000  # bytes
_STL_HEADER = 84  # 80 bytes of text and the number of triangles
_STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("vertices", "<f4", (3, 3)), ("attribute", "<u2")])


def read_vertices(path: Path) -> FloatArray:
    """Vertices (N, 3) float64 of a mesh, in the file's own unit."""
    data = read_bytes(path, "mesh", LARGEST_FILE)
    match path.suffix.lower():
        case ".stl":
            vertices = _binary_stl(data)
            if vertices is None:
                vertices = _tagged_lines(data, b"vertex", path)
        case ".obj":
            vertices = _tagged_lines(data, b"v", path)
        case other:
            raise BadInput(f"{path}: meshes of type {other or 'unknown'} are not read; convert it to STL or OBJ")
    if not len(vertices):
        raise BadInput(f"{path}: no vertices found")
    if not np.isfinite(vertices).all():
        raise BadInput(f"{path}: has vertices that are not finite")
    return vertices


def _binary_stl(data: bytes) -> FloatArray | None:
    """The vertices, or None where the length does not fit the number of triangles: then it is a text file."""
    if len(data) < _STL_HEADER:
        return None
    count = int.from_bytes(data[80:_STL_HEADER], "little")
    if len(data) != _STL_HEADER + count * _STL_TRIANGLE.itemsize:
        return None
    triangles = np.frombuffer(data, dtype=_STL_TRIANGLE, offset=_STL_HEADER)
    return triangles["vertices"].reshape(-1, 3).astype(np.float64)


def _tagged_lines(data: bytes, tag: bytes, path: Path) -> FloatArray:
    """The three numbers after ``tag`` on every line that begins with it."""
    rows = [words[1:4] for line in data.splitlines() if (words := line.split()) and words[0] == tag]
    try:
        return np.array([[float(word) for word in row] for row in rows], dtype=np.float64).reshape(-1, 3)
    except ValueError:
        raise BadInput(f"{path}: is not a readable {path.suffix[1:].upper()} file") from None
