"""Run folders: what is in them, resuming, extending, and policies that take their process down."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from sidestep.benchmark.episode import Answer, EpisodeTask
from sidestep.benchmark.folder import episode_path, load_run, safe_name
from sidestep.benchmark.plan import Plan
from sidestep.benchmark.processes import Processes
from sidestep.benchmark.results import load_results
from sidestep.benchmark.runner import RunResult, choose_executor, run_benchmark
from sidestep.errors import BadInput
from sidestep.records import load_record

from ..records.example import example_scenario
from .fake import fake_episode, fake_plan


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Most tests here need no second process: user policies run in this one unless the test says
    ``processes``."""
    if "processes" not in request.keywords["pytestmark"] if "pytestmark" in request.keywords else True:
        pass


def run(plan: Plan, out: Path, workers: int = 1, progress: Any = None) -> RunResult:
    return run_benchmark(plan, out, workers, progress, run_episode=fake_episode)
