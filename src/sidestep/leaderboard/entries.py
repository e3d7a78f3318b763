"""Entries of the board: one for each policy of a pack, with its scores, what was verified, and the reasons why it is
not ranked, if there are any."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from sidestep.leaderboard.audit import Problem
from sidestep.leaderboard.duplicates import Place, Trace, contradictions
from sidestep.leaderboard.held_out import HeldOut
from sidestep.leaderboard.verify_pack import PackVerification
from sidestep.metrics.observed import ObservationClass, Observed, observation_class, parse_observed
from sidestep.metrics.score import EpisodeScores, by_policy, common_source
from sidestep.runs.folder import safe_name
from sidestep.runs.plan import Plan
from sidestep.runs.sampling import chance_of_finding
from sidestep.types.scenario import Scenario

OPEN, HELD_OUT = "open", "held-out"
KINDS = {
    "missing": "episodes of the plan are missing",
    "skipped": "episodes of the plan were skipped",
    "record": "records were changed or damaged",
    "misplaced": "records belong to other episodes",
    "repeated": "episodes occur more than once",
    "foreign": "records are not in the plan",
    "scenario": "scenarios are not those of the bundled suite, or of another version of it",
    "world": "records do not fit their scenario and seed: edited, or written by another version",
    "signature": "the pack is not signed by a key of the list",
    "policy": "the policy is not what it is said to be",
    "results": "results differ from the records: edited, or written by another version (score and pack again)",
}


@dataclass(frozen=True)
class Verified:
    """Checks of an entry, with date and version: ``checked`` episodes were re-run, ``equal`` of them gave equal
    records."""

    date: str
    by: str
    rescored: int
    checked: int
    equal: int
    not_checked: str = ""
    """Why episodes of this policy were not re-run; empty if they were."""
    difference: str = ""
    """The first difference between a record and its re-run."""
    possible: int = 0
    """Number of episodes that could be run again, from which those that were are drawn."""
    nonce: str = ""
    """What the sample was drawn with."""
    not_built: int = 0
    """Number of scenarios that were not compared with the bundled suite or with their worlds."""

    @property
    def is_complete(self) -> bool:
        """Whether all episodes were run again and came out equal."""
        return self.checked == self.equal == self.rescored > 0

    @property
    def missed(self) -> float:
        """Chance that one forged episode was not among those that were run again."""
        return 1.0 - chance_of_finding(self.rescored, self.checked, 1)

    @property
    def level(self) -> str:
        """``run again``, ``scored again`` or ``differs``."""
        if self.equal < self.checked:
            return "differs"
        return "run again" if self.checked else "scored again"

    @property
    def text(self) -> str:
        """The checks in words, for the pages."""
        parts = [f"{self.rescored} episodes scored again from their records"]
        if self.checked:
            parts.append(f"{self.equal} of {self.checked} that were run again are equal to the bit")
        if 0 < self.checked < self.rescored:
            drawn = f"drawn with nonce {self.nonce}" if self.nonce else "drawn"
            parts.append(f"{drawn}: one forged episode would have been missed with {self.missed:.0%}")
        if self.not_built:
            parts.append(f"{self.not_built} scenarios not compared with the bundled suite or with their worlds")
        if self.not_checked:
            parts.append(f"not verified: {self.not_checked}")
        return "; ".join(parts)


@dataclass(frozen=True)
class BoardEntry:
    """A policy of a pack on the board."""

    id: str
    label: str
    policy: str
    pack: str
    """File name of the pack."""
    sha256: str
    signature: str | None
    public_key: str | None
    plan: Plan = field(repr=False)
    episodes: tuple[EpisodeScores, ...] = field(repr=False)
    dialect: str
    package_version: str
    commit: str | None
    machine: Mapping[str, Any]
    verified: Verified
    track: str
    reasons: tuple[str, ...]
    """Why it is not ranked; if empty, it is ranked unless it is privileged."""
    traces: Mapping[Place, Trace] = field(default_factory=dict, repr=False)
    signer: str = ""
    """Name of the key that signed the pack, from the list of keys of the board."""
    source_code: Mapping[str, str] = field(default_factory=dict)
    """File → source code of the policy, if the pack contains it."""

    @property
    def suite(self) -> str:
        """The suite of its plan."""
        return self.plan.suite

    @property
    def people(self) -> str:
        """Recorded, generated or mixed."""
        return common_source(episode.source for episode in self.episodes)

    @property
    def privileged(self) -> bool:
        """Whether its policy sees what others do not."""
        return any(episode.privileged for episode in self.episodes)

    @property
    def observed(self) -> Observed | None:
        """What its policy was given; None if unknown."""
        return parse_observed(episode.observes for episode in self.episodes)

    @property
    def observation_class(self) -> ObservationClass:
        """What its policy observes; only entries of compatible classes are compared."""
        return observation_class(self.observed)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the policy in the plan."""
        return next(policy.settings for policy in self.plan.policies if policy.name == self.policy)

    @property
    def group(self) -> str:
        """Key of the entries that are ranked together."""
        parts = {
            "scenarios": _scenarios_hash(self.plan.scenarios),
            "people": self.people,
            "dialect": self.dialect,
            **self.plan.model_dump(
                mode="json", include={"suite", "seeds", "mode", "latency_s", "act_limit_s", "simulator", "files"}
            ),
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def _scenarios_hash(scenarios: Iterable[Scenario]) -> str:
    texts = sorted(scenario.model_dump_json() for scenario in scenarios)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def make_entries(
    found: PackVerification, held_out: Sequence[HeldOut], date: str, version: str, need_rerun: bool = True
) -> list[BoardEntry]:
    """The entries of an unpacked pack. With ``need_rerun``, those of which no episode was run again are not ranked."""
    pack, audit = found.pack, found.audit
    run, plan = audit.run.description, audit.run.plan
    episodes = by_policy(audit.scored.episodes)
    track, reason = track_of(plan, held_out)
    entries = []
    for policy in plan.policies:
        if policy.name not in episodes:
            continue
        verified = _verified(found, policy.name, len(episodes[policy.name]), date, f"Sidestep {version}")
        reasons = [*([reason] if reason else []), *_reasons(audit.problems_of(policy.name))]
        reasons += _reasons_of_rerun(verified, need_rerun)
        entries.append(
            BoardEntry(
                id=f"{pack.sha256[:10]}-{safe_name(policy.name)}",
                label=policy.name,
                policy=policy.name,
                pack=pack.path.name,
                sha256=pack.sha256,
                signature=None if pack.signature is None else pack.signature.fingerprint,
                public_key=None if pack.signature is None else pack.signature.public_key,
                plan=plan,
                episodes=tuple(episodes[policy.name]),
                dialect=audit.scored.dialect,
                package_version=run.package_version,
                commit=run.commit,
                machine=run.machine,
                verified=verified,
                track=track,
                reasons=tuple(reasons),
                traces={key[1:]: trace for key, trace in audit.traces.items() if key[0] == policy.name},
                signer=found.signer,
                source_code=_source_code(pack.folder, pack.sources.get(policy.name, "")),
            )
        )
    return entries


def _reasons_of_rerun(verified: Verified, need_rerun: bool) -> list[str]:
    if verified.level == "differs":
        return [f"a second run differs from the record ({verified.difference})"]
    if need_rerun and not verified.checked:
        return [f"not run again ({verified.not_checked or 'nothing to run'}); a rank needs a second run"]
    return []


def _verified(found: PackVerification, policy: str, count: int, date: str, by: str) -> Verified:
    left = next((entry.reason for entry in found.not_checked if entry.policy == policy), "")
    checked, equal = found.again.by_policy.get(policy, (0, 0))
    return Verified(
        date=date,
        by=by,
        rescored=count,
        checked=checked,
        equal=equal,
        not_checked=left,
        difference="" if equal == checked else _first_difference(found),
        possible=found.possible.get(policy, 0),
        nonce=found.again.nonce if checked else "",
        not_built=len({each.scenario for each in found.audit.unbuilt}),
    )


Settle = Callable[[BoardEntry, Sequence[Place]], bool | None]
"""Runs disputed episodes of an entry again: whether they came out equal, or None if they cannot be run."""


def with_contradictions(entries: Sequence[BoardEntry], settle: Settle | None = None) -> list[BoardEntry]:
    """The entries, with a reason against those that contradict each other. With ``settle``, the disputed episodes are
    run again, and there is no reason against an entry that is right."""
    found = contradictions(entries)
    settled = []
    for entry in entries:
        against = found.get(entry.id)
        is_right = None if against is None or settle is None else settle(entry, against.places)
        if against is not None and not is_right:
            told = "" if is_right is None else "; it was run again, and the record of this pack is wrong"
            entry = replace(entry, reasons=(*entry.reasons, against.reason + told))
        settled.append(entry)
    return settled


def _first_difference(found: PackVerification) -> str:
    first = found.again.first_difference
    return "" if first is None else f"{first.policy} · {first.scenario}, step {first.step}: {first.quantity}"


def track_of(plan: Plan, held_out: Sequence[HeldOut]) -> tuple[str, str]:
    """The track of a plan and, if it has none, the reason. Seeds must be 0 to n − 1, or those that the organisers
    drew."""
    if any(each.suite == plan.suite and each.seeds and set(each.seeds) == set(plan.seeds) for each in held_out):
        return HELD_OUT, ""
    if sorted(plan.seeds) == list(range(len(plan.seeds))):
        return OPEN, ""
    shown = ", ".join(map(str, plan.seeds[:5])) + (", …" if len(plan.seeds) > 5 else "")
    return "", f"chosen seeds: {shown} are neither 0 to n − 1 nor seeds that the organisers drew"


def _reasons(problems: Sequence[Problem]) -> list[str]:
    """A sentence for each kind of problem, with its first example."""
    counted = Counter(problem.kind for problem in problems)
    firsts = {problem.kind: problem.text for problem in reversed(problems)}
    return [f"{KINDS[kind]} ({count}), first: {firsts[kind]}" for kind, count in counted.items()]


def _source_code(folder: Path, reference: str) -> dict[str, str]:
    file = (folder / reference.rpartition(":")[0]).resolve()
    if not reference or not file.is_relative_to(folder.resolve()) or not file.is_file():
        return {}
    return {
        each.relative_to(file.parent).as_posix(): each.read_text(encoding="utf-8", errors="replace")
        for each in sorted(file.parent.rglob("*.py"))
    }


def with_labels(entries: Sequence[BoardEntry]) -> list[BoardEntry]:
    """Labels that are unique within a table: the policy, with the pack's name or hash if needed."""
    tables = [(entry.suite, entry.track, "" if entry.reasons else entry.group) for entry in entries]
    policies = Counter((table, entry.policy) for table, entry in zip(tables, entries, strict=True))
    packs = Counter((table, entry.policy, entry.pack) for table, entry in zip(tables, entries, strict=True))
    labelled = []
    for table, entry in zip(tables, entries, strict=True):
        pack = entry.pack if packs[table, entry.policy, entry.pack] == 1 else f"{entry.pack} {entry.sha256[:6]}"
        label = entry.policy if policies[table, entry.policy] == 1 else f"{entry.policy} ({pack})"
        labelled.append(replace(entry, label=label))
    return labelled


def verified_json(verified: Verified) -> dict[str, Any]:
    """The checks of an entry as in ``board.json``."""
    return asdict(verified) | {"level": verified.level, "missed": verified.missed}
