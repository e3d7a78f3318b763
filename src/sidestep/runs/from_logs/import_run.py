"""Logs to a run folder: records under the suite ``log``, and their scores, as ``sidestep run`` writes them."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sidestep import registry
from sidestep._util import exact
from sidestep._util.reading import is_file, is_folder
from sidestep.errors import BadInput, describe_error
from sidestep.metrics.score import EpisodeScores, score_episode
from sidestep.metrics.unknown import NOTE
from sidestep.records import save_record
from sidestep.records.logs.drive import LoggedDrive, LogReader, ReadOptions
from sidestep.runs.folder import (
    EPISODES,
    RESULTS_FILE,
    RUN_FILE,
    RunFile,
    episode_path,
    load_results,
    load_run,
    only_run,
    pack,
    safe_name,
    save_results,
)
from sidestep.runs.from_logs.record import SUITE, BuildOptions, LogFile, make_records
from sidestep.runs.plan import Plan, PolicyPlan
from sidestep.runs.provenance import describe_machine, source_commit
from sidestep.types.record import EpisodeRecord
from sidestep.types.scenario import Scenario

BLOCK_BYTES = 1 << 20
REFERENCE = "log:"
"""Opens what a policy of a log is made from in the plan: nothing that could be run again."""
SAME_PLACE_M = 1.0
"""Starts and goals of two drives of one task are nearer to each other than this."""
MessageCallback = Callable[[str], None]


@dataclass(frozen=True)
class Imported:
    """What became of some logs."""

    folder: Path
    records: tuple[tuple[Path, EpisodeRecord], ...]
    said: tuple[str, ...]
    """What was guessed, left out or put right."""


def detect_format(path: Path) -> str:
    """Name of the one format that a log looks like; BadInput if it looks like none or several."""
    check_there(path)
    found = [name for name in registry.names("logs") if registry.load("logs", name).matches(path)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(registry.names("logs"))
    what = f"could be {' or '.join(found)}" if found else f"looks like none of the known formats ({known})"
    raise BadInput(f"{path}: {what}; name the format with --format")


def check_there(path: Path) -> None:
    """BadInput unless there is a file with something in it, or a folder."""
    if is_folder(path):
        return
    if not is_file(path):
        raise BadInput(f"{path}: no such file or folder; give the path of a log")
    if path.stat().st_size == 0:
        raise BadInput(f"{path}: the file is empty; record or copy the log again")


def hash_log(path: Path) -> str:
    """SHA-256 of a file; of a folder over the names and hashes of its files, in the order of their names."""
    if is_file(path):
        sha = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(BLOCK_BYTES):
                sha.update(block)
        return sha.hexdigest()
    inside = sorted(each for each in path.rglob("*") if is_file(each))
    names = "".join(f"{each.relative_to(path).as_posix()} {hash_log(each)}\n" for each in inside)
    return hashlib.sha256(names.encode()).hexdigest()


def read_logs(
    logs: Iterable[Path], format_name: str | None, read: ReadOptions, build: BuildOptions, on_message: MessageCallback
) -> Iterator[EpisodeRecord]:
    """The records of logs, one log after the other. ``on_message`` gets a line for whatever was guessed or put
    right."""
    taken: set[str] = set()
    for path in logs:
        name = format_name or detect_format(path)
        check_there(path)
        reader: LogReader = registry.load("logs", name)
        log = LogFile(path.name, hash_log(path), name)
        for record in _records(path, reader, log, read, build, on_message):
            scenario = _unique(record.scenario, taken)
            taken.add(scenario.name)
            yield replace(record, scenario=scenario)


def _records(
    path: Path, reader: LogReader, log: LogFile, read: ReadOptions, build: BuildOptions, on_message: MessageCallback
) -> Iterator[EpisodeRecord]:
    noted: set[str] = set()
    count, short = 0, 0
    for drive in _drives(path, reader, read):
        for line in drive.said:
            if line not in noted:
                noted.add(line)
                on_message(f"{log.name}: {line}")
        if drive.name and len(drive.robot.time) < 2:
            short += 1
            continue
        for record in make_records(log, path.stem, drive, build):
            count += 1
            yield record
    if short:
        on_message(f"{log.name}: {short} drives with fewer than two positions left out")
    if not count:
        raise BadInput(f"{path}: no drive of a robot in it")


def _drives(path: Path, reader: LogReader, read: ReadOptions) -> Iterator[LoggedDrive]:
    """What a plug-in raises names the format."""
    try:
        yield from reader.read(path, read)
    except BadInput:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, RecursionError) as error:
        raise BadInput(
            f"{path}: damaged, or not a log of the format {reader.name!r} ({describe_error(error)[:200]}); record or "
            "convert it again"
        ) from error


def _unique(scenario: Scenario, taken: set[str]) -> Scenario:
    name, number = scenario.name, 2
    while name in taken:
        name, number = f"{scenario.name}-{number}", number + 1
    return scenario if name == scenario.name else scenario.model_copy(update={"name": name})


def import_logs(
    logs: Sequence[Path],
    out: Path,
    build: BuildOptions,
    *,
    format_name: str | None = None,
    read: ReadOptions | None = None,
    on_message: MessageCallback = lambda line: None,
) -> Imported:
    """Write the records of logs into the run folder ``out`` under the policy ``build.policy``.

    A folder of earlier imports keeps the other policies; the records of this one are replaced.
    """
    if not logs:
        raise BadInput("no log given; name at least one file or folder")
    said: list[str] = []

    def note(line: str) -> None:
        said.append(line)
        on_message(line)

    with only_run(out):
        before, kept = _earlier(out, build.policy)
        shutil.rmtree(out / EPISODES / safe_name(build.policy), ignore_errors=True)
        found: list[tuple[Path, EpisodeRecord]] = []
        scores: list[EpisodeScores] = []
        for record in read_logs(logs, format_name, read or ReadOptions(), build, note):
            path = episode_path(out, build.policy, record.scenario.name, record.seed)
            save_record(record, path)
            found.append((path, record))
            _note_other_task(record.scenario, before, build.policy, note)
            scores.append(pack(score_episode(record)))
        plan = _plan(build.policy, [record for _, record in found], before)
        RunFile(plan, commit=source_commit(), machine=describe_machine(), complete=True).save(out)
        save_results([*kept, *scores], out / RESULTS_FILE, "paper")
    return Imported(out, tuple(found), tuple(said))


def _earlier(out: Path, policy: str) -> tuple[Plan | None, list[EpisodeScores]]:
    """The plan of earlier imports into the folder, and the scores of other policies."""
    if not (out / RUN_FILE).is_file():
        return None, []
    plan = load_run(out).plan
    if plan.suite != SUITE:
        raise BadInput(f"{out}: holds a run of the suite {plan.suite!r}, not imported logs; choose another --out")
    scores = load_results(out / RESULTS_FILE)[0] if (out / RESULTS_FILE).is_file() else []
    return plan, [each for each in scores if each.policy != policy]


def _unknown_in(scenario: Scenario) -> set[str]:
    return set(scenario.notes[NOTE]["unknown"])


def _note_other_task(scenario: Scenario, before: Plan | None, policy: str, on_message: MessageCallback) -> None:
    """Where another policy drove a scenario of the same name from elsewhere or to elsewhere: they will be paired."""
    if before is None or all(each.name == policy for each in before.policies):
        return
    for other in before.scenarios:
        ends = {"start": (other.ego.start, scenario.ego.start), "goal": (other.ego.goal, scenario.ego.goal)}
        for what, (one, two) in ends.items() if other.name == scenario.name else ():
            if what in _unknown_in(other) | _unknown_in(scenario):
                continue
            apart = float(exact.hypot(one[0] - two[0], one[1] - two[1]))
            if apart > SAME_PLACE_M:
                on_message(
                    f"scenario {scenario.name!r}: its {what} is {apart:.1f} m from that of the drive before, with "
                    "which compare will pair it; give it another name (--scenario) unless the task is the same"
                )


def _plan(policy: str, records: Sequence[EpisodeRecord], before: Plan | None) -> Plan:
    """Scenarios and policies of the folder. A scenario of the same name that another policy drove is that policy's."""
    scenarios = {scenario.name: scenario for scenario in (before.scenarios if before else ())}
    scenarios |= {record.scenario.name: record.scenario for record in records}
    hashes = sorted({record.policy.version for record in records})
    entry = PolicyPlan(name=policy, reference=f"{REFERENCE}{policy}", version="; ".join(hashes)[:2000])
    policies = [each for each in (before.policies if before else ()) if each.name != policy]
    return Plan(suite=SUITE, scenarios=tuple(scenarios.values()), policies=(*policies, entry), seeds=(0,))
