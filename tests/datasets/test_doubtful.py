"""Recordings that nobody should use without looking: absurd ones, tracklets, and texts in another form."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sidestep.cli.app import app
from sidestep.datasets import link_tracklets, load_dataset, load_tracks
from sidestep.datasets.install import add_dataset
from sidestep.datasets.sanity import absurdities, describe_tracks
from sidestep.errors import BadInput
from sidestep.types.tracks import Tracks

GOOD = "# rate_hz: 10\n# licence: invented\n0 1 0 0\n4 1 0.5 0\n8 1 1.0 0\n0 2 3 3\n4 2 3 2.5\n8 2 3 2\n"


def rows(*extra: str) -> str:
    return GOOD + "".join(f"{row}\n" for row in extra)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (GOOD.replace("rate_hz: 10", "rate_hz: 376"), "at 47.0 m/s on average"),
        (rows("12 1 681 0"), r"person 1 jumps at 1700.0 m/s"),
        (rows("1e301 1 1.5 0"), "1e\\+300 s, more than a week"),
        (GOOD.replace("3 3\n", "3 90000\n"), "90 km across"),
    ],
)
def test_the_absurd_is_refused_unless_forced(text: str, why: str, user_data: Path, tmp_path: Path) -> None:
    path = tmp_path / "odd.txt"
    path.write_text(text)
    refused = CliRunner().invoke(app, ["data", "add", str(path)])
    assert refused.exit_code == 2
    assert not user_data.exists() or not list(user_data.iterdir())
    with pytest.raises(BadInput, match=why) as error:
        add_dataset(path)
    assert "--force" in str(error.value)
    forced = CliRunner().invoke(app, ["data", "add", str(path), "--force", "--json"])
    assert forced.exit_code == 0, forced.output
    report = json.loads(forced.stdout)["dataset"]["report"]
    assert report["absurd"]
    assert len(load_dataset("odd").people) == 2


def test_adding_shows_the_report(user_data: Path, tmp_path: Path) -> None:
    path = tmp_path / "people.txt"
    path.write_text(rows("40 1 1.2 0"))
    shown = CliRunner().invoke(app, ["data", "add", str(path)])
    assert shown.exit_code == 0
    assert "mean_speed_mps" in shown.output
    assert "1 gaps inside tracks" in shown.output
    assert "absurd" not in shown.output


def test_people_who_walk_are_not_absurd() -> None:
    time = np.tile(np.arange(50) * 0.4, 3)
    position = np.stack([1.3 * time, np.repeat([0.0, 2, 4], 50)], axis=1)
    assert absurdities(Tracks(np.repeat([1, 2, 3], 50), time, position, 2.5)) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (rows("12 1 ? ?"), r"x\.txt:9: .*'\?' is not a number; remove rows with unknown values"),
        ("# rate_hz: 10\nframe who east north\n" + rows(), r"line 2 is 'frame who east north': looks like a header"),
        ("time,id,x,y\n0,1,2,3\n1,1,2\n", r"x\.txt:3: expected .*x y`, got '1 1 2'"),
        ("# rate_hz: 25\ntime,id,x,y\n0,1,2,3\n", "times in seconds and needs no frames per second; leave out rate_hz"),
        ("frame,id,x,y\n0,1,2,3\n", "frames per second unknown.*--rate-hz"),
        (GOOD.replace("0 1 0 0", "0;1;0;0"), r"line 3 is '0;1;0;0': columns are apart by blanks or commas, not ';'"),
        (GOOD.replace("4 2 3 2.5", "4 2 3 2,5"), r"x\.txt:7: .*decimals have a point, not a comma"),
        (GOOD.replace("0 1 0 0", "0;1;0,5;0,5"), "not ';'; decimals have a point"),
        (rows("# rate_hz: 25"), r"x\.txt:9: `# rate_hz: 25` contradicts `# rate_hz: 10` in line 1"),
    ],
)
def test_texts_in_another_form_name_the_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(text)
    with pytest.raises(BadInput, match=message):
        load_tracks(path)


def test_other_encodings_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        path.write_bytes(GOOD.encode(encoding))
        for name in ("plain", None):
            with pytest.raises(BadInput, match="line 1: the file is in UTF-16; save it as UTF-8"):
                load_tracks(path, name)
    path.write_bytes(rows("# gezählt von Jürgen").encode("latin-1"))
    with pytest.raises(BadInput, match=r"line 9: byte 0xe4 is not UTF-8 \(Latin-1\?\)"):
        load_tracks(path)


def cut(pieces: int, people: int = 6) -> tuple[Tracks, int]:
    """People who walk straight at 1.2 m/s, 1 m apart, cut into pieces of 20 annotations with numbers of their own."""
    person, time, position = [], [], []
    for number in range(people):
        for piece in range(pieces):
            t = 0.4 * (np.arange(20) + 20 * piece + number)
            person += [100 * piece + 7 * number + 1] * 20
            time += t.tolist()
            position += np.stack([1.2 * t, np.full(20, 1.0 * number)], axis=1).tolist()
    return Tracks(np.array(person), np.array(time), np.array(position), 2.5, licence="x"), people


def test_tracklets_are_said_and_linked(user_data: Path, tmp_path: Path) -> None:
    tracks, people = cut(3)
    assert "18 of 18 people have 20 annotations each: tracklets" in " ".join(describe_tracks(tracks)["warnings"])
    linked = link_tracklets(tracks)
    assert len(linked.people) == people
    assert describe_tracks(linked)["tracklets"] == 0
    assert np.array_equal(np.sort(linked.time), np.sort(tracks.time))
    for person in linked.people:  # each is one straight walk
        assert np.ptp(linked.position[linked.person == person, 1]) == 0.0
    from sidestep.datasets.plain import PLAIN

    PLAIN.save(tracks, tmp_path / "cut.txt")
    added = CliRunner().invoke(app, ["data", "add", str(tmp_path / "cut.txt"), "--link", "--json"])
    assert added.exit_code == 0, added.output
    assert json.loads(added.stdout)["dataset"]["people"] == people
    assert len(load_dataset("cut").people) == people  # and later, from the installed copy


def test_pieces_that_do_not_continue_stay_apart() -> None:
    tracks, people = cut(2)
    late = tracks.person > 100
    moved = tracks.position.copy()
    moved[late] += (0.0, 0.6)  # between two people, and too far from each
    assert len(link_tracklets(Tracks(tracks.person, tracks.time, moved, 2.5)).people) == 2 * people
    turned = tracks.position.copy()
    turned[late, 0] = 2 * turned[late, 0].min() - turned[late, 0]  # walks back from where the other piece ended
    assert len(link_tracklets(Tracks(tracks.person, tracks.time, turned, 2.5)).people) > people
