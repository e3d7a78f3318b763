"""``sidestep replay``: pages, exports and the server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
from typer.testing import CliRunner

from sidestep.cli import app
from tests.needs import skip_without_package


@pytest.fixture(scope="module")
def record_file(run_folder: Path) -> Path:
    return min(run_folder.glob("episodes/orca/corner*.parquet"))


def call(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["replay", *map(str, words)])
    return result.exit_code, result.stdout, result.stderr


@skip_without_package("mcap_ros2", "rerun")
def test_every_file_that_is_asked_for_is_written(record_file: Path, tmp_path: Path) -> None:
    files = {kind: tmp_path / f"episode.{kind}" for kind in ("html", "rrd", "mcap")}
    code, out, _ = call(record_file, "--json", *(word for kind, file in files.items() for word in (f"--{kind}", file)))
    assert code == 0
    assert json.loads(out)["record"]["files"] == [str(file) for file in files.values()]
    assert all(file.stat().st_size > 1000 for file in files.values())


def test_options_of_the_server_need_the_server(record_file: Path) -> None:
    for words in (["--port", "8000"], ["--no-open"]):
        code, _, told = call(record_file, *words)
        assert code == 2
        assert "--serve" in told


def test_the_page_is_served_until_interrupted(record_file: Path) -> None:
    command = [sys.executable, "-m", "sidestep", "replay", str(record_file), "--serve", "--no-open"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            assert line.startswith("playing at http://127.0.0.1:")
            with urlopen(line.split()[2].rstrip(";"), timeout=10) as answer:
                assert b"replay-data" in answer.read()
            os.kill(process.pid, signal.SIGINT)
            assert process.wait(10) == 0
        finally:
            process.kill()
        assert process.stderr.read() == "stopped\n"
