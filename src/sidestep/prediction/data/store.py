"""Interactions in one HDF5 file: written whole or not at all, checked when read (docs/prediction.md).

The first 512 bytes, which HDF5 leaves to the writer of a file (*user block*), hold a checksum of all others: the HDF5
library may take minutes over a damaged file, so it does not get to see one.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, get_args

import h5py
import numpy as np

from sidestep._util.hdf5 import Hdf5Room, find_item, read_attribute
from sidestep._util.hdf5_probe import probe_hdf5
from sidestep._util.reading import is_file
from sidestep._util.writing import whole_file
from sidestep.errors import BadInput
from sidestep.types.base import FloatArray
from sidestep.types.interactions import FRAME_COLUMNS, TRACK_COLUMNS, Clip, GroundMap, Interactions, Origin

FORMAT = "sidestep-interactions"
VERSION = 1
BLOCK = 512
GROUPS = ("frames", "tracks", "clips", "grounds")
MARK = b"sidestep-interactions sha256 "
SIGNATURE = b"\x89HDF\r\n\x1a\n"
_TEXT = h5py.string_dtype("utf-8")
_NAMES = ("name", "place", "origin", "driver")
_NUMBERS: dict[str, type[np.generic]] = {"length": np.float64, "width": np.float64, "ground": np.int32}
_READING = (OSError, RuntimeError, KeyError, ValueError, TypeError, UnicodeDecodeError)
"""What h5py raises on damaged files."""


def write_interactions(data: Interactions, path: Path | str) -> None:
    """Write ``data`` to ``path``, compressed; a file that is there is replaced when the new one is whole."""
    with whole_file(Path(path)) as temporary:
        with h5py.File(temporary, "w", userblock_size=BLOCK) as file:
            _fill(file, data)
        seal(temporary)


def _fill(file: Any, data: Interactions) -> None:
    file.attrs["format"], file.attrs["version"], file.attrs["step_s"] = FORMAT, VERSION, data.step_s
    for group, names in (("frames", FRAME_COLUMNS), ("tracks", TRACK_COLUMNS)):
        for name in names:
            _put(file, f"{group}/{name}", data.columns()[name])
    for name in _NAMES:
        _put(file, f"clips/{name}", np.array([getattr(clip, name) for clip in data.clips], _TEXT), _TEXT)
    for name, kind in _NUMBERS.items():
        _put(file, f"clips/{name}", np.array([getattr(clip, name) for clip in data.clips], kind))
    points = [clip.path for clip in data.clips]
    _put(file, "clips/path", np.concatenate([np.zeros((0, 2)), *points]))
    _put(file, "clips/path_stop", np.cumsum([len(each) for each in points], dtype=np.int64))
    file.create_group("grounds")
    for number, ground in enumerate(data.grounds):
        item = _put(file, f"grounds/{number}", ground.cells)
        item.attrs["origin"], item.attrs["cell_m"] = ground.origin, ground.cell_m


def seal(path: Path) -> None:
    """Write the checksum into a file; to be called after a file has been changed on purpose."""
    with path.open("r+b") as file:
        digest = _digest(file)
        file.seek(0)
        file.write((MARK + digest).ljust(BLOCK, b"\0"))


def _digest(file: Any) -> bytes:
    """SHA-256 of what follows the first block."""
    file.seek(BLOCK)
    return hashlib.file_digest(file, "sha256").hexdigest().encode()


def _check_seal(path: Path) -> None:
    """``BadInput`` for a file that does not match its checksum. A file of another program may have none: it is tried
    in a process of its own."""
    with path.open("rb") as file:
        head = file.read(BLOCK)
        if head.startswith(MARK):
            if head[len(MARK) :].rstrip(b"\0") != _digest(file):
                raise BadInput(f"{path}: damaged, its checksum does not match; write it again")
            return
    if not head.startswith(SIGNATURE):
        raise BadInput(f"{path}: not a file of interactions, or a damaged one (no HDF5 file); write it again")
    probe_hdf5(path, GROUPS)


def _put(file: Any, name: str, values: Any, dtype: Any = None) -> Any:
    packed = {"compression": "gzip", "compression_opts": 4, "shuffle": dtype is None} if len(values) else {}
    return file.create_dataset(name, data=values, dtype=dtype, **packed)


def read_interactions(path: Path | str) -> Interactions:
    """The interactions in ``path``; ``BadInput`` names the file and the field that is wrong."""
    path = Path(path)
    if not is_file(path):
        raise BadInput(f"{path}: no such file; `sidestep predict dataset --out {path}` writes one")
    try:
        _check_seal(path)
        with h5py.File(path, "r") as file:
            return _Reader(path, file).interactions()
    except _READING as error:
        first = (str(error) or type(error).__name__).splitlines()[0]
        raise BadInput(
            f"{path}: not a file of interactions, or a damaged one ({first[:200]}); write it again"
        ) from None


class _Reader:
    def __init__(self, path: Path, file: Any) -> None:
        self.path, self.file = path, file
        self.room = Hdf5Room(path)

    def interactions(self) -> Interactions:
        self._check_version()
        frames = {name: self.array(f"frames/{name}", dtype, shape) for name, (dtype, shape) in FRAME_COLUMNS.items()}
        tracks = {name: self.array(f"tracks/{name}", dtype, ()) for name, dtype in TRACK_COLUMNS.items()}
        step_s = self.number(self.file, "step_s", "")
        try:
            return Interactions(step_s=step_s, **frames, **tracks, clips=self._clips(), grounds=self._grounds())
        except BadInput as error:
            if str(error).startswith(str(self.path)):
                raise
            raise BadInput(f"{self.path}: {error}") from None

    def _check_version(self) -> None:
        if read_attribute(self.file, "format") != FORMAT:
            raise BadInput(f"{self.path}: an HDF5 file, but not one of interactions (its attribute format is missing)")
        version = read_attribute(self.file, "version")
        if not isinstance(version, int | np.integer) or not 1 <= version <= VERSION:
            raise BadInput(
                f"{self.path}: version {str(version)[:40]} of the format is unknown (known: up to {VERSION}); "
                "upgrade with: pip install --upgrade sidestep"
            )

    def array(self, name: str, dtype: type[np.generic], shape: tuple[int, ...], rows: int | None = None) -> Any:
        """The array ``name``, one row per item; its type, its shape and its number of rows are checked."""
        item = find_item(self.file, name)
        if not isinstance(item, h5py.Dataset):
            raise BadInput(f"{self.path}: the field {name} is missing; write the file again")
        if item.dtype != np.dtype(dtype):
            raise BadInput(f"{self.path}: {name} has the type {item.dtype}, expected {np.dtype(dtype)}")
        if len(item.shape) != 1 + len(shape) or item.shape[1:] != shape or rows not in (None, item.shape[0]):
            wanted = ("N" if rows is None else rows, *shape)
            raise BadInput(f"{self.path}: {name} has the shape {item.shape}, expected {wanted}")
        self.room.take(item)
        return item[...]

    def number(self, item: Any, name: str, of: str) -> float:
        """A number among attributes."""
        value = read_attribute(item, name)
        if not isinstance(value, float | np.floating) or not np.isfinite(value):
            raise BadInput(f"{self.path}: {of}{' ' if of else ''}attribute {name} is {value}, expected a number")
        return float(value)

    def texts(self, name: str, rows: int) -> list[str]:
        """Names, one per clip."""
        item = find_item(self.file, name)
        if not isinstance(item, h5py.Dataset) or h5py.check_string_dtype(item.dtype) is None or item.shape != (rows,):
            raise BadInput(f"{self.path}: the field {name} is missing or does not hold {rows} texts")
        return self.room.texts(item)

    def _clips(self) -> tuple[Clip, ...]:
        stops = self.array("clips/path_stop", np.int64, ())
        count = len(stops)
        points: FloatArray = self.array("clips/path", np.float64, (2,))
        starts = np.concatenate([[0], stops])[:-1]
        if (stops < starts).any() or (count and int(stops[-1]) != len(points)):
            raise BadInput(f"{self.path}: clips/path_stop does not fit the {len(points)} points of clips/path")
        numbers = {name: self.array(f"clips/{name}", kind, (), count) for name, kind in _NUMBERS.items()}
        for name in ("length", "width"):
            wrong = ~(np.isfinite(numbers[name]) & (numbers[name] > 0.0))
            if wrong.any():
                raise BadInput(
                    f"{self.path}: clips/{name}[{int(np.argmax(wrong))}] must be a positive number of metres"
                )
        names = {name: self.texts(f"clips/{name}", count) for name in _NAMES}
        return tuple(
            Clip(
                names["name"][k], points[a:b], float(numbers["length"][k]), float(numbers["width"][k]),
                int(numbers["ground"][k]), names["place"][k], self._origin(names["origin"][k], k), names["driver"][k],
            )
            for k, (a, b) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True))
        )  # fmt: skip

    def _origin(self, text: str, clip: int) -> Any:
        if text not in get_args(Origin):
            known = " or ".join(get_args(Origin))
            raise BadInput(f"{self.path}: clips/origin[{clip}] is {text[:40]!r}, expected {known}")
        return text

    def _grounds(self) -> tuple[GroundMap, ...]:
        group = find_item(self.file, "grounds")
        if not isinstance(group, h5py.Group):
            raise BadInput(f"{self.path}: the group grounds is missing; write the file again")
        found = []
        for number in range(len(group)):
            name = f"grounds/{number}"
            item = find_item(group, str(number))
            if not isinstance(item, h5py.Dataset) or item.ndim != 2 or item.dtype != np.uint8:
                raise BadInput(f"{self.path}: {name} is missing or not an array (ny, nx) of uint8")
            self.room.take(item)
            origin = np.asarray(read_attribute(item, "origin"))
            if origin.shape != (2,) or origin.dtype.kind != "f" or not np.isfinite(origin).all():
                raise BadInput(f"{self.path}: {name} attribute origin must be two numbers, m")
            cell_m = self.number(item, "cell_m", name)
            found.append(GroundMap(item[...], (float(origin[0]), float(origin[1])), cell_m))
        return tuple(found)
