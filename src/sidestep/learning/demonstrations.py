"""Writing demonstrations while they are driven, in HDF5 files that outlive a kill of the program.

The layout of the files is in :mod:`~sidestep.learning.demonstration_layout`, their reader in
:mod:`~sidestep.learning.demonstration_reader`, statistics and contact sheets in
:mod:`~sidestep.learning.demonstration_summary`; this module has the names of all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from types import TracebackType
from typing import Any

import h5py
import numpy as np

from sidestep._util.writing import CannotWrite, whole_file
from sidestep.errors import BadInput
from sidestep.learning.demonstration_layout import (
    BATCH,
    BRANCHES,
    CHANNELS,
    COLUMNS,
    FIELDS,
    INPUTS,
    LABELS,
    MEASUREMENTS,
    NOT_WRITTEN,
    RATE_HZ,
    ROTATION,
    Array,
    DemonstrationEpisode,
    DemonstrationFrame,
    Field,
    by_dataset,
    fields_with,
    group_name,
    shown_shape,
)
from sidestep.learning.demonstration_reader import Demonstrations, read_demonstrations
from sidestep.learning.demonstration_summary import (
    DemonstrationStatistics,
    picture_sheet,
    statistics,
)
from sidestep.learning.interrupted_hdf5 import first_line

__all__ = [
    "BATCH",
    "BRANCHES",
    "COLUMNS",
    "FIELDS",
    "RATE_HZ",
    "DemonstrationEpisode",
    "DemonstrationFrame",
    "DemonstrationStatistics",
    "DemonstrationWriter",
    "Demonstrations",
    "frames_per_second",
    "picture_sheet",
    "read_demonstrations",
    "statistics",
]

_labels_of = attrgetter(*LABELS)


class DemonstrationWriter:
    """Writes demonstrations while they are driven::

        with DemonstrationWriter("demos.h5") as writer:
            trace = writer.next_trace
            for ...:
                writer.add(branch, DemonstrationFrame(..., trace=trace, ...))

    Frames are written in batches and at the end of each episode. The file is closed in between, so that every HDF5
    program can read it at nearly any time; the batch itself is written in the single-writer, multiple-reader mode of
    HDF5. If the program is killed, even then, :func:`read_demonstrations` reads all complete frames.

    An existing file is an error unless ``overwrite`` replaces it or ``append`` adds to it. ``weathers`` are the names
    that the numbers of weathers stand for; a file that is added to keeps its own.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        append: bool = False,
        overwrite: bool = False,
        measurements: int = 4,
        batch: int = BATCH,
        weathers: Sequence[str] = (),
        inputs: int = INPUTS,
    ) -> None:
        self.path = Path(path)
        if append and overwrite:
            raise BadInput(f"{self.path}: append adds to the file, overwrite replaces it; give one of them")
        if measurements not in MEASUREMENTS:
            raise BadInput(
                f"measurements: a frame has {' or '.join(map(str, MEASUREMENTS))} of them, not {measurements}"
            )
        if batch < 1:
            raise BadInput(f"batch: at least one frame is written at a time, not {batch}")
        self._fields = fields_with(measurements)
        self._batch = batch
        self._buffers = {
            branch: {name: np.empty((batch, *field.shape), field.dtype) for name, field in self._fields.items()}
            for branch in BRANCHES
        }
        self._waiting = dict.fromkeys(BRANCHES, 0)
        self._written = dict.fromkeys(BRANCHES, 0)
        self._episode: dict[int, tuple[int, ...] | None] = dict.fromkeys(BRANCHES)
        self._unfinished: dict[int, set[tuple[int, ...]]] = {branch: set() for branch in BRANCHES}
        self._failed = False
        self.weathers = tuple(weathers)
        """Names of the weathers by their numbers; empty: the file does not name them."""
        self.inputs = inputs
        """Version of the inputs that frames have."""
        self.next_trace = 0
        """Number for the next episode: one more than the largest so far."""
        if append and self.path.exists():
            self._continue()
        elif self.path.exists() and not overwrite:
            raise BadInput(f"{self.path}: already exists; choose another name, append to it or overwrite it")
        else:
            with whole_file(self.path) as temporary:
                _create(temporary, self._fields, self.weathers, inputs)

    def __enter__(self) -> DemonstrationWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def add(self, branch: int, frame: DemonstrationFrame) -> None:
        """Add a frame to the present episode of a branch, or begin the next episode."""
        if branch not in BRANCHES:
            raise BadInput(f"{self.path}: branch {branch!r}: not one of {', '.join(map(str, BRANCHES))}")
        row = self._waiting[branch]
        place = f"{self.path}: branch {branch}, frame {self._written[branch] + row}"
        rows = {name: _checked(place, name, self._fields[name], value) for name, value in by_dataset(frame).items()}
        self._follow(branch, frame, place)
        buffer = self._buffers[branch]
        for name, value in rows.items():
            buffer[name][row] = value
        self._waiting[branch] = row + 1
        self.next_trace = max(self.next_trace, int(frame.trace) + 1)
        if frame.done or row + 1 == self._batch:
            self.flush()

    def flush(self) -> None:
        """Write the frames that wait."""
        waiting = {branch: count for branch, count in self._waiting.items() if count}
        if not waiting or self._failed:
            return
        self._failed = True
        try:
            with _opened_for_writing(self.path) as file:
                groups = {branch: file[group_name(branch)] for branch in waiting}
                for name in self._fields:
                    if name == "trace":
                        file.flush()
                    for branch, count in waiting.items():
                        self._extend(groups[branch][name], self._written[branch], self._buffers[branch][name][:count])
        except (OSError, RuntimeError, KeyError) as error:
            cause = error if isinstance(error, OSError) and error.strerror else f"{first_line(error)}; check that disk"
            raise CannotWrite(self.path, cause) from error
        for branch, count in waiting.items():
            self._written[branch] += count
            self._waiting[branch] = 0
        self._failed = False

    def close(self) -> None:
        """Write the frames that wait. The writer can be used again."""
        self.flush()

    def _extend(self, dataset: Any, rows: int, values: Array) -> None:
        if len(dataset) != rows:
            raise CannotWrite(
                self.path,
                f"another program changed {dataset.name} ({len(dataset)} frames, not {rows}); let one write it",
            )
        dataset.resize(rows + len(values), axis=0)
        dataset[rows:] = values

    def _follow(self, branch: int, frame: DemonstrationFrame, place: str) -> None:
        """Frames of two episodes must not alternate, because they could not be separated."""
        key = tuple(map(int, _labels_of(frame)))
        current, left = self._episode[branch], self._unfinished[branch]
        if key != current:
            if key in left:
                raise BadInput(
                    f"{place}: the episode of trace {frame.trace} was interrupted before it was done; write the "
                    "frames of an episode one after another, and take `next_trace` for a new one"
                )
            if current is not None:
                left.add(current)
        self._episode[branch] = None if frame.done else key

    def _continue(self) -> None:
        with read_demonstrations(self.path) as old:
            old.check_extendable(self._fields, self.inputs)
            self.weathers = old.weathers
            if old.is_interrupted:
                with whole_file(self.path) as temporary:
                    _create(temporary, self._fields, self.weathers, self.inputs)
                    _copy(old, temporary, self._fields)
            self._written = {branch: old.frames[branch] for branch in BRANCHES}
            for episode in old.episodes:
                self.next_trace = max(self.next_trace, episode.trace + 1)
                if not episode.finished:
                    self._unfinished[episode.branch].add(_labels_of(episode))


def frames_per_second(seconds: float = 1.0, folder: Path | str | None = None) -> float:
    """Frames that a writer stores per second on this machine, in episodes of 200 frames whose pictures hardly compress
    (noise on a gradient); measured for at least ``seconds``, in ``folder`` or else where temporary files are."""
    height, width, depth = FIELDS["img_t"].shape
    ramp = np.linspace(0, 200, width)[None, :, None]
    noise = np.random.default_rng(0).integers(0, 50, (8, height, width, depth))
    pictures = (ramp + noise).astype(np.uint8)
    zeros: dict[str, Any] = {
        name: np.zeros(FIELDS[dataset].shape, FIELDS[dataset].dtype) for name, dataset in COLUMNS.items()
    }
    frame = DemonstrationFrame(**zeros)
    frames = 0
    with TemporaryDirectory(dir=folder) as place, DemonstrationWriter(Path(place) / "speed.h5") as writer:
        begin = perf_counter()
        while (elapsed := perf_counter() - begin) < seconds or frames % 200 or not frames:
            last = frames % 200 == 199
            writer.add(0, frame._replace(image=pictures[frames % 8], trace=frames // 200, done=last))
            frames += 1
    return frames / elapsed


def _checked(place: str, name: str, field: Field, value: Any) -> Array:
    array = np.asarray(value)
    if array.shape != field.shape:
        raise BadInput(
            f"{place}: {name} has shape {shown_shape(array.shape)}, not {shown_shape(field.shape)}; resize it"
        )
    kinds = {"u1": "u", "f4": "fiu", "i8": "iu", "?": "b"}[field.dtype]
    if array.dtype.kind not in kinds or (field.dtype == "u1" and array.dtype != np.uint8):
        raise BadInput(f"{place}: {name} has numbers of type {array.dtype}, not {np.dtype(field.dtype)}; convert them")
    if field.dtype == "f4" and not np.isfinite(array).all():
        raise BadInput(f"{place}: {name} has values that are not finite; leave such frames out or replace them")
    if name == "trace" and array < 0:
        raise BadInput(f"{place}: trace {array} is negative; number episodes from 0")
    return array


def _create(path: Path, fields: Mapping[str, Field], weathers: tuple[str, ...], inputs: int) -> None:
    """An empty file. Small blocks never cross a page of 4 KiB, so that the system writes each of them whole."""
    with h5py.File(path, "w", libver=("v110", "v110"), fs_strategy="page", fs_page_size=4096) as file:
        for branch in BRANCHES:
            group = file.create_group(group_name(branch))
            for name, field in fields.items():
                options: dict[str, Any] = {"compression": "gzip", "compression_opts": 1} if name == "img_t" else {}
                if name == "trace":
                    options["fillvalue"] = NOT_WRITTEN
                chunks, most = (field.chunk, *field.shape), (None, *field.shape)
                group.create_dataset(name, (0, *field.shape), field.dtype, chunks=chunks, maxshape=most, **options)
            group["rot_t"].attrs["order"] = ROTATION
            group["mea_t"].attrs["inputs"] = inputs
            group["img_t"].attrs["channels"] = CHANNELS if inputs > 1 else CHANNELS[::-1]
            if weathers:
                group["weather"].attrs["names"] = list(weathers)


def _copy(old: Demonstrations, path: Path, fields: Mapping[str, Field]) -> None:
    with h5py.File(path, "r+", libver=("v110", "v110")) as file:
        for branch, count in old.frames.items():
            for column, name in COLUMNS.items():
                dataset = file[group_name(branch)][name]
                dataset.resize(count, axis=0)
                step = max(BATCH, fields[name].chunk)
                for start in range(0, count, step):
                    dataset[start : min(start + step, count)] = old.column(branch, column, start, start + step)


@contextmanager
def _opened_for_writing(path: Path) -> Iterator[Any]:
    """The file in the single-writer, multiple-reader mode, from its first byte on: a reader finds it sound whatever is
    written already. No locks: a program that reads the file must not stop the recording."""
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_V110)
    access.set_file_locking(False, True)
    access.set_fclose_degree(h5py.h5f.CLOSE_STRONG)
    flags = h5py.h5f.ACC_RDWR | h5py.h5f.ACC_SWMR_WRITE
    with h5py.File(h5py.h5f.open(str(path).encode(), flags, fapl=access)) as file:
        yield file
