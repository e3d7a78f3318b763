"""Reading demonstrations: frames are read when they are asked for, fields are checked when the file is opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import h5py
import numpy as np

from sidestep._util.hdf5 import check_packing, find_item, read_attribute
from sidestep.errors import BadInput, UnknownName
from sidestep.learning.demonstration_layout import (
    BATCH,
    BRANCHES,
    COLUMNS,
    FIELDS,
    INPUTS,
    LABELS,
    MEASUREMENTS,
    MOST_FRAMES,
    NOT_WRITTEN,
    ROTATION,
    ROTATION_README,
    Array,
    DemonstrationEpisode,
    DemonstrationFrame,
    Field,
    fields_with,
    group_name,
    shown_shape,
)
from sidestep.learning.interrupted_hdf5 import first_line, open_hdf5


class Demonstrations:
    """Frames of a file of demonstrations, read when they are asked for. Frames are numbered through all branches, left
    turns first; ``episodes`` has the episodes in the same order. Made by :func:`read_demonstrations`."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._file, self.is_interrupted = open_hdf5(self.path)
        try:
            self._groups = {branch: self._find_group(branch) for branch in BRANCHES}
            if all(group is None for group in self._groups.values()):
                found = ", ".join(repr(name)[:40] for name in list(self._file)[:8]) or "nothing"
                raise BadInput(
                    f"{self.path}: no group {', '.join(map(group_name, BRANCHES))} (found: {found}); give a file of "
                    "demonstrations"
                )
            self.measurements = self._find_measurements()
            """Values of ``mea_t``: 3, 4 or 7."""
            self.frames = {branch: self._check_branch(branch) for branch in BRANCHES}
            """Number of frames of each branch."""
            self.rotation_order = self._find_rotation_order()
            """Order of ``rot_t`` in the file; frames always have pitch, roll, yaw."""
            self.inputs = self._find_inputs()
            """Version of measurements, commands and pictures: 2 as published, pictures are BGR; 1 in older files of
            Sidestep, pictures are RGB."""
            self.weathers = self._find_weathers()
            """Names that the numbers of weathers stand for; empty if the file does not name them."""
            self.episodes = tuple(episode for branch in BRANCHES for episode in self._find_episodes(branch))
        except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
            self.close()
            raise BadInput(f"{self.path}: damaged ({first_line(error)}); write it again") from None
        except BadInput:
            self.close()
            raise

    def __enter__(self) -> Demonstrations:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __len__(self) -> int:
        return sum(self.frames.values())

    def __getitem__(self, number: int) -> DemonstrationFrame:
        branch, row = self.find(number)
        return next(self.rows(branch, row, row + 1))

    def find(self, number: int) -> tuple[int, int]:
        """Branch of a frame, and its row there."""
        row = number + len(self) if number < 0 else number
        if 0 <= row < len(self):
            for branch, count in self.frames.items():
                if row < count:
                    return branch, row
                row -= count
        raise IndexError(f"{self.path}: no frame {number}: it has {len(self)}")

    def column(self, branch: int, name: str, start: int = 0, stop: int | None = None) -> Array:
        """A field of the rows ``start`` to ``stop`` (exclusive) of a branch, as an array; names as in
        :class:`DemonstrationFrame`."""
        if name not in COLUMNS:
            raise UnknownName("field", name, COLUMNS, str(self.path))
        field = fields_with(self.measurements)[COLUMNS[name]]
        group, count = self._groups[branch], self.frames[branch]
        start, stop, _ = slice(start, stop).indices(count)
        if group is None or stop <= start:
            return np.zeros((0, *field.shape), field.dtype)
        try:
            values = group[COLUMNS[name]][start:stop]
        except (OSError, RuntimeError, KeyError, ValueError) as error:
            place = f"{self.path}: {group.name}/{COLUMNS[name]}, frames {start} to {stop - 1}"
            raise BadInput(f"{place}: damaged ({first_line(error)}); write the file again") from None
        if name == "rotation" and self.rotation_order == ROTATION_README:
            values = values[:, [0, 2, 1]]
        return np.asarray(values, field.dtype).reshape(len(values), *field.shape)

    def pictures(self, branch: int, start: int = 0, stop: int | None = None) -> Array:
        """The pictures of the rows ``start`` to ``stop`` (exclusive) of a branch as RGB."""
        found = self.column(branch, "image", start, stop)
        return found if self.inputs == 1 else found[..., ::-1]

    def rows(self, branch: int, start: int = 0, stop: int | None = None) -> Iterator[DemonstrationFrame]:
        """The frames of the rows ``start`` to ``stop`` (exclusive) of a branch, in order."""
        start, stop, _ = slice(start, stop).indices(self.frames[branch])
        for first in range(start, stop, BATCH):
            columns = {name: self.column(branch, name, first, min(first + BATCH, stop)) for name in COLUMNS}
            for values in zip(*columns.values(), strict=True):
                row = dict(zip(columns, values, strict=True))
                labels = {name: int(row[name]) for name in LABELS}
                yield DemonstrationFrame(**{**row, **labels, "done": bool(row["done"])})

    def check_extendable(self, fields: Mapping[str, Field], inputs: int = INPUTS) -> None:
        """Raise unless :class:`DemonstrationWriter` could have made the file."""
        if self.inputs != inputs:
            raise BadInput(
                f"{self.path}: holds version {self.inputs} of the inputs, the new frames have version {inputs}; write "
                "another file"
            )
        for branch, group in self._groups.items():
            for name, field in fields.items():
                dataset = None if group is None else group[name]
                if (
                    dataset is None
                    or group.name != f"/{group_name(branch)}"
                    or dataset.dtype != np.dtype(field.dtype)
                    or dataset.shape[1:] != field.shape
                    or dataset.maxshape[0] is not None
                    or self.rotation_order != ROTATION
                ):
                    place = f"{self.path}: {group_name(branch)}/{name}"
                    raise BadInput(f"{place}: not as Sidestep writes it, cannot be continued; write another file")

    def _find_group(self, branch: int) -> Any:
        for name in (group_name(branch), f"branch {branch}"):
            if isinstance(self._file.get(name, getlink=True), h5py.HardLink) and isinstance(
                self._file[name], h5py.Group
            ):
                return self._file[name]
        return None

    def _find_measurements(self) -> int:
        groups = [group for group in self._groups.values() if group is not None]
        group = next((group for group in groups if not _is_empty(group)), None)
        if group is None:
            shapes = [self._find_dataset(each, "mea_t").shape for each in groups]
            return next((shape[1] for shape in shapes if len(shape) == 2 and shape[1] in MEASUREMENTS), 4)
        shape = self._find_dataset(group, "mea_t").shape
        if len(shape) != 2 or shape[1] not in MEASUREMENTS:
            raise BadInput(
                f"{self.path}: {group.name}/mea_t has shape {shown_shape(shape)}, not (frames, 3), (frames, 4) or "
                "(frames, 7); store the measurements of a frame in a row"
            )
        return int(shape[1])

    def _find_dataset(self, group: Any, name: str) -> Any:
        place = f"{self.path}: {group.name}/{name}"
        if name not in group:
            there = ", ".join(list(group)[:16]) or "nothing"
            raise BadInput(f"{place}: missing (found: {there}); every branch needs {', '.join(FIELDS)}")
        dataset = find_item(group, name)
        if not isinstance(dataset, h5py.Dataset):
            raise BadInput(f"{place}: not a dataset that is stored in this file; copy the data into it")
        check_packing(dataset, place)
        return dataset

    def _check_branch(self, branch: int) -> int:
        """Number of complete frames of a branch."""
        group = self._groups[branch]
        if group is None:
            return 0
        if _is_empty(group):  # NumPy has no shape for rows that are not there: the program writes (0,)
            return 0
        lengths: dict[str, int] = {}
        for name, field in fields_with(self.measurements).items():
            dataset, place = self._find_dataset(group, name), f"{self.path}: {group.name}/{name}"
            if dataset.dtype.kind not in field.kinds or (name == "img_t" and dataset.dtype != np.uint8):
                raise BadInput(
                    f"{place}: has numbers of type {dataset.dtype}, not {np.dtype(field.dtype)}; convert them"
                )
            is_single = not field.shape and dataset.shape[1:] == (1,)  # as the program writes ``done``
            if (dataset.shape[1:] != field.shape and not is_single) or dataset.ndim == 0:
                wanted = ", ".join(map(str, ("frames", *field.shape)))
                raise BadInput(
                    f"{place}: has shape {shown_shape(dataset.shape)}, not ({wanted}); store one frame in each row"
                )
            lengths[name] = len(dataset)
        frames = min(lengths.values())
        if frames > MOST_FRAMES:
            raise BadInput(f"{self.path}: {group.name}: more than {MOST_FRAMES:,} frames; split the file")
        if self.is_interrupted:
            missing = np.flatnonzero(group["trace"][:frames].ravel() == NOT_WRITTEN)
            return int(missing[0]) if len(missing) else frames
        for name, length in lengths.items():
            if length != frames:
                short = min(lengths, key=lengths.__getitem__)
                raise BadInput(
                    f"{self.path}: {group.name}/{name}: {length} frames, but {short} has {frames}; "
                    "all fields need the same number"
                )
        return frames

    def _find_rotation_order(self) -> str:
        """The stored attribute; in files by others, yaw is where the larger angles are: cars turn, but do not roll."""
        largest = np.zeros(3)
        for branch, group in self._groups.items():
            if group is not None:
                stored = read_attribute(group["rot_t"], "order")
                if stored in (ROTATION, ROTATION_README):
                    return str(stored)
                angles = np.abs(group["rot_t"][: self.frames[branch]])
                largest = np.maximum(largest, np.nan_to_num(angles).max(axis=0, initial=0.0))
        return ROTATION_README if largest[1] > largest[2] else ROTATION

    def _find_inputs(self) -> int:
        """The stored attribute; files that name their order of angles but not this are Sidestep's older ones."""
        groups = [group for group in self._groups.values() if group is not None]
        for group in groups:
            stored = read_attribute(group["mea_t"], "inputs")
            if stored is not None:
                if stored not in range(1, INPUTS + 1):
                    raise BadInput(
                        f"{self.path}: {group.name}/mea_t: version {stored!s:.20} of the inputs is not known; this "
                        f"Sidestep reads 1 to {INPUTS}"
                    )
                return int(stored)
        return 1 if any("order" in group["rot_t"].attrs for group in groups) else INPUTS

    def _find_weathers(self) -> tuple[str, ...]:
        for group in self._groups.values():
            names = None if group is None else read_attribute(group["weather"], "names")
            if names is not None and len(names):
                return tuple(str(name)[:40] for name in names)
        return ()

    def _find_episodes(self, branch: int) -> Iterator[DemonstrationEpisode]:
        count = self.frames[branch]
        if not count:
            return
        labels = np.stack([self.column(branch, name) for name in LABELS], axis=1)
        done = self.column(branch, "done")
        starts = np.flatnonzero(np.r_[True, done[:-1] | (labels[1:] != labels[:-1]).any(axis=1)])
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), count], strict=True):
            values = dict(zip(LABELS, labels[start].tolist(), strict=True))
            yield DemonstrationEpisode(branch=branch, start=start, stop=stop, **values, finished=bool(done[stop - 1]))


def _is_empty(group: Any) -> bool:
    """Whether a group has all fields, and no frame in any of them."""
    return all(isinstance(group.get(name), h5py.Dataset) and group[name].shape[:1] == (0,) for name in FIELDS)


def read_demonstrations(path: Path | str) -> Demonstrations:
    """Open a file of demonstrations, written by Sidestep or published; ``BadInput`` names a field that is missing or
    has the wrong shape or type. All complete frames are read of a file whose writer was killed or
    is still at work."""
    return Demonstrations(path)
