"""The run folder: ``run.json`` (plan and circumstances), ``episodes/``, ``results.parquet``."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sidestep.benchmark.machine import describe_machine, source_commit
from sidestep.benchmark.plan import Plan, extend
from sidestep.errors import BadInput
from sidestep.reading import parse_json, read_text
from sidestep.records.atomic import atomic
from sidestep.version import __version__

RUN_FORMAT = 1
RUN_FILE = "run.json"
RESULTS_FILE = "results.parquet"
EPISODES = "episodes"
PACKAGE = Path(__file__).resolve().parents[1]
IN_PACKAGE = "sidestep:"
"""Opens the base of a bundled suite in ``run.json``."""


@dataclass(frozen=True)
class Skipped:
    """An episode that could not be made, and why."""

    scenario: str
    policy: str
    seed: int
    reason: str


@dataclass(frozen=True)
class RunFile:
    """The contents of ``run.json``."""

    plan: Plan
    package_version: str = __version__
    commit: str | None = None
    machine: dict[str, Any] = field(default_factory=dict)
    complete: bool = False
    skipped: tuple[Skipped, ...] = ()

    def save(self, folder: Path) -> None:
        """Write it, whole or not at all."""
        document = {
            "format": RUN_FORMAT,
            "complete": self.complete,
            "package_version": self.package_version,
            "commit": self.commit,
            "machine": self.machine,
            "skipped": [vars(entry) for entry in self.skipped],
            "base": _portable(self.plan.base, folder),
            "plan": self.plan.model_dump(mode="json"),
        }
        with atomic(folder / RUN_FILE) as temporary:
            temporary.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def open_folder(folder: Path, plan: Plan) -> RunFile:
    """Make the folder, or continue the run in it: its plan extended by ``plan``. BadInput when they
    contradict."""
    try:
        (folder / EPISODES).mkdir(parents=True, exist_ok=True)
        if (folder / RUN_FILE).exists():
            before = load_run(folder)
            run = replace(before, plan=extend(before.plan, plan), complete=False, skipped=())
        else:
            run = RunFile(plan, commit=source_commit(), machine=describe_machine())
        run.save(folder)
    except OSError as error:
        raise BadInput(f"{folder}: cannot be written to: {error.strerror or error}; choose another --out") from error
    except BadInput as error:
        raise BadInput(f"{folder}: {error}") from None
    return run


def load_run(folder: Path) -> RunFile:
    """``run.json`` of a run folder."""
    path = folder / RUN_FILE
    if not folder.is_dir():
        raise BadInput(f"{folder}: no such run folder")
    if not path.is_file():
        raise BadInput(f"{folder}: not a run folder, it has no {RUN_FILE}; `sidestep run … --out {folder}` makes one")
    try:
        document = parse_json(read_text(path, "run description"), f"{path}: not a run description", finite=False)
        version = document["format"]
        if version > RUN_FORMAT:
            raise BadInput(
                f"{path}: written by a newer Sidestep (format {version}); upgrade with: pip install --upgrade sidestep"
            )
        plan = Plan.parse(document["plan"], str(path))
        return RunFile(
            plan=plan.model_copy(update={"base": _located(document["base"], folder)}),
            package_version=document["package_version"],
            commit=document["commit"],
            machine=document["machine"],
            complete=document["complete"],
            skipped=tuple(Skipped(**entry) for entry in document["skipped"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{path}: not a run description ({type(error).__name__}: {error})") from error


def episode_path(folder: Path, policy: str, scenario: str, seed: int) -> Path:
    """Where a record lies: ``episodes/<policy>/<scenario>__seed<k>.parquet``."""
    return folder / EPISODES / safe_name(policy) / f"{safe_name(scenario)}__seed{seed}.parquet"


def safe_name(name: str) -> str:
    """A file name for any name: itself where that is safe and short, else cleaned, with a hash that keeps it
    unique."""
    clean = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-")[:80]
    if clean == name:
        return name
    return f"{clean or 'x'}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _portable(base: Path | None, folder: Path) -> str | None:
    """``base`` as seen from the run folder, so that the two can move together and no machine's path is kept;
    inside this package (a bundled suite) as seen from there."""
    if base is None:
        return None
    base = base.resolve()
    if base.is_relative_to(PACKAGE):
        return IN_PACKAGE + base.relative_to(PACKAGE).as_posix()
    try:
        return Path(os.path.relpath(base, folder.resolve())).as_posix()
    except ValueError:  # on another drive, where nothing relative leads
        return str(base)


def _located(base: str | None, folder: Path) -> Path | None:
    if base is None:
        return None
    if base.startswith(IN_PACKAGE):
        return PACKAGE / base.removeprefix(IN_PACKAGE)
    return Path(os.path.normpath(folder / base))
