"""Runs to pack, and packs that were tampered with as somebody would who knows the format."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sidestep.leaderboard.pack import SUMS_FILE, sums_text, write_pack
from sidestep.records import load_record, save_record
from sidestep.runs.folder import load_results, save_results
from sidestep.runs.plan import Plan, PolicyPlan
from sidestep.runs.provenance import policy_version
from sidestep.runs.runner import run_benchmark
from sidestep.types import EpisodeRecord
from sidestep.types.result import MetricResult
from tests.records.example import example_scenario
from tests.runs.fake import fake_episode, write_policies


def make_run(folder: Path, *classes: str, seeds: tuple[int, ...] = (0, 1), scenarios: int = 3, **changes: Any) -> Path:
    """A finished run of policies of the user's, labelled in lower case, in ``folder``/run."""
    file = write_policies(folder)
    policies = tuple(
        PolicyPlan(name=name.lower(), reference=f"{file}:{name}", version=policy_version(f"{file}:{name}"))
        for name in classes or ("Steady",)
    )
    items = tuple(example_scenario(f"s{i}") for i in range(scenarios))
    plan = Plan(suite="test", scenarios=items, policies=policies, seeds=seeds, **changes)
    run_benchmark(plan, folder / "run", run_episode=fake_episode)
    return folder / "run"


def make_pack(folder: Path, *classes: str, name: str = "mine.pack", **changes: Any) -> Path:
    """The pack of such a run."""
    write_pack(make_run(folder, *classes, **changes), folder / name)
    return folder / name


def members_of(pack: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(pack) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def write_members(path: Path, members: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, compression)
    return path


def tampered(pack: Path, changes: Mapping[str, bytes | None], resummed: bool = True) -> Path:
    """A copy with members replaced, added or (None) removed; ``resummed`` with hashes that are right again."""
    members = members_of(pack) | {name: data for name, data in changes.items() if data is not None}
    for name in (name for name, data in changes.items() if data is None):
        del members[name]
    if resummed and SUMS_FILE not in changes:
        kept = {name: data for name, data in members.items() if name not in (SUMS_FILE, "signature.json")}
        members[SUMS_FILE] = sums_text({name: hashlib.sha256(data).hexdigest() for name, data in kept.items()})
    return write_members(pack.with_name("tampered.pack"), members)


def changed_record(pack: Path, member: str, change: Callable[[EpisodeRecord], EpisodeRecord]) -> bytes:
    """The bytes of a record after ``change``, with a checksum and digest that are right again."""
    path = pack.with_name("record.parquet")
    path.write_bytes(members_of(pack)[member])
    save_record(change(load_record(path)), path)
    return path.read_bytes()


def changed_results(pack: Path, success: float | None = None, twice: bool = False, drop: int = 0) -> bytes:
    """``results.parquet`` with another success in every row, with the first episode ``twice``, or without some."""
    path = pack.with_name("results.parquet")
    path.write_bytes(members_of(pack)["results.parquet"])
    episodes, dialect = load_results(path)
    if success is not None:
        value = MetricResult(success, "0/1")
        episodes = [replace(each, metrics=dict(each.metrics) | {"success": value}) for each in episodes]
    episodes = episodes[drop:] + (episodes[:1] if twice else [])
    save_results(episodes, path, dialect)
    return path.read_bytes()
