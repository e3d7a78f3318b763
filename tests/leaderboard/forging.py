"""A small run of the bundled suite, and forgeries of it that know the format: records, results and hashes agree."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from sidestep.errors import SidestepError
from sidestep.leaderboard.pack import write_pack
from sidestep.records import load_record, save_record
from sidestep.runs.plan import make_plan
from sidestep.runs.runner import run_benchmark
from sidestep.runs.score import score_run
from sidestep.suites.files import load_suite
from sidestep.types import EpisodeRecord
from tests.runs.ledgers import write_ledger

Change = Callable[[EpisodeRecord], EpisodeRecord]
SCENARIOS = ("circle-crossing", "doorway")


def real_run(folder: Path, *policies: str, seeds: tuple[int, ...] = (0, 1)) -> Path:
    """A run of bundled policies in two scenarios of ``core``."""
    plan = make_plan(load_suite("core"), policies or ("straight",))
    chosen = tuple(scenario for scenario in plan.scenarios if scenario.name in SCENARIOS)
    run_benchmark(plan.model_copy(update={"scenarios": chosen, "seeds": seeds}), folder / "real")
    return folder / "real"


def records_of(run: Path) -> list[Path]:
    return sorted((run / "episodes").rglob("*.parquet"))


def edit_records(run: Path, change: Change, most: int = 1) -> None:
    """Change the first records; their checksums and digests are right again."""
    for path in records_of(run)[:most]:
        save_record(change(load_record(path)), path)


def edit_plan(run: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the document of the plan."""
    document = json.loads((run / "run.json").read_text())
    change(document["plan"])
    (run / "run.json").write_text(json.dumps(document))


def edit_both(run: Path, plan: Callable[[dict[str, Any]], None], record: Change) -> None:
    """Change the plan and every record alike."""
    edit_plan(run, plan)
    edit_records(run, record, most=1000)


def in_scenario(**changes: Any) -> Change:
    """Change fields of the record's scenario."""
    return lambda record: replace(record, scenario=record.scenario.model_copy(update=changes))


def forged(run: Path, folder: Path, forge: Callable[[Path], None], score: bool = True) -> Path:
    """The pack of a copy of the run after ``forge``, with results that agree, if the records can be scored."""
    copy = folder / "forged"
    shutil.copytree(run, copy)
    forge(copy)
    with suppress(SidestepError):
        write_ledger(copy)
    if score:
        with suppress(SidestepError):
            score_run(copy)
    write_pack(copy, folder / "forged.pack")
    return folder / "forged.pack"
