"""Files of demonstrations: written as published, read back, checked, and sound after a kill of the writer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep._util.writing import CannotWrite
from sidestep.errors import BadInput, UnknownName
from sidestep.learning import demonstrations
from sidestep.learning.demonstrations import (
    BRANCHES,
    COLUMNS,
    FIELDS,
    DemonstrationFrame,
    DemonstrationWriter,
    frames_per_second,
    read_demonstrations,
)
from sidestep.learning.interrupted_hdf5 import lookup3, read_superblock

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

SOURCES = Path(demonstrations.__file__).parents[2]


def make_frame(number: int, trace: int = 0, done: bool = False, **changes: Any) -> DemonstrationFrame:
    """A frame whose every value follows from ``number``."""
    frame = DemonstrationFrame(
        image=np.full((88, 200, 3), number % 251, np.uint8),
        lidar=np.full(720, number / 1000, np.float32),
        measurements=np.arange(4, dtype=np.float32) + number,
        command=np.array([number % 4, number % 3]),
        location=np.array([number, 2 * number, 0.5], np.float32),
        rotation=np.array([1.0, 2.0, number % 360], np.float32),
        action=np.array([0.25, 0.5, number % 2], np.float32),
        pose=1760,
        town=3,
        scene=0,
        trace=trace,
        weather=1,
        done=done,
    )
    return frame._replace(**changes)


def write_episodes(path: Path, lengths: dict[int, list[int]], **options: Any) -> None:
    """Episodes of those lengths in each branch."""
    with DemonstrationWriter(path, **options) as writer:
        for branch, each in lengths.items():
            for length in each:
                trace = writer.next_trace
                for number in range(length):
                    writer.add(branch, make_frame(number, trace, done=number == length - 1))


def assert_equal_frames(one: DemonstrationFrame, other: DemonstrationFrame) -> None:
    for name, value in one._asdict().items():
        np.testing.assert_array_equal(value, other._asdict()[name], err_msg=name)


def test_the_layout_is_the_published_one(tmp_path: Path) -> None:
    write_episodes(tmp_path / "demos.h5", {-1: [3], 0: [], 1: [2]})
    published = {
        "img_t": ((88, 200, 3), "u"), "lid_t": ((720,), "f"), "mea_t": ((4,), "f"), "com_t": ((2,), "i"),
        "loc_t": ((3,), "f"), "rot_t": ((3,), "f"), "a_t": ((3,), "f"), "pose": ((), "i"), "town": ((), "i"),
        "scene": ((), "i"), "trace": ((), "i"), "weather": ((), "i"), "done": ((), "b"),
    }  # fmt: skip
    with h5py.File(tmp_path / "demos.h5") as file:
        assert set(file) == {"branch-1", "branch0", "branch1"}
        for group, frames in (("branch-1", 3), ("branch0", 0), ("branch1", 2)):
            assert {name: (each.shape[1:], each.dtype.kind) for name, each in file[group].items()} == published
            assert {len(each) for each in file[group].values()} == {frames}
        assert file["branch-1/img_t"].dtype == np.uint8
        assert file["branch-1/done"][:].tolist() == [False, False, True]
        assert file["branch1/trace"][:].tolist() == [1, 1]
        assert file["branch1/a_t"][1].tolist() == [0.25, 0.5, 1.0]


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    write_episodes(tmp_path / "demos.h5", {1: [70, 2], -1: [5]}, batch=16)
    with read_demonstrations(tmp_path / "demos.h5") as reader:
        assert len(reader) == 77
        assert reader.frames == {-1: 5, 0: 0, 1: 72}
        assert not reader.is_interrupted
        spans = [(each.branch, each.start, each.stop, each.trace, each.finished) for each in reader.episodes]
        assert spans == [(-1, 0, 5, 2, True), (1, 0, 70, 0, True), (1, 70, 72, 1, True)]
        for number, frame in enumerate(reader.rows(1, 0, 70)):
            assert_equal_frames(frame, make_frame(number, 0, done=number == 69))
        assert_equal_frames(reader[5 + 33], make_frame(33))
        assert_equal_frames(reader[-1], make_frame(1, trace=1, done=True))
        assert reader.find(4) == (-1, 4)
        assert reader.find(5) == (1, 0)
        assert reader.column(1, "lidar", 10, 12).shape == (2, 720)
        with pytest.raises(IndexError, match="no frame 77: it has 77"):
            reader[77]
        with pytest.raises(UnknownName, match="did you mean 'lidar'"):
            reader.column(0, "lidars")


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(sorted(BRANCHES)), st.integers(1, 9)), max_size=8), st.integers(1, 7))
def test_any_episodes_in_any_batches_come_back(
    tmp_path_factory: pytest.TempPathFactory, episodes: list[tuple[int, int]], batch: int
) -> None:
    path = tmp_path_factory.mktemp("demos") / "demos.h5"
    with DemonstrationWriter(path, batch=batch) as writer:
        for trace, (branch, length) in enumerate(episodes):
            for number in range(length):
                writer.add(branch, make_frame(number, trace, done=number == length - 1))
    with read_demonstrations(path) as reader:
        found = {(each.trace, (each.branch, each.stop - each.start)) for each in reader.episodes}
        assert found == set(enumerate(episodes))
        for each in reader.episodes:
            values = reader.column(each.branch, "image", each.start, each.stop)[:, 0, 0, 0]
            assert values.tolist() == list(range(each.stop - each.start))


def test_frames_that_wait_are_written_when_the_program_fails(tmp_path: Path) -> None:
    def drive() -> None:
        with DemonstrationWriter(tmp_path / "demos.h5") as writer:
            writer.add(0, make_frame(0))
            raise RuntimeError("the driver failed")

    with pytest.raises(RuntimeError, match="the driver failed"):
        drive()
    with read_demonstrations(tmp_path / "demos.h5") as reader:
        assert [each.finished for each in reader.episodes] == [False]


def test_nothing_is_overwritten_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "demos.h5"
    write_episodes(path, {0: [2]})
    before = path.read_bytes()
    with pytest.raises(BadInput, match=r"demos\.h5: already exists; choose another name, append to it or overwrite"):
        DemonstrationWriter(path)
    with pytest.raises(BadInput, match="give one of them"):
        DemonstrationWriter(path, append=True, overwrite=True)
    assert path.read_bytes() == before
    write_episodes(path, {1: [3]}, overwrite=True)
    with read_demonstrations(path) as reader:
        assert reader.frames == {-1: 0, 0: 0, 1: 3}
    assert list(tmp_path.iterdir()) == [path]


def test_appending_continues_the_trace_numbers(tmp_path: Path) -> None:
    path = tmp_path / "demos.h5"
    write_episodes(path, {0: [2], 1: [3]}, append=True)
    write_episodes(path, {0: [4]}, append=True)
    with read_demonstrations(path) as reader:
        assert [(each.branch, each.trace, each.stop - each.start) for each in reader.episodes] == [
            (0, 0, 2), (0, 2, 4), (1, 1, 3),
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"image": np.zeros((88, 200), np.uint8)}, r"img_t has shape \(88, 200\), not \(88, 200, 3\); resize it"),
        ({"image": np.zeros((88, 200, 3))}, "img_t has numbers of type float64, not uint8"),
        ({"lidar": np.zeros(360)}, r"lid_t has shape \(360\), not \(720\)"),
        ({"lidar": np.full(720, np.nan)}, "lid_t has values that are not finite"),
        ({"measurements": np.zeros(3)}, r"mea_t has shape \(3\), not \(4\)"),
        ({"command": np.zeros(2)}, "com_t has numbers of type float64, not int64"),
        ({"action": np.array(["a", "b", "c"])}, "a_t has numbers of type <U1, not float32"),
        ({"town": "Town03"}, "town has numbers of type <U6, not int64"),
        ({"trace": -1}, "trace -1 is negative; number episodes from 0"),
        ({"done": 1}, "done has numbers of type int64, not bool"),
    ],
)
def test_a_frame_that_does_not_fit_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with DemonstrationWriter(tmp_path / "demos.h5") as writer:
        writer.add(1, make_frame(0))
        with pytest.raises(BadInput, match=r"demos\.h5: branch 1, frame 1: " + message):
            writer.add(1, make_frame(1, **changes))
        writer.add(1, make_frame(1, done=True))
    with read_demonstrations(tmp_path / "demos.h5") as reader:
        assert len(reader) == 2


def test_wrong_settings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="3 or 4 or 7 of them, not 5"):
        DemonstrationWriter(tmp_path / "demos.h5", measurements=5)
    with pytest.raises(BadInput, match="at least one frame"):
        DemonstrationWriter(tmp_path / "demos.h5", batch=0)
    assert not (tmp_path / "demos.h5").exists()
    with DemonstrationWriter(tmp_path / "demos.h5") as writer, pytest.raises(BadInput, match="branch 2: not one of -1"):
        writer.add(2, make_frame(0))


def test_episodes_of_a_branch_must_not_alternate(tmp_path: Path) -> None:
    with DemonstrationWriter(tmp_path / "demos.h5") as writer:
        writer.add(0, make_frame(0, trace=0))
        writer.add(1, make_frame(0, trace=5))
        writer.add(0, make_frame(0, trace=1))
        with pytest.raises(
            BadInput, match="branch 0, frame 2: the episode of trace 0 was interrupted before it was done"
        ):
            writer.add(0, make_frame(1, trace=0))
    with (
        DemonstrationWriter(tmp_path / "demos.h5", append=True) as writer,
        pytest.raises(BadInput, match="take `next_trace` for a new one"),
    ):
        writer.add(1, make_frame(1, trace=5))


def test_two_writers_of_one_file_are_noticed(tmp_path: Path) -> None:
    write_episodes(tmp_path / "demos.h5", {0: [2]})
    one = DemonstrationWriter(tmp_path / "demos.h5", append=True)
    write_episodes(tmp_path / "demos.h5", {0: [3]}, append=True)
    one.add(0, make_frame(0, trace=9))
    with pytest.raises(
        CannotWrite, match=r"another program changed /branch0/img_t \(5 frames, not 2\); let one write it"
    ):
        one.close()


@pytest.mark.skipif(fcntl is None, reason="only where there is flock")
def test_reading_does_not_stop_the_recording(tmp_path: Path) -> None:
    with DemonstrationWriter(tmp_path / "demos.h5") as writer:
        writer.add(0, make_frame(0, done=True))
        with (tmp_path / "demos.h5").open("rb") as file, read_demonstrations(tmp_path / "demos.h5") as reader:
            fcntl.flock(file, fcntl.LOCK_SH)  # as HDF5 programs do that read the file
            writer.add(0, make_frame(0, trace=1, done=True))
            assert len(reader) == 1
    with read_demonstrations(tmp_path / "demos.h5") as reader:
        assert len(reader) == 2


def make_foreign(path: Path, names: str = "branch {}", measurements: int = 3, frames: int = 4, **changes: Any) -> None:
    """A file as somebody else writes it: contiguous, 64-bit floats, no attributes."""
    columns: dict[str, Any] = {
        "img_t": np.zeros((frames, 88, 200, 3), np.uint8),
        "lid_t": np.ones((frames, 720)),
        "mea_t": np.ones((frames, measurements)),
        "com_t": np.ones((frames, 2), np.int32),
        "loc_t": np.ones((frames, 3)),
        "rot_t": np.tile([0.1, -90.0, 0.2], (frames, 1)),
        "a_t": np.ones((frames, 3)),
        **{name: np.full(frames, 2) for name in ("pose", "town", "scene", "trace", "weather")},
        "done": np.arange(frames) == frames - 1,
    }
    with h5py.File(path, "w") as file:
        for branch in BRANCHES:
            group = file.create_group(names.format(branch))
            for name, values in {**columns, **changes}.items():
                if values is not None:
                    group[name] = values


@pytest.mark.parametrize(("names", "measurements"), [("branch {}", 3), ("branch{}", 4), ("branch{}", 7)])
def test_files_of_the_readme_and_of_the_program_are_read(tmp_path: Path, names: str, measurements: int) -> None:
    make_foreign(tmp_path / "theirs.h5", names, measurements)
    with read_demonstrations(tmp_path / "theirs.h5") as reader:
        assert reader.frames == {-1: 4, 0: 4, 1: 4}
        assert reader.measurements == measurements
        assert reader.rotation_order == "pitch, yaw, roll"
        assert reader[0].rotation.tolist() == pytest.approx([0.1, 0.2, -90.0])
        assert reader[0].measurements.shape == (measurements,)
        assert reader[0].lidar.dtype == np.float32
    with pytest.raises(BadInput, match=r"theirs\.h5: branch-1/img_t: not as Sidestep writes it, cannot be continued"):
        DemonstrationWriter(tmp_path / "theirs.h5", append=True, measurements=measurements)


def test_yaw_is_where_the_larger_angles_are(tmp_path: Path) -> None:
    make_foreign(tmp_path / "theirs.h5", rot_t=np.tile([0.1, 0.2, 90.0], (4, 1)))
    with read_demonstrations(tmp_path / "theirs.h5") as reader:
        assert reader.rotation_order == "pitch, roll, yaw"
        assert reader[0].rotation.tolist() == pytest.approx([0.1, 0.2, 90.0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lid_t": None}, r"branch -1/lid_t: missing \(found: .*img_t.*\); every branch needs img_t, lid_t"),
        ({"mea_t": np.ones((4, 5))}, r"branch -1/mea_t has shape \(4, 5\), not \(frames, 3\), \(frames, 4\) or"),
        (
            {"img_t": np.zeros((4, 3, 88, 200), np.uint8)},
            r"img_t: has shape \(4, 3, 88, 200\), not \(frames, 88, 200, 3\)",
        ),
        ({"img_t": np.zeros((4, 88, 200, 3))}, "img_t: has numbers of type float64, not uint8; convert them"),
        ({"a_t": np.ones((4, 2))}, r"a_t: has shape \(4, 2\), not \(frames, 3\); store one frame in each row"),
        ({"com_t": np.ones((4, 2))}, "com_t: has numbers of type float64, not int64"),
        ({"pose": np.ones(3, int)}, "img_t: 4 frames, but pose has 3; all fields need the same number"),
        ({"done": 1}, r"done: has shape \(\), not \(frames\)"),
        ({"town": np.array([b"Town03"] * 4)}, r"town: has numbers of type \|S6, not int64"),
    ],
)
def test_bad_files_are_refused_with_place_and_remedy(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    make_foreign(tmp_path / "theirs.h5", **changes)
    before = (tmp_path / "theirs.h5").read_bytes()
    with pytest.raises(BadInput, match=r"theirs\.h5: /?.*" + message):
        read_demonstrations(tmp_path / "theirs.h5")
    with pytest.raises(BadInput, match=message):
        DemonstrationWriter(tmp_path / "theirs.h5", append=True)
    assert (tmp_path / "theirs.h5").read_bytes() == before


def test_files_that_are_something_else_are_refused(tmp_path: Path) -> None:
    for name, data in (("a.h5", b"no HDF5"), ("b.h5", b""), ("c.h5", b"\x89HDF\r\n\x1a\n" + bytes(90))):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(BadInput, match=rf"{name}: not an HDF5 file, or a damaged one .*; write it again"):
            read_demonstrations(tmp_path / name)
    with pytest.raises(BadInput, match="no such file"):
        read_demonstrations(tmp_path / "d.h5")
    with pytest.raises(BadInput, match="no such file"):
        read_demonstrations(tmp_path)
    with h5py.File(tmp_path / "e.h5", "w") as file:
        file["frames"] = np.zeros(3)
    with pytest.raises(BadInput, match=r"no group branch-1, branch0, branch1 \(found: 'frames'\)"):
        read_demonstrations(tmp_path / "e.h5")


def test_data_outside_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(bytes(4))
    make_foreign(tmp_path / "theirs.h5", pose=None)
    with h5py.File(tmp_path / "theirs.h5", "r+") as file:
        file["branch -1"].create_dataset("pose", (4,), "u1", external=[(str(tmp_path / "secret"), 0, 4)])
    with pytest.raises(BadInput, match="branch -1/pose: not a dataset that is stored in this file"):
        read_demonstrations(tmp_path / "theirs.h5")
    with h5py.File(tmp_path / "theirs.h5", "r+") as file:
        del file["branch -1/pose"]
        file["branch -1/pose"] = h5py.ExternalLink("other.h5", "/pose")
    with pytest.raises(BadInput, match=r"branch -1/pose: (not a dataset|missing)"):
        read_demonstrations(tmp_path / "theirs.h5")


def test_damaged_files_raise_nothing_else(tmp_path: Path) -> None:
    write_episodes(tmp_path / "demos.h5", {0: [12]})
    data = (tmp_path / "demos.h5").read_bytes()
    draw = np.random.default_rng(0)
    refused = 0
    for _ in range(60):
        damaged = bytearray(data)
        damaged[draw.integers(8, 12_000)] ^= 1 << int(draw.integers(8))
        (tmp_path / "damaged.h5").write_bytes(damaged)
        try:
            with read_demonstrations(tmp_path / "damaged.h5") as reader:
                assert sum(1 for branch in BRANCHES for _ in reader.rows(branch)) == len(reader)
        except BadInput:
            refused += 1
    assert refused > 5


WRITE_FOR_EVER = """
import sys
from tests.learning.test_demonstrations import DemonstrationWriter, make_frame

with DemonstrationWriter(sys.argv[1], append=True, batch=8) as writer:
    print("ready", flush=True)
    while True:
        trace = writer.next_trace
        for number in range(30):
            writer.add((trace % 3) - 1, make_frame(number, trace, done=number == 29))
"""


def kill_while_writing(path: Path, after_s: float) -> None:
    """Append episodes in another process, and kill it ``after_s`` seconds later."""
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCES), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", WRITE_FOR_EVER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(after_s)
        process.send_signal(signal.SIGKILL)


def assert_whole_frames(path: Path) -> int:
    """Every frame in the file is complete; its values follow from its number in its episode."""
    with read_demonstrations(path) as reader:
        for branch, count in reader.frames.items():
            assert {len(reader.column(branch, name)) for name in COLUMNS} == {count}
        for each in reader.episodes:
            for number, frame in enumerate(reader.rows(each.branch, each.start, each.stop)):
                assert_equal_frames(frame, make_frame(number, each.trace, done=number == 29))
        return len(reader)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="only where there is SIGKILL")
def test_a_killed_writer_leaves_whole_frames(tmp_path: Path) -> None:
    path, draw = tmp_path / "demos.h5", np.random.default_rng(7)
    before = interrupted = 0
    for _ in range(10):
        kill_while_writing(path, float(draw.uniform(0.0, 0.25)))
        frames = assert_whole_frames(path)
        assert frames >= before
        before = frames
        interrupted += read_superblock(path) is not None
    assert before > 100
    assert interrupted, "no kill fell into the writing of a batch: the test has shown nothing"
    DemonstrationWriter(path, append=True).close()
    with h5py.File(path) as file:
        assert sum(len(group["img_t"]) for group in file.values()) == before


def test_each_step_of_a_batch_leaves_a_readable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies of the file after each dataset was extended, as a kill would leave it then."""
    path, copies = tmp_path / "demos.h5", []

    class Watched(DemonstrationWriter):
        def _extend(self, dataset: Any, rows: int, values: Any) -> None:
            super()._extend(dataset, rows, values)
            dataset.file.flush()
            copies.append((dataset.name, path.read_bytes()))

    with Watched(path, batch=5) as writer:
        for number in range(10):
            writer.add(0, make_frame(number))
    assert len(copies) == 2 * len(FIELDS)
    for position, (name, data) in enumerate(copies):
        (tmp_path / "copy.h5").write_bytes(data)
        with pytest.raises(OSError, match="already open for write"):
            h5py.File(tmp_path / "copy.h5")
        with read_demonstrations(tmp_path / "copy.h5") as reader:
            assert reader.is_interrupted
            assert len(reader) == 5 * (position // len(FIELDS)) + (5 if name.endswith("trace") else 0)
        assert_whole_frames(tmp_path / "copy.h5")


def test_the_checksum_is_that_of_hdf5(tmp_path: Path) -> None:
    assert lookup3(b"Four score and seven years ago") == 0x17770551, "the example of Jenkins' own source"
    write_episodes(tmp_path / "demos.h5", {0: [1]})
    head = (tmp_path / "demos.h5").read_bytes()[:48]
    assert lookup3(head[:-4]) == int.from_bytes(head[-4:], "little")
    assert read_superblock(tmp_path / "demos.h5") is None


def test_the_speed_is_measured(tmp_path: Path) -> None:
    assert frames_per_second(0.0, tmp_path) > 100
    assert list(tmp_path.iterdir()) == []


def as_the_program_writes(path: Path, done: Any) -> None:
    """Groups of the branches that were driven; of a branch without frames every field is an empty row of floats."""
    make_foreign(path, "branch{}", 4, done=done, rot_t=np.tile([0.1, 0.2, -90.0], (4, 1)))
    with h5py.File(path, "r+") as file:
        del file["branch0"]
        for name in list(file["branch-1"]):
            del file["branch-1"][name]
            file["branch-1"][name] = np.array([])


@pytest.mark.parametrize("shape", [(4, 1), (4,)])
def test_done_of_the_published_program(tmp_path: Path, shape: tuple[int, ...]) -> None:
    """It writes ``done`` as (frames, 1); others as (frames,)."""
    as_the_program_writes(tmp_path / "theirs.h5", np.array([False, True, False, True]).reshape(shape))
    with read_demonstrations(tmp_path / "theirs.h5") as reader:
        assert reader.frames == {-1: 0, 0: 0, 1: 4}
        assert reader.column(1, "done").tolist() == [False, True, False, True]
        assert [(each.start, each.stop, each.finished) for each in reader.episodes] == [(0, 2, True), (2, 4, True)]
        assert [frame.done for frame in reader.rows(1)] == [False, True, False, True]
        assert (reader.inputs, reader.measurements, reader.weathers) == (2, 4, ())


def test_pictures_are_bgr_unless_the_file_is_older(tmp_path: Path) -> None:
    """Files without attributes are published ones; those that name the order of angles alone are ours from before."""
    blue = np.zeros((88, 200, 3), np.uint8)
    blue[..., 0] = 200
    with DemonstrationWriter(tmp_path / "new.h5", weathers=("Clear", "Wet")) as writer:
        writer.add(0, make_frame(0, done=True, image=blue))
    with h5py.File(tmp_path / "new.h5") as file:
        assert file["branch0/img_t"].attrs["channels"] == "BGR"
        assert file["branch0/mea_t"].attrs["inputs"] == 2
        assert list(file["branch0/weather"].attrs["names"]) == ["Clear", "Wet"]
    with read_demonstrations(tmp_path / "new.h5") as reader:
        assert (reader.inputs, reader.weathers) == (2, ("Clear", "Wet"))
        assert reader[0].image[0, 0].tolist() == [200, 0, 0]
        assert reader.pictures(0)[0, 0, 0].tolist() == [0, 0, 200]
    with h5py.File(tmp_path / "new.h5", "r+") as file:
        for branch in BRANCHES:
            del file[f"branch{branch}/mea_t"].attrs["inputs"]
    with read_demonstrations(tmp_path / "new.h5") as reader:
        assert reader.inputs == 1
        assert reader.pictures(0)[0, 0, 0].tolist() == [200, 0, 0]
    with pytest.raises(BadInput, match="holds version 1 of the inputs, the new frames have version 2"):
        DemonstrationWriter(tmp_path / "new.h5", append=True)
    with h5py.File(tmp_path / "new.h5", "r+") as file:
        file["branch0/mea_t"].attrs["inputs"] = 9
    with pytest.raises(BadInput, match="version 9 of the inputs is not known"):
        read_demonstrations(tmp_path / "new.h5")
