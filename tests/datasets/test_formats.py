"""Each format against numbers worked out by hand, and what it says to broken files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import registry
from sidestep.datasets import detect_format, load_tracks
from sidestep.datasets.eth_ucy import to_ground
from sidestep.datasets.plain import PLAIN
from sidestep.datasets.sidestep_tracks import SIDESTEP
from sidestep.datasets.trajnet import TRAJNET
from sidestep.errors import BadInput
from sidestep.types.tracks import Tracks
from tests.datasets.conftest import FILES, OPTIONS, VSP, write

TEXT = sorted(FILES)


def invented() -> Tracks:
    """Three people, two of them a group, with a gap and positions that need all their digits."""
    person = np.array([1, 1, 1, 4, 4, 9])
    time = np.array([0.0, 0.4, 1.2, 0.4, 0.8, 2.0])
    position = np.array([[0.1, 1 / 3], [0.5, 1 / 7], [1.7, -2.0], [5, 5], [5, 5.5], [1e-9, 1e5]])
    return Tracks(person, time, position, 2.5, source="a walk", licence="CC0", frame="hall, metres", group={1: 0, 4: 0})


def same(a: Tracks, b: Tracks, tolerance: float = 0.0) -> bool:
    arrays = [(a.person, b.person), (a.time, b.time), (a.position, b.position)]
    return all(x.shape == y.shape and np.allclose(x, y, rtol=0, atol=tolerance) for x, y in arrays)


@pytest.mark.parametrize("name", TEXT)
def test_a_file_looks_like_its_own_format_only(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, name)
    assert [other for other in registry.names("datasets") if registry.load("datasets", other).matches(path)] == [name]
    assert detect_format(path) == name


def test_plain(tmp_path: Path) -> None:
    """Frames 4 apart at 10 per second: 2.5 annotations per second."""
    tracks = load_tracks(write(tmp_path, "plain"))
    assert tracks.person.tolist() == [1, 1, 1, 2, 2, 2]
    assert tracks.time.tolist() == [0.0, 0.4, 0.8, 0.0, 0.4, 0.8]
    assert tracks.position[4].tolist() == [3.0, 2.5]
    assert (tracks.rate_hz, tracks.licence, tracks.source) == (2.5, "invented", "plain.txt")


@pytest.mark.parametrize(
    ("header", "lines", "options"),
    [
        ("frame,id,x,y", ["0,7,1.5,2", "4,7,1.9,2", "8,7,2.3,2.5"], {"rate_hz": 10.0}),
        ("time,id,x,y", ["0.0,7,1.5,2", "0.4,7,1.9,2", "0.8,7,2.3,2.5"], {}),
        ("frame ped_id x y", ["0 7 1.5 2", "4 7 1.9 2", "8 7 2.3 2.5"], {"rate_hz": 10.0}),
        ('"Y", "X", "label", "Timestamp", "Agent_ID"', ["2,1.5,a,0,7", "2,1.9,b,0.4,7", "2.5,2.3,c d,0.8,7"], {}),
    ],
)
def test_a_header_names_the_columns(tmp_path: Path, header: str, lines: list[str], options: dict[str, float]) -> None:
    """As people save tables: in any order, with other columns beside, frames or seconds."""
    path = tmp_path / "people.csv"
    path.write_text("\n".join([header, *lines]) + "\n")
    assert detect_format(path) == "plain"
    tracks = load_tracks(path, **options)
    assert tracks.person.tolist() == [7, 7, 7]
    assert tracks.time.tolist() == [0.0, 0.4, 0.8]
    assert tracks.position.tolist() == [[1.5, 2.0], [1.9, 2.0], [2.3, 2.5]]
    assert tracks.rate_hz == 2.5


def test_times_that_do_not_divide_evenly_have_one_step(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("time,id,x,y\n" + "".join(f"{k * 0.1},1,{k},0\n" for k in range(50)))
    assert load_tracks(path).rate_hz == 10.0


def test_biwi_finds_its_clock_in_its_velocities(tmp_path: Path) -> None:
    """0.4 m in 10 frames at 1 m/s: 25 frames per second."""
    (tmp_path / "groups.txt").write_text("1\n2 1\n77 78\n")
    tracks = load_tracks(write(tmp_path, "biwi"))
    assert tracks.time.tolist() == pytest.approx([4.0, 4.4, 4.8] * 2)
    assert tracks.position[3:].tolist() == [[5.0, 1.0], [5.0, 1.6], [5.0, 2.2]]
    assert tracks.rate_hz == 2.5
    assert "25 frames/s" in tracks.source
    assert tracks.group == {1: 0, 2: 0}
    assert load_tracks(tmp_path / "obsmat.txt", rate_hz=50.0).time[0] == 2.0


def test_biwi_without_a_clock_asks_for_it(tmp_path: Path) -> None:
    path = write(tmp_path, "biwi", "1 1 0 0 0 0 0 0\n2 1 1 0 0 0 0 0\n3 1 2 0 0 0 0 0\n4 1 3 0 0 0 0 0\n")
    with pytest.raises(BadInput, match="--rate-hz"):
        load_tracks(path)


def test_socnavbench(tmp_path: Path) -> None:
    """The third row is y, the fourth x; frames need a rate."""
    path = write(tmp_path, "socnavbench")
    with pytest.raises(BadInput, match="--rate-hz"):
        load_tracks(path)
    tracks = load_tracks(path, rate_hz=2.0)
    assert tracks.person.tolist() == [1, 1, 1, 2, 2, 2]
    assert tracks.time.tolist() == [0.0, 0.5, 1.0] * 2
    assert tracks.position[1].tolist() == [0.1, 0.5]
    assert tracks.position[5].tolist() == [7.0, 2.8]
    assert tracks.rate_hz == 2.0


def test_trajnet_counts_annotations_and_leaves_forecasts_out(tmp_path: Path) -> None:
    tracks = load_tracks(write(tmp_path, "trajnet"))
    assert tracks.person.tolist() == [1, 1, 1, 2]
    assert tracks.time.tolist() == pytest.approx([0.4, 0.8, 1.2, 0.8])
    assert tracks.rate_hz == pytest.approx(2.5)
    text = FILES["trajnet"].replace(', "fps": 2.5', "")
    with pytest.raises(BadInput, match="--rate-hz"):
        load_tracks(write(tmp_path, "trajnet", text))
    assert load_tracks(tmp_path / "t.ndjson", rate_hz=25.0).time[0] == 0.4
    text = FILES["trajnet"] + '{"scene": {"id": 1, "p": 2, "s": 10, "e": 30, "fps": 5}}\n'
    with pytest.raises(BadInput, match="different fps"):
        load_tracks(write(tmp_path, "trajnet", text))


def test_vci_dut(tmp_path: Path) -> None:
    tracks = load_tracks(write(tmp_path, "vci_dut"))
    assert tracks.people.tolist() == [0, 1]
    assert tracks.time[1] == pytest.approx(2 / 23.98)
    assert tracks.position[1].tolist() == [1.02, 2.0]
    assert "1902.00487" in tracks.licence


def test_vci_dut_at_another_rate_is_refused(tmp_path: Path) -> None:
    """A recording of VCI-CITR, of the same columns, has 29.97 frames per second."""
    head = FILES["vci_dut"].splitlines()[0]
    lines = [f"0,{k},ped,{1.2 * k / 29.97},2.0,1.2,0.0" for k in range(90)]
    path = write(tmp_path, "vci_dut", "\n".join([head, *lines]))
    with pytest.raises(BadInput, match=r"0.80 times as far .* --rate-hz 29.97"):
        load_tracks(path)
    tracks = load_tracks(path, rate_hz=29.97)
    assert tracks.time[30] == pytest.approx(30 / 29.97)
    assert "VCI-CITR" in tracks.source


def test_ucy_vsp_at_every_frame(tmp_path: Path) -> None:
    """Person 1: x from −100 to 100 over 30 frames; x m = 0.01 px + 2, y m = 0.02 px + 3."""
    tracks = load_tracks(write(tmp_path, "ucy_vsp"), pixels="centred")
    assert tracks.people.tolist() == [1, 2]
    assert np.bincount(tracks.person)[1:].tolist() == [31, 5]
    assert tracks.rate_hz == 25.0
    assert tracks.time[30] == pytest.approx(30 / 25)
    assert tracks.position[[0, 5, 10, 20, 30]] == pytest.approx(
        np.array([[1, 3], [1.5, 3.5], [2, 4], [2.5, 4], [3, 4]])
    )
    assert tracks.position[31:, 1] == pytest.approx([2.6, 2.8, 3.0, 3.2, 3.4])


def test_ucy_vsp_pixels() -> None:
    """The image's centre is row 288, column 360; its top left corner row 0, column 0."""
    eye = np.eye(3)
    assert to_ground(np.array([[0.0, 0.0], [-360.0, 288.0], [10.0, 20.0]]), eye, "matrix").tolist() == [
        [288, 360], [0, 0], [268, 370],
    ]  # fmt: skip
    assert to_ground(np.array([[10.0, 20.0]]), np.diag([1, 1, 2.0]), "centred").tolist() == [[5, 10]]


def test_ucy_vsp_says_what_it_lacks(tmp_path: Path) -> None:
    path = write(tmp_path, "ucy_vsp")
    with pytest.raises(BadInput, match="--pixels matrix"):
        load_tracks(path)
    with pytest.raises(BadInput, match="did you mean 'centred'"):
        load_tracks(path, pixels="centered")
    (tmp_path / "H.txt").rename(tmp_path / "other.txt")
    with pytest.raises(BadInput, match="--homography"):
        load_tracks(path)
    there = load_tracks(path, homography=tmp_path / "other.txt", pixels="matrix")
    assert there.position[0] == pytest.approx([0.01 * 288 + 2, 0.02 * 260 + 3])
    for text in ("1 0\n0 1\n", "1 2 3\n2 4 6\n0 0 1\n", "1 0 0\n0 x 0\n0 0 1\n", "1 0 0\n0 nan 0\n0 0 1\n"):
        (tmp_path / "H.txt").write_text(text)
        with pytest.raises(BadInput, match=r"H\.txt"):
            load_tracks(path, pixels="centred")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("50.000000 30", "50.000000 10", "line 5: person 1 is annotated twice in frame 10"),
        ("50.000000 30", "50.000000 8", "line 5: person 1 is annotated out of order"),
        ("50.000000 30", "50.000000 30.5", "line 5: the frame 30.5 is not a whole number"),
        ("50.000000 30", "50.000000 9999999999", "line 4: 9999999989 frames to the next control point"),
        ("2 - Num", "200 - Num", "person 2 should have 200 control points"),
        ("2 - Num", "x - Num", ":6: expected the number of control points of person 2"),
        ("2 - Num", "0 - Num", "person 2 has no control points"),
        ("2 - the", "9 - the", "is it cut off"),
        ("-20.000000 5 0.000000", "-20.000000 5", ":7: expected 4 numbers"),
    ],
)
def test_broken_splines(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(BadInput, match=message.replace("(", r"\(")):
        load_tracks(write(tmp_path, "ucy_vsp", VSP.replace(old, new)), "ucy_vsp", pixels="centred")


def broken(name: str) -> dict[str, tuple[str, str]]:
    """Wrongs of a format: text, and what the error must say."""
    text = FILES[name]
    lines = text.splitlines(keepends=True)
    if name == "socnavbench":
        return {
            "twice": ("0,0,1,1\n1,2,1,1\n0.5,3,0.5,3\n0,7,0,7\n", "column 4: person 1 is annotated twice in frame 1"),
            "nan": (text.replace("0.5,3,", "0.5,nan,", 1), "column 2: NaN"),
            "columns": (text.replace("0.1,7,0.2,7", "0.1,7,0.2"), "as many columns"),
            "word": (text.replace("0.1,7", "0.1,seven"), "row x, column 4: 'seven' is not a number"),
            "rows": ("".join(lines[:3]), "expected four rows"),
            "person": (text.replace("1,2,1,2,1,2", "1,2,1,2,1,2.5"), "column 6: the person 2.5"),
        }
    if name == "trajnet":
        return {
            "twice": (text + lines[1], "line 7: person 1 is annotated twice in frame 10"),
            "nan": (text.replace("0.4", "NaN"), "line 3: NaN"),
            "columns": (text.replace(', "y": 2.0', ""), ":5: expected"),
            "word": (text + "{oh\n", ":7: expected"),
            "nobody": (lines[0], "nobody"),
            "person": (text.replace('"p": 2, "x": 4.0', '"p": 2.5, "x": 4.0'), "line 5: the person 2.5"),
        }
    if name == "vci_dut":
        return {
            "twice": (text + lines[1], "line 5: person 0 is annotated twice in frame 1"),
            "nan": (text.replace("4.0", "nan"), "line 3: NaN"),
            "columns": (text + "0,3,ped,1.0\n", ":5: expected 7 numbers"),
            "nobody": (lines[0], "nobody"),
            "vehicle": (text.replace("1,1,ped", "1,1,veh"), ":3: expected 7 numbers"),
        }
    first = next(line for line in lines if not line.startswith("#"))
    at, end = lines.index(first) + 1, len(lines) + 1
    words = first.split()
    person = {"plain": 1, "biwi": 1}[name]
    column = {"plain": 2, "biwi": 4}[name]
    return {
        "twice": (text + first, f"line {end}: person 1 is annotated twice in frame {words[0]}"),
        "nan": (
            text.replace(first, " ".join([*words[:column], "nan", *words[column + 1 :]]) + "\n"),
            f"line {at}: NaN",
        ),
        "columns": (text + "1 2 3\n", f":{end}: expected"),
        "word": (text + first.replace(words[-1], "x"), f":{end}: expected"),
        "nobody": ("# only a comment\n", "nobody"),
        "person": (text.replace(first, " ".join([words[0], "1.5", *words[person + 1 :]]) + "\n"), "the person 1.5"),
    }


@pytest.mark.parametrize("name", [name for name in TEXT if name != "ucy_vsp"])
def test_broken_files(tmp_path: Path, name: str) -> None:
    for what, (text, message) in broken(name).items():
        path = write(tmp_path, name, text)
        with pytest.raises(BadInput, match=message) as caught:
            load_tracks(path, name, **OPTIONS.get(name, {}))
        assert str(path) in str(caught.value), what


@pytest.mark.parametrize("name", [*TEXT, "sidestep"])
def test_what_is_no_file_of_tracks(tmp_path: Path, name: str) -> None:
    for content in (b"", b"  \n\n", b"\x00\x01\x02PAR\xff" * 99, b"\xff\xfe,1\n2"):
        path = tmp_path / "x.txt"
        path.write_bytes(content)
        for format_name in (name, None):
            with pytest.raises(BadInput, match=r"x\.txt"):
                load_tracks(path, format_name, **OPTIONS.get(name, {}))
    with pytest.raises(BadInput, match="is a folder"):
        load_tracks(tmp_path, name)
    with pytest.raises(BadInput, match="no such file"):
        load_tracks(tmp_path / "none.txt", name)


def test_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    path = write(tmp_path, "plain")
    monkeypatch.setattr("sidestep._util.reading.os.open", refuse)
    with pytest.raises(BadInput, match=r"cannot be read \(Permission denied\)"):
        load_tracks(path)


def test_two_formats_are_not_guessed_between(tmp_path: Path) -> None:
    """Four rows of four whole numbers are plain annotations or SocNavBench's rows."""
    path = tmp_path / "t.csv"
    path.write_text("1,1,2,2\n1,2,1,2\n3,4,5,6\n7,8,9,9\n")
    with pytest.raises(BadInput, match="could be plain or socnavbench; say which with --format"):
        load_tracks(path)
    assert len(load_tracks(path, "socnavbench", rate_hz=1.0).people) == 2
    assert len(load_tracks(path, "plain", rate_hz=1.0).people) == 4


def test_options_that_a_format_does_not_take(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="does not take"):
        load_tracks(write(tmp_path, "plain"), pixels="matrix")
    for rate in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(BadInput, match="positive"):
            load_tracks(tmp_path / "plain.txt", rate_hz=rate)


def test_gaps_are_kept_and_interpolated(tmp_path: Path) -> None:
    path = write(tmp_path, "plain", "# rate_hz: 1\n0 1 0 0\n1 1 1 0\n2 1 2 0\n6 1 6 4\n")
    position, _, present = load_tracks(path).sample(np.array([4.0]))
    assert present.all()
    assert position[0, 0].tolist() == [4.0, 2.0]


def test_own_format_loses_nothing(tmp_path: Path) -> None:
    before = invented()
    assert SIDESTEP.save(before, tmp_path / "w.parquet") == []
    assert detect_format(tmp_path / "w.parquet") == "sidestep"
    after = load_tracks(tmp_path / "w.parquet")
    assert same(before, after)
    for field in ("rate_hz", "source", "licence", "frame", "group"):
        assert getattr(before, field) == getattr(after, field)
    assert [path.name for path in tmp_path.iterdir()] == ["w.parquet"]


def test_plain_loses_nothing_either(tmp_path: Path) -> None:
    before = invented()
    assert PLAIN.save(before, tmp_path / "w.txt") == []
    after = load_tracks(tmp_path / "w.txt")
    assert same(before, after, 1e-12)
    assert (after.source, after.licence, after.frame, after.group) == ("a walk", "CC0", "hall, metres", {1: 0, 4: 0})


def test_trajnet_says_what_it_loses(tmp_path: Path) -> None:
    before = invented()
    assert TRAJNET.save(before, tmp_path / "w.ndjson") == ["groups", "source", "licence"]
    after = load_tracks(tmp_path / "w.ndjson")
    assert same(before, after, 1e-12)
    assert after.rate_hz == 2.5
    uneven = Tracks(before.person, before.time * 1.1, before.position, 2.5)
    with pytest.raises(BadInput, match="whole frames"):
        TRAJNET.save(uneven, tmp_path / "u.ndjson")
    assert not (tmp_path / "u.ndjson").exists()


def test_damaged_or_foreign_parquet(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    path = tmp_path / "w.parquet"
    SIDESTEP.save(invented(), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    with pytest.raises(BadInput, match="not a whole Parquet file"):
        load_tracks(path, "sidestep")
    pyarrow.parquet.write_table(pyarrow.table({"a": [1]}), path)
    with pytest.raises(BadInput, match="no tracks of Sidestep"):
        load_tracks(path, "sidestep")
    with pytest.raises(BadInput, match="none of the known formats"):
        load_tracks(path)
    for about, message in (('{"version": 2}', "version 2"), ("[]", "damaged"), ('{"version": 1}', "'person'")):
        table = pyarrow.table({"a": [1]}).replace_schema_metadata({"sidestep.tracks": about})
        pyarrow.parquet.write_table(table, path)
        with pytest.raises(BadInput, match=message):
            load_tracks(path)


@given(
    steps=st.lists(st.integers(1, 5), min_size=1, max_size=20),
    start=st.integers(-1000, 1000),
    scale=st.floats(1e-3, 1e3),
)
def test_any_whole_frames_survive_each_writer(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int], start: int, scale: float
) -> None:
    frames = start + np.cumsum(steps)
    position = scale * np.stack([np.sin(frames), np.cos(frames)], axis=1)
    folder = tmp_path_factory.mktemp("w")
    before = Tracks(np.ones(len(frames), int), frames / 2.5, position, 2.5)
    for loader, file in ((PLAIN, "w.txt"), (SIDESTEP, "w.parquet")):
        loader.save(before, folder / file)
        assert same(before, load_tracks(folder / file, loader.name), 1e-9)
