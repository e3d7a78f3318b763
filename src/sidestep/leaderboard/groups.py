"""Groups of comparable entries, which are ranked together: the entries of one track with the same scenarios, seeds,
settings, simulator and dialect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from sidestep.leaderboard.bundled import coverage, split_of
from sidestep.leaderboard.duplicates import same_motion
from sidestep.leaderboard.entries import OPEN, BoardEntry, verified_json
from sidestep.metrics.observed import CLASS_WORDS, INFORMED, ObservationClass, observes_json
from sidestep.metrics.ranking import Ranked, rank
from sidestep.report.summary import Summary, summarise_episodes
from sidestep.runs.compare import Entry, compare_pair


@dataclass(frozen=True, eq=False)
class Group:
    """Comparable entries: first the ranked ones by rank, then the privileged ones."""

    id: str
    track: str
    entries: tuple[BoardEntry, ...]
    ranks: dict[str, Ranked]
    """Label → rank; privileged entries have none."""
    rank_by: str
    summary: Summary
    scenarios: str
    """Which part of the bundled suite the entries cover."""
    race: ObservationClass | None = None
    """What its entries observe, if entries with the same plan observe something else; else None."""
    copies: Mapping[str, str] = field(default_factory=dict)
    """Label → label of an entry that moved alike in every episode: both count as one in the ranking."""

    @property
    def separable(self) -> bool:
        """Whether the episodes tell any two of the ranked entries apart; a single one is first."""
        distinct = [place for label, place in self.ranks.items() if label not in self.copies]
        return len(distinct) < 2 or any(place.rank > 1 for place in distinct)

    @property
    def facts(self) -> dict[str, str]:
        """What all entries have in common."""
        plan, first = self.entries[0].plan, self.entries[0]
        seeds = sorted(plan.seeds)
        shown = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} … {seeds[-1]}"
        facts = {
            "Scenarios": self.scenarios,
            "Seeds": f"{len(seeds)} ({shown})",
            "People": first.people,
            "Split": split_of(plan),
            "Mode": plan.mode if plan.latency_s is None else f"{plan.mode} {plan.latency_s:g} s",
            "Dialect": first.dialect,
            "Race": "" if self.race is None else CLASS_WORDS[self.race],
            "Simulator": plan.simulator,
        }
        return {name: value for name, value in facts.items() if value}

    def as_json(self) -> dict[str, Any]:
        """The group as in ``board.json``."""
        return {
            "id": self.id,
            "track": self.track,
            "rank_by": self.rank_by,
            "separable": self.separable,
            **{name.lower(): value for name, value in self.facts.items()},
            "entries": [self._entry_json(entry) for entry in self.entries],
        }

    def _entry_json(self, entry: BoardEntry) -> dict[str, Any]:
        place = self.ranks.get(entry.label)
        columns = {column.name: column for column in self.summary.columns}
        estimates = {name: column.cells[entry.label].estimate for name, column in columns.items()}
        return entry_json(entry) | {
            "rank": None if place is None else place.rank,
            "rank_last": None if place is None else place.last,
            "tied_with": [] if place is None else list(place.tied_with),
            "same_motion_as": self.copies.get(entry.label),
            "metrics": {
                name: {
                    "mean": found.value,
                    "low": found.low,
                    "high": found.high,
                    "n": found.n,
                    "unit": columns[name].csv_unit,
                }
                for name, found in estimates.items()
            },
        }


def entry_json(entry: BoardEntry) -> dict[str, Any]:
    """An entry as in ``board.json``, without its metrics."""
    return {
        "id": entry.id,
        "label": entry.label,
        "policy": entry.policy,
        "settings": entry.settings,
        "suite": entry.suite,
        "pack": entry.pack,
        "sha256": entry.sha256,
        "signature": entry.signature,
        "signer": entry.signer,
        "privileged": entry.privileged,
        **observes_json(entry.observed),
        "people": entry.people,
        "split": split_of(entry.plan),
        "episodes": len(entry.episodes),
        "outcomes": dict(Counter(episode.outcome for episode in entry.episodes)),
        "package_version": entry.package_version,
        "verified": verified_json(entry.verified),
        "reasons": list(entry.reasons),
    }


def make_groups(entries: Sequence[BoardEntry], rank_by: str) -> list[Group]:
    """Groups of the entries that have no reasons against them, open before held-out, the largest first."""
    found: dict[tuple[str, str], list[BoardEntry]] = {}
    for entry in entries:
        if not entry.reasons:
            found.setdefault((entry.track, entry.group), []).append(entry)
    groups = [
        _group(track, f"{name}-{race}" if race else name, inside, rank_by, race)
        for (track, name), together in found.items()
        for race, inside in _races(together)
    ]
    return sorted(
        groups, key=lambda group: (group.track != OPEN, -len(group.entries), -len(group.summary.episodes), group.id)
    )


def _races(entries: list[BoardEntry]) -> list[tuple[ObservationClass | None, list[BoardEntry]]]:
    """The entries by what they observe, if some have exact states and others sensors only; else one group, with None.
    Entries that observe nothing, and privileged ones, are in the group with exact states."""
    classes = [entry.observation_class for entry in entries]
    if not set(INFORMED) <= {kind for kind, entry in zip(classes, entries, strict=True) if not entry.privileged}:
        return [(None, entries)]
    found: dict[ObservationClass | None, list[BoardEntry]] = {"exact": [], "sensors": []}
    for kind, entry in zip(classes, entries, strict=True):
        found["sensors" if kind == "sensors" and not entry.privileged else "exact"].append(entry)
    return list(found.items())


def _group(track: str, name: str, entries: list[BoardEntry], rank_by: str, race: ObservationClass | None) -> Group:
    copies = same_motion(sorted(entries, key=lambda entry: (entry.privileged, not entry.verified.is_complete)))
    ranks = _ranks([each for each in entries if not each.privileged and each.label not in copies], rank_by)
    ranks = _with_copies(ranks, copies)
    order = {label: place for place, label in enumerate(ranks)}
    entries = sorted(entries, key=lambda entry: order.get(entry.label, len(order)))
    episodes = [replace(episode, policy=entry.label) for entry in entries for episode in entry.episodes]
    covered = coverage(entries[0].plan)
    return Group(name, track, tuple(entries), ranks, rank_by, summarise_episodes(episodes), covered, race, copies)


def _with_copies(ranks: dict[str, Ranked], copies: Mapping[str, str]) -> dict[str, Ranked]:
    """The ranks, in which copies share the rank of what they copy and come after it."""
    found: dict[str, Ranked] = {}
    for label, place in ranks.items():
        same = [copy for copy, first in copies.items() if first == label]
        for each in (label, *same):
            alike = tuple(other for other in (label, *same) if other != each)
            found[each] = replace(place, label=each, tied_with=(*place.tied_with, *alike))
    return found


def _ranks(entries: Sequence[BoardEntry], rank_by: str) -> dict[str, Ranked]:
    """Label → rank, best first. A single entry has rank 1; without a value or a better direction there is no rank."""
    if len(entries) == 1:
        return {entries[0].label: Ranked(entries[0].label, 1, 1, None, ())}
    sides = [
        Entry(
            entry.label,
            entry.pack,
            entry.policy,
            {(each.suite, each.scenario, each.seed): each for each in entry.episodes},
        )
        for entry in entries
    ]
    pairs = [compare_pair(a, b, [rank_by]) for a, b in combinations(sides, 2)]
    return {place.label: place for place in rank(pairs, rank_by)}
