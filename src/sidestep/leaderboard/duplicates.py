"""Find episodes that contradict each other, and entries that moved alike under two names.

A bundled policy of one version with one set of settings does the same in the same scenario under the same seed. Two
records of it that differ cannot both be true. Names of policies are no part of what is compared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sidestep.leaderboard.declared import is_ours
from sidestep.runs.verify import reason_not_rerun
from sidestep.types import EpisodeRecord

if TYPE_CHECKING:
    from sidestep.leaderboard.entries import BoardEntry

Place = tuple[str, int]
"""Scenario and seed."""


@dataclass(frozen=True)
class Trace:
    """What happened in an episode: hashes of the robot's motion, and of all that the record says without names."""

    motion: str
    whole: str


def trace_of(record: EpisodeRecord) -> Trace:
    """The trace of a record."""
    motion = hashlib.sha256(record.robot_pose.tobytes())
    whole = motion.copy()
    for array in (record.person_position, record.person_present, record.command, record.robot_velocity):
        whole.update(array.tobytes())
    events = [[event.time, event.kind, event.subject, event.value] for event in record.events]
    whole.update(json.dumps([events, record.outcome.value, str(record.robot.footprint)]).encode())
    return Trace(motion.hexdigest(), whole.hexdigest())


def motion_of(traces: Mapping[Place, Trace]) -> str:
    """Hash of the motion in all episodes of an entry."""
    listed = sorted((scenario, seed, trace.motion) for (scenario, seed), trace in traces.items())
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()


@dataclass(frozen=True)
class Contradiction:
    """Episodes of an entry that another entry of the same bundled policy has otherwise."""

    reason: str
    places: tuple[Place, ...]


def contradictions(entries: Sequence[BoardEntry]) -> dict[str, Contradiction]:
    """Id → contradiction of entries with episodes of a bundled policy that another entry has otherwise. An entry is
    right, and has none, if all of its episodes were run again here and came out equal."""
    seen: dict[tuple[str, str, int], list[tuple[BoardEntry, Trace]]] = {}
    for entry in entries:
        for key, trace in _known_traces(entry):
            seen.setdefault(key, []).append((entry, trace))
    found: dict[str, Contradiction] = {}
    for (_, scenario, seed), held in seen.items():
        if len({trace.whole for _, trace in held}) < 2:
            continue
        for entry, trace in held:
            other = next(each for each, its in held if its.whole != trace.whole)
            if not entry.verified.is_complete:
                text = (
                    f"{entry.policy} · {scenario} · seed {seed} contradicts {other.label} ({other.pack}), which is the "
                    "same version of the same bundled policy"
                )
                before = found.get(entry.id, Contradiction(text, ()))
                found[entry.id] = Contradiction(before.reason, (*before.places, (scenario, seed)))
    return found


def _known_traces(entry: BoardEntry) -> Iterator[tuple[tuple[str, str, int], Trace]]:
    """Traces of a bundled policy by what decides about them."""
    policy = next(each for each in entry.plan.policies if each.name == entry.policy)
    if not is_ours(policy) or reason_not_rerun(entry.plan):
        return
    plan = entry.plan
    parts = [policy.made_from, policy.settings, policy.version, plan.simulator, plan.mode, plan.latency_s, plan.suite]
    scenarios = {scenario.name: scenario.model_dump_json() for scenario in plan.scenarios}
    for (scenario, seed), trace in entry.traces.items():
        text = json.dumps([*parts, scenarios.get(scenario)], sort_keys=True)
        yield (hashlib.sha256(text.encode()).hexdigest(), scenario, seed), trace


def same_motion(entries: Iterable[BoardEntry]) -> dict[str, str]:
    """Label → label of the first entry that moved alike in every episode, for entries that are not the first."""
    first: dict[str, str] = {}
    found: dict[str, str] = {}
    for entry in entries:
        if not entry.traces:
            continue
        motion = motion_of(entry.traces)
        if motion in first:
            found[entry.label] = first[motion]
        first.setdefault(motion, entry.label)
    return found
