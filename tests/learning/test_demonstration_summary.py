"""Statistics and contact sheets of demonstrations, with hand-computed values."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sidestep.errors import BadInput
from sidestep.learning.demonstrations import DemonstrationWriter, picture_sheet, read_demonstrations, statistics
from tests.learning.test_demonstrations import make_frame


@pytest.fixture
def demos(tmp_path: Path) -> Path:
    """Four frames to the left with steer -1, 0, 0.5, 1; two to the right, broken off, in scene 4 and weather 2."""
    with DemonstrationWriter(tmp_path / "demos.h5") as writer:
        for number, steer in enumerate((-1.0, 0.0, 0.5, 1.0)):
            brake = 1.0 if number == 3 else 0.0
            writer.add(-1, make_frame(10 + number, 0, done=number == 3, action=np.array([steer, 0.5, brake])))
        for number in range(2):
            action = np.array([0.0, 0.0, 0.25])
            writer.add(1, make_frame(100 + number, 1, scene=4, weather=2, action=action))
    return tmp_path / "demos.h5"


def test_statistics_by_hand(demos: Path) -> None:
    with read_demonstrations(demos) as reader:
        found = statistics(reader)
        assert statistics(reader, rate_hz=30).seconds == pytest.approx(0.2)
    assert (found.frames, found.episodes, found.unfinished) == (6, 2, 1)
    assert found.seconds == pytest.approx(0.3)
    assert found.by_branch == {-1: (1, 4), 0: (0, 0), 1: (1, 2)}
    assert found.by_scene == {0: (1, 4), 4: (1, 2)}
    assert found.by_weather == {1: (1, 4), 2: (1, 2)}
    assert found.actions is not None
    steer = [-1.0, 0.0, 0.0, 0.375, 1.0]  # of -1, 0, 0, 0, 0.5, 1
    assert list(found.actions["steer"].values()) == pytest.approx(steer)
    assert found.actions["throttle"]["median"] == 0.5
    assert found.actions["brake"]["upper quartile"] == 0.25
    assert found.braking_share == pytest.approx(0.5)
    assert json.loads(json.dumps(found.to_dict()))["by_scene"]["4"] == {"episodes": 1, "frames": 2}


def test_no_frames_have_no_quartiles(tmp_path: Path) -> None:
    DemonstrationWriter(tmp_path / "empty.h5").close()
    with read_demonstrations(tmp_path / "empty.h5") as reader:
        found = statistics(reader)
        assert (found.frames, found.episodes, found.actions, found.braking_share) == (0, 0, None, None)
        with pytest.raises(BadInput, match="no frames to draw"):
            picture_sheet(reader, tmp_path / "sheet.png")
        with pytest.raises(BadInput, match="rate_hz: must be positive, not 0"):
            statistics(reader, rate_hz=0)
    assert not (tmp_path / "sheet.png").exists()


def test_a_contact_sheet_has_the_pictures_of_each_branch(demos: Path, tmp_path: Path) -> None:
    with read_demonstrations(demos) as reader:
        picture_sheet(reader, tmp_path / "sheet.png", per_branch=3, columns=2)
        with pytest.raises(BadInput, match=r"sheet\.jpg: a contact sheet is a \.png file"):
            picture_sheet(reader, tmp_path / "sheet.jpg")
        with pytest.raises(BadInput, match="at least 1 each"):
            picture_sheet(reader, tmp_path / "sheet.png", columns=0)
    with Image.open(tmp_path / "sheet.png") as image:
        sheet = np.asarray(image)
    assert sheet.shape == (24 + 2 * 108 + 24 + 108, 4 + 2 * 204, 3)
    middles = {(68, 104): 10, (68, 308): 12, (176, 104): 13, (308, 104): 100, (308, 308): 101}
    for (row, column), grey in middles.items():
        assert sheet[row, column].tolist() == [grey] * 3
    assert sheet[176, 308].tolist() == [255] * 3
    assert (sheet[:24] < 128).any(), "a title"
    assert (sheet[112:128, 4:204] < 128).any(), "a caption"
