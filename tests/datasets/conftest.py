"""Tiny recordings with invented numbers, and a user's data folder of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.needs import skip_without_data

needs_recordings = skip_without_data("eth_biwi/seq_eth/obsmat.txt")

VSP = """2 - the number of splines
3 - Num of control points
-100.000000 0.000000 0 90.000000 - (2D point, m_id)
0.000000 50.000000 10 90.000000 - (2D point, m_id)
100.000000 50.000000 30 -45.500000 - (2D point, m_id)
2 - Num of control points
10.000000 -20.000000 5 0.000000 - (2D point, m_id)
10.000000 20.000000 9 0.000000 - (2D point, m_id)
1 - number of line obstacles
-379.000000 -300.000000 380.000000 -300.000000 1 - left(x,y) right(x,y), type
"""

FILES = {
    "plain": "# rate_hz: 10\n# licence: invented\n0 1 0 0\n4 1 0.5 0\n8 1 1.0 0\n0 2 3 3\n4 2 3 2.5\n8 2 3 2\n",
    "biwi": (
        "100 1 0.0 0 1.0 1.0 0 0.0\n110 1 0.4 0 1.0 1.0 0 0.0\n120 1 0.8 0 1.0 1.0 0 0.0\n"
        "100 2 5.0 0 1.0 0.0 0 1.5\n110 2 5.0 0 1.6 0.0 0 1.5\n120 2 5.0 0 2.2 0.0 0 1.5\n"
    ),
    "socnavbench": "0,0,1,1,2,2\n1,2,1,2,1,2\n0.5,3,0.5,2.9,0.5,2.8\n0,7,0.1,7,0.2,7\n",
    "trajnet": (
        '{"scene": {"id": 0, "p": 1, "s": 10, "e": 30, "fps": 2.5, "tag": 1}}\n'
        '{"track": {"f": 10, "p": 1, "x": 0.0, "y": 1.0}}\n{"track": {"f": 20, "p": 1, "x": 0.4, "y": 1.0}}\n'
        '{"track": {"f": 30, "p": 1, "x": 0.8, "y": 1.0}}\n{"track": {"f": 20, "p": 2, "x": 4.0, "y": 2.0}}\n'
        '{"track": {"f": 30, "p": 2, "x": 9.9, "y": 9.9, "prediction_number": 0, "scene_id": 0}}\n'
    ),
    "ucy_vsp": VSP,
    "vci_dut": (
        "id,frame,label,x_est,y_est,vx_est,vy_est\n0,1,ped,1.0,2.0,0.5,0.0\n1,1,ped,4.0,2.0,0.0,0.0\n"
        "0,2,ped,1.02,2.0,0.5,0.0\n"
    ),
}  # fmt: skip
"""One file of each text format."""

OPTIONS = {"socnavbench": {"rate_hz": 2.0}, "ucy_vsp": {"pixels": "centred"}}
"""What a file cannot know."""

NAMES = {"ucy_vsp": "annotation.vsp", "socnavbench": "s.csv", "biwi": "obsmat.txt", "trajnet": "t.ndjson"}


def write(folder: Path, format_name: str, text: str | None = None) -> Path:
    """The small file of a format, with what belongs beside it."""
    path = folder / NAMES.get(format_name, f"{format_name}.txt")
    path.write_text(FILES[format_name] if text is None else text)
    if format_name == "ucy_vsp":
        (folder / "H.txt").write_text("0.01 0 2\n0 0.02 3\n0 0 1\n")
    return path


@pytest.fixture
def user_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder where recordings are installed, and no other place to find them."""
    monkeypatch.delenv("SIDESTEP_DATA", raising=False)
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *_, **__: str(tmp_path / "home"))
    return tmp_path / "home" / "datasets"
