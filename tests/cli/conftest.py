"""A small suite, a few policies, and ways to call the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from sidestep.cli import app

SUITE = """
summary: Small worlds
defaults:
  robots: [{start: [0, 0, 0], goal: [1.5, 0]}]
  rules: {time_limit_s: 5}
scenarios:
  - {name: alone}
  - {name: met, crowd: [{people: [{start: [4, 0.4], waypoints: [[-4, 0.4]]}]}]}
  - {name: round, crowd: [{placement: {kind: circle, count: 3}}]}
"""

WALLED = """
name: walled
robots: [{start: [0, 0, 0], goal: [3, 0]}]
scene: {name: block, regions: [{kind: obstacle, polygon: [[-1, -1], [1, -1], [1, 1], [-1, 1]]}]}
"""

POLICIES = '''
import os, time
from sidestep.types import Velocity


class Mine:
    """Drives ahead, says so, and can be slow, broken or deadly."""

    needs = frozenset({"goal"})

    def __init__(self, speed=0.5, delay=0.0, log="", mood="fine"):
        self.settings = {"speed": speed, "delay": delay, "mood": mood}
        self.speed, self.delay, self.log, self.mood = speed, delay, log, mood

    def reset(self, task):
        print("noise on stdout")
        if self.log:
            with open(self.log, "a") as file:
                file.write(f"{os.getpid()} {task.seed}\\n")
        time.sleep(self.delay)

    def act(self, observation):
        if self.mood == "broken":
            raise ZeroDivisionError("on purpose")
        if self.mood == "deadly":
            os._exit(9)
        return Velocity(self.speed, 0.0)
'''


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The suite's file, in a fresh working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(SUITE)
    (tmp_path / "mine.py").write_text(POLICIES)
    return "small.yaml"


@pytest.fixture
def call() -> Callable[..., Result]:
    """Run a command line in this process."""

    def run(*arguments: Any) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return run


@contextmanager
def started(*arguments: Any, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """The command line as a process of its own; ended when the test is."""
    command = [sys.executable, "-m", "sidestep", *(str(argument) for argument in arguments)]
    environment = {**os.environ, "COLUMNS": "200"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, **options
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def document(result: Result) -> Any:
    """The one JSON document on stdout."""
    lines = result.stdout.strip().split("\n")
    assert len(lines) == 1, result.stdout
    return json.loads(lines[0])
