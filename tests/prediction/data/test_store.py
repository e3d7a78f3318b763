from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidestep.errors import BadInput
from sidestep.prediction.data.store import read_interactions, seal, write_interactions
from tests.fuzz.damage import damage
from tests.prediction.data.made import drawn, same


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000), tracks=st.integers(1, 6), clips=st.integers(1, 3), grounds=st.integers(0, 2))
def test_what_is_written_is_read(tmp_path: Path, seed: int, tracks: int, clips: int, grounds: int) -> None:
    data = drawn(seed, tracks, clips, grounds)
    write_interactions(data, tmp_path / "a.h5")
    assert same(read_interactions(tmp_path / "a.h5"), data)


def test_no_tracks(tmp_path: Path) -> None:
    data = drawn(0, 0, 0, 0)
    write_interactions(data, tmp_path / "a.h5")
    assert same(read_interactions(tmp_path / "a.h5"), data)


def test_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    write_interactions(drawn(1), path)
    before = path.read_bytes()
    with pytest.raises(AttributeError):
        write_interactions(None, path)  # type: ignore[arg-type]
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.h5"]


def _replace(name: str, values: Any) -> Any:
    def change(file: Any) -> None:
        del file[name]
        if values is not None:
            file[name] = values

    return change


def _first_is(name: str, value: Any) -> Any:
    def change(file: Any) -> None:
        file[name][0] = value

    return change


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_replace("frames/position", None), "frames/position is missing"),
        (_replace("frames/ego", np.zeros((3, 2))), "frames/ego has the shape (3, 2), expected ('N', 3)"),
        (_replace("tracks/start", np.zeros(3)), "tracks/start has the type float64, expected int64"),
        (_replace("tracks/split", np.zeros(9, np.uint8)), "interactions.split: expected shape (3,), got (9,)"),
        (_first_is("frames/position", np.nan), "track 0, frame 0: position is not finite"),
        (_first_is("frames/ego_speed", np.inf), "track 0, frame 0: ego_speed is not finite"),
        (_first_is("tracks/clip", 9), "track 0 has frames, a clip, a split or a label that do not exist"),
        (_first_is("clips/path_stop", 99), "clips/path_stop does not fit"),
        (_first_is("clips/path", np.nan), "the path needs at least two finite points"),
        (_first_is("clips/width", -1.0), "clips/width[0] must be a positive number"),
        (_first_is("clips/origin", "dreamt"), "clips/origin[0] is 'dreamt'"),
        (_first_is("clips/place", "moon"), "place 'moon' is not one of"),
        (_first_is("clips/ground", 7), "there is no map 7"),
        (_replace("clips/name", np.zeros(2)), "clips/name is missing or does not hold 2 texts"),
        (_replace("grounds", None), "the group grounds is missing"),
        (_replace("grounds/0", np.zeros((2, 2))), "grounds/0 is missing or not an array"),
        (_first_is("grounds/0", 200), "cells must be numbers below 8"),
        (lambda file: file.attrs.pop("format"), "not one of interactions"),
        (lambda file: file.attrs.__setitem__("version", 2), "version 2 of the format is unknown"),
        (lambda file: file.attrs.__setitem__("version", "one"), "version one of the format is unknown"),
        (lambda file: file.attrs.__setitem__("step_s", np.nan), "attribute step_s is nan"),
        (lambda file: file["grounds/0"].attrs.__setitem__("origin", [0.0]), "attribute origin must be two numbers"),
    ],
)  # fmt: skip
def test_bad_files_are_refused_by_name(tmp_path: Path, change: Any, told: str) -> None:
    path = tmp_path / "a.h5"
    write_interactions(drawn(3), path)
    with h5py.File(path, "r+") as file:
        change(file)
    seal(path)
    with pytest.raises(BadInput) as caught:
        read_interactions(path)
    assert str(path) in str(caught.value)
    assert told in str(caught.value)


def test_other_files(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with pytest.raises(BadInput, match=r"a\.h5: no such file; `sidestep predict dataset"):
        read_interactions(path)
    path.write_bytes(b"no")
    with pytest.raises(BadInput, match=r"a\.h5: not a file of interactions"):
        read_interactions(path)
    write_interactions(drawn(3, 40), path)
    path.write_bytes(path.read_bytes()[:-900])
    with pytest.raises(BadInput, match=r"a\.h5"):
        read_interactions(path)


def test_a_file_that_unpacks_to_far_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    write_interactions(drawn(3), path)
    with h5py.File(path, "r+") as file:
        del file["frames/body"]
        file.create_dataset("frames/body", (1 << 30,), np.float32, chunks=(1 << 20,))
    seal(path)
    with pytest.raises(BadInput, match="frames/body states 1073741824 values"):
        read_interactions(path)


@pytest.mark.parametrize("seed", range(60))
def test_damaged_files_are_refused(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "a.h5"
    write_interactions(drawn(3, 6, 3, 2), path)
    content = path.read_bytes()
    changed = damage(seed, content)
    path.write_bytes(changed)
    if changed == content:
        assert same(read_interactions(path), drawn(3, 6, 3, 2))
    else:
        with pytest.raises(BadInput, match=r"a\.h5: "):
            read_interactions(path)


def test_files_of_other_programs_have_no_checksum(tmp_path: Path) -> None:
    data = drawn(5)
    write_interactions(data, tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5") as file, h5py.File(tmp_path / "b.h5", "w") as other:
        for name in file:
            file.copy(name, other)
        other.attrs.update(file.attrs)
    assert same(read_interactions(tmp_path / "b.h5"), data)
