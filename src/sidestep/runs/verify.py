"""Run episodes of a run folder again and compare digests; on a difference, find its first step and quantity.
``sidestep.leaderboard.verify_pack`` checks packs."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sidestep.errors import BadInput
from sidestep.records import load_record
from sidestep.registry import REMOTE
from sidestep.runs.episode import EpisodeTask, RunEpisode, as_failed, run_task
from sidestep.runs.executors import refuse_in_import, run_with_retry
from sidestep.runs.folder import load_run
from sidestep.runs.plan import Plan
from sidestep.runs.remote.guests import GuestProcesses
from sidestep.runs.remote.isolation import Isolation
from sidestep.runs.remote.wire import Address
from sidestep.runs.runner import choose_executor, tasks_of
from sidestep.runs.sampling import chances, check_nonce, draw
from sidestep.types.record import FORMAT_VERSION, EpisodeRecord

COMPONENTS: dict[str, tuple[str, ...]] = {
    "robot_pose": ("x", "y", "heading"),
    "robot_velocity": ("vx", "vy", "omega"),
    "command": ("kind", "0", "1", "2"),
    "applied": ("0", "1"),
}
"""Names of the last axis, for messages."""


@dataclass(frozen=True)
class Difference:
    """The first difference between a record and its re-run: ``quantity`` was ``was`` and now is ``is_``."""

    scenario: str
    policy: str
    step: int
    quantity: str
    was: float | str | None
    is_: float | str | None


@dataclass(frozen=True)
class Verification:
    """Numbers of episodes that were re-run and that came out equal to the bit, and the first difference."""

    checked: int
    equal: int
    first_difference: Difference | None
    by_policy: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Policy → number of episodes checked and equal."""
    nonce: str = ""
    """What the sample was drawn with; empty if it was not drawn."""
    of: int = 0
    """Number of episodes that the sample was taken from; 0: not known."""

    def as_json(self) -> dict[str, Any]:
        """The document of ``sidestep verify --json``."""
        document = asdict(self)
        del document["by_policy"]
        if not self.nonce:
            del document["nonce"], document["of"]
        else:
            document["chances"] = {str(forged): chance for forged, chance in chances(self.of, self.checked).items()}
        if self.first_difference is not None:
            document["first_difference"]["is"] = document["first_difference"].pop("is_")
        return document


Progress = Callable[[int, int, EpisodeTask], None]


def verify_run(
    folder: Path,
    sample: int | None = None,
    workers: int = 1,
    progress: Progress | None = None,
    run_episode: RunEpisode | None = None,
    *,
    access: Isolation | None = None,
    nonce: str | None = None,
) -> Verification:
    """Run ``sample`` episodes of the run again (all by default; spread evenly over it, or drawn with ``nonce``) and
    compare with the records. ``access`` says what guests may reach, by default their own files."""
    plan = under_access(load_run(folder).plan, access)
    if reason := reason_not_rerun(plan):
        raise BadInput(f"{folder}: {reason}")
    served = next((policy.name for policy in plan.policies if was_served(policy.made_from)), None)
    if served is not None:
        raise BadInput(
            f"{folder}: {served!r} came over a socket to `sidestep serve`, so its episodes cannot be run again from "
            "here; serve the suite again to the same client, with another --out, and compare the two runs"
        )
    tasks = [task for task in tasks_of(plan, folder) if task.path.exists()]
    if not tasks:
        raise BadInput(f"{folder}: no episode records in it")
    chosen = spread(tasks, sample) if nonce is None else draw(tasks, sample, check_nonce(nonce))
    found = run_again(plan, chosen, workers, progress, run_episode)
    return found if nonce is None else replace(found, nonce=nonce, of=len(tasks))


def under_access(plan: Plan, access: Isolation | None = None) -> Plan:
    """The plan with guests that may reach what ``access`` says; what the run allowed them counts for nothing."""
    chosen = (access or Isolation()).model_dump(include={"sandbox", "allow_read"})
    return plan.model_copy(update={"isolation": plan.isolation.model_copy(update=chosen)})


def reason_not_rerun(plan: Plan) -> str:
    """Why episodes of a plan cannot be re-run to the bit; empty if they can."""
    if plan.suite == "log":
        return (
            "its records are made of logs (`sidestep import`), so nothing can be run again; import the logs again into "
            "another folder and compare the digests"
        )
    if plan.mode == "async" or (plan.mode == "latency" and plan.latency_s is None):
        return f"mode {plan.mode} depends on the wall clock, so a second run need not be equal"
    return ""


def spread(tasks: Sequence[EpisodeTask], sample: int | None) -> Sequence[EpisodeTask]:
    """``sample`` of the tasks, spread evenly; all of them if ``sample`` is None or not smaller."""
    if sample is None or sample >= len(tasks):
        return tasks
    return [tasks[i] for i in np.linspace(0, len(tasks) - 1, sample).round().astype(int)]


def run_again(
    plan: Plan, tasks: Sequence[EpisodeTask], workers: int, progress: Progress | None, run_episode: RunEpisode | None
) -> Verification:
    """Run ``tasks`` into a temporary folder and compare the results with the records of the tasks."""
    refuse_in_import()
    guests = GuestProcesses()
    work = partial(run_task, run_episode=run_episode, guests=guests)
    equal, differences = 0, {}
    with tempfile.TemporaryDirectory(prefix="sidestep-verify-") as again, guests:
        moved = {Path(again) / f"{i}.parquet": task for i, task in enumerate(tasks)}
        fresh = [replace(task, path=path) for path, task in moved.items()]
        results = run_with_retry(choose_executor(plan, workers), work, fresh, as_failed)
        for done, (task, result) in enumerate(results, start=1):
            if result.stopped:
                raise BadInput(result.stopped)
            record = load_record(moved[task.path].path)
            if result.scores is not None and _digest_again(record, task, result.scores.digest) == record.digest:
                equal += 1
            else:
                differences[task.path] = _difference(record, task, result.skipped)
            if progress is not None:
                progress(done, len(tasks), task)
    first = next((differences[path] for path in moved if path in differences), None)
    checked = Counter(task.policy.name for task in tasks)
    unequal = Counter(difference.policy for difference in differences.values())
    return Verification(len(tasks), equal, first, {name: (n, n - unequal[name]) for name, n in checked.items()})


def _digest_again(record: EpisodeRecord, task: EpisodeTask, digest: str) -> str:
    """The digest of the re-run by the rule of the record's format: digests of older formats cover less."""
    if record.format_version == FORMAT_VERSION:
        return digest
    return replace(load_record(task.path), format_version=record.format_version).digest


def was_served(policy: str) -> bool:
    """Whether a policy's name is that of a client of ``sidestep serve``: ``remote:NAME``, no address."""
    if not policy.startswith(REMOTE):
        return False
    try:
        Address.parse(policy.removeprefix(REMOTE))
    except ValueError:
        return True
    return False


def _difference(record: EpisodeRecord, task: EpisodeTask, skipped: str) -> Difference:
    if skipped:
        return Difference(task.scenario.name, task.policy.name, 0, "scenario", "built", f"cannot be built: {skipped}")
    step, quantity, was, is_ = first_divergence(record, load_record(task.path))
    return Difference(task.scenario.name, task.policy.name, step, quantity, was, is_)


Divergence = tuple[int, str, float | str | None, float | str | None]


def first_divergence(old: EpisodeRecord, new: EpisodeRecord) -> Divergence:
    """Step, quantity and both values of the earliest difference that the digest sees. Step k of a command
    leads from state k to k + 1; a difference of the world as a whole (walls, who the people are, the scenario) counts
    as step 0."""
    found: list[Divergence] = []
    for order in fields(EpisodeRecord):
        was, is_ = getattr(old, order.name), getattr(new, order.name)
        if isinstance(was, np.ndarray) and order.name != "planning_time":
            found += _in_array(old, order.name, was, is_)
    found += _in_events(old, new)
    if old.steps != new.steps:
        found.append((min(old.steps, new.steps), "steps", old.steps, new.steps))
    if found:
        return min(found, key=lambda difference: difference[0])
    expected, actual = old.meaning(), new.meaning()
    for name in ("scenario", "robot", "policy", "source", "mode", "seed", "person_model", "shortest_path_m"):
        if old.format_version > 1 and repr(expected[name]) != repr(actual[name]):  # as text, in which NaN equals NaN
            return 0, name, *_apart(expected[name], actual[name])
    return old.steps, "outcome", old.outcome.value, new.outcome.value


def _apart(was: Any, is_: Any) -> tuple[str, str]:
    """Two different values as text; for mappings, the first key with different values."""
    if isinstance(was, dict) and isinstance(is_, dict):
        key = min(key for key in {*was, *is_} if was.get(key) != is_.get(key))
        return tuple(f"{key}: {str(each.get(key, 'default'))[:80]}" for each in (was, is_))  # type: ignore[return-value]
    return str(was)[:80], str(is_)[:80]


def _in_array(record: EpisodeRecord, name: str, was: Any, is_: Any) -> list[Divergence]:
    if was.shape[1:] != is_.shape[1:]:
        return [(0, f"{name}.shape", str(was.shape), str(is_.shape))]
    is_static = name.startswith(("person_id", "person_radius", "walls", "other_radius"))
    if is_static and was.shape != is_.shape:
        return [(0, f"{name}.shape", str(was.shape), str(is_.shape))]
    length = min(len(was), len(is_))
    differs = (was[:length] != is_[:length]) & ~((was[:length] != was[:length]) & (is_[:length] != is_[:length]))
    if not differs.any():
        return []
    index = tuple(int(i) for i in np.argwhere(differs)[0])
    step = 0 if is_static else index[0]
    return [(step, _quantity(record, name, index), _number(was[index]), _number(is_[index]))]


def _quantity(record: EpisodeRecord, name: str, index: tuple[int, ...]) -> str:
    """``robot_pose.x``, ``person_position[12].y`` (12 is the person's number), ``limited``."""
    if name in COMPONENTS:
        return f"{name}.{COMPONENTS[name][index[1]]}"
    axis = f".{('x', 'y', 'heading')[index[2]]}" if len(index) == 3 else ""
    if name.startswith("person_"):
        person = index[0] if len(index) == 1 else index[1]
        return f"{name}[{record.person_id[person]}]{axis}"
    column = "" if len(index) == 1 else f"[{index[1]}]"
    return f"{name}{column}{axis}"


def _in_events(old: EpisodeRecord, new: EpisodeRecord) -> list[Divergence]:
    was = [f"{event.kind} {event.subject} at {event.time!r} s ({event.value!r})" for event in old.events]
    is_ = [f"{event.kind} {event.subject} at {event.time!r} s ({event.value!r})" for event in new.events]
    for index in range(max(len(was), len(is_))):
        before, now = (each[index] if index < len(each) else None for each in (was, is_))
        if before != now:
            times = [each.events[index].time for each in (old, new) if index < len(each.events)]
            step = int(np.searchsorted(old.time, min(times), side="left"))
            return [(max(step - 1, 0), "event", before, now)]
    return []


def _number(value: Any) -> float | None:
    number = float(value)
    return number if np.isfinite(number) else None
