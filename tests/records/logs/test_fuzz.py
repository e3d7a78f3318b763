"""Whatever is in a damaged log, it becomes records or an error that says what is wrong, soon."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidestep.errors import SidestepError
from tests.fuzz.damage import damage
from tests.fuzz.guard import within
from tests.needs import reason_missing
from tests.records.logs.make import odometry, records_of, write_db3, write_mcap
from tests.records.logs.test_rosbag import people
from tests.records.logs.test_tracks import trajnet

SEEDS = 60
INPUT_S = 20.0


def messages() -> list:
    return [message for k in range(8) for message in (odometry(k / 10, k / 10, 0.0, 1.0), people(k / 10, 3.0))]


def csv_log(folder: Path) -> Path:
    rows = [f"{k / 10},{who},{k},{who},{'robot' if who else 'person'}" for k in range(8) for who in (0, 1)]
    (folder / "a.csv").write_text("time,id,x,y,kind\n" + "\n".join(rows), encoding="utf-8")
    return folder / "a.csv"


MAKERS = {
    "csv": csv_log,
    "trajnet": lambda folder: trajnet(folder / "a.ndjson"),
    "mcap": lambda folder: write_mcap(folder / "a.mcap", messages()),
    "db3": lambda folder: write_db3(folder / "bag", messages()) / "bag_0.db3",
}
FORMATS = {"mcap": "rosbag", "db3": "rosbag"}


@pytest.mark.parametrize("kind", MAKERS)
def test_damaged_logs(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("mcap_ros2", reason=reason_missing("mcap_ros2"))
    whole = MAKERS[kind](tmp_path)
    content = whole.read_bytes()
    damaged = tmp_path / f"damaged{whole.suffix}"
    assert records_of(whole, format_name=FORMATS.get(kind, kind), robot=None)  # compiles what is not compiled yet
    errors: list[str] = []
    for seed in range(SEEDS):
        damaged.write_bytes(damage(seed, content))
        with within(INPUT_S):
            try:
                records_of(damaged, format_name=FORMATS.get(kind, kind))
            except SidestepError as error:
                errors.append(str(error))
    assert errors
    assert [text for text in errors if damaged.name not in text] == []
